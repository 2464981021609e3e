"""Hierarchical Bayes: closed forms of small worlds, the power of the likelihood, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.command_line import ebformer

from ebformer.errors import InputError
from ebformer.estimators.catalogue import find
from ebformer.lab.hierarchical import Hierarchical, by_importance, drawn, floor
from ebformer.lab.worlds import Multinomial, Universal
from ebformer.lab.worlds.effects import Bells
from ebformer.tally import Tally


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_one_atom_anywhere_has_a_truncated_gamma_posterior(power: float) -> None:
    tally = Tally.of([3, 5, 4, 6, 2, 4])
    rule = Hierarchical(Universal(20.0, size=1), priors=4000, power=power)(tally)
    after = stats.gamma(power * 24 + 1, scale=1 / (power * 6))
    exact = after.expect(lambda theta: theta, lb=0, ub=20.0, conditional=True)
    assert rule.convergence.reached
    assert np.all(np.abs(rule.estimates[[0, 4, 9]] - exact) < 4 * rule.errors[[0, 4, 9]] + 1e-3)


def test_gibbs_agrees_with_an_integral_over_the_weight_of_two_atoms() -> None:
    tally = Tally([0, 1, 2], [30, 8, 2])
    rule = Hierarchical(Multinomial(0.2), priors=4000)(tally)
    atoms, w = np.array([0.1, 0.2]), (np.arange(2000) + 0.5)[:, None] / 2000
    mixed = np.concatenate([w, 1 - w], axis=1)
    p = stats.poisson.pmf(np.arange(3)[:, None], atoms)
    f = mixed @ p.T
    weight = np.exp(np.log(f) @ tally.multiplicity)
    exact = weight @ ((mixed * atoms) @ p.T / f) / weight.sum()
    assert np.all(np.abs(rule.estimates[:3] - exact) < 4 * rule.errors[:3] + 1e-6)


def test_the_floor_says_what_it_rests_on() -> None:
    method = Hierarchical(Universal(5.0, size=2), priors=800)
    found = floor(method, 50, 4, np.random.default_rng(0), [find("mle"), method])
    assert found.over["hierarchical"] == (1.0, 0.0)
    assert found.over["mle"][0] > 1
    assert 0 < found.regret < 1
    assert 0 < found.sampling < found.regret
    assert found.effective >= 30


def test_the_command_tells_the_floor() -> None:
    told = ebformer(
        "floor", "--world", "multinomial", "--n", "20", "--priors", "40", "--tables", "2", "--beside", "mle"
    )
    assert "mle" in told.stdout


def test_what_cannot_be_averaged_is_refused() -> None:
    with pytest.raises(InputError, match="not of normal data"):
        Hierarchical(Bells())
    with pytest.raises(InputError, match="can only be 1"):
        Hierarchical(Multinomial(1.0), power=0.5)(Tally.of([1]))
    with pytest.raises(InputError, match="draw more priors"):
        floor(Hierarchical(Universal(), priors=20), 5000, 2, np.random.default_rng(0))
    with pytest.raises(InputError, match="at least 20 priors"):
        Hierarchical(Universal(), priors=5)


def test_gibbs_over_atoms_agrees_with_priors_that_were_drawn() -> None:
    world, tally = Universal(10.0, size=3), Tally([0, 1, 2, 3, 7, 9], [9, 6, 2, 1, 4, 3])
    gibbs = Hierarchical(world, priors=4000)(tally)
    found = by_importance(drawn(world, 60_000, 0, 64), tally)
    at = tally.values
    assert gibbs.convergence.reached
    assert np.all(np.abs(gibbs.estimates - found.estimates)[at] < 4 * np.hypot(gibbs.errors, found.errors)[at] + 0.01)


def test_gibbs_finds_the_atoms_of_many_units() -> None:
    rng = np.random.default_rng(4)
    tally = Tally.of(rng.poisson(np.repeat([2.0, 30.0], 1500)))
    rule = Hierarchical(Universal(50.0, size=4), priors=400)(tally)
    assert rule([2, 30]) == pytest.approx([2.0, 30.0], rel=0.1)
