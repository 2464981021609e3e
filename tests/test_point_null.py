"""Effects that are exactly the null have no sign: the errors of lists count them, and smooth priors are left alone."""

from __future__ import annotations

import numpy as np
import polars
import pytest

import ebformer as eb
from ebformer.bayes.marginal import posterior
from ebformer.channels import POISSON, channel_named
from ebformer.point_null import PointNull, point_null, sign_error
from ebformer.selection import lfsr

NORMAL = channel_named("normal")
X, SE = np.linspace(-6.0, 6.0, 25), np.full(25, 0.8)


def test_a_point_at_the_null_is_an_atom_of_the_prior() -> None:
    atoms, weights = np.array([-3.0, -0.2, 0.4, 2.0]), np.array([0.1, 0.4, 0.2, 0.3])
    mixed = PointNull(0.1, 0.6, eb.Prior(atoms, weights), NORMAL)
    whole = eb.Prior(np.append(atoms, 0.1), np.append(0.4 * weights, 0.6))
    after = posterior(whole, X, SE, channel=NORMAL)
    np.testing.assert_allclose(mixed.sign_error(X, SE), lfsr(after, 0.1), rtol=0.0, atol=1e-15)
    at = after.weights[:, whole.atoms == 0.1].sum(axis=1)
    np.testing.assert_allclose(mixed.probability(X, SE), at, rtol=0.0, atol=1e-15)


def effects(theta: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    se = np.exp(rng.uniform(np.log(0.3), np.log(3.0), theta.size))
    return rng.normal(theta, se), se


@pytest.mark.parametrize("seed", range(3))
def test_a_smooth_prior_has_no_point(seed: int) -> None:
    x, se = effects(np.random.default_rng(seed).normal(0.0, 2.0, 1000), seed)
    rule = eb.estimator("priorformer")(eb.Tally.of(x, se=se))
    np.testing.assert_array_equal(sign_error(rule, x, se, 0.0), lfsr(rule.posterior(x, se), 0.0))


def test_where_the_null_lies_does_not_matter() -> None:
    theta = np.where(np.arange(600) < 500, 0.0, 3.0)
    x, se = effects(theta, 0)
    at_zero = eb.estimator("npmle")(eb.Tally.of(x, se=se))
    moved = eb.Prior(2.0 * at_zero.prior.atoms + 7.0, at_zero.prior.weights)
    there = eb.Tally.of(2.0 * x + 7.0, se=2.0 * se)
    one = point_null(at_zero.prior, at_zero.tally, NORMAL, 0.0)
    other = point_null(moved, there, NORMAL, 7.0)
    assert one.share > 0.5
    assert other.share == pytest.approx(one.share)


def test_a_null_that_no_theta_can_be_leaves_the_prior_alone() -> None:
    prior = eb.Prior([0.1, 3.0], [0.9, 0.1])
    assert point_null(prior, eb.Tally.of([0, 0, 1, 4]), POISSON, -1.0).share == 0.0


def test_one_effect_is_not_all_there_will_be() -> None:
    found = point_null(eb.Prior([0.1], [1.0]), eb.Tally.of(np.zeros(9), se=1.0), NORMAL, 0.0)
    assert found.share == pytest.approx(0.9)
    assert np.isfinite(found.sign_error(X, SE)).all()


@pytest.mark.filterwarnings("ignore::ebformer.ModelWarning")
def test_lists_among_exact_zeros_keep_their_promise() -> None:
    rng, shares, found, possible = np.random.default_rng(0), [], 0, 0
    truth = eb.Prior(np.append(0.0, np.linspace(-9.0, 9.0, 181)), np.append(0.9, _bell(np.linspace(-9.0, 9.0, 181))))
    for table in range(20):
        theta = np.where(rng.random(500) < 0.9, 0.0, rng.normal(0.0, 3.0, 500))
        x, se = effects(theta, table)
        rows = eb.shrink(polars.DataFrame({"x": x, "se": se}), effect="x", se="se", fdr=0.1)
        right = np.sign(rows["estimate"].to_numpy()) == np.sign(theta)
        chosen = rows["selected"].to_numpy()
        shares.append((~right)[chosen].mean() if chosen.any() else 0.0)
        found += int(right[chosen].sum())
        errors = np.sort(lfsr(posterior(truth, x, se, channel=NORMAL), 0.0))
        possible += int((np.cumsum(errors) / np.arange(1, 501) <= 0.1).sum())
    assert np.mean(shares) <= 0.1 + 2 * np.std(shares, ddof=1) / np.sqrt(20)
    assert found >= 0.9 * 0.9 * possible  # nine tenths of the right ones in the oracle's lists


def _bell(at: np.ndarray) -> np.ndarray:
    weights = np.exp(-0.5 * (at / 3.0) ** 2)
    return np.asarray(0.1 * weights / weights.sum())
