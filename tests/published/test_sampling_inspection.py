"""Miscoded forms in 91 batches of which 42 each were looked at (Cressie and Seheult 1985, Biometrika 72, 451-458).

Their column EB estimates the defectives in a whole batch of N forms, x among the 42 and the rest predicted. Where x is
0 or 1, in 77 batches, it is x + (N - 42) p with p by Robbins' method: p / (1 - p) = (x + 1) / (42 - x) n(x + 1) / n(x)
from the numbers n of batches. Where x is 2 or more, which few batches show, they smooth it in a way not followed here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ebformer.bayes import log_marginal
from ebformer.estimators.catalogue import estimator
from ebformer.tally import Tally

pytestmark = pytest.mark.data
LOOKED_AT = 42


@pytest.fixture(scope="module")
def batches(published: Callable) -> dict[str, np.ndarray]:
    return published("classic/cressie_seheult.csv")


def test_the_published_estimates_are_robbins_where_batches_are_many(batches: dict[str, np.ndarray]) -> None:
    x, size = batches["Defectives"].astype(int), batches["Size"]
    many = np.bincount(x)
    assert many.sum() == 91
    few = x < 2
    assert few.sum() == 77
    odds = (x[few] + 1) / (LOOKED_AT - x[few]) * many[x[few] + 1] / many[x[few]]
    robbins = x[few] + (size[few] - LOOKED_AT) * odds / (1 + odds)
    assert np.round(robbins).tolist() == batches["EB"][few].tolist()


@pytest.mark.parametrize("method", ["npmle", "npmle-em", "beta"])
def test_fitted_priors_obey_the_identity_that_robbins_reads_off_the_batches(
    batches: dict[str, np.ndarray], method: str
) -> None:
    """E[theta / (1 - theta) | x] = (x + 1) / (m - x) f(x + 1) / f(x), for every prior and its own marginal f."""
    rule = estimator(method)(Tally.of(batches["Defectives"], trials=LOOKED_AT))
    x = np.arange(6)
    log_f = log_marginal(rule.prior, np.arange(7), trials=LOOKED_AT)
    identity = (x + 1) / (LOOKED_AT - x) * np.exp(np.diff(log_f))
    after = rule.posterior(x, trials=LOOKED_AT)
    odds = after.a / (after.b - 1) if method == "beta" else after.weights @ (after.atoms / (1 - after.atoms))
    assert odds == pytest.approx(identity, rel=1e-9)


@pytest.mark.parametrize("method", ["npmle", "npmle-em", "beta"])
def test_predicted_defectives_are_near_the_published_ones(batches: dict[str, np.ndarray], method: str) -> None:
    """Ours pool all batches, theirs the neighbours of x alone: they differ by 4 in 20 at most, and by 10 % in sum."""
    x, size = batches["Defectives"], batches["Size"]
    rule = estimator(method)(Tally.of(x, trials=LOOKED_AT))
    unseen = rule.predict(x, trials=LOOKED_AT, future=size - LOOKED_AT)
    assert x + unseen.mean == pytest.approx(batches["EB"], abs=4.5)
    assert (x + unseen.mean).sum() == pytest.approx(batches["EB"].sum(), rel=0.1)
    low, high = (x + end for end in unseen.interval(0.95))
    assert np.all((low <= batches["EB"]) & (batches["EB"] <= high))
