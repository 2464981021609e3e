"""Weighted on-base averages of 688 batters in 2022, as fitted in the article of the R package ebnm.

"An analysis of weighted on-base averages using the ebnm package" (Willwerscheid, Carbonetto and Stephens, vignette
baseball of ebnm 1.1-15): log-likelihoods 989.64 (normal prior), 992.6578 (unimodal), 994.193 (NPMLE on 95 points) and
994.2504 (on 529 points); posterior means, standard deviations and quantiles of the first six batters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from ebformer.channels.normal_prior import NormalPrior
from ebformer.estimators.catalogue import estimator
from ebformer.rule import Rule
from ebformer.tally import Tally

pytestmark = pytest.mark.data
SIX = ["Khalil Lee", "Chadwick Tromp", "Otto Lopez", "James Outman", "Matt Carpenter", "Aaron Judge"]
MEANS = [0.303, 0.308, 0.310, 0.311, 0.339, 0.394]
DEVIATIONS = [0.0287, 0.0286, 0.0283, 0.0282, 0.0254, 0.0184]
TENTH = [0.276, 0.276, 0.276, 0.276, 0.309, 0.419]
NINETIETH = [0.342, 0.342, 0.342, 0.342, 0.430, 0.430]


@pytest.fixture(scope="module")
def batters(published: Callable) -> dict[str, np.ndarray]:
    table = published("classic/woba_2022.csv")
    assert table["name"].size == 688
    assert table["name"][:6].tolist() == SIX
    return table


@pytest.fixture(scope="module")
def fitted(batters: dict[str, np.ndarray]) -> dict[str, Rule]:
    tally = Tally.of(batters["woba"], se=batters["se"])
    return {method: estimator(method)(tally) for method in ("normal", "npmle", "npmle-em")}


def test_the_published_normal_fit(batters: dict[str, np.ndarray], fitted: dict[str, Rule]) -> None:
    rule = fitted["normal"]
    assert rule.log_likelihood == pytest.approx(989.64, abs=0.005)
    after = rule.posterior(batters["woba"][:6], se=batters["se"][:6])
    assert after.mean == pytest.approx(MEANS, abs=5e-4)
    assert np.sqrt(after.variance) == pytest.approx(DEVIATIONS, abs=5e-5)


def test_an_independent_optimiser_finds_the_same_normal(
    batters: dict[str, np.ndarray], fitted: dict[str, Rule]
) -> None:
    x, s = batters["woba"], batters["se"]

    def loss(parameters: np.ndarray) -> float:
        return -float(norm.logpdf(x, parameters[0], np.hypot(s, np.exp(parameters[1]))).sum())

    options = {"xatol": 1e-11, "fatol": 1e-12, "maxiter": 4000}
    found = minimize(loss, [0.3, -3.0], method="Nelder-Mead", options=options)
    prior = fitted["normal"].prior
    assert isinstance(prior, NormalPrior)
    assert (prior.centre, prior.spread) == pytest.approx((found.x[0], np.exp(found.x[1])), rel=1e-6)
    assert fitted["normal"].log_likelihood == pytest.approx(-found.fun, rel=1e-12)


def test_the_npmle_is_likelier_than_every_published_fit(fitted: dict[str, Rule]) -> None:
    """Coarser grids and smaller families have less, and a grid of 95 points was made to lose less than 1."""
    found = fitted["npmle"].log_likelihood
    assert found >= 994.2504
    assert found <= 994.193 + 1
    assert found > 992.6578 > fitted["normal"].log_likelihood
    assert found - 0.5 < fitted["npmle-em"].log_likelihood <= found


def test_the_published_quantiles_are_those_of_the_npmle_but_for_its_grid(
    batters: dict[str, np.ndarray], fitted: dict[str, Rule]
) -> None:
    """The published fit has its atoms on 95 points that span the data."""
    x, s = batters["woba"], batters["se"]
    step = (x.max() - x.min()) / 94
    found = fitted["npmle"].posterior(x[:6], se=s[:6]).quantile([0.1, 0.9])
    assert found == pytest.approx(np.stack([TENTH, NINETIETH], axis=1), abs=step)


@pytest.mark.parametrize("method", ["normal", "npmle"])
def test_nothing_is_gained_by_moving_all_priors_atoms_alike(
    batters: dict[str, np.ndarray], fitted: dict[str, Rule], method: str
) -> None:
    """So the residuals x - E[theta | x], weighted by precision, add up to 0."""
    x, s = batters["woba"], batters["se"]
    pull = (x - fitted[method](x, se=s)) / s**2
    assert abs(pull.sum()) < 1e-8 * np.abs(pull).sum()
