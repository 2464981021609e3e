"""What will be known of each unit's next period may stand in a column: every row is answered as with that number."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import ebformer as eb
from ebformer.cli import ebformer
from ebformer.tables import observations

pytestmark = pytest.mark.filterwarnings("ignore::ebformer.check.ModelWarning")

WORDS: dict[str, dict[str, Any]] = {
    "poisson": {"count": "x", "exposure": "known"},
    "binomial": {"count": "x", "trials": "known"},
    "normal": {"effect": "x", "se": "known"},
}
HOMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "duckdb": lambda table: duckdb.connect().from_arrow(pa.table(table)),
}
CHOICES: dict[str, list[float]] = {"poisson": [0.0, 0.5, 7.5], "binomial": [0, 20, 400], "normal": [0.1, 1.0, 4.0]}
PREDICTED = ["predicted", "predicted_lower", "predicted_upper"]


def as_polars(frame: Any) -> pl.DataFrame:
    return (frame.pl() if isinstance(frame, duckdb.DuckDBPyRelation) else pl.DataFrame(frame)).sort("id")


def a_table(name: str, n: int = 300) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    if name == "poisson":
        known = rng.integers(1, 9, n) / 2
        return {"id": np.arange(n), "x": rng.poisson(rng.gamma(2.0, 1.0, n) * known), "known": known}
    if name == "binomial":
        trials = rng.integers(5, 60, n)
        return {"id": np.arange(n), "x": rng.binomial(trials, rng.beta(4.0, 9.0, n)), "known": trials}
    known = rng.uniform(0.3, 3.0, n).round(2)
    return {"id": np.arange(n), "x": rng.normal(rng.normal(0.0, 2.0, n), known), "known": known}


def with_future(name: str) -> dict[str, Any]:
    table = a_table(name)
    return table | {"ahead": np.random.default_rng(5).choice(CHOICES[name], len(table["id"]))}


@cache
def of_one_number(name: str, number: float, drift: eb.Drift | None) -> pl.DataFrame:
    """The answers where the same will be known of every row."""
    asked: dict[str, Any] = WORDS[name] | {"method": "npmle", "drift": drift}
    return as_polars(eb.shrink(pl.DataFrame(with_future(name)), **asked, future=number))


@pytest.mark.parametrize("drift", [None, eb.Drift(0.2, 0.9, 0.3, 0.1)])
@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("name", CHOICES)
def test_a_column_answers_each_row_as_its_number_does(name: str, home: str, drift: eb.Drift | None) -> None:
    table = with_future(name)
    asked: dict[str, Any] = WORDS[name] | {"method": "npmle", "drift": drift}
    found = as_polars(eb.shrink(HOMES[home](table), **asked, future="ahead"))
    # The cells on which effects move are as fine as the least noise of all rows asks for.
    near: dict[str, Any] = {"abs": 2e-3} if name == "normal" and drift else {"rel": 1e-12}
    for number in CHOICES[name]:
        alone = of_one_number(name, number, drift)
        rows = table["ahead"] == number
        for column in ["estimate", "upper", *PREDICTED, *(["predicted_still"] if drift else [])]:
            assert found[column].to_numpy()[rows] == pytest.approx(alone[column].to_numpy()[rows], **near), column


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("home", ["polars", "duckdb"])
def test_where_observations_are_binned_futures_are_too(name: str, home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = a_table(name)
    spread = np.random.default_rng(6).uniform(1.0, 30.0, len(table["id"]))
    table["ahead"] = np.ceil(1000 * spread) if name == "binomial" else spread
    if name != "normal":
        table["ahead"][:9] = 0.0
    asked: dict[str, Any] = WORDS[name] | {"method": "npmle", "future": "ahead"}
    exact = as_polars(eb.shrink(pl.DataFrame(table), **asked))
    monkeypatch.setattr(observations, "LIMIT", 100)
    binned = as_polars(eb.shrink(HOMES[home](table), **asked))
    assert not binned["predicted"].equals(exact["predicted"])
    for column in PREDICTED:
        spread = np.maximum(np.abs(exact[column].to_numpy()), 1.0)
        assert np.abs(binned[column].to_numpy() - exact[column].to_numpy()).max() < 0.1 * spread.max()


@pytest.mark.parametrize("home", HOMES)
def test_rows_of_a_unit_must_agree_on_its_future(home: str) -> None:
    table = {
        "id": np.array([1, 1, 2, 3]),
        "x": np.array([3, 4, 0, 9]),
        "games": np.array([2.0, 2.0, 2.0, 3.0]),
        "ahead": np.array([5.0, 5.0, 6.0, 7.0]),
    }
    asked: dict[str, Any] = {"count": "x", "exposure": "games", "unit": "id", "future": "ahead", "method": "gamma"}
    found = as_polars(eb.shrink(HOMES[home](table), **asked))
    assert found["ahead"].to_list() == [5.0, 6.0, 7.0]
    assert found["predicted"].to_numpy() == pytest.approx((found["estimate"] * found["ahead"]).to_numpy())
    with pytest.raises(eb.InputError, match="ahead is missing or not the same in all rows of a unit"):
        eb.shrink(HOMES[home](table | {"ahead": np.array([5.0, 5.5, 6.0, 7.0])}), **asked)


@pytest.mark.parametrize("home", HOMES)
def test_what_units_add_up_to_is_no_future_of_the_same_name(home: str) -> None:
    table = {"id": np.array([1, 1, 2, 3]), "x": np.array([3, 4, 0, 9]), "ahead": np.array([5.0, 5.0, 6.0, 7.0])}
    asked: dict[str, Any] = {"count": "x", "unit": "id", "method": "gamma"}
    one = as_polars(eb.shrink(HOMES[home](table), future="ahead", **asked))
    table["exposure"] = table.pop("ahead")
    other = as_polars(eb.shrink(HOMES[home](table), future="exposure", **asked))
    assert other["predicted"].to_numpy() == pytest.approx(one["predicted"].to_numpy())


@pytest.mark.parametrize("name", ["poisson", "binomial"])
def test_without_exposure_nothing_happens(name: str) -> None:
    found = eb.shrink(pl.DataFrame(a_table(name)), future=0.0, **WORDS[name])
    assert not found.select(PREDICTED).to_numpy().any()
    with pytest.raises(eb.InputError, match="standard error"):
        eb.shrink(pl.DataFrame(a_table("normal")), future=0.0, **WORDS["normal"])


def test_a_saved_fit_predicts_another_column(tmp_path: Path) -> None:
    table = pl.DataFrame(with_future("poisson"))
    table.write_csv(tmp_path / "now.csv")
    arguments = ["now.csv", "--count", "x", "--exposure", "known", "--method", "gamma", "--future", "ahead"]
    run = CliRunner()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        done = run.invoke(ebformer, ["estimate", *arguments, "--save", "rule.json", "-o", "out.csv"])
        assert done.exit_code == 0, done.output
        table.rename({"ahead": "games_next"}).write_csv("later.csv")
        done = run.invoke(ebformer, ["apply", "rule.json", "later.csv", "--future", "games_next", "-o", "again.csv"])
        assert done.exit_code == 0, done.output
    first, again = pl.read_csv(tmp_path / "out.csv"), pl.read_csv(tmp_path / "again.csv")
    assert again["predicted"].to_numpy() == pytest.approx(first["predicted"].to_numpy())
    assert first["predicted"].to_numpy() == pytest.approx((first["estimate"] * first["ahead"]).to_numpy())


def test_an_entry_that_cannot_be_known_is_named() -> None:
    frame = pl.DataFrame({"x": [1, 2, 3], "ahead": [1.0, -3.0, 2.0]})
    with pytest.raises(eb.InputError, match=r"row 2: ahead is -3\.0: give positive numbers"):
        eb.shrink(frame, "x", method="gamma", future="ahead")
    kept = eb.shrink(
        frame.with_columns(ahead=pl.Series([1.0, None, 2.0])), "x", method="gamma", future="ahead", missing="keep"
    )
    assert kept["predicted"].is_null().to_list() == [False, True, False]
