"""What covariates are worth: hockey, baseball, batting averages, a million rows.

python benchmarks/covariates.py nhl               # next season's goals per game: ../shared/data
python benchmarks/covariates.py mlb               # second half's hits per plate appearance: ../shared/data
python benchmarks/covariates.py season            # half of this season's goals from the other half: ../shared/data
python benchmarks/covariates.py halves            # batting averages with at-bats as covariate: ../shared/data
python benchmarks/covariates.py million           # seconds for 10^6 rows
python benchmarks/covariates.py chance            # how often two covariates of pure chance are believed

Gains are in points of RMSE over the raw rates, units weighted by what is seen of them later, as in docs/realdata.md;
intervals are 95 %, over seasons. `--every 3` takes every third season, `--of winger` one set of players.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import ebformer as eb

REGRESSION = "trees"
DATA = Path(os.environ.get("EBFORMER_DATA", Path(__file__).parents[2] / "shared/data"))
POSITIONS = {"all": ["C", "LW", "RW", "D"], "defender": ["D"], "center": ["C"], "winger": ["LW", "RW"]}
HOCKEY = {
    "position, seasons, games so far": ["pos", "seasons", "games_so_far"],
    "position, seasons, games this season": ["pos", "seasons", "gp"],
    "position, seasons, both games": ["pos", "seasons", "games_so_far", "gp"],
    "position, seasons, games, rate so far": ["pos", "seasons", "games_so_far", "rate_so_far"],
    "all of these": ["pos", "seasons", "games_so_far", "rate_so_far", "gp"],
}
BASEBALL = {
    "seasons, appearances so far": ["seasons", "pa_so_far"],
    "seasons, appearances this half": ["seasons", "pa_first_half"],
    "seasons, appearances, rate so far": ["seasons", "pa_so_far", "rate_so_far"],
    "all of these": ["seasons", "pa_so_far", "rate_so_far", "pa_first_half"],
}


def with_past(rows: pl.DataFrame, count: str, known: str, called: str) -> pl.DataFrame:
    """Seasons, games or plate appearances before this season and the rate in them, which newcomers have not."""
    own = "player_id"
    before = {name: pl.col(name).cum_sum().over(own) - pl.col(name) for name in (count, known)}
    return rows.sort(own, "season").with_columns(
        (pl.col("season").cum_count().over(own) - 1).alias("seasons"),
        before[known].alias(called),
        pl.when(before[known] > 0).then(before[count] / before[known]).alias("rate_so_far"),
    )


def gains(x: str, known: str, later: str, future: str, cases: list[pl.DataFrame], sets: dict[str, list[str]]) -> str:
    """The gain over raw rates without covariates and with each set of them, and the paired difference."""
    found = []
    for case in cases:
        y, weight = (case[later] / case[future]).to_numpy(), case[future].to_numpy()
        told = [estimates(case, count=x, exposure=known)]
        told += [estimates(case, count=x, exposure=known, covariates=names) for names in sets.values()]
        raw = (case[x] / case[known]).to_numpy()
        error = [np.sqrt(np.sum(weight * (each - y) ** 2)) for each in (raw, *told)]
        found.append([100 * (1 - each / error[0]) for each in error[1:]])
    points = np.array(found)
    plain = points[:, 0]
    lines = [f"    without covariates {plain.mean():6.2f}, {len(cases)} cases"]
    for i, name in enumerate(sets, 1):
        apart = points[:, i] - plain
        wide = 1.96 * apart.std(ddof=1) / np.sqrt(len(apart))
        lines.append(f"    {name:42} {points[:, i].mean():6.2f}, {apart.mean():+.2f} ± {wide:.2f}")
    return "\n".join(lines)


def estimates(table: pl.DataFrame, **named: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = {"regression": REGRESSION} if "covariates" in named else {}
        return eb.shrink(table, **named, **told)["estimate"].to_numpy()


def nhl(every: int, of: str | None) -> None:
    rows = pl.read_csv(DATA / "nhl/nhl_skaters_1990_2012.csv.gz")
    rows = with_past(rows, "goals", "gp", "games_so_far")
    for position, kept in POSITIONS.items() if of is None else [(of, POSITIONS[of])]:
        some, cases = rows.filter(pl.col("pos").is_in(kept)), []
        for season in range(1991, 2012, every):
            first, second = (some.filter(pl.col("season") == year) for year in (season, season + 1))
            both = first.join(second, on="player_id", suffix="_later")
            if both.height:
                cases.append(both)
        print(f"NHL {position}\n{gains('goals', 'gp', 'goals_later', 'gp_later', cases, HOCKEY)}", flush=True)


def season(every: int, of: str | None) -> None:
    """The goals of those who are back next season, dealt out at random to two halves of this season's games."""
    rows = with_past(pl.read_csv(DATA / "nhl/nhl_skaters_1990_2012.csv.gz"), "goals", "gp", "games_so_far")
    rng = np.random.default_rng(7)
    for position, kept in POSITIONS.items() if of is None else [(of, POSITIONS[of])]:
        some, cases = rows.filter(pl.col("pos").is_in(kept) & (pl.col("gp") >= 2)), []
        for year in range(1991, 2012, every):
            back = rows.filter(pl.col("season") == year + 1).select("player_id")
            both = some.filter(pl.col("season") == year).join(back, on="player_id", how="semi")
            if both.height:
                goals, games = both["goals"].to_numpy(), both["gp"].to_numpy()
                first = (games + 1) // 2
                seen = rng.binomial(goals, first / games)
                halves = {"seen": seen, "in": first, "unseen": goals - seen, "of": games - first}
                cases.append(both.with_columns(**{name: pl.Series(each) for name, each in halves.items()}))
        sets = dict([next(iter(HOCKEY.items()))])
        print(f"NHL {position}, this season\n{gains('seen', 'in', 'unseen', 'of', cases, sets)}", flush=True)


def mlb(every: int, of: str | None) -> None:
    rows = pl.read_csv(DATA / "mlb/mlb_half_season_hits_1990_2009.csv.gz")
    for role in ("bat", "pitch") if of is None else [of]:
        some = rows.filter((pl.col("role") == role) & (pl.col("pa_first_half") > 0) & (pl.col("pa_second_half") > 0))
        whole = some.with_columns(
            (pl.col("hits_first_half") + pl.col("hits_second_half")).alias("hits"),
            (pl.col("pa_first_half") + pl.col("pa_second_half")).alias("pa"),
        )
        some = with_past(whole, "hits", "pa", "pa_so_far")
        cases = [some.filter(pl.col("season") == season) for season in range(1991, 2010, every)]
        looks = ("hits_first_half", "pa_first_half", "hits_second_half", "pa_second_half")
        print(f"MLB {role}\n{gains(*looks, cases, BASEBALL)}", flush=True)


def halves(every: int, of: str | None) -> None:
    """Squared error of second-half batting averages less their noise, over that of the first half itself."""
    rows = pl.read_csv(DATA / "mlb/mlb_at_bats_1990_2009.csv.gz")
    rows = rows.filter((pl.col("ab_first_half") > 10) & (pl.col("ab_second_half") > 10))
    for pitcher, who in ((0, "batters"), (1, "pitchers")):
        found = []
        for season in range(1990, 2010, every):
            one = rows.filter((pl.col("pitcher") == pitcher) & (pl.col("season") == season))
            m, x, later, hits = (
                one[name].to_numpy()
                for name in ("ab_first_half", "hits_first_half", "ab_second_half", "hits_second_half")
            )
            second = hits / later
            noise = float(np.sum(second * (1 - second) / (later - 1)))
            named = {"count": "hits_first_half", "trials": "ab_first_half"}
            told = [
                x / m,
                estimates(one, **named, method="beta"),
                estimates(one, **named),
                estimates(one, **named, covariates=["ab_first_half"]),
            ]
            found.append([np.sum((each - second) ** 2) - noise for each in told])
        errors = np.array(found)  # over the raw error of all seasons: that of one may be next to none
        beta, plain, told = (errors[:, i] / errors[:, 0].mean() for i in (1, 2, 3))
        wide = 1.96 * (told - beta).std(ddof=1) / np.sqrt(len(found))
        print(
            f"{who}, {len(found)} seasons: beta {beta.mean():.4f}, priorformer {plain.mean():.4f}, at-bats as "
            f"covariate {told.mean():.4f}, less beta {(told - beta).mean():+.4f} ± {wide:.4f}",
            flush=True,
        )


def million(every: int, of: str | None) -> None:
    rng, n = np.random.default_rng(0), 10**6
    age, position, price = rng.integers(18, 40, n), rng.choice(["C", "D", "W"], n), rng.lognormal(size=n).round(2)
    games = rng.integers(1, 83, n)
    rate = np.exp(-1 + 0.05 * (age - 28) - 0.8 * (position == "D") + 0.3 * rng.normal(size=n))
    goals = rng.poisson(games * rate)
    table = pl.DataFrame({"goals": goals, "games": games, "age": age, "position": position, "price": price})
    started, worked = time.perf_counter(), time.process_time()
    found = estimates(table, count="goals", exposure="games", covariates=["age", "position", "price"])
    seconds, own = time.perf_counter() - started, time.process_time() - worked
    error = [np.sqrt(np.mean((each - rate) ** 2)) for each in (goals / games, found)]
    print(f"{n:,} rows: {seconds:.0f} s by the clock, {own:.0f} s of processor; RMSE {error[0]:.4f} -> {error[1]:.4f}")


def chance(every: int, of: str | None) -> None:
    """Tables of 500 units with a number and a category that have nothing to do with them: in how many they tell."""
    tables = range(0, 100, every)
    for name in ("counts", "proportions", "effects", "effects, most of them 0"):
        believed = 0
        for number in tables:
            rng, n = np.random.default_rng([500, number]), 500
            if name == "counts":
                known = rng.integers(1, 83, n)
                seen = {"count": rng.poisson(known * rng.gamma(2.0, 0.1, n)), "exposure": known}
            elif name == "proportions":
                known = rng.integers(10, 200, n)
                seen = {"count": rng.binomial(known, rng.beta(2.0, 8.0, n)), "trials": known}
            else:
                theta = rng.normal(size=n) * (1.0 if name == "effects" else 2.0 * (rng.random(n) < 0.1))
                seen = {"effect": rng.normal(theta, 1.0), "se": np.ones(n)}
            table = pl.DataFrame({**seen, "number": rng.normal(size=n), "category": rng.choice(list("pqrs"), n)})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                named: Any = {key: key for key in seen}
                fit = eb.fit(table, **named, covariates=["number", "category"], regression=REGRESSION)
            believed += fit.moves
        print(f"{name}: covariates of chance are believed in {believed} of {len(tables)} tables", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["nhl", "season", "mlb", "halves", "million", "chance"])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--of", choices=[*POSITIONS, "bat", "pitch"])
    parser.add_argument("--regression", choices=["trees", "linear"], default="trees")
    given = parser.parse_args()
    REGRESSION = given.regression
    asked = {"nhl": nhl, "season": season, "mlb": mlb, "halves": halves, "million": million, "chance": chance}
    asked[given.what](given.every, given.of)
