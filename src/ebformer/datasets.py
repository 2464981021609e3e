"""Small tables to try things on: published ones of every channel, each with its source, and one simulated league.

The longer ones are files in `shipped/`. Sudden infant deaths: the counts are those of Cressie's table; of its
transcriptions one has 368 and another 386 non-white births in Chowan from 1974 to 1978, and the second is taken. The
map is cut from the county boundaries of the US Census Bureau (2017, public domain), rounded to 0.001 degrees; the
borders are the pairs of counties whose outlines meet on it. Batting averages: the information used here was obtained
free of charge from and is copyrighted by Retrosheet. Interested parties may contact Retrosheet at www.retrosheet.org.
Statins: counts of public reports of the 100 events that are reported most with statins and of every 25th other one;
the rest is added up in one row, so that all margins are those of the whole table.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.tables.columns import Columns

Table = dict[str, NDArray[Any]]
_SHIPPED = Path(__file__).with_name("shipped")

FILES = {"sids-borders": _SHIPPED / "sids-borders.csv", "sids-map": _SHIPPED / "sids-map.geojson"}
"""What goes with a table without being one of units: pairs of counties with a common border, and their outlines."""


@dataclass(frozen=True)
class Dataset:
    """A table of one row per unit, where it was published, and what its columns are, in the words of `shrink`.

    A `row` and a `column` among the words are those of `signals`.

    >>> DATASETS["batters"].words
    {'count': 'hits', 'trials': 'at_bats'}
    """

    name: str
    about: str
    source: str
    words: dict[str, str]
    table: Callable[[], Table]

    @property
    def columns(self) -> Columns:
        """The columns to shrink."""
        words: dict[str, Any] = {word: name for word, name in self.words.items() if word not in ("row", "column")}
        return Columns.named(**words)

    @property
    def options(self) -> str:
        """The columns as the command line names them."""
        return " ".join(f"--{word} {name}" for word, name in self.words.items())


def _read(name: str) -> Table:
    """The columns of a shipped file; those that hold digits only are numbers."""
    with (_SHIPPED / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    columns = (np.array(column) for column in zip(*rows, strict=True))
    return {
        title: column.astype(np.int64) if np.char.isdigit(column).all() else column
        for title, column in zip(header, columns, strict=True)
    }


def _statins() -> Table:
    wide = _read("statins")
    event = wide.pop("event")
    return {
        "drug": np.repeat(list(wide), event.size),
        "event": np.tile(event, len(wide)),
        "reports": np.concatenate(list(wide.values())),
    }


def _one_row_each(frequency: list[int], unit: str, count: str, first: int = 0) -> Callable[[], Table]:
    """A published frequency table of counts from the first on as one row per unit."""

    def table() -> Table:
        counts = first + np.repeat(np.arange(len(frequency)), frequency)
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


def _batters() -> Table:
    names = (
        "Roberto Clemente, Frank Robinson, Frank Howard, Jay Johnstone, Ken Berry, Jim Spencer, Don Kessinger, "
        "Luis Alvarado, Ron Santo, Ron Swoboda, Rico Petrocelli, Ellie Rodriguez, George Scott, Del Unser, "
        "Billy Williams, Bert Campaneris, Thurman Munson, Max Alvis"
    )
    hits = np.array([18, 17, 16, 15, 14, 14, 13, 12, 11, 11, 10, 10, 10, 10, 10, 9, 8, 7])
    at_bats = np.array([412, 471, 566, 320, 463, 511, 631, 183, 555, 245, 583, 231, 480, 322, 636, 603, 453, 115])
    season = np.array([145, 144, 160, 76, 128, 140, 168, 41, 148, 57, 152, 52, 142, 83, 205, 168, 137, 21])
    return {
        "batter": np.array(names.split(", ")),
        "hits": hits,
        "at_bats": np.full(18, 45),
        "later_hits": season - hits,
        "later_at_bats": at_bats - 45,
    }


def _schools() -> Table:
    return {
        "school": np.array(list("ABCDEFGH")),
        "effect": np.array([28, 8, -3, 7, -1, 1, 18, 12]),
        "error": np.array([15, 10, 16, 11, 9, 11, 10, 18]),
    }


BUTTERFLIES = [118, 74, 44, 24, 29, 22, 20, 19, 20, 15, 12, 14, 6, 12, 6, 9, 9, 6, 10, 10, 11, 5, 3, 3]


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
            {"count": "goals", "exposure": "games"},
            _league,
        ),
        Dataset(
            "claims",
            "yearly claims of 9,461 Belgian motor policies",
            "Thyrion (1960), La Royale Belge; Efron and Hastie (2016), Table 6.1",
            {"count": "claims"},
            _one_row_each([7840, 1317, 239, 42, 14, 4, 4, 1], "policy", "claims"),
        ),
        Dataset(
            "accidents",
            "accidents of 647 women at work on shells in five weeks",
            "Greenwood and Yule (1920)",
            {"count": "accidents"},
            _one_row_each([447, 132, 42, 21, 3, 2], "woman", "accidents"),
        ),
        Dataset(
            "horse-kicks",
            "deaths by horse kick in 200 corps-years of the Prussian cavalry: nothing to tell apart",
            "von Bortkiewicz (1898)",
            {"count": "deaths"},
            _one_row_each([109, 65, 22, 3, 1], "corps_year", "deaths"),
        ),
        Dataset(
            "pumps",
            "failures of 10 pumps of a nuclear plant over very unequal times",
            "Gaver and O'Muircheartaigh (1987)",
            {"count": "failures", "exposure": "thousand_hours"},
            _pumps,
        ),
        Dataset(
            "lip-cancer",
            "lip cancer in 56 districts of Scotland, with the cases expected from age",
            "Clayton and Kaldor (1987)",
            {"count": "cases", "exposure": "expected"},
            _lip_cancer,
        ),
        Dataset(
            "batters",
            "hits of 18 batters in their first 45 at-bats of 1970, and in the rest of the season",
            "Efron and Morris (1975)",
            {"count": "hits", "trials": "at_bats"},
            _batters,
        ),
        Dataset(
            "half-season",
            "hits of 572 players in the first half of the baseball season of 2005, and in the second",
            "Retrosheet; players with more than 10 at-bats in the first half, as in Brown (2008)",
            {"count": "hits", "trials": "at_bats"},
            lambda: _read("half-season"),
        ),
        Dataset(
            "sids",
            "sudden infant deaths and births in the 100 counties of North Carolina, 1974-78 and 1979-84",
            "Symons, Grimson and Yuan (1983); Cressie (1993), pages 386-389",
            {"count": "deaths_74", "exposure": "births_74"},
            lambda: _read("sids"),
        ),
        Dataset(
            "statins",
            "reports of 302 adverse events with six statins and with all other drugs",
            "FAERS, the reports that the US Food and Drug Administration publishes (2025)",
            {"row": "drug", "column": "event", "count": "reports"},
            _statins,
        ),
        Dataset(
            "schools",
            "effects of coaching on test scores in eight schools, with their standard errors",
            "Rubin (1981)",
            {"effect": "effect", "se": "error"},
            _schools,
        ),
        Dataset(
            "butterflies",
            "how often each of 501 species of Malayan butterflies was caught, those caught at most 24 times",
            "Fisher, Corbet and Williams (1943)",
            {"count": "caught", "zeros": "missing"},
            _one_row_each(BUTTERFLIES, "species", "caught", first=1),
        ),
    )
}
"""Every table by its name.

>>> table = DATASETS["pumps"].table()
>>> list(table), int(table["failures"].sum())
(['pump', 'failures', 'thousand_hours'], 75)
"""
