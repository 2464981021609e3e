"""Proportions of few trials: which of many priors that are equally likely the NPMLE is."""

import numpy as np
import pytest
from scipy.stats import binom

import ebformer as eb
from ebformer.estimators.npmle.moments import fewest_atoms

RNG = np.random.default_rng(7)


def spread_out(size: int) -> eb.Prior:
    return eb.Prior(RNG.uniform(size=size), RNG.dirichlet(np.ones(size)))


@pytest.mark.parametrize("moments", range(1, 12))
def test_the_moments_stay_and_the_atoms_are_few(moments: int) -> None:
    for _ in range(20):
        prior = spread_out(30)
        fewest = fewest_atoms(prior, moments)
        powers = np.arange(moments + 1)[:, None]
        kept = (fewest.atoms**powers) @ fewest.weights
        assert np.allclose(kept, (prior.atoms**powers) @ prior.weights, rtol=0, atol=1e-12)
        assert fewest.atoms.size == (moments + 1) // 2 if moments % 2 else fewest.atoms.size <= moments + 2


@pytest.mark.parametrize("moments", range(1, 9))
def test_any_prior_with_these_moments_leads_to_the_same(moments: int) -> None:
    prior = spread_out(20)
    once = fewest_atoms(prior, moments)
    mixed = eb.Prior(np.concatenate([prior.atoms, once.atoms]), 0.5 * np.concatenate([prior.weights, once.weights]))
    again = fewest_atoms(mixed, moments)
    assert np.allclose(again.atoms, once.atoms, atol=1e-7)
    assert np.allclose(again.weights, once.weights, atol=1e-7)


def test_a_prior_that_is_the_only_one_with_its_moments_is_kept() -> None:
    prior = eb.Prior([0.0, 0.4, 1.0], [0.2, 0.5, 0.3])
    assert fewest_atoms(prior, 4) is prior
    assert fewest_atoms(prior, 50) is prior


def explained(prior: eb.Prior, trials: int) -> np.ndarray:
    """The probability of every number of successes."""
    return binom.pmf(np.arange(trials + 1)[:, None], trials, prior.atoms) @ prior.weights


@pytest.mark.parametrize("trials", [1, 2, 3, 4])
def test_npmle_matches_shares_that_a_prior_can_explain_and_knows_no_side(trials: int) -> None:
    x = RNG.binomial(trials, RNG.uniform(size=4000))
    rule = eb.estimator("npmle")(eb.Tally.of(x, trials, channel="binomial"))
    other = eb.estimator("npmle")(eb.Tally.of(trials - x, trials, channel="binomial"))
    asked = np.arange(trials + 1)
    shares = np.bincount(x, minlength=trials + 1) / x.size
    assert np.allclose(explained(rule.prior, trials), shares, atol=1e-9)
    assert np.allclose(rule(asked), 1.0 - other(trials - asked), atol=1e-9)


def test_npmle_moves_little_where_one_of_many_units_changes() -> None:
    """The optimum is a convex set here: whichever point of it a solver meets, the answer is the same continuous one."""
    found = []
    for ones in range(395, 405):
        x = np.repeat([0, 1, 2], [500, ones, 1000 - ones])
        found.append(eb.estimator("npmle")(eb.Tally.of(x, 2, channel="binomial"))(1))
    assert float(np.abs(np.diff(found)).max()) < 0.005
