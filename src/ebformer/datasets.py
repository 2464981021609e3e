"""Small tables to try things on: published counts, each with its source, and one simulated league."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Dataset:
    """A table of one row per unit, where it was published, and which columns hold counts and exposures."""

    name: str
    about: str
    source: str
    count: str
    exposure: str | None
    table: Callable[[], Table]


def _one_row_each(frequency: list[int], unit: str, count: str) -> Callable[[], Table]:
    """A published frequency table of counts 0, 1, 2, ... as one row per unit."""

    def table() -> Table:
        counts = np.repeat(np.arange(len(frequency)), frequency)
        return {unit: np.arange(1, counts.size + 1), count: counts}

    return table


def _pumps() -> Table:
    return {
        "pump": np.arange(1, 11),
        "failures": np.array([5, 1, 5, 14, 3, 19, 1, 1, 4, 22]),
        "thousand_hours": np.array([94.3, 15.7, 62.9, 126.0, 5.24, 31.4, 1.05, 1.05, 2.1, 10.5]),
    }


def _lip_cancer() -> Table:
    observed = (
        "9 39 11 9 15 8 26 7 6 20 13 5 3 8 17 9 2 7 9 7 16 31 11 7 19 15 7 10 "
        "16 11 5 3 7 8 11 9 11 8 6 4 10 8 2 6 19 3 2 3 28 6 1 1 1 1 0 0"
    )
    expected = (
        "1.4 8.7 3.0 2.5 4.3 2.4 8.1 2.3 2.0 6.6 4.4 1.8 1.1 3.3 7.8 4.6 1.1 4.2 5.5 4.4 10.5 22.7 8.8 5.6 15.5 12.5 "
        "6.0 9.0 14.4 10.2 4.8 2.9 7.0 8.5 12.3 10.1 12.7 9.4 7.2 5.3 18.8 15.8 4.3 14.6 50.7 8.2 5.6 9.3 88.7 19.6 "
        "3.4 3.6 5.7 7.0 4.2 1.8"
    )
    return {
        "district": np.arange(1, 57),
        "cases": np.array(observed.split(), dtype=np.int64),
        "expected": np.array(expected.split(), dtype=np.float64),
    }


def _league() -> Table:
    rng = np.random.default_rng(1956)
    position = rng.choice(["defender", "midfielder", "forward"], size=600, p=[0.35, 0.4, 0.25])
    typical = np.select([position == "defender", position == "midfielder"], [0.03, 0.09], 0.28)
    rate = typical * rng.gamma(3.0, 1 / 3.0, size=600)
    games = np.minimum(1 + rng.geometric(0.05, size=600), 38)
    return {
        "player": np.array([f"player {number:03d}" for number in range(1, 601)]),
        "position": position,
        "games": games,
        "goals": rng.poisson(rate * games),
        "hidden_rate": rate.round(4),
    }


DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "league",
            "goals of 600 players of a simulated league, with the rate that nobody sees",
            "simulated: gamma rates around 0.03, 0.09 or 0.28 goals per game by position",
            "goals",
            "games",
            _league,
        ),
        Dataset(
            "claims",
            "yearly claims of 9,461 Belgian motor policies",
            "Thyrion (1960), La Royale Belge; Efron and Hastie (2016), Table 6.1",
            "claims",
            None,
            _one_row_each([7840, 1317, 239, 42, 14, 4, 4, 1], "policy", "claims"),
        ),
        Dataset(
            "accidents",
            "accidents of 647 women at work on shells in five weeks",
            "Greenwood and Yule (1920)",
            "accidents",
            None,
            _one_row_each([447, 132, 42, 21, 3, 2], "woman", "accidents"),
        ),
        Dataset(
            "horse-kicks",
            "deaths by horse kick in 200 corps-years of the Prussian cavalry: nothing to tell apart",
            "von Bortkiewicz (1898)",
            "deaths",
            None,
            _one_row_each([109, 65, 22, 3, 1], "corps_year", "deaths"),
        ),
        Dataset(
            "pumps",
            "failures of 10 pumps of a nuclear plant over very unequal times",
            "Gaver and O'Muircheartaigh (1987)",
            "failures",
            "thousand_hours",
            _pumps,
        ),
        Dataset(
            "lip-cancer",
            "lip cancer in 56 districts of Scotland, with the cases expected from age",
            "Clayton and Kaldor (1987)",
            "cases",
            "expected",
            _lip_cancer,
        ),
    )
}
"""Every table by its name.

>>> table = DATASETS["pumps"].table()
>>> list(table), int(table["failures"].sum())
(['pump', 'failures', 'thousand_hours'], 75)
"""
