"""NHL skaters: what a player scored in one season predicts what he scores in the next."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ebformer.errors import InputError
from ebformer.fielddata.holdout import Holdout
from ebformer.fielddata.sources import FilePath, find, read_columns, read_text

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
    files: Sequence[FilePath] = (), position: str = "all", count: str = "goals", data_dir: FilePath | None = None
) -> list[Holdout]:
    """One holdout for every two consecutive seasons, named by the first, from the players that are in both.

    `files` are compact tables (columns season, player_id, pos, gp, goals, points) or season pages of
    hockey-reference.com saved as CSV, with the year in their names; without any, those in the folder nhl/ of the data.
    """
    return holdouts(read(files or find(data_dir, "nhl/*.csv*")), position, count)


def holdouts(skaters: Iterable[SkaterSeason], position: str = "all", count: str = "goals") -> list[Holdout]:
    """Pair each season with the next; the position is asked of a player in each of the two.

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
    seasons: dict[int, dict[str, int]] = {}
    for skater in skaters:
        if skater.games > 0 and (kept is None or skater.position in kept):
            seasons.setdefault(skater.season, {})[skater.player] = getattr(skater, count)
    data = f"nhl {position}" if count == "goals" else f"nhl {position} {count}"
    paired = []
    for season in sorted(seasons):
        first, second = seasons[season], seasons.get(season + 1, {})
        if both := sorted(first.keys() & second.keys()):
            paired.append(Holdout.of([first[p] for p in both], [second[p] for p in both], data=data, case=str(season)))
    return paired


def read(files: Iterable[FilePath]) -> list[SkaterSeason]:
    """Every skater and season in compact tables or hockey-reference pages, told apart by their first line."""
    skaters: list[SkaterSeason] = []
    for path in map(Path, files):
        skaters += read_page(path) if _is_page(path) else _read_table(path)
    return skaters


def _is_page(path: Path) -> bool:
    return path.suffix == ".csv" and "player_id" not in read_text(path).partition("\n")[0]


def _read_table(path: Path) -> list[SkaterSeason]:
    columns = read_columns([path], ["season", "player_id", "pos", "gp", "goals", "points"])
    return [SkaterSeason(*row) for row in zip(*(column.tolist() for column in columns.values()), strict=True)]


def read_page(path: FilePath, season: int | None = None) -> list[SkaterSeason]:
    """One season page of hockey-reference.com ("Share & Export", "Get table as CSV").

    A line of group headings may come first. A traded player has one row per team and one for them together (team TOT,
    or 2TM, 3TM, ...): the last counts. Players are told apart by the page's own id where it has one ("Name\\id01" or a
    column Player-additional), otherwise by name and, where there is an age, year of birth, which keeps namesakes apart.
    """
    path = Path(path)
    if season is None:
        year = re.search(r"(?<!\d)(?:19|20)\d\d(?!\d)", path.stem)
        if year is None:
            raise InputError(
                f"the name of {path} has no year: name it after the season's last year, such as NHL_1990.csv"
            )
        season = int(year.group())
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
    for row in rows[heading + 1 :]:
        if len(row) <= at["PTS"] or not row[at["GP"]].isdigit() or row[at["Pos"]] in ("", "G"):
            continue  # a repeated heading, the league average, a goalkeeper
        name, _, player = row[at["Player"]].partition("\\")
        if identity is not None and len(row) > identity:
            player = row[identity]
        if not player:
            age = row[at["Age"]] if "Age" in at else ""
            player = name.rstrip("*") + (f" {season - int(age)}" if age.isdigit() else "")
        numbers = [int(row[at[column]] or 0) for column in ("GP", "G", "PTS")]
        total = team is not None and re.fullmatch(r"TOT|\d+TM", row[team]) is not None
        if player in found and not total:
            if player in whole:
                continue
            numbers = [a + b for a, b in zip(numbers, found[player][3:], strict=True)]
        found[player] = SkaterSeason(season, player, row[at["Pos"]], *numbers)
        if total:
            whole.add(player)
    return list(found.values())
