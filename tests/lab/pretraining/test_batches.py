"""Drawn tallies follow the law of n units from the prior, and their targets are exact."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ebformer.bayes import marginal as posterior  # noqa: E402
from ebformer.lab.pretraining.batches import draw_tallies, draw_units, poisson_matrix, quantise  # noqa: E402
from ebformer.lab.worlds.base import PaperThetaMax, Priors, log_uniform  # noqa: E402
from ebformer.lab.worlds.mixture import MixtureOfWorlds  # noqa: E402
from ebformer.prior import Prior  # noqa: E402


def priors(count: int) -> Priors:
    return MixtureOfWorlds(theta_max=PaperThetaMax()).draw_many(np.random.default_rng(0), count)


def test_targets_are_the_bayes_rule_of_the_quantised_prior() -> None:
    drawn, n = priors(20), np.full(20, 1000)
    tallies = draw_tallies(drawn, n, np.random.default_rng(1))
    ends = np.cumsum(tallies.lengths)
    for weights, first, last in zip(quantise(drawn), ends - tallies.lengths, ends, strict=True):
        prior = Prior(poisson_matrix()[0][weights > 0], weights[weights > 0])
        assert tallies.multiplicity[first:last].sum() == 1000
        np.testing.assert_allclose(
            tallies.target[first:last], posterior.bayes_rule(prior, tallies.x[first:last]), rtol=1e-9
        )


def test_quantising_keeps_mass_and_hardly_moves_the_mean() -> None:
    drawn = priors(200)
    weights, theta = quantise(drawn), poisson_matrix()[0]
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    mean = (drawn.atoms * drawn.weights).sum(axis=1)
    np.testing.assert_allclose(weights @ theta, mean, rtol=0.01, atol=0.002)


def test_one_multinomial_draw_has_the_law_of_the_units() -> None:
    # Two samples of 400 tallies of one prior: mean frequencies of every value agree to five standard errors.
    one = priors(1)
    many = Priors(one.atoms.repeat(400, 0), one.weights.repeat(400, 0), one.theta_max.repeat(400))
    n = np.full(400, 50)
    quick = draw_tallies(many, n, np.random.default_rng(2))
    slow = draw_units(many, n, np.random.default_rng(3), theta_targets=True, collapsed=True)
    size = max(quick.x.max(), slow.x.max()) + 1
    total = [np.bincount(t.x, t.multiplicity, size) for t in (quick, slow)]
    assert np.abs(total[0] - total[1]).max() <= 5 * np.sqrt((total[0] + total[1]).max())
    assert np.all(np.abs(total[0] - total[1]) <= 5 * np.sqrt(total[0] + total[1] + 1))


def test_theta_averages_to_the_exact_target() -> None:
    # E[theta | x, G] is what theta targets estimate: over 100,000 units the mean theta at each x is the Bayes rule.
    one, n = priors(1), np.array([100_000])
    by_theta = draw_units(one, n, np.random.default_rng(4), theta_targets=True, collapsed=True)
    exact = draw_units(one, n, np.random.default_rng(4), theta_targets=False, collapsed=True)
    np.testing.assert_array_equal(by_theta.x, exact.x)
    weights, theta = quantise(one)[0], poisson_matrix()[0]
    answer = posterior.posterior(Prior(theta[weights > 0], weights[weights > 0]), exact.x)
    error = np.sqrt(answer.variance / exact.multiplicity)
    assert np.all(np.abs(by_theta.target - exact.target) <= 5 * error + 1e-9)


def test_sizes_stay_within_their_bounds() -> None:
    n = log_uniform(np.random.default_rng(0), 32, 65536, 10_000)
    assert n.min() >= 32
    assert n.max() <= 65536
    assert abs(np.median(n) / np.sqrt(32 * 65536) - 1) < 0.2
