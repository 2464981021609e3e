"""Tables of every channel: each home gives the answers of the plain walk, binned or not, saved or not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ebformer as eb
from ebformer import selection
from ebformer.channels import channels
from ebformer.errors import InputError
from ebformer.networks import weights, zoo
from ebformer.point_null import pointed
from ebformer.tables import observations as module
from ebformer.tables.answers import asked_for
from ebformer.tables.columns import Columns
from ebformer.tables.fit import Fit
from ebformer.tables.frames import shrink, source_of
from ebformer.tables.keys import keys, unkeyed
from ebformer.tables.shrink import shrink_table
from ebformer.tables.sql import Sql
from ebformer.tables.wanted import Wanted
from ebformer.tally import Tally

pytestmark = pytest.mark.filterwarnings("ignore::ebformer.check.ModelWarning")

N = 300
WORDS: dict[str, dict[str, Any]] = {
    "poisson": {"count": "x", "exposure": "known"},
    "binomial": {"count": "x", "trials": "known"},
    "normal": {"effect": "x", "se": "known"},
    "zero-truncated": {"count": "x", "zeros": "missing"},
}
FUTURE = {"poisson": 2.0, "binomial": 50, "normal": 0.5, "zero-truncated": 1.0}


def a_table(name: str, n: int = N) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    known = {
        "poisson": rng.integers(1, 9, n) / 2,
        "binomial": rng.integers(5, 60, n),
        "normal": rng.uniform(0.3, 3.0, n).round(2),
        "zero-truncated": np.ones(n),
    }[name]
    x = {
        "poisson": lambda: rng.poisson(rng.gamma(2.0, 1.0, n) * known),
        "binomial": lambda: rng.binomial(known, rng.beta(4.0, 9.0, n)),
        "normal": lambda: rng.normal(rng.normal(0.0, 2.0, n), known),
        "zero-truncated": lambda: 1 + rng.poisson(rng.gamma(2.0, 1.0, n)),
    }[name]()
    return {"id": np.arange(n), "team": rng.choice(["a", "b"], n), "x": x, "known": known}


def in_duckdb(table: dict[str, Any]) -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    connection.register("source", pl.DataFrame(table))
    return connection.sql("SELECT * FROM source")


HOMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": lambda table: pa.table({name: pa.array(column) for name, column in table.items()}),
    "duckdb": in_duckdb,
}


def as_polars(frame: Any) -> pl.DataFrame:
    found = frame.pl() if isinstance(frame, duckdb.DuckDBPyRelation) else pl.DataFrame(frame)
    return found.sort("id")


def channel_of(name: str) -> Any:
    return next(channel for channel in channels() if channel.name == name)


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("name", WORDS)
def test_every_home_gives_the_answers_of_the_plain_walk(name: str, home: str) -> None:
    table = a_table(name)
    frame = HOMES[home](table)
    asked: dict[str, Any] = {"future": FUTURE[name], "top": 5, "above": 0.4, "below": 0.3, "null": 0.2}
    found = as_polars(shrink(frame, **WORDS[name], method="npmle", interval=0.8, **asked))
    listed = as_polars(shrink(frame, **WORDS[name], method="npmle", interval=0.8, above=0.4, fdr=0.2))
    every = asked_for(Wanted(interval=0.8, **asked), has_priors=True)
    assert found.columns[4:] == [column for answer in every for column in answer.columns]
    fitted = eb.estimator("npmle")(Tally.of(table["x"], table["known"], channel=channel_of(name)))
    rule = pointed(fitted, 0.2)
    after = rule.posterior(table["x"], table["known"])
    np.testing.assert_allclose(found["estimate"], after.mean, rtol=1e-9)
    np.testing.assert_allclose(found["upper"], after.interval(0.8)[1], rtol=1e-9)
    np.testing.assert_allclose(found["p_above"], after.exceeds(0.4), rtol=1e-9)
    np.testing.assert_allclose(found["lfsr"], selection.lfsr(after, 0.2), atol=1e-12)
    np.testing.assert_allclose(found["p_below"], selection.p_below(after, 0.3), atol=1e-12)
    errors = 1.0 - fitted.posterior(table["x"], table["known"]).exceeds(0.4)
    each = np.ones(len(table["x"]), dtype=np.int64)
    assert listed["selected"].to_list() == selection.selected(errors, each, 0.2).tolist()
    ahead = rule.predict(table["x"], table["known"], FUTURE[name])
    np.testing.assert_allclose(found["predicted_upper"], ahead.interval(0.8)[1], rtol=1e-9)
    assert found["predicted_upper"].dtype.is_integer() == rule.channel.whole
    assert found["p_top"].sum() == pytest.approx(5, rel=1e-6)


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("name", WORDS)
def test_one_number_for_all_rows_is_a_column_that_repeats_it(name: str, home: str) -> None:
    value = {"poisson": 2.5, "binomial": 60, "normal": 0.7, "zero-truncated": 2.0}[name]
    table = a_table(name) | {"known": np.full(N, value)}
    channel = channel_of(name)
    named, told = (
        as_polars(shrink(HOMES[home](table), **(WORDS[name] | {channel.keyword: known}), method="npmle"))
        for known in ("known", value)
    )
    assert named.equals(told)


@pytest.mark.parametrize("home", ["polars", "duckdb"])
@pytest.mark.parametrize("name", ["poisson", "binomial", "normal"])
def test_bins_move_no_estimate_by_more_than_is_said(name: str, home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT", 200)
    table = a_table(name, 3000)
    if name == "poisson":
        table["known"] = np.random.default_rng(6).gamma(2.0, 1.0, 3000)
    if name == "binomial":
        rng = np.random.default_rng(5)
        table["known"] = rng.integers(500, 5000, 3000)
        table["x"] = rng.binomial(table["known"], rng.beta(4.0, 9.0, 3000))
    channel = channel_of(name)
    columns = Columns("x", "known", channel=channel)
    rule = eb.estimator(channel.conjugate)(Tally.of(table["x"], table["known"], channel=channel))
    fit = Fit(columns, {None: rule})
    shrunken = shrink_table(source_of(HOMES[home](table)), columns, fit, Wanted())
    assert shrunken.observations.width > 0
    assert shrunken.observations.keys.rows.sum() == 3000
    exact = rule(table["x"], table["known"])
    moved = np.abs(as_polars(shrunken.rows)["estimate"].to_numpy() - exact)
    most = fit.binning_error(shrunken.observations)
    assert most < 0.1
    assert np.all(moved <= 1.1 * most * channel.scale(exact, table["known"]))


@pytest.mark.parametrize("name", ["poisson", "binomial", "normal"])
def test_bins_nest_and_hold_what_stands_for_them(name: str) -> None:
    channel, rng = channel_of(name), np.random.default_rng(0)
    known = rng.integers(1, 10**6, 5000).astype(float) if name == "binomial" else np.exp(rng.normal(0, 3, 5000))
    x = rng.normal(0, 100, 5000) if name == "normal" else np.floor(rng.random(5000) * (known + 1))
    width = channel.widths[0]
    while width <= channel.widths[1]:
        fine = keys(channel, x, known, width)
        for at in ((0.5, 0.5), (0.0, 0.0), (0.999, 0.999)):
            inside = unkeyed(channel, *fine, width, at)
            again = keys(channel, *inside, 2 * width)
            if at == (0.5, 0.5):
                assert np.array_equal(again, keys(channel, x, known, 2 * width))
        width *= 2


def test_a_database_computes_bins_as_numpy_does() -> None:
    rng = np.random.default_rng(1)
    x = np.append(rng.integers(0, 2000, 1000).astype(float), [0.0, -1.0, 2.5, np.nan, 7.0, 0.0, 9.0, np.inf])
    known = np.append(rng.integers(1, 2000, 1000).astype(float), [0.0, 4.0, 4.0, 4.0, np.nan, -2.0, 8.0, 4.0])
    table = duckdb.connect().from_arrow(pa.table({"x": x, "known": known}))
    for channel in channels():
        expected = keys(channel, x, known, 0.0625)
        number = {name: Sql(f"nullif({name}, 'nan'::DOUBLE)") for name in ("x", "known")}
        formulas = keys(channel, number["x"], number["known"], 0.0625)
        found = table.project(", ".join(f"{each.text} AS key_{i}" for i, each in enumerate(formulas))).fetchnumpy()
        for i in (0, 1):
            numbers = np.ma.filled(np.ma.asarray(found[f"key_{i}"], dtype=float), np.nan)
            np.testing.assert_array_equal(numbers, expected[i], err_msg=channel.name)


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("binned", [False, True])
def test_rows_that_show_nothing_get_the_prior(home: str, binned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if binned:
        monkeypatch.setattr(module, "LIMIT", 5)
    for name in ("poisson", "binomial"):
        table = a_table(name)
        blank = {key: np.append(column, column[:1]) for key, column in table.items()} | {"id": np.arange(N + 1)}
        blank["x"][-1] = blank["known"][-1] = 0
        found = as_polars(shrink(HOMES[home](blank), **WORDS[name], method="npmle"))
        without = as_polars(shrink(HOMES[home](table), **WORDS[name], method="npmle"))
        np.testing.assert_allclose(found["estimate"][:-1], without["estimate"], rtol=1e-9)
        words = {channel_of(name).keyword: table["known"]}
        rule = eb.estimator("npmle")(Tally.of(table["x"], **words))
        assert rule.prior is not None
        if not binned:
            assert found["estimate"][-1] == pytest.approx(rule.prior.mean)
        words = {channel_of(name).keyword: [*table["known"], 0]}
        assert eb.estimate([*table["x"], 0], **words, method="npmle")[-1] == pytest.approx(rule.prior.mean)


@pytest.fixture(scope="module")
def saved_fit(tmp_path_factory: pytest.TempPathFactory) -> Fit:
    """A fit to groups of a table of successes, as it comes back from its file."""
    path = tmp_path_factory.mktemp("fit") / "fit.json"
    columns = Columns("x", "known", "team", channel_of("binomial"))
    shrink_table(source_of(pl.DataFrame(a_table("binomial"))), columns, eb.estimator("beta"), Wanted()).fit.save(path)
    return Fit.load(path)


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("binned", [False, True])
def test_a_saved_fit_answers_every_row_or_says_why_not(
    home: str, binned: bool, saved_fit: Fit, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, fit = a_table("binomial"), saved_fit
    new = {
        "id": list(range(7)),
        "team": ["a", "a", "b", "new", None, "b", "a"],
        "x": [3, None, 9, 3, 3, -1, 0],
        "known": [10, 10, 8, 10, 10, 10, 0],
    }
    if binned:
        monkeypatch.setattr(module, "LIMIT", 1)
        monkeypatch.setattr(module, "PER_GROUP", 1)
    source = source_of(HOMES[home](new))
    with pytest.raises(InputError, match="x is missing"):
        shrink_table(source, fit.columns, fit, Wanted())
    shrunken = shrink_table(source, fit.columns, fit, Wanted(future=20), "explain")
    found = as_polars(shrunken.rows).fill_nan(None)
    assert shrunken.observations.missing == 4
    assert found["estimate"].is_null().to_list() == [False, True, True, False, True, True, False]
    assert found["note"].is_null().to_list() == [True, False, False, False, False, False, True]
    assert found["note"][1] == "x is missing"
    assert "from 0 to the number of trials" in found["note"][2]
    assert "not in the fit" in found["note"][3]
    pooled = eb.estimator("beta")(Tally.of(table["x"], trials=table["known"]))
    assert found["estimate"][3] == pytest.approx(pooled(3, trials=10).item())
    assert pooled.prior is not None
    of_a = fit.rules["a"].prior
    assert of_a is not None
    assert found["estimate"][6] == pytest.approx(of_a.mean)
    if home != "pandas":
        assert found["predicted_upper"].drop_nulls().to_list() == [
            int(number) for number in found["predicted_upper"].drop_nulls()
        ]


def test_a_file_of_rows_none_of_which_can_be_used_is_explained() -> None:
    fit = shrink_table(source_of(pl.DataFrame({"x": [1, 2]})), Columns("x"), eb.estimator("gamma"), Wanted()).fit
    found = shrink_table(source_of(pl.DataFrame({"x": [-1, None]})), fit.columns, fit, Wanted(), "explain").rows
    assert found["estimate"].to_list() == [None, None]
    assert found["note"].null_count() == 0


def test_fits_of_version_2_are_still_read(tmp_path: Path) -> None:
    import json

    fit = shrink_table(
        source_of(pl.DataFrame({"x": [1, 2, 5], "t": [1, 2, 3]})), Columns("x", "t"), eb.Gamma(), Wanted()
    ).fit
    fit.save(tmp_path / "new.json")
    record = json.loads((tmp_path / "new.json").read_text())
    old = {
        "format": "ebformer-fit",
        "version": 2,
        "columns": {"count": "x", "exposure": "t", "group": None},
        "rules": [{"groups": [None], "rule": record["rules"][0]["rule"]}],
    }
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert Fit.load(tmp_path / "old.json") == Fit.load(tmp_path / "new.json") == fit


def test_a_fit_that_is_updated_is_the_fit_of_all_rows(tmp_path: Path) -> None:
    for name, words in WORDS.items():
        table = pl.DataFrame(a_table(name))
        known = words | {"group": "team", "method": "npmle"}
        eb.fit(table[:100], **known).save(tmp_path / "fit.json")
        parts = eb.load_fit(tmp_path / "fit.json").updated(table[100:200]).updated(table[200:])
        whole = eb.fit(table, **known)
        pd.testing.assert_frame_equal(*(fit.apply(table, top=3).to_pandas() for fit in (parts, whole)), rtol=1e-6)


def test_a_table_without_a_row_to_learn_from_updates_nothing() -> None:
    table = pl.DataFrame(a_table("poisson"))
    fit = eb.fit(table, **WORDS["poisson"], method="gamma")
    name = WORDS["poisson"]["count"]
    with pytest.raises(InputError, match=f"no row can be used to learn from: in the first, {name} is missing"):
        fit.updated(table.with_columns(pl.lit(None).alias(name)))


def test_a_saved_fit_of_a_network_of_ones_own_is_not_updated_by_another(tmp_path: Path) -> None:
    weights.save(tmp_path / "mine.safetensors", zoo.load("priorformer"))
    mine = eb.Priorformer.load(tmp_path / "mine.safetensors")
    table = pl.DataFrame({"goals": [0, 1, 5, 2]})
    eb.fit(table, "goals", method=mine).save(tmp_path / "fit.json")
    with pytest.raises(InputError, match="without its method mine, which is yours: fit old and new rows together"):
        eb.load_fit(tmp_path / "fit.json").updated(table)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"effect": "x"}, r"effects need their standard errors: give --se \(in Python se=\), .* 1 for z-values"),
        ({"count": "x", "se": "known"}, "effects are named by effect, not by count"),
        ({"count": "x", "trials": "known", "exposure": "known"}, "give one of them"),
        ({"count": "x", "trials": 0}, "trials is 0: give whole numbers of at least 1"),
        ({"count": "x", "trials": 3, "zeros": "missing"}, "do not go together"),
        ({"count": "x", "zeros": "gone"}, "zeros is 'gone'"),
        ({"count": "x", "trials": "know"}, "did you mean 'known'"),
        ({"count": "x", "trials": 5}, r"row \d+: x is \d+: give whole numbers from 0 to the number of trials"),
        ({"count": "x", "trials": "known", "future": 2.5}, "the future trials is 2.5: give whole numbers"),
    ],
)
def test_words_that_do_not_go_together_are_refused(words: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        shrink(pl.DataFrame(a_table("binomial")), **words, method="npmle")


@pytest.mark.parametrize(
    ("samples", "words", "sentence"),
    [
        ([[1, 2], [3, 4, 5]], {}, "samples differ in size: give their tallies to eb.estimate_many"),
        ([[1, 2], [3, -4]], {}, r"row 1: counts\[1\] is -4"),
        ([[1, 2], [3, 4]], {"trials": [5, 0]}, r"row 0: trials\[1\] is 0"),
        ([[1, 2], [3, 4]], {"trials": [5, 6, 7]}, r"trials of shape \(3,\) for successes of shape \(2, 2\)"),
        (np.ma.masked_equal([[1, 2], [3, 4]], 3), {}, "entries are masked"),
    ],
)
def test_what_is_wrong_with_a_matrix_of_samples_is_named(samples: Any, words: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        eb.estimate(samples, **words, method="mle")


def test_without_a_method_it_is_the_default_of_the_channel() -> None:
    for name, words in WORDS.items():
        frame = pl.DataFrame(a_table(name))
        named = shrink(frame, **words, method=eb.estimators.catalogue.default_method(channel_of(name)))
        assert shrink(frame, **words).equals(named)


def units_as_polars(found: Any) -> pl.DataFrame:
    return (found.pl() if isinstance(found, duckdb.DuckDBPyRelation) else pl.DataFrame(found)).sort("item")


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("name", ["poisson", "binomial", "normal"])
def test_rows_of_a_unit_are_added_up(name: str, home: str) -> None:
    """Two looks at a unit tell what one look of both together would: the posterior is the same."""
    table = a_table(name)
    table["item"] = np.arange(N) // 3
    found = shrink(HOMES[home](table), **WORDS[name], unit="item", method="npmle")
    units = units_as_polars(found)
    assert units["item"].to_list() == list(range(N // 3))
    channel = channel_of(name)
    x, known = (each.reshape(-1, 3) for each in (np.asarray(table["x"], dtype=float), table["known"].astype(float)))
    total = channel.added_up(*(each.sum(axis=1) for each in channel.summands(x, known)))
    np.testing.assert_allclose(units["x"], total[0], rtol=1e-12)
    np.testing.assert_allclose(units["known"], total[1], rtol=1e-12)
    theta = np.linspace(0.2, 0.8, 7)[:, None]
    apart = channel.log_likelihood(x[:, :, None], theta[:, 0], known[:, :, None]).sum(axis=1)
    together = channel.log_likelihood(total[0][:, None], theta[:, 0], total[1][:, None])
    np.testing.assert_allclose(np.ptp(apart - together, axis=1), 0.0, atol=1e-8)


@pytest.mark.parametrize("home", HOMES)
def test_without_exposures_the_rows_of_a_unit_are_its_exposure(home: str) -> None:
    days = {"item": ["a", "b", "a", "a", "c"], "clicks": [1, 0, 2, 0, 5]}
    found = shrink(HOMES[home](days), "clicks", unit="item", method="mle")
    rows = units_as_polars(found).rows()
    assert rows == [("a", 3, 3.0, 1.0), ("b", 0, 1.0, 0.0), ("c", 5, 1.0, 5.0)]
    days["clicks"][2] = -2
    with pytest.raises(InputError, match="row 3: clicks is -2"):
        shrink(HOMES[home](days), "clicks", unit="item", method="mle")
    found = shrink(HOMES[home](days), "clicks", unit="item", method="mle", missing="explain")
    rows = units_as_polars(found)
    assert rows["note"].is_null().to_list() == [False, True, True]


@pytest.mark.parametrize("home", HOMES)
def test_a_next_period_as_long_as_this_one_leaves_its_exposure_added_up(home: str) -> None:
    """The column that says how long units were watched may also say for how long to predict: as long again."""
    days = {"item": ["a", "b", "a", "c", "b"], "clicks": [4, 0, 2, 5, 1], "views": [10.0, 20.0, 10.0, 7.0, 30.0]}
    asked: dict[str, Any] = {"count": "clicks", "exposure": "views", "unit": "item", "method": "gamma"}
    answers = [shrink(HOMES[home](days), **asked | more) for more in ({}, {"future": "views"})]
    still, ahead = (units_as_polars(found) for found in answers)
    assert still.equals(ahead.select(still.columns))
    np.testing.assert_allclose(ahead["predicted"], ahead["estimate"] * ahead["views"], rtol=1e-9)


@pytest.mark.parametrize("home", HOMES)
def test_units_keep_their_label_and_answers(home: str) -> None:
    """Of names that differ, or are missing in some rows, the first one that there is; no answer hangs on it."""
    days = {"item": ["b", "a", "b", "a", "c"], "clicks": [4, 0, 2, 5, 1], "name": ["Bo", None, "Bob", "Ann", None]}
    asked: dict[str, Any] = {"count": "clicks", "unit": "item", "method": "gamma"}
    named = units_as_polars(shrink(HOMES[home](days), **asked, label="name"))
    assert named.columns[:4] == ["item", "name", "clicks", "exposure"]
    assert [entry or None for entry in named["name"].to_list()] == ["Ann", "Bo", None]
    assert named.drop("name").equals(units_as_polars(shrink(HOMES[home](days), **asked)))
    for label in ("item", "clicks"):  # which units have anyway
        assert units_as_polars(shrink(HOMES[home](days), **asked, label=label)).equals(named.drop("name"))
    called = {("exposure" if name == "name" else name): entries for name, entries in days.items()}
    found = units_as_polars(shrink(HOMES[home](called), **asked, label="exposure"))
    assert found.columns[:4] == ["item", "exposure", "clicks", "total_exposure"]
    with pytest.raises(InputError, match=r"there is no column 'nome' \(did you mean 'name'\?\)"):
        shrink(HOMES[home](days), **asked, label="nome")


@pytest.mark.parametrize("home", HOMES)
def test_units_may_be_groups(home: str) -> None:
    days = {"item": ["a", "b", "a", "c", "b"], "clicks": [4, 0, 2, 5, 1]}
    found = units_as_polars(shrink(HOMES[home](days), "clicks", unit="item", group="item", method="mle"))
    assert found["estimate"].to_list() == [3.0, 0.5, 5.0]
    assert found.columns == ["item", "clicks", "exposure", "estimate"]


@pytest.mark.parametrize("home", HOMES)
def test_rows_that_repeat_a_name_are_told(home: str) -> None:
    rng = np.random.default_rng(0)
    days = {"item_id": [f"i{i % 40}" for i in range(400)], "clicks": rng.poisson(3.0, 400), "team": ["a", "b"] * 200}
    with pytest.warns(eb.ModelWarning, match="rows repeat item_id, about (10.0|9.8) each.*--unit item_id"):
        shrink(HOMES[home](days), "clicks", method="mle")
    for named in ({"group": "item_id"}, {"unit": "item_id"}):
        assert not any("repeat" in said for said in warnings_of(HOMES[home](days), **named))
    assert not any("repeat" in said for said in warnings_of(HOMES[home](days | {"name": list(range(400))})))


def test_totals_are_whole_numbers_even_beside_a_unit_that_has_none() -> None:
    days = pl.DataFrame({"item": ["a", "b", "a"], "clicks": [3, 9, 4], "shown": [10, 5, 10]})
    found = eb.shrink(days, count="clicks", trials="shown", unit="item", method="mle", missing="explain")
    assert found["clicks"].to_list() == [7, None]
    assert found["clicks"].dtype.is_integer()
    assert found["shown"].dtype.is_integer()


def test_of_very_many_rows_the_first_tell_how_often_a_name_repeats_at_least() -> None:
    days = duckdb.sql("SELECT i % 100_000 AS item_id, 3 + i % 2 AS clicks FROM range(2_500_000) AS days(i)")
    with pytest.warns(eb.ModelWarning, match="rows repeat item_id, at least (9|10|11).[0-9] each"):
        shrink(days, "clicks", method="mle")


def warnings_of(frame: Any, **words: Any) -> list[str]:
    import warnings

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        shrink(frame, "clicks", **words, method="mle")
    return [str(each.message) for each in heard]


class WithPlaces(pd.DataFrame):
    """A data frame of a class of its own, as GeoDataFrame is one, with something beyond its columns."""

    _metadata = ["crs"]  # noqa: RUF012

    @property
    def _constructor(self) -> type[WithPlaces]:
        return WithPlaces


def test_a_data_frame_of_another_class_stays_one() -> None:
    places = WithPlaces({"cases": [3, 0, 9], "people": [10.0, 20.0, 30.0]}, index=["a", "b", "b"])
    places.crs = "EPSG:4326"
    found = shrink(places, "cases", "people", method="gamma")
    assert type(found) is WithPlaces
    assert (found.crs, list(found.index)) == ("EPSG:4326", ["a", "b", "b"])


@pytest.mark.filterwarnings("ignore::ebformer.ModelWarning")
def test_a_map_stays_a_map() -> None:
    import geopandas
    from shapely import box

    squares = [box(i, 0, i + 1, 1) for i in range(4)]
    rows = {"cases": [3, 0, None, 9], "births": [90.0, 50.0, 70.0, 200.0], "region": list("eeww")}
    counties = geopandas.GeoDataFrame(rows, geometry=squares, crs="EPSG:32119", index=[7, 3, 5, 1])
    counties = counties.rename_geometry("outline")
    learnt = eb.fit(counties, "cases", "births", "region", method="gamma", missing="keep")
    for found in (
        shrink(counties, "cases", "births", "region", method="gamma", above="1.5x", missing="keep"),
        learnt.apply(counties, interval=0.8),
    ):
        assert type(found) is geopandas.GeoDataFrame
        assert found.crs == counties.crs
        assert found.geometry.name == "outline"
        assert found.geometry.geom_equals(counties.geometry).all()
        pd.testing.assert_frame_equal(pd.DataFrame(found)[list(counties)], pd.DataFrame(counties))
        assert found.estimate.isna().tolist() == [False, False, True, False]


@pytest.mark.parametrize("home", HOMES)
def test_a_row_without_a_unit_is_not_added_to_others(home: str) -> None:
    table = {"x": np.array([1, 2, 9]), "item": np.array(["a", "a", None], dtype=object)}
    with pytest.raises(InputError, match="'item'"):
        shrink(HOMES[home](table), count="x", unit="item", method="gamma")


@pytest.mark.parametrize(
    ("seen", "words", "new"),
    [
        ({"x": [0, 1, 3, 2] * 5}, {"count": "x"}, {"x": [0, 4, 500]}),
        ({"x": [1, 2, 0, 3] * 5, "m": [900] * 20}, {"count": "x", "trials": "m"}, {"x": [0, 2, 890], "m": [900] * 3}),
        ({"x": [0.2, -0.4, 1.0] * 5, "s": [0.5] * 15}, {"effect": "x", "se": "s"}, {"x": [0, 1, -50], "s": [0.5] * 3}),
    ],
)
def test_a_row_far_beyond_all_that_the_fit_saw_says_so(seen, words, new):
    """A prior ends where its table does: 500 would be answered with its last theta, and a narrow interval."""
    learnt = eb.fit(pl.DataFrame(seen), **words)
    told = learnt.apply(pl.DataFrame(new))["note"].to_list()
    assert told == [None, None, "x is far beyond what the fit saw: the answer is the nearest it has"]
    assert set(learnt.apply(pl.DataFrame(seen))["note"].to_list()) == {None}
