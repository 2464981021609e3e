"""Batting averages drawn from Beta(99, 308) at the real at-bats of a season: what 90 % intervals cover."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ebformer.estimators.catalogue import estimator
from ebformer.tally import Tally

pytestmark = pytest.mark.data


def test_beta_intervals_cover_what_they_say_and_those_of_counts_less(published: Callable) -> None:
    """Hits out of at-bats are no Poisson counts: as such, their intervals cover less, above all those of the best."""
    table = published("mlb/mlb_at_bats_1990_2009.csv.gz")
    trials = table["ab_first_half"][table["season"] == 2005]
    trials = trials[trials > 10]
    rng = np.random.default_rng(0)
    covered: dict[str, list[float]] = {"beta": [], "gamma": []}
    best: dict[str, list[float]] = {"beta": [], "gamma": []}
    for _ in range(8):
        theta = rng.beta(99.0, 308.0, trials.size)
        hits = rng.binomial(trials.astype(int), theta)
        for method, word in (("beta", "trials"), ("gamma", "exposure")):
            rule = estimator(method)(Tally.of(hits, **{word: trials}))
            low, high = rule.posterior(hits, **{word: trials}).interval(0.9)
            inside = (low <= theta) & (theta <= high)
            covered[method].append(inside.mean())
            best[method].append(inside[np.argsort(-rule(hits, **{word: trials}))[:20]].mean())
    assert 0.88 <= np.mean(covered["beta"]) <= 0.92
    assert 0.84 <= np.mean(best["beta"]) <= 0.96
    assert np.mean(covered["gamma"]) < np.mean(covered["beta"])
    assert np.mean(best["gamma"]) < np.mean(best["beta"])
