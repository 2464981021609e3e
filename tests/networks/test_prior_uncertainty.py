"""Versions of an answer that the data cannot tell apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ebformer as eb
from ebformer.bayes import posterior
from ebformer.channels import channel_named
from ebformer.estimators.priorformer import Priorformer
from ebformer.networks.grid import Grid
from ebformer.networks.likelihood import Likelihood
from ebformer.networks.prior_uncertainty import KNOWN_BEFORE, centred_tilts, versions
from ebformer.prior import GridPrior, UncertainPrior
from ebformer.rule import Rule


def some_grid(counts: np.ndarray) -> tuple[Grid, Likelihood, np.ndarray]:
    x, units = np.unique(counts, return_counts=True)
    grid = Grid.of(channel_named("poisson"), x.astype(float), np.ones(x.size), units)
    return grid, Likelihood.of(grid, x.astype(float), np.ones(x.size), np.float64), units.astype(float)


def test_the_tilts_of_the_versions_have_the_precision_of_the_data_and_what_was_known_before() -> None:
    grid, likelihood, units = some_grid(np.random.default_rng(1).poisson(4.0, 60))
    weights = np.exp(-0.5 * ((grid.v_of(grid.theta) - 4.0) / 1.5) ** 2)
    weights /= weights.sum()
    found = np.log(versions(grid, likelihood, units, weights) / weights)
    tilts = centred_tilts(grid, weights)
    # The coefficients of each version, read off its logarithm.
    coefficients = np.linalg.lstsq(np.vstack([tilts, np.ones(tilts.shape[1])]).T, found.T, rcond=None)[0][:2]
    covariance = coefficients @ coefficients.T / 4

    # Fisher's information by differences of the log-likelihood of every unit.
    def log_f(a: float, b: float) -> np.ndarray:
        moved = weights * np.exp(a * tilts[0] + b * tilts[1])
        return np.log(likelihood.marginal(moved / moved.sum()))

    step = 1e-5
    score = np.stack([log_f(step, 0) - log_f(-step, 0), log_f(0, step) - log_f(0, -step)]) / (2 * step)
    np.testing.assert_allclose(
        np.linalg.inv(covariance), (score * units) @ score.T + KNOWN_BEFORE * np.eye(2), rtol=1e-6
    )
    np.testing.assert_allclose(coefficients.sum(axis=1), 0.0, atol=1e-12)


def test_a_posterior_is_the_mean_of_those_under_each_version() -> None:
    rule = Priorformer()(eb.Tally.of([0, 0, 1, 2, 2, 3, 9]))
    prior = rule.prior
    assert isinstance(prior, UncertainPrior)
    each = [posterior(GridPrior(prior.atoms, row), [0, 3, 9, 20]) for row in prior.versions]
    np.testing.assert_allclose(rule([0, 3, 9, 20]), np.mean([one.mean for one in each], axis=0), rtol=1e-12)
    chance = np.mean([one.exceeds(2.5) for one in each], axis=0)
    np.testing.assert_allclose(rule.posterior([0, 3, 9, 20]).exceeds(2.5), chance, rtol=1e-10)


def test_a_hundred_times_as_many_units_leave_a_tenth_of_the_doubt() -> None:
    rng = np.random.default_rng(0)
    doubt = []
    for n in (20, 2_000, 200_000):
        prior = Priorformer()(eb.Tally.of(rng.poisson(rng.gamma(2.0, 1.5, n)))).prior
        assert isinstance(prior, UncertainPrior)
        doubt.append(np.std(prior.versions @ prior.atoms) / prior.mean)
    assert doubt[0] > 2 * doubt[1]  # with few units, what was known before counts too
    np.testing.assert_allclose(doubt[2], doubt[1] / 10, rtol=0.2)


@pytest.mark.parametrize("factor", [1.0, 7.0])
def test_versions_survive_saving_and_other_units(tmp_path: Path, factor: float) -> None:
    rule = Priorformer()(eb.Tally.of([3, 1, 4, 1, 5, 9]))
    scaled = rule.rescaled(factor, 1.0 / factor)
    scaled.save(tmp_path / "rule.json")
    read = Rule.load(tmp_path / "rule.json")
    assert read.prior == scaled.prior
    np.testing.assert_allclose(read([0, 4], 1 / factor), factor * rule([0, 4]), rtol=1e-12)
    assert isinstance(rule.prior, UncertainPrior)
    assert rule.prior.scaled(2.0).versions.tobytes() == rule.prior.versions.tobytes()
