"""MLB: hits made by a batter, or allowed by a pitcher, in the first half of a season predict those in the second."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ebformer.channels import channel_named
from ebformer.errors import InputError
from ebformer.lab.fielddata.holdout import Holdout
from ebformer.lab.fielddata.sources import FilePath, given, read_columns

ROLES = ("bat", "pitch")
HIT = re.compile(r"S(?!B)|D(?!I)|T|H(?!P)")
"""A play that is a hit: single (not SB, a stolen base), double (not DI, indifference), triple, home run (not HP)."""


class HalfSeasons(NamedTuple):
    """One player in one role in both halves of a season."""

    season: int
    player: str
    role: str
    first: int
    second: int
    triples_first: int = 0
    triples_second: int = 0
    plate_first: int = 0
    plate_second: int = 0


class Game(NamedTuple):
    """One game: its id (home team, date, number of the day), its date as YYYYMMDD, and what (role, player) hit."""

    id: str
    date: int
    hits: Counter[tuple[str, str]]
    triples: Counter[tuple[str, str]]


def load(
    files: Sequence[FilePath] = (),
    role: str = "bat",
    triples: bool = True,
    data_dir: FilePath | None = None,
    exposure: bool = False,
) -> list[Holdout]:
    """One holdout for every season, from the players with at least one hit in it.

    `files` are compact tables (columns season, player_id, role, hits_first_half, hits_second_half, and the same of
    triples) or the Retrosheet event files (.EVA, .EVN) of all teams; without any, those in the folder mlb/ of the data.
    `triples=False` leaves triples out, as the parser behind the paper's pitchers does.
    """
    tables = "mlb/mlb_half_season_hits_*.csv"
    return holdouts(
        read(given(files, data_dir, tables, f"{tables}.gz", "mlb/*.EV[AN]"), exposure), role, triples, exposure
    )


def holdouts(
    players: Iterable[HalfSeasons], role: str = "bat", triples: bool = True, exposure: bool = False
) -> list[Holdout]:
    """Gather the players of one role by season.

    With `exposure`, hits are successes out of the plate appearances (batters faced) of each half, and who has none in
    one is left out.

    >>> holdouts([HalfSeasons(1990, "boggw001", "bat", 95, 92), HalfSeasons(1990, "clemr001", "bat", 0, 0)])
    [Holdout(mlb bat, 1990: 1 unit, ratio 1)]
    """
    if role not in ROLES:
        raise InputError(f"no role {role!r}: give {' or '.join(ROLES)}")
    seasons: dict[int, list[tuple[int, int, int, int]]] = {}
    for player in players:
        if player.role != role:
            continue
        first, second = player.first, player.second
        if not triples:
            first, second = first - player.triples_first, second - player.triples_second
        watched = player.plate_first, player.plate_second
        if first + second > 0 and (min(watched) > 0 or not exposure):
            seasons.setdefault(player.season, []).append((first, second, *watched))
    data = f"mlb {role}" + " without triples" * (not triples) + " per plate appearance" * exposure
    found = []
    for season, pairs in sorted(seasons.items()):
        x, y, *watched_each = np.array(pairs).T
        exposures = (*watched_each, channel_named("binomial")) if exposure else ()
        found.append(Holdout(x, y, np.ones_like(x), 1.0, data, str(season), *exposures))
    return found


def read(files: Iterable[FilePath], plate: bool = False) -> list[HalfSeasons]:
    """Every player, role and season in compact tables and event files; the postseason's (.EVE) are left out.

    Who is there twice is refused, since his hits would be too.
    """
    kinds = ("hits", "triples", "pa")[: 3 if plate else 2]
    halves = [f"{kind}_{half}_half" for kind in kinds for half in ("first", "second")]
    players: list[HalfSeasons] = []
    games: dict[str, Game] = {}
    for path in map(Path, files):
        if not re.fullmatch(r"\.EV[A-Z]", path.suffix.upper()):
            columns = read_columns([path], ["season", "player_id", "role", *halves])
            players += [
                HalfSeasons(*row) for row in zip(*(column.tolist() for column in columns.values()), strict=True)
            ]
        elif path.suffix.upper() != ".EVE":
            for game in read_games(path):
                if games.setdefault(game.id, game) is not game:
                    raise InputError(f"{path} has the game {game.id}, which was there before: give each file once")
    seasons: dict[int, list[Game]] = {}
    for game in games.values():
        seasons.setdefault(game.date // 10_000, []).append(game)
    players += [player for season in sorted(seasons) for player in halve(seasons[season])]
    seen = Counter((player.season, player.role, player.player) for player in players)
    if twice := next((key for key, times in seen.items() if times > 1), None):
        season, role, player_id = twice
        raise InputError(f"{player_id} ({role}) is in the season {season} twice: give each season in one kind of file")
    if not players:
        raise InputError("there is no game of the regular season: give the event files .EVA and .EVN of all teams")
    return players


def halve(games: Sequence[Game]) -> list[HalfSeasons]:
    """Add up the games of one season before its split date, and from it on."""
    split = split_date([game.date for game in games])
    sums: tuple[Counter[tuple[str, str]], ...] = (Counter(), Counter(), Counter(), Counter())
    for game in games:
        late = int(game.date >= split)
        sums[late].update(game.hits)
        sums[2 + late].update(game.triples)
    season, seen = games[0].date // 10_000, sorted(sums[0].keys() | sums[1].keys())
    return [HalfSeasons(season, player, role, *(s[role, player] for s in sums)) for role, player in seen]


def split_date(dates: Sequence[int]) -> int:
    """The first date before which at least floor(n / 2) of the n games were played, one date per game.

    >>> split_date([19900409, 19900409, 19900410, 19900412])
    19900410
    """
    played = Counter(dates)
    before = 0
    for date in sorted(played):
        if before >= len(dates) // 2:
            return date
        before += played[date]
    raise InputError(f"{len(dates)} games on {len(played)} dates leave no second half: give a whole season")


def read_games(path: FilePath) -> Iterator[Game]:
    """The games of a Retrosheet event file that are of the regular season, as all are whose type is not told.

    Records: `id` opens a game; `info,gametype` tells its type; `start` and `sub` put a player (fielding position 1:
    pitcher) on team 0 (visitors) or 1; `play,inning,team at bat,batter,count,pitches,event` is what happened. See
    www.retrosheet.org/eventfile.htm.
    """
    game, regular = None, True
    pitcher = {"0": "", "1": ""}
    with Path(path).open(encoding="latin-1") as lines:
        for number, line in enumerate(lines, 1):
            record, _, rest = line.rstrip("\r\n").partition(",")
            try:
                if record == "id":
                    if game is not None and regular:
                        yield game
                    game, regular = Game(rest.strip(), int(rest[3:11]), Counter(), Counter()), True
                    pitcher = {"0": "", "1": ""}
                elif record == "info" and rest.startswith("gametype,"):
                    regular = rest.strip().lower() == "gametype,regular"
                elif record in ("start", "sub"):
                    player, _, placed = rest.partition(",")
                    team, _, position = placed.rsplit(",", 3)[-3:]
                    if position.strip() == "1":
                        pitcher[team] = player
                elif record == "play":
                    _, team, batter, _, _, event = rest.split(",", 5)
                    if HIT.match(event) and game is not None:
                        for key in (("bat", batter), ("pitch", pitcher["1" if team == "0" else "0"])):
                            game.hits[key] += 1
                            game.triples[key] += event.startswith("T")
            except (ValueError, KeyError) as error:
                raise InputError(
                    f"{path}, line {number}: {line.strip()!r} is not a Retrosheet record: fetch the file again"
                ) from error
    if game is None:
        raise InputError(f"{path} holds no game: give a Retrosheet event file, whose games begin with a line id,...")
    if regular:
        yield game
