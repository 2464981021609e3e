"""A sabermetrician: hits out of real at-bats, and intervals that hold the batters' averages, the leaders' too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import pytest

import ebformer as eb

AVERAGES = eb.BetaPrior(99.0, 308.0)
SEASONS, LEADERS, LEVEL = range(1990, 1998), 20, 0.9


def covered(theta: np.ndarray, low: np.ndarray, high: np.ndarray, estimate: np.ndarray) -> list[float]:
    """The share of intervals that hold theta, of all units and of those with the highest estimates."""
    inside, leaders = (low <= theta) & (theta <= high), np.argsort(-estimate, kind="stable")[:LEADERS]
    return [float(inside.mean()), float(inside[leaders].mean())]


@pytest.mark.data
@pytest.mark.filterwarnings("ignore::ebformer.ModelWarning")
def test_intervals_hold_the_averages_of_all_batters_and_of_the_top_twenty(shared_data: Path) -> None:
    seasons = polars.read_csv(shared_data / "mlb" / "mlb_at_bats_1990_2009.csv.gz")
    batters = seasons.filter((polars.col("pitcher") == 0) & (polars.col("ab_first_half") > 0))
    rng, shares, lucks = np.random.default_rng(0), [], []
    for season in SEASONS:
        table = batters.filter(polars.col("season") == season)
        at_bats = table["ab_first_half"].to_numpy()
        theta = AVERAGES.draw(len(table), rng)
        table = table.with_columns(hits=polars.Series(rng.binomial(at_bats, theta)))
        found = eb.shrink(table, count="hits", trials="ab_first_half", interval=LEVEL)
        shares.append(covered(theta, *(found[name].to_numpy() for name in ("lower", "upper", "estimate"))))
        exact = AVERAGES.posterior(table["hits"].to_numpy().astype(float), at_bats.astype(float))
        lucks.append(covered(theta, *exact.interval(LEVEL), exact.mean))
    # The intervals of the true prior hold exactly 90 %: by what they miss it here is the luck of these seasons.
    everyone, leaders = np.mean(shares, axis=0) - (np.mean(lucks, axis=0) - LEVEL)
    assert 0.88 <= everyone <= 0.92
    assert 0.88 <= leaders <= 0.92
