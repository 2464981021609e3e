"""One table, many homes: whoever groups and joins it, the answers are the same and the table is untouched."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import ebformer as eb
from ebformer.errors import InputError, WeightsError
from ebformer.tables.columns import Columns
from ebformer.tables.files import open_table
from ebformer.tables.frames import shrink, source_of
from ebformer.tables.learning import fit_table
from ebformer.tables.observations import observe
from ebformer.tables.shrink import shrink_table
from ebformer.tables.wanted import Wanted
from ebformer.tally import Tally

pytestmark = pytest.mark.filterwarnings("ignore::ebformer.check.ModelWarning")


def a_table(n: int = 400) -> dict[str, list[Any]]:
    rng = np.random.default_rng(5)
    games = rng.integers(1, 6, n)
    return {
        "id": [f"{i:04d}" for i in range(n)],
        "team": [["Ärzte", "O'Neill", 'the "b"'][i % 3] for i in range(n)],
        "goals": rng.poisson(rng.gamma(2.0, 1.0, n) * games).tolist(),
        "games": games.tolist(),
    }


def in_duckdb(table: dict[str, list[Any]]) -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    connection.register("source", pl.DataFrame(table))
    return connection.sql("SELECT * FROM source")


HOMES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas with pyarrow": lambda table: pd.DataFrame(table).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "duckdb": in_duckdb,
}


def as_columns(frame: Any) -> dict[str, list[Any]]:
    """Any of the homes as plain columns."""
    if isinstance(frame, duckdb.DuckDBPyRelation):
        return {
            name: list(column) for name, column in zip(frame.columns, zip(*frame.fetchall(), strict=True), strict=True)
        }
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, pd.DataFrame):
        return {name: frame[name].tolist() for name in frame.columns}
    return frame.to_pydict() if isinstance(frame, pa.Table) else frame.to_dict(as_series=False)


def by_hand(table: dict[str, list[Any]]) -> np.ndarray:
    """The walk without any table: a tally, a method, a rule."""
    rule = eb.CATALOGUE["npmle"](Tally.of(table["goals"], table["games"]))
    return rule(np.array(table["goals"]), np.array(table["games"], dtype=float))


@pytest.mark.parametrize("home", HOMES)
def test_every_home_gives_the_answers_of_the_plain_walk(home: str) -> None:
    table = a_table()
    frame = HOMES[home](table)
    shrunken = shrink(frame, count="goals", exposure="games", method="npmle", interval=0.8, future=2.0, top=5)
    assert type(shrunken) is type(frame)
    found = as_columns(shrunken)
    new = [
        "estimate",
        "lower",
        "upper",
        "predicted",
        "predicted_lower",
        "predicted_upper",
        "expected_rank",
        "p_top",
        "grade",
    ]
    assert list(found) == [*table, *new]
    order = np.argsort(found["id"])  # a DuckDB relation has no order
    for name, column in table.items():
        assert [found[name][i] for i in order] == column
    np.testing.assert_allclose(np.array(found["estimate"])[order], by_hand(table), rtol=1e-9)
    assert sum(found["p_top"]) == pytest.approx(5, rel=1e-6)
    np.testing.assert_allclose(np.array(found["predicted"]), 2.0 * np.array(found["estimate"]))


@pytest.mark.parametrize("home", HOMES)
def test_the_probability_of_a_rate_above_one(home: str) -> None:
    """What maps of disease show: P(SMR > 1) of every district, here as the survival function of a gamma posterior."""
    table = a_table()
    found = as_columns(shrink(HOMES[home](table), count="goals", exposure="games", method="gamma", above=1.0))
    assert list(found) == [*table, "estimate", "lower", "upper", "p_above"]
    prior = eb.Gamma()(Tally.of(table["goals"], table["games"])).prior
    assert isinstance(prior, eb.GammaPrior)
    shape, rate = prior.shape + np.array(found["goals"]), prior.rate + np.array(found["games"])
    np.testing.assert_allclose(found["p_above"], stats.gamma.sf(1.0, shape, scale=1 / rate), rtol=1e-9)


@pytest.mark.parametrize("home", HOMES)
def test_groups_are_fitted_apart(home: str) -> None:
    """A group's answers do not change when the other groups leave the table."""
    table = a_table()
    together = as_columns(shrink(HOMES[home](table), "goals", "games", "team", method="npmle"))
    at = [i for i, team in enumerate(table["team"]) if team == "O'Neill"]
    alone = {name: [column[i] for i in at] for name, column in table.items()}
    expected = dict(zip(alone["id"], by_hand(alone), strict=True))
    found = {
        i: e
        for i, team, e in zip(together["id"], together["team"], together["estimate"], strict=True)
        if team == "O'Neill"
    }
    assert found.keys() == expected.keys()
    np.testing.assert_allclose([found[i] for i in expected], list(expected.values()), rtol=1e-9)


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("hole", ["goals", "games", "team"])
def test_missing_entries_are_refused_or_kept_unanswered(home: str, hole: str) -> None:
    table = a_table(60)
    whole = {name: column[1:] for name, column in table.items()}
    table[hole] = [None, *table[hole][1:]]
    with pytest.raises(InputError, match=rf"row 1: {hole} is missing"):
        shrink(HOMES[home](table), "goals", "games", "team", method="npmle")
    kept = as_columns(shrink(HOMES[home](table), "goals", "games", "team", method="npmle", missing="keep"))
    without = as_columns(shrink(HOMES[home](whole), "goals", "games", "team", method="npmle"))
    answers = dict(zip(kept["id"], kept["estimate"], strict=True))
    empty = answers.pop("0000")
    assert empty is None or empty != empty
    assert answers == pytest.approx(dict(zip(without["id"], without["estimate"], strict=True)), rel=1e-9)


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("text", ["none", "Null"])
def test_a_group_may_be_called_none(home: str, text: str) -> None:
    table = HOMES[home]({"goals": [1, 2, 9, 4], "treatment": ["a", "a", text, "a"]})
    found = as_columns(shrink(table, "goals", group="treatment", method="mle"))
    assert sorted(found["estimate"]) == [1.0, 2.0, 4.0, 9.0]


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("text", ["NA", "N/A", "#n/a", " ", "."])
def test_a_group_that_text_calls_missing_is_missing(home: str, text: str) -> None:
    """NA was a group like any other, though among the counts it was missing."""
    table = HOMES[home]({"goals": [1, 2, 9, 4], "team": ["a", "a", text, "a"]})
    with pytest.raises(InputError, match=f"row 3: team is ({text!r}, which means )?missing: fill it in"):
        shrink(table, "goals", group="team", method="mle")
    kept = as_columns(shrink(table, "goals", group="team", method="mle", missing="keep"))
    answers = dict(zip(kept["goals"], kept["estimate"], strict=True))
    empty = answers.pop(9)
    assert empty is None or empty != empty
    assert answers == {1: 1.0, 2: 2.0, 4: 4.0}


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("goals", -3, "row 3: goals is -3: give whole numbers of at least 0"),
        ("goals", 2.5, "row 3: goals is 2.5: counts are whole numbers"),
        ("goals", 2.0**60, "row 3: goals is .*: give whole numbers of at most 2"),
        ("games", 0.0, r"row 3: games is 0(\.0)?: give positive numbers"),
        ("games", -1.0, r"row 3: games is -1(\.0)?: give positive numbers"),
        ("games", float("inf"), "row 3: games is inf: give positive numbers"),
    ],
)
def test_entries_that_cannot_be_used_are_named(home: str, column: str, value: float, sentence: str) -> None:
    table = a_table(20)
    table[column] = [type(value)(entry) for entry in table[column]]
    table[column][2] = value
    with pytest.raises(InputError, match=sentence):
        shrink(HOMES[home](table), "goals", "games", method="npmle")


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("goals", 10**400, r"^row 3: goals is inf: give whole numbers of at most 2\^53$"),
        ("goals", -(10**5000), r"^row 3: goals is -inf: give whole numbers of at least 0$"),
        ("games", 10**400, r"^row 3: games is inf: give positive numbers"),
    ],
    ids=["large count", "negative count", "large exposure"],
)
def test_whole_numbers_that_no_float_holds_are_refused_like_infinity(column: str, value: int, sentence: str) -> None:
    table = a_table(20)
    table[column][2] = value
    with pytest.raises(InputError, match=sentence):
        shrink(pd.DataFrame(table, dtype=object), "goals", "games", method="npmle")


@pytest.mark.parametrize("home", HOMES)
def test_of_several_rows_that_cannot_be_used_the_first_is_named_and_the_others_are_counted(home: str) -> None:
    table = a_table(60)
    table["goals"] = [-3 if i in (6, 7, 50) else None if i == 8 else goals for i, goals in enumerate(table["goals"])]
    for missing, others in (("error", 3), ("keep", 2)):
        with pytest.raises(InputError, match=rf"^row 7: goals is -3.* \(and {others} more rows\)$"):
            shrink(HOMES[home](table), "goals", missing=missing)


@pytest.mark.parametrize("home", HOMES)
def test_words_among_the_counts_are_named_and_digits_in_text_are_read(home: str) -> None:
    table = a_table(20)
    table["goals"] = [str(goals) for goals in table["goals"]]
    np.testing.assert_allclose(
        sorted(as_columns(shrink(HOMES[home](table), "goals", "games", method="npmle"))["estimate"]),
        sorted(by_hand({"goals": list(map(int, table["goals"])), "games": table["games"]})),
    )
    table["goals"][4] = "seven"
    with pytest.raises(InputError, match="row 5: goals is 'seven', not a number"):
        shrink(HOMES[home](table), "goals", method="npmle")


@pytest.mark.parametrize("home", HOMES)
def test_a_wrong_column_is_answered_with_the_nearest(home: str) -> None:
    with pytest.raises(InputError, match=r"no column 'Goal' \(did you mean 'goals'\?\); the columns are id, team"):
        shrink(HOMES[home](a_table(5)), "Goal")


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("name", ["upper", "Estimate"])
def test_nothing_is_overwritten(home: str, name: str) -> None:
    with pytest.raises(InputError, match=f"already has a column '{name}'"):
        shrink(HOMES[home]({**a_table(5), name: [0.0] * 5}), "goals", method="npmle")


def test_pandas_keeps_its_index_and_its_types() -> None:
    frame = pd.DataFrame(a_table(50), index=pd.Index(np.arange(50) % 7, name="row")).astype({"team": "category"})
    shrunken = shrink(frame, "goals", method="npmle")
    pd.testing.assert_frame_equal(shrunken[frame.columns], frame)


def test_methods_without_a_prior_answer_without_intervals() -> None:
    frame = pl.DataFrame(a_table(50))
    assert shrink(frame, "goals", method="mle").columns == [*frame.columns, "estimate"]
    with pytest.raises(eb.errors.NoPriorError):
        shrink(frame, "goals", method="mle", interval=0.9)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(InputError, match="cannot shrink a list"):
        shrink([1, 2, 3], "goals")


def test_arrays_are_estimated_as_their_tally_is() -> None:
    table = a_table()
    np.testing.assert_allclose(eb.estimate(table["goals"], table["games"], method="npmle"), by_hand(table))


def test_a_saved_fit_answers_as_on_the_first_day(tmp_path: Path) -> None:
    source = source_of(pl.DataFrame(a_table()))
    observations = observe(source, Columns("goals", "games", "team"))
    fit = fit_table(observations, eb.CATALOGUE["npmle"])
    fit.save(tmp_path / "rule.json")
    again = type(fit).load(tmp_path / "rule.json")
    assert again.columns == fit.columns
    for name, column in fit.answers(observations, Wanted(top=3)).items():
        np.testing.assert_allclose(again.answers(observations, Wanted(top=3))[name], column, atol=1e-12, err_msg=name)


def test_a_fit_refuses_a_group_it_never_saw() -> None:
    fit = fit_table(
        observe(source_of(pl.DataFrame(a_table(60))), Columns("goals", group="team")), eb.CATALOGUE["npmle"]
    )
    other = observe(source_of(pl.DataFrame({"goals": [1], "team": ["Zeta"]})), Columns("goals", group="team"))
    with pytest.raises(InputError, match="group 'Zeta' was not in the fitted table"):
        shrink_table(source_of(pl.DataFrame({"goals": [1], "team": ["Zeta"]})), fit.columns, fit, Wanted())
    pooled = fit_table(observe(source_of(pl.DataFrame(a_table(60))), Columns("goals")), eb.CATALOGUE["npmle"])
    with pytest.raises(InputError, match="the fit has no groups, so it cannot tell those of column 'team' apart: name"):
        pooled.answers(other, Wanted())


@pytest.mark.parametrize("damage", [{"count": 5}, {"count": None}, {"count": "x", "group": ["a"]}])
def test_a_fit_whose_columns_have_no_names_is_no_fit(tmp_path: Path, damage: dict[str, object]) -> None:
    path = tmp_path / "rule.json"
    fit = fit_table(observe(source_of(pl.DataFrame({"x": [1, 2]})), Columns("x")), eb.CATALOGUE["mle"])
    fit.save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"columns": damage}))
    with pytest.raises(InputError, match="is not a saved fit"):
        type(fit).load(path)


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"format": "ebformer-fit", "version": 99}', "not json"])
def test_what_is_no_saved_fit_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "rule.json").write_text(content)
    with pytest.raises(InputError, match="is not a saved fit"):
        type(fit_table(observe(source_of(pl.DataFrame({"x": [1, 2]})), Columns("x")), eb.CATALOGUE["mle"])).load(
            tmp_path / "rule.json"
        )


def test_a_fit_by_another_network_of_that_name_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "rule.json"
    fit = fit_table(observe(source_of(pl.DataFrame({"x": [1, 2] * 20})), Columns("x")), eb.CATALOGUE["T24r"])
    fit.save(path)
    record = json.loads(path.read_text())
    record["rules"][0]["rule"]["content"]["sha256"] = "0" * 64
    path.write_text(json.dumps(record))
    with pytest.raises(WeightsError, match="fitted by another version of T24r"):
        type(fit).load(path)


def test_files_and_frames_make_the_same_tally(tmp_path: Path) -> None:
    pl.DataFrame(a_table()).write_csv(tmp_path / "t.csv")
    columns = Columns("goals", "games", "team")
    with open_table(str(tmp_path / "t.csv")) as file:
        assert observe(file.table, columns).tallies() == observe(source_of(pl.DataFrame(a_table())), columns).tallies()


def test_frames_with_odd_names_are_shrunk_or_refused_in_a_sentence() -> None:
    numbered = pd.DataFrame({0: [7, 8], ("a", "b"): [1, 2], "goals": [1, 2]}, index=["x", "x"])
    assert list(shrink(numbered, "goals", method="gamma").index) == ["x", "x"]
    with pytest.raises(InputError, match="several columns of the table have the same name"):
        shrink(pd.DataFrame([[1, 2]], columns=["goals", "goals"]), "goals", method="gamma")
    with pytest.raises(InputError, match="'goals' cannot be both the count and the group"):
        shrink(numbered, "goals", group="goals", method="gamma")
    with pytest.raises(InputError, match=r"0 is no name: call the columns by text"):
        shrink(numbered, 0, method="gamma")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"\['a', 'b'\] are several columns: name one"):
        shrink(numbered, "goals", group=["a", "b"], method="gamma")  # type: ignore[arg-type]
    for odd in (None, 0, ["a"], ("a", "b")):
        with pytest.raises(InputError, match="is no name: call the columns by text"):
            shrink(numbered, "goals", covariates=[odd], method="gamma")  # type: ignore[list-item]
    with pytest.raises(InputError, match="no column of counts is named: say which it is, as count"):
        shrink(numbered, None, method="gamma")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="missing is 'drop': choose error, keep or explain"):
        shrink(numbered, "goals", missing="drop", method="gamma")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wish", "complaint"),
    [
        ({"future": [1.0, 2.0]}, r"future is \[1.0, 2.0\]: give one number"),
        ({"future": "games"}, "there is no column 'games'"),
        ({"future": -1.0}, "-1"),
        ({"above": [1.0, 2.0]}, r"the bar is \[1.0, 2.0\]: give a number"),
        ({"above": float("nan")}, "the bar is nan"),
        ({"top": 1.5}, "top list is 1.5: give a whole number"),
        ({"top": "3"}, "top list is '3'"),
        ({"interval": "90%"}, "level of an interval is '90%'"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused_before_anything_is_fitted(wish: dict[str, Any], complaint: str) -> None:
    """A list of future exposures, above all: it used to be matched with the distinct counts, not with the rows."""
    with pytest.raises(InputError, match=complaint):
        shrink(pd.DataFrame({"goals": [9, 0]}), "goals", **wish)


def test_as_many_exposures_as_counts() -> None:
    with pytest.raises(InputError, match="there are 3 exposures for 2 counts"):
        eb.estimate([1, 2], exposure=[1.0, 1.0, 1.0], method="mle")
    assert eb.estimate([1, 2], exposure=2.0, method="mle").tolist() == [0.5, 1.0]


@pytest.mark.parametrize("home", HOMES)
def test_text_that_means_no_number_is_missing_or_refused(home: str) -> None:
    for text, sentence in (
        ("-nan", "row 2: goals is -nan"),
        ("1e999", "row 2: goals is 1e999: give whole"),
    ):
        table = HOMES[home]({"goals": ["1", text, "3"]})
        with pytest.raises(InputError, match=sentence):
            shrink(table, "goals", method="mle")


@pytest.mark.parametrize("home", HOMES)
def test_columns_may_be_called_as_we_call_things(home: str) -> None:
    table = {"key_x": [1, 4], "key_known": [1.0, 2.0], "key_group": ["a", "b"], "given": [0, 0], "answer_0": [0, 0]}
    found = as_columns(shrink(HOMES[home](table), "key_x", "key_known", "key_group", method="mle"))
    assert dict(zip(found["key_x"], found["estimate"], strict=True)) == {1: 1.0, 4: 2.0}
    with pytest.raises(InputError, match="row 2: key_known is 0"):
        shrink(HOMES[home](table | {"key_known": [1.0, 0.0]}), "key_x", "key_known", "key_group", method="mle")


def test_tables_of_the_same_database_are_neither_read_nor_touched() -> None:
    """`given` and `found` were once the names under which a relation was asked: such a table was read in its place."""
    connection = duckdb.connect()
    connection.sql("CREATE TABLE given AS SELECT 7 AS goals")
    connection.sql("CREATE TABLE found AS SELECT 1.0 AS the_count, 1.0 AS the_exposure, 7.0 AS answer_0")
    shrunken = shrink(connection.sql("SELECT unnest([1, 3]) AS goals"), "goals", method="mle")
    assert sorted(shrunken.fetchall()) == [(1, 1.0), (3, 3.0)]
    assert connection.sql("FROM given").fetchall() == [(7,)]
