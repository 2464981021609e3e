"""NHL skaters: what a player scored in one season predicts what he scores in the next."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ebformer.errors import InputError
from ebformer.lab.fielddata.holdout import Holdout
from ebformer.lab.fielddata.sources import FilePath, given, read_columns, read_text

POSITIONS = {"all": None, "defender": {"D"}, "center": {"C"}, "winger": {"LW", "RW", "W"}}
COUNTS = ("goals", "points")


class SkaterSeason(NamedTuple):
    """One player in one season, all his teams added up; a season is named by the year in which it ended."""

    season: int
    player: str
    position: str
    games: int
    goals: int
    points: int


def load(
    files: Sequence[FilePath] = (),
    position: str = "all",
    count: str = "goals",
    data_dir: FilePath | None = None,
    exposure: bool = False,
) -> list[Holdout]:
    """One holdout for every two consecutive seasons, named by the first, from the players that are in both.

    `files` are compact tables (columns season, player_id, pos, gp, goals, points) or season pages of
    hockey-reference.com saved as CSV, with the year in their names; without any, those in the folder nhl/ of the data.
    """
    return holdouts(read(given(files, data_dir, "nhl/*.csv", "nhl/*.csv.gz")), position, count, exposure)


def holdouts(
    skaters: Iterable[SkaterSeason], position: str = "all", count: str = "goals", exposure: bool = False
) -> list[Holdout]:
    """Pair each season with the next; the position is asked of a player in each of the two.

    With `exposure`, games played are that of each season.

    Seasons of which no two are consecutive are refused, and so are consecutive ones without a player in common.

    >>> scored = {1990: 40, 1991: 41, 1993: 16}
    >>> holdouts([SkaterSeason(year, "gretzwa01", "C", 78, scored[year], 150) for year in scored], "center")
    [Holdout(nhl center, 1990: 1 unit, ratio 1)]
    """
    if position not in POSITIONS or count not in COUNTS:
        raise InputError(
            f"no position {position!r} with count {count!r}: "
            f"give one of {', '.join(POSITIONS)} and {' or '.join(COUNTS)}"
        )
    kept = POSITIONS[position]
    named: dict[int, set[str]] = {}
    seasons: dict[int, dict[str, tuple[int, int]]] = {}
    for skater in skaters:
        named.setdefault(skater.season, set()).add(skater.player)
        if skater.games > 0 and (kept is None or skater.position in kept):
            seasons.setdefault(skater.season, {})[skater.player] = getattr(skater, count), skater.games
    _check_pairs(named)
    data = f"nhl {position}" + f" {count}" * (count != "goals") + " per game" * exposure
    paired = []
    for season in sorted(seasons):
        first, second = seasons[season], seasons.get(season + 1, {})
        if both := sorted(first.keys() & second.keys()):
            looks = np.array([[*first[player], *second[player]] for player in both]).T
            exposures = (looks[1], looks[3]) if exposure else (None, None)
            one_each = np.ones(len(both), dtype=np.int64)
            paired.append(Holdout(looks[0], looks[2], one_each, 1.0, data, str(season), *exposures))
    return paired


def _check_pairs(players: dict[int, set[str]]) -> None:
    pairs = [(season, season + 1) for season in sorted(players) if season + 1 in players]
    if not pairs:
        found = ", ".join(map(str, sorted(players))) or "none"
        raise InputError(
            f"no two consecutive seasons are among those found ({found}): add the season after one of them"
        )
    for one, two in pairs:
        if players[one].isdisjoint(players[two]):
            raise InputError(
                f"the seasons {one} and {two} have no player in common: perhaps one of them was saved without the "
                "players' ids, or its year is another"
            )


def read(files: Iterable[FilePath]) -> list[SkaterSeason]:
    """Every skater and season in compact tables or hockey-reference pages, told apart by their first line.

    A season belongs to one file: players have other ids elsewhere, so that one of them could count twice.
    """
    skaters: list[SkaterSeason] = []
    source: dict[int, Path] = {}
    for path in map(Path, files):
        found = read_page(path) if _is_page(path) else _read_table(path)
        for season in sorted({skater.season for skater in found}):
            if source.setdefault(season, path) is not path:
                raise InputError(
                    f"the season {season} is in {source[season]} and in {path}: give each in one file only"
                )
        skaters += found
    return skaters


def _is_page(path: Path) -> bool:
    return path.suffix.lower() != ".parquet" and "player_id" not in read_text(path).partition("\n")[0]


def _together(one: SkaterSeason, two: SkaterSeason) -> SkaterSeason:
    """A player's season with two teams; the position is that with the second."""
    numbers = (a + b for a, b in zip(one[3:], two[3:], strict=True))
    return SkaterSeason(*two[:3], *numbers)


def _read_table(path: Path) -> list[SkaterSeason]:
    """The rows of a compact table; several of one player and season are his teams, and add up."""
    columns = read_columns([path], ["season", "player_id", "pos", "gp", "goals", "points"])
    found: dict[tuple[int, str], SkaterSeason] = {}
    for row in zip(*(column.tolist() for column in columns.values()), strict=True):
        skater = SkaterSeason(*row)
        key = (skater.season, skater.player)
        found[key] = _together(found[key], skater) if key in found else skater
    return list(found.values())


def read_page(path: FilePath, season: int | None = None) -> list[SkaterSeason]:
    """One season page of hockey-reference.com ("Share & Export", "Get table as CSV").

    A line of group headings may come first. A traded player has one row per team and one for them together (team TOT,
    or 2TM, 3TM, ...): the last counts. Players are told apart by the page's own id where it has one ("Name\\id01" or a
    column Player-additional), otherwise by name and, where there is an age, year of birth, which keeps namesakes apart.
    """
    path = Path(path)
    if season is None:
        season = season_of(path)
    rows = [[entry.strip() for entry in row] for row in csv.reader(io.StringIO(read_text(path), newline=""))]
    heading = next((i for i, row in enumerate(rows) if {"Player", "Pos", "GP", "G", "PTS"} <= set(row)), None)
    if heading is None:
        raise InputError(
            f"{path} has no line with Player, Pos, GP, G and PTS: save the skaters' page of one season as CSV"
        )
    # Headings repeat further right (goals and assists by strength): the first of each name is the season's total.
    at = {name: column for column, name in reversed(list(enumerate(rows[heading])))}
    team, identity = at.get("Team", at.get("Tm")), at.get("Player-additional", at.get("-9999"))
    found: dict[str, SkaterSeason] = {}
    whole: set[str] = set()
    for number, row in enumerate(rows[heading + 1 :], heading + 2):
        if len(row) <= at["PTS"] or row[at["Pos"]] in ("Pos", "", "G"):
            continue  # a repeated heading, the league average, a goalkeeper
        name, _, player = row[at["Player"]].partition("\\")
        if identity is not None and len(row) > identity:
            player = row[identity]
        if not player:
            age = _whole(row[at["Age"]]) if "Age" in at else None
            player = name.rstrip("*") + (f" {season - age}" if age else "")
        numbers = []
        for column in ("GP", "G", "PTS"):
            entry = _whole(row[at[column]])
            if entry is None:
                raise InputError(
                    f"{path}, line {number}: {row[at[column]]!r} under {column} is no whole number: correct it"
                )
            numbers.append(entry)
        skater = SkaterSeason(season, player, row[at["Pos"]], *numbers)
        if team is not None and re.fullmatch(r"TOT|\d+TM", row[team]):
            whole.add(player)
        elif player in whole:
            continue
        elif player in found:
            skater = _together(found[player], skater)
        found[player] = skater
    return list(found.values())


def season_of(path: FilePath) -> int:
    """The year in a file's name in which the season ended, as hockey-reference.com numbers seasons.

    >>> season_of("NHL_1990.csv"), season_of("NHL 1989-90.csv"), season_of("nhl_1999_2000_skaters.csv")
    (1990, 1990, 2000)
    """
    years = set()
    for first, second in re.findall(r"(?<!\d)((?:19|20)\d\d)(?:[-–_ ]((?:\d\d)?\d\d))?(?!\d)", Path(path).name):
        last = str(int(first) + 1)
        years |= {last} if second in (last, last[2:]) else {first, second} if len(second) == 4 else {first}
    if len(years) != 1:
        found = f"several years ({', '.join(sorted(years))})" if years else "no year"
        raise InputError(
            f"the name of {path} has {found}: name it after the year in which the season ended, such as NHL_1990.csv"
        )
    return int(years.pop())


def _whole(entry: str) -> int | None:
    """The whole number that an entry is, 0 where it is empty; pandas writes 3 as 3.0 where others are missing."""
    digits = re.fullmatch(r"(\d*)(?:\.0*)?", entry)
    return int(digits[1] or 0) if digits else None
