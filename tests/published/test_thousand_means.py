"""A thousand normal means, k of them at mu and the rest at 0 (Johnstone and Silverman 2004, Annals of Statistics 32).

The figures are those of the NPMLE of the R package ebnm 1.1-38 on 40 samples of each kind, measured for this project:
sums of squared errors. They are means of noisy numbers, as ours are, so that agreement means five standard errors.
"""

from __future__ import annotations

import numpy as np
import pytest

from ebformer.estimators.catalogue import estimator
from ebformer.tally import Tally

EBNM = {5: (33, 35, 20, 7.4), 50: (159, 103, 52, 14), 500: (464, 265, 136, 17)}
"""Sums of squared errors at mu = 3, 4, 5, 7, by k."""
SAMPLES = 30


def errors(k: int, mu: float, rng: np.random.Generator) -> np.ndarray:
    """The sum of squared errors of the certified NPMLE, sample by sample."""
    theta, found = np.where(np.arange(1000) < k, mu, 0.0), []
    for _ in range(SAMPLES):
        x = rng.normal(theta, 1.0)
        rule = estimator("npmle")(Tally.of(x, se=1.0))
        found.append(((rule(x) - theta) ** 2).sum())
    return np.array(found)


def test_the_npmle_pays_what_that_of_ebnm_pays() -> None:
    rng, total, variance = np.random.default_rng(1), 0.0, 0.0
    for k, published in EBNM.items():
        for mu, expected in zip((3.0, 4.0, 5.0, 7.0), published, strict=True):
            paid = errors(k, mu, rng)
            both = paid.var() * (1 / SAMPLES + 1 / 40)
            assert abs(paid.mean() - expected) <= 5 * np.sqrt(both) + 0.5
            total, variance = total + paid.mean(), variance + both
    assert total == pytest.approx(1306, abs=5 * np.sqrt(variance))
    assert np.sqrt(variance) < 0.02 * total
