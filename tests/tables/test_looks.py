"""Long tables: the last look is answered, and what was seen of a unit before counts as much as thetas keep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

import ebformer as eb
from ebformer.bayes.marginal import ENTRIES
from ebformer.cli import ebformer
from ebformer.drift.cells import MOST_CELLS
from ebformer.tables.columns import Columns
from ebformer.tables.frames import source_of
from ebformer.tables.shrink import shrink_table
from ebformer.tables.wanted import Wanted

pytestmark = pytest.mark.filterwarnings("ignore::ebformer.check.ModelWarning")

DRIFT = eb.Drift(0.2, 0.95, 0.2)
ASKED: dict[str, Any] = {"count": "goals", "exposure": "games", "unit": "player", "look": "season", "method": "gamma"}


def league(n: int, seasons: int, seen: float = 1.0, seed: int = 0) -> tuple[pl.DataFrame, list[Any]]:
    """A long table and the rates of every season."""
    rng = np.random.default_rng(seed)
    theta, rows, rates = rng.gamma(1.5, 6.0, n), [], []
    for season in range(2010, 2010 + seasons):
        games = rng.integers(20, 83, n) / 82
        rates.append(theta)
        rows.append(
            pl.DataFrame(
                {
                    "player": [f"p{i}" for i in range(n)],
                    "season": season,
                    "goals": rng.poisson(theta * games),
                    "games": games,
                }
            ).filter(pl.Series(rng.random(n) < seen))
        )
        afresh = rng.random(n) < 0.1
        theta = np.where(afresh, rng.gamma(1.5, 6.0, n), 0.89 * theta + 0.11 * 9.0) * rng.gamma(20.0, 1 / 20.0, n)
    return pl.concat(rows), rates


def test_every_unit_of_the_last_look_is_answered_as_the_rule_does_with_its_earlier_ones() -> None:
    table, _ = league(60, 3, seen=0.7)
    found = eb.shrink(table, **ASKED, drift=DRIFT, future=1.5)
    last = table.filter(pl.col("season") == 2012)
    assert found["player"].to_list() == last["player"].to_list()
    rule = eb.estimator("gamma")(eb.Tally.of(last["goals"], exposure=last["games"]))
    wide = last.select("player")
    for season in (2010, 2011):
        wide = wide.join(table.filter(pl.col("season") == season), on="player", how="left", maintain_order="left")
        wide = wide.rename({"goals": f"x{season}", "games": f"t{season}"}).drop("season")
    numbers = {name: wide[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in wide.columns[1:]}
    earlier = [(numbers[f"x{season}"], numbers[f"t{season}"]) for season in (2010, 2011)]
    seen = last["goals"].to_numpy(), last["games"].to_numpy()
    after = rule.posterior(*seen, drift=DRIFT, earlier=earlier)
    assert found["estimate"].to_numpy() == pytest.approx(after.mean)
    assert found["upper"].to_numpy() == pytest.approx(after.interval(0.9)[1])
    assert found["predicted"].to_numpy() == pytest.approx(rule.predict(*seen, 1.5, drift=DRIFT, earlier=earlier).mean)
    assert found["predicted_still"].to_numpy() == pytest.approx(1.5 * after.mean)


@pytest.mark.parametrize("home", ["pandas", "duckdb", "text", "shuffled"])
def test_every_home_answers_alike(home: str) -> None:
    table, _ = league(80, 3, seen=0.8)
    half = pl.col("goals") // 2
    teams = [table.with_columns(goals=goals, games=pl.col("games") / 2) for goals in (half, pl.col("goals") - half)]
    split = pl.concat(teams)  # two teams in a season add up
    homes: dict[str, Callable[[], Any]] = {
        "pandas": lambda: pd.DataFrame(split.to_dict(as_series=False)),
        "duckdb": lambda: duckdb.connect().from_arrow(split.to_arrow()),
        "text": lambda: table.with_columns(pl.col("season").cast(pl.String)),
        "shuffled": lambda: table.sample(fraction=1.0, shuffle=True, seed=1),
    }
    found = eb.shrink(homes[home](), **ASKED, future=1.0)
    frame = (found.pl() if home == "duckdb" else pl.DataFrame(found)).sort("player")
    plain = eb.shrink(table, **ASKED, future=1.0).sort("player")
    assert "ebformer_history" not in frame.columns
    for column in ("goals", "games", "estimate", "predicted", "predicted_upper"):
        assert frame[column].to_numpy() == pytest.approx(plain[column].to_numpy(), rel=1e-6), column


def test_three_looks_beat_two_and_two_beat_one_at_the_door() -> None:
    gains = []
    for seed in range(4):
        table, rates = league(1500, 3, seed=seed)
        last = table.filter(pl.col("season") == 2012)["player"].to_list()
        order = [int(name[1:]) for name in last]
        errors = []
        for first in (2012, 2011, 2010):
            found = eb.shrink(table.filter(pl.col("season") >= first), **ASKED, drift=DRIFT)
            errors.append(float(np.mean((found["estimate"].to_numpy() - rates[2][order]) ** 2)))
        gains.append([errors[0] - errors[1], errors[1] - errors[2]])
    mean, error = np.mean(gains, axis=0), np.std(gains, axis=0, ddof=1) / 2.0
    assert (mean > 3 * error).all()


def test_the_command_learns_the_drift_and_a_saved_fit_goes_on(tmp_path: Path) -> None:
    table, _ = league(150, 3, seen=0.9)
    table.write_csv(tmp_path / "long.csv")
    asked = ["--unit", "player", "--look", "season", "--future", "1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        columns = ["--count", "goals", "--exposure", "games", "--method", "gamma", "--save", "rule.json"]
        done = CliRunner().invoke(ebformer, ["estimate", "long.csv", *columns, *asked, "-o", "out.csv"])
        assert done.exit_code == 0, done.output
        assert "From one season to the next" in done.output
        again = CliRunner().invoke(
            ebformer, ["apply", "rule.json", "long.csv", *asked, "--drift", "typical", "-o", "b.csv"]
        )
        assert again.exit_code == 0, again.output
    found, plain = pl.read_csv(tmp_path / "out.csv"), eb.shrink(table, **ASKED, future=1.0)
    assert found.sort("player")["predicted"].to_numpy() == pytest.approx(plain.sort("player")["predicted"].to_numpy())
    assert pl.read_csv(tmp_path / "b.csv").height == found.height


def test_what_cannot_be_looks_is_named() -> None:
    table, _ = league(5, 2)
    with pytest.raises(eb.InputError, match="name the column of units too"):
        eb.shrink(table, "goals", "games", look="season", method="gamma")
    for taken in ("player", "goals", "games"):
        with pytest.raises(eb.InputError, match=f"'{taken}' cannot be the look"):
            eb.shrink(table, **ASKED | {"look": taken})
    for none in (None, "NaN", "na", " "):  # no look, and least of all the last one
        looks = pl.Series([none, *table["season"].cast(pl.String)[1:]])
        with pytest.raises(eb.InputError, match="a row does not say which look it is of: fill in column 'season'"):
            eb.shrink(table.with_columns(season=looks), **ASKED)
    frame = pd.DataFrame({"player": ["a", "b"], "season": [1, 1], "goals": [1, 2], "games": [1.0, 1.0]})
    assert len(eb.shrink(frame, **ASKED)) == 2  # one look has no history


@pytest.mark.parametrize(
    "home", [pl.DataFrame, pd.DataFrame, lambda table: duckdb.from_arrow(pl.DataFrame(table).to_arrow())]
)
def test_units_are_called_as_in_the_last_look(home: Callable[[Any], Any]) -> None:
    table, _ = league(20, 2)
    names = [f"{player} of {season}" for player, season in zip(table["player"], table["season"], strict=True)]
    named = table.with_columns(name=pl.Series(names))
    found, plain = (
        eb.shrink(home(each.to_dict(as_series=False)), **ASKED, **more, drift=DRIFT)
        for each, more in ((named, {"label": "name"}), (table, {}))
    )
    found, plain = (
        each.pl() if isinstance(each, duckdb.DuckDBPyRelation) else pl.DataFrame(each) for each in (found, plain)
    )
    assert found["name"].to_list() == [f"{player} of 2011" for player in found["player"]]
    assert found.drop("name").equals(plain)


def test_a_unit_keeps_its_history_when_it_changes_groups() -> None:
    """With one prior for all, clubs change nothing: not for those who changed between looks, nor within one."""
    table, _ = league(60, 3, seen=0.8)
    half = pl.col("goals") // 2
    swapped = pl.col("player").is_in(["p1", "p2", "p3"]) & (pl.col("season") < 2012)
    parts = [table.with_columns(goals=goals, games=pl.col("games") / 2) for goals in (half, pl.col("goals") - half)]
    early = pl.col("season") < 2012
    clubs = pl.concat(
        [
            parts[0].filter(early).with_columns(club=pl.when(swapped).then(pl.lit("old")).otherwise(pl.lit("new"))),
            parts[1].filter(early).with_columns(club=pl.lit("new")),
            table.filter(~early).with_columns(club=pl.lit("new")),
        ]
    )
    plain, found = eb.shrink(table, **ASKED, future=1.0), eb.shrink(clubs, **ASKED, group="club", future=1.0)
    assert found["player"].to_list() == plain["player"].to_list()
    for column in ("estimate", "predicted", "predicted_upper"):
        assert found[column].to_numpy() == pytest.approx(plain[column].to_numpy(), rel=1e-9), column


@pytest.mark.parametrize("keyword", ["exposure", "trials"])
def test_a_look_of_no_games_is_none(keyword: str) -> None:
    """Earlier looks in which a unit did not play change nothing; in the last, earlier ones and the prior answer."""
    table, _ = league(60, 3, seen=0.8)
    table = table.with_columns(games=(82 * pl.col("games")).round())
    table = table.with_columns(goals=pl.min_horizontal("goals", "games").cast(pl.Int64))
    idle = pl.DataFrame({"player": ["p1", "p2", "new"], "season": [2009, 2009, 2012], "goals": 0, "games": 0.0})
    asked = {"count": "goals", keyword: "games", "unit": "player", "look": "season", "method": "priorformer"}
    longer = pl.concat([table, idle], how="vertical_relaxed")
    plain, found = eb.shrink(table, **asked), eb.shrink(longer, **asked)
    assert found["estimate"][:-1].to_numpy() == pytest.approx(plain["estimate"].to_numpy(), rel=1e-9)
    assert found["estimate"].min() < found["estimate"][-1] < found["estimate"].max()
    assert found["games"].dtype.is_integer() == (keyword == "trials")


def test_what_is_left_out_or_assumed_is_said() -> None:
    """Who is gone is left out; and one look alone teaches no drift."""
    table, _ = league(40, 2)
    clubs = table.filter((pl.col("player") != "p0") | (pl.col("season") == 2010)).with_columns(club=pl.lit("new"))
    fit = eb.fit(clubs, "goals", "games", group="club", unit="player", method="gamma")
    said = said_about(clubs, fit, DRIFT)
    assert any(remark.startswith("1 unit was not seen") for remark in said)
    last = clubs.filter(pl.col("season") == 2011)
    assert any("typical" in remark for remark in said_about(last, fit, None))
    assert not any("typical" in remark for remark in said_about(last, fit, DRIFT) + said_about(clubs, fit, None))


def said_about(table: pl.DataFrame, fit: Any, drift: eb.Drift | None) -> list[str]:
    columns = Columns("goals", "games", "club", unit="player", look="season")
    return shrink_table(source_of(table), columns, fit, Wanted(drift=drift), "explain").remarks


LONG = "a" * 10**7
"""A thousand texts as long as this are ten billion letters."""


def test_one_long_name_among_many_takes_no_memory_but_its_own() -> None:
    table, _ = league(1000, 2)
    other = {"p7": LONG}
    renamed = table.with_columns(pl.col("player").replace(other), season=pl.col("season").cast(pl.String))
    plain, long = (eb.shrink(each, **ASKED, drift=DRIFT) for each in (table, renamed))
    assert long["player"].replace({LONG: "p7"}).to_list() == plain["player"].to_list()
    assert long["estimate"].to_list() == plain["estimate"].to_list()


def test_units_are_answered_in_blocks_that_fit_into_memory_as_if_in_one() -> None:
    """Posteriors of thetas that move live on cells, whatever the prior."""
    table, _ = league(5000, 2)
    shrunken = shrink_table(
        source_of(table),
        Columns.named("goals", None, None, "player", "season", exposure="games"),
        eb.estimator("gamma"),
        Wanted(drift=DRIFT),
    )
    asked = shrunken.fit.questions(shrunken.observations)
    blocks = [at for _, at in asked.blocks(MOST_CELLS)]
    assert all((at.stop - at.start) * MOST_CELLS <= ENTRIES for at in blocks)
    assert np.concatenate([np.r_[at] for at in blocks]).tolist() == list(range(asked.first.size))
    assert len(blocks) > 1
