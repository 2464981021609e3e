"""Tacks, lymph nodes and rats: binomial counts of three well-known tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import betaln
from scipy.stats import binom

from convex_npmle import convex_program
from ebformer.channels.beta_prior import BetaPrior
from ebformer.estimators.catalogue import estimator
from ebformer.prior import Prior
from ebformer.rule import Rule
from ebformer.tally import Tally

TABLES = {"tacks.csv": ("up", "flips", 320), "surgery_nodes.csv": ("positive", "nodes_removed", 844)}
"""Beckett and Diaconis 1994 (320 runs of 9 flips of thumbtacks); Efron and Hastie 2016, section 6.3 (844 surgeries)."""


@pytest.fixture(scope="module", params=TABLES)
def tally(request: pytest.FixtureRequest, published: Callable) -> Tally:
    x, trials, n = TABLES[request.param]
    table = published(f"classic/{request.param}")
    assert table[x].size == n
    return Tally.of(table[x], trials=table[trials])


@pytest.fixture(scope="module")
def npmle(tally: Tally) -> Rule:
    return estimator("npmle")(tally)


def kernel(tally: Tally, theta: np.ndarray) -> np.ndarray:
    """p(x | theta) by scipy, relative to its largest value."""
    best = binom.pmf(tally.x, tally.known, tally.x / tally.known)
    return binom.pmf(tally.x[:, None], tally.known[:, None], theta) / best[:, None]


@pytest.mark.data
def test_a_dense_grid_finds_no_direction_that_improves_the_npmle(tally: Tally, npmle: Rule) -> None:
    """Lindsay's theorem: G is the NPMLE where D(theta) = mean p(x | theta) / f_G(x) is at most 1, for all theta."""
    assert npmle.convergence is not None
    assert npmle.convergence.reached
    assert isinstance(npmle.prior, Prior)
    weight = tally.multiplicity / tally.n / (kernel(tally, npmle.prior.atoms) @ npmle.prior.weights)
    d = weight @ kernel(tally, np.linspace(0, 1, 20_001))
    assert d.max() <= 1 + 1e-9
    assert weight @ kernel(tally, npmle.prior.atoms) == pytest.approx(1, abs=1e-8)


@pytest.mark.data
def test_an_independent_convex_solver_finds_the_same_likelihood(tally: Tally, npmle: Rule) -> None:
    assert isinstance(npmle.prior, Prior)
    theta = np.union1d(np.linspace(0, 1, 60), npmle.prior.atoms)
    q = tally.multiplicity / tally.n
    _, objective = convex_program(kernel(tally, theta), q)
    found = float(q @ np.log(kernel(tally, npmle.prior.atoms) @ npmle.prior.weights))
    assert objective - 1e-8 <= found <= objective + 1e-6  # the general solver stops a little short


@pytest.mark.data
def test_successes_are_kept_in_sum_and_families_are_less_likely(tally: Tally, npmle: Rule) -> None:
    """Nothing is gained by moving the log-odds of all atoms alike: m E[theta | x] adds up to the successes."""
    kept = tally.multiplicity @ (tally.known * npmle(tally.x, tally.known))
    assert kept == pytest.approx(tally.multiplicity @ tally.x, rel=1e-8)
    em, beta = estimator("npmle-em")(tally), estimator("beta")(tally)
    assert npmle.log_likelihood >= em.log_likelihood >= beta.log_likelihood
    assert npmle.log_likelihood - em.log_likelihood < 0.5


@pytest.mark.data
def test_an_independent_optimiser_finds_the_same_beta(tally: Tally) -> None:
    x, m, units = tally.x, tally.known, tally.multiplicity

    def loss(log_parameters: np.ndarray) -> float:
        a, b = np.exp(log_parameters)
        return -float(units @ (betaln(a + x, b + m - x) - betaln(a, b))) / tally.n

    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
    found = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options=options)
    prior = estimator("beta")(tally).prior
    assert isinstance(prior, BetaPrior)
    assert (prior.a, prior.b) == pytest.approx(tuple(np.exp(found.x)), rel=1e-5)


RATS = (
    "0/20 0/20 0/20 0/20 0/20 0/20 0/20 0/19 0/19 0/19 0/19 0/18 0/18 0/17 1/20 1/20 1/20 1/20 1/19 1/19 1/18 1/18 "
    "2/25 2/24 2/23 2/20 2/20 2/20 2/20 2/20 2/20 1/10 5/49 2/19 5/46 3/27 2/17 7/49 7/47 3/20 3/20 2/13 9/48 10/50 "
    "4/20 4/20 4/20 4/20 4/20 4/20 4/20 10/48 4/19 4/19 4/19 5/22 11/46 12/49 5/20 5/20 6/23 5/19 6/22 6/20 6/20 6/20 "
    "16/52 15/47 15/46 9/24"
)
"""Tumours in 70 groups of rats (Tarone 1982; Gelman et al., Bayesian Data Analysis, table 5.1)."""


def test_the_published_beta_of_the_rat_tumours() -> None:
    """Beta(2.304768, 14.079707), by a general optimiser in R to its tolerance.

    Mukhopadhyay and Fletcher 2018, "Generalized empirical Bayes via frequentist goodness of fit", Scientific Reports 8,
    9983, and the vignette of their package BayesGOF.
    """
    x, trials = zip(*(map(int, group.split("/")) for group in RATS.split()), strict=True)
    assert len(x) == 70
    prior = estimator("beta")(Tally.of(x, trials=trials)).prior
    assert isinstance(prior, BetaPrior)
    assert (prior.a, prior.b) == pytest.approx((2.304768, 14.079707), rel=2e-5)
