"""Test scores of 12,990 persons on 20 items, and of 130 of them (Lord and Cressie 1975, Sankhya B 37, 1-9).

They publish, for true scores, posterior means under a smooth estimated prior, and bounds: the least and the largest
posterior mean under any prior whose marginal is within the 95 % region of a chi-square test of the observed scores. So
the posterior means of every prior that fits must lie within the bounds; that is what the publication promises of ours.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from ebformer.bayes import log_marginal
from ebformer.estimators.catalogue import estimator
from ebformer.rule import Rule
from ebformer.tally import Tally

pytestmark = pytest.mark.data
ROUNDING = 5e-4
"""Three digits are published."""


@pytest.fixture(scope="module")
def table(published: Callable) -> dict[str, np.ndarray]:
    return published("classic/lord_cressie_tests.csv")


@pytest.fixture(scope="module")
def fitted(table: dict[str, np.ndarray]) -> dict[str, Rule]:
    everybody = Tally(table["score"], table["persons"].astype(int), trials=20)
    assert everybody.n == 12_990
    return {method: estimator(method)(everybody) for method in ("npmle", "npmle-em", "beta")}


def chi_square(table: dict[str, np.ndarray], rule: Rule) -> float:
    persons = table["persons"]
    expected = persons.sum() * np.exp(log_marginal(rule.prior, table["score"], trials=20))
    return float(((persons - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("method", ["npmle", "npmle-em"])
def test_posterior_means_lie_within_the_published_bounds(
    table: dict[str, np.ndarray], fitted: dict[str, Rule], method: str
) -> None:
    assert chi_square(table, fitted[method]) < stats.chi2.ppf(0.95, 20)
    bounded = np.isfinite(table["published_lower"])
    assert bounded.sum() == 13
    estimates = fitted[method](table["score"])[bounded]
    assert np.all(estimates >= table["published_lower"][bounded] - ROUNDING)
    assert np.all(estimates <= table["published_upper"][bounded] + ROUNDING)


@pytest.mark.parametrize(("method", "off"), [("npmle", 0.006), ("npmle-em", 0.006)])
def test_posterior_means_are_near_the_published_ones_where_the_persons_are(
    table: dict[str, np.ndarray], fitted: dict[str, Rule], method: str, off: float
) -> None:
    """The median width of the bounds is 0.03: the average person's mean differs by a fifth of that."""
    difference = np.abs(fitted[method](table["score"]) - table["published_mean"])
    assert np.average(difference, weights=table["persons"]) < off
    width = table["published_upper"] - table["published_lower"]
    assert np.all((difference <= width)[np.isfinite(width)])


def test_true_scores_have_the_mean_of_the_scores(table: dict[str, np.ndarray], fitted: dict[str, Rule]) -> None:
    """The NPMLE cannot gain by moving the log-odds of all: persons' posterior means add up to their scores."""
    score = np.average(table["score"] / 20, weights=table["persons"])
    assert np.average(table["published_mean"], weights=table["persons"]) == pytest.approx(score, abs=ROUNDING)
    assert np.average(fitted["npmle"](table["score"]), weights=table["persons"]) == pytest.approx(score, abs=1e-9)


def test_a_beta_prior_does_not_fit_and_leaves_the_bounds(table: dict[str, np.ndarray], fitted: dict[str, Rule]) -> None:
    assert chi_square(table, fitted["beta"]) > 10 * stats.chi2.ppf(0.95, 20)
    estimates = fitted["beta"](table["score"])
    outside = (estimates < table["published_lower"]) | (estimates > table["published_upper"])
    assert outside.sum() >= 4
    assert fitted["npmle"].log_likelihood > fitted["npmle-em"].log_likelihood > fitted["beta"].log_likelihood


@pytest.mark.parametrize("method", ["npmle", "npmle-em", "beta"])
def test_one_person_in_a_hundred_leaves_room_for_all_methods(table: dict[str, np.ndarray], method: str) -> None:
    rule = estimator(method)(Tally(table["score"], table["persons_small"].astype(int), trials=20))
    assert rule.units == 130
    bounded = np.isfinite(table["published_lower_small"])
    estimates = rule(table["score"])[bounded]
    assert np.all(estimates >= table["published_lower_small"][bounded] - ROUNDING)
    assert np.all(estimates <= table["published_upper_small"][bounded] + ROUNDING)
