"""Eighteen batters after 45 at-bats in 1970, and what they hit in the rest of the season.

Efron and Morris 1975, "Data analysis using Stein's estimator and its generalizations", JASA 70, 311-319: on the arcsine
scale the James-Stein estimator keeps 0.209 of each distance from the mean, and its total squared error is 5.01 against
17.56 of the averages themselves, 3.50 times less. Efron and Morris 1977, "Stein's paradox in statistics", Scientific
American 236 (5): on the scale of the averages it keeps 0.212.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ebformer.channels.binomial import Binomial
from ebformer.channels.normal_prior import NormalPrior
from ebformer.estimators.catalogue import estimator
from ebformer.tally import Tally

pytestmark = pytest.mark.data

REST = 0.001 * np.array([346, 298, 276, 222, 273, 270, 263, 210, 269, 230, 264, 226, 303, 264, 256, 285, 316, 200])
"""Averages in the rest of the season, as published; the file has them too, but for Williams those of a namesake."""


@pytest.fixture(scope="module")
def hits(published: Callable) -> np.ndarray:
    table = published("classic/efron_morris_1970.csv")
    assert set(table["AtBats"]) == {45}
    williams = table["LastName"] == "Williams"
    assert table["RemainingAverage"][~williams] == pytest.approx(REST[~williams], abs=0.0016)
    return table["Hits"]


@pytest.fixture(scope="module")
def stable(hits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """sqrt(45) arcsin(2 p - 1) of the first 45 at-bats and of the rest: the stable coordinate in units of noise."""
    channel, trials = Binomial(), np.asarray(45.0)
    return tuple((channel.coordinate(p) - np.pi / 2) / channel.noise(trials) for p in (hits / 45, REST))


def james_stein(x: np.ndarray, variance: float = 1.0) -> tuple[np.ndarray, float]:
    """The positive-part estimator towards the mean, and the share of the distance from it that is kept."""
    share = max(0.0, 1 - (x.size - 3) * variance / ((x - x.mean()) ** 2).sum())
    return x.mean() + share * (x - x.mean()), share


def test_the_published_errors_of_james_and_stein(stable: tuple[np.ndarray, np.ndarray]) -> None:
    x, theta = stable
    assert x[[0, -1]] == pytest.approx([-1.35, -5.10], abs=0.01)
    estimates, share = james_stein(x)
    assert share == pytest.approx(0.209, abs=5e-4)
    total, shrunk = ((x - theta) ** 2).sum(), ((estimates - theta) ** 2).sum()
    assert (total, shrunk) == pytest.approx((17.56, 5.01), abs=0.02)
    assert total / shrunk == pytest.approx(3.50, abs=0.02)


def test_the_published_share_on_the_scale_of_averages(hits: np.ndarray) -> None:
    average = hits / 45
    _, share = james_stein(average, average.mean() * (1 - average.mean()) / 45)
    assert share == pytest.approx(0.212, abs=5e-4)


def test_the_normal_fit_is_james_and_steins_with_k_for_k_minus_3(stable: tuple[np.ndarray, np.ndarray]) -> None:
    x, theta = stable
    rule = estimator("normal")(Tally.of(x, se=1.0))
    spread = ((x - x.mean()) ** 2).sum()
    assert isinstance(rule.prior, NormalPrior)
    assert rule.prior.centre == pytest.approx(x.mean())
    assert rule(x) == pytest.approx(x.mean() + (1 - x.size / spread) * (x - x.mean()), rel=1e-9)
    assert ((x - theta) ** 2).sum() > 3 * ((rule(x) - theta) ** 2).sum()


@pytest.mark.parametrize("method", ["beta", "npmle", "npmle-em"])
def test_shrinkage_predicts_the_rest_of_the_season_three_times_better(hits: np.ndarray, method: str) -> None:
    average = hits / 45
    estimates = estimator(method)(Tally.of(hits, trials=45))(hits)
    assert ((average - REST) ** 2).sum() > 3 * ((estimates - REST) ** 2).sum()
    assert np.ptp(estimates) < 0.5 * np.ptp(average)
    assert np.all(np.diff(estimates) <= 1e-12)  # the file goes from the best batter to the worst
