"""Frames of five kinds: groups, looks and covariates; fits that meet new rows; pairs with signals."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import duckdb
from hypothesis import strategies as st

import ebformer as eb
from ebformer.errors import EbformerError
from ebformer.estimators.catalogue import CATALOGUE
from fuzz.arrays import wide
from fuzz.judging import Fault, check_numbers

KINDS = ("pandas", "polars", "lazy", "pyarrow", "duckdb")
QUICK = ["gamma", "npmle", "mle", "robbins", "beta", "normal"]
ENTRIES = st.one_of(
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(-2, 10**18),
    st.floats(),
    st.booleans(),
    st.none(),
    st.text(max_size=3),
)


@st.composite
def frames(draw: st.DrawFn) -> dict[str, Any]:
    """A table as it should be, or with entries of any kind: x, t and f (numbers), g, u and l (groups, units, looks)."""
    n = draw(st.integers(0, 8))
    known = draw(st.sampled_from(["exposure", "exposure", "trials", "se", "none"]))
    spoilt = draw(st.sampled_from([(), (), (), ("x",), ("t",), ("x", "t"), ("g", "u", "l", "a", "f")]))
    good: dict[str, st.SearchStrategy[Any]] = {
        "x": st.floats(-9, 9) if known == "se" else st.integers(0, 9),
        "t": st.integers(9, 40) if known == "trials" else wide(1e-2, 1e2),
        "g": st.sampled_from(["a", "b", "c", "a", None] if draw(st.booleans()) else ["a", "b"]),
        "u": st.sampled_from("klmn"),
        "l": st.sampled_from([2021, 2022, 2023]),
        "a": st.one_of(st.integers(0, 3), st.floats(-1, 1)),
        "f": st.integers(1, 20),
    }
    columns = {
        name: draw(st.lists(ENTRIES if name in spoilt else entries, min_size=n, max_size=n))
        for name, entries in good.items()
    }
    return {
        "kind": draw(st.sampled_from(KINDS)),
        "columns": columns,
        "method": draw(st.one_of(st.none(), *[st.sampled_from(QUICK)] * 3, st.sampled_from(sorted(CATALOGUE)))),
        "as": known,
        "group": draw(st.booleans()),
        "missing": draw(st.sampled_from(["error", "keep", "explain"])),
        "asked": draw(st.sampled_from(["rows", "rows", "rows", "fit", "signals"])),
        "typed": draw(st.one_of(*[st.none()] * 4, st.sampled_from([[name, kind] for name in "xtf" for kind in TYPED]))),
        "fitting": draw(some_of(FITTING)),
        "options": draw(some_of(WANTED)),
    }


def some_of(every: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Up to three of these keywords."""
    names = st.lists(st.sampled_from(sorted(every)), max_size=3, unique=True)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: every[name] for name in chosen}))


TYPED: dict[str, Callable[[int], Any]] = {
    "dates": lambda row: date(2024, 1, 1 + row),
    "moments": lambda row: datetime(2024, 1, 1 + row),
    "durations": timedelta,
    "bytes": lambda row: b"%d" % row,
    "lists": lambda row: [row],
    "booleans": lambda row: row > 1,
    "nothing": lambda row: None,
}
"""Columns of other types, by the number of the row: JSON has none of them."""
FITTING: dict[str, st.SearchStrategy[Any]] = {
    "pool": st.booleans(),
    "neighbours": st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")).map(list), max_size=3),
    "unit": st.just("u"),
    "look": st.sampled_from(["l", "g"]),
    "covariates": st.lists(st.sampled_from(["a", "g", "t", "u", "none"]), max_size=2),
    "regression": st.sampled_from(["trees", "linear"]),
    "zeros": st.just("missing"),
}
WANTED: dict[str, st.SearchStrategy[Any]] = {
    "interval": st.one_of(st.floats(0.01, 0.999), st.floats()),
    "future": st.one_of(st.floats(0.1, 10), st.floats(), st.just("f")),
    "top": st.integers(-1, 20),
    "above": st.one_of(st.floats(0, 9), st.sampled_from(["1.5x", "x", "nan"])),
    "below": st.one_of(st.floats(0, 9), st.floats()),
    "fdr": st.floats(0, 1),
    "per": st.one_of(st.floats(1, 1e4), st.floats()),
    "null": st.floats(-1, 1),
    "drift": st.just("typical"),
}


def run_frames(case: dict[str, Any]) -> None:
    {"rows": ask_rows, "fit": ask_fit, "signals": ask_signals}[case["asked"]](case)


def ask_rows(case: dict[str, Any]) -> None:
    fitting = {**words(case), **case["fitting"]}
    rows = eb.shrink(made(case), method=case["method"], missing=case["missing"], **fitting, **case["options"])
    estimates = check_answers(rows)
    if case["missing"] == "error" and None in estimates:
        raise Fault("nan", "an estimate is missing")


def ask_fit(case: dict[str, Any]) -> None:
    """The first rows are fitted, the others scored, and learnt from."""
    half = (len(case["columns"]["x"]) + 1) // 2
    fitting = {**words(case), **case["fitting"]}
    fitting.pop("look", None)
    fit = eb.fit(made(case, slice(half)), method=case["method"], missing=case["missing"], **fitting)
    new = made(case, slice(half - 1, None))
    check_answers(fit.apply(new, strict=case["missing"] == "error", **case["options"]))
    check_answers(fit.updated(new).apply(new))


def ask_signals(case: dict[str, Any]) -> None:
    about = {"expected": "t"} if case["as"] == "exposure" else {}
    about |= {"stratify": "l"} if case["group"] else {}
    about |= {name: case["options"][name] for name in ("above", "fdr") if name in case["options"]}
    about |= {} if case["method"] is None else {"method": case["method"]}
    rows = eb.signals(made(case), "g", "u", "x", **about)
    check_answers(rows)
    check_numbers(column_of(rows, "EBGM"), "EBGM", 0.0)


def words(case: dict[str, Any]) -> dict[str, Any]:
    """How the columns are named."""
    known = {} if case["as"] == "none" else {case["as"]: "t"}
    x = {"effect" if case["as"] == "se" else "count": "x"}
    return known | x | ({"group": "g"} if case["group"] else {})


def made(case: dict[str, Any], rows: slice = slice(None)) -> Any:
    columns = dict(case["columns"])
    if case.get("typed") is not None:
        name, kind = case["typed"]
        columns[name] = [TYPED[kind](row) for row in range(len(columns[name]))]
    try:
        return frame_of(case["kind"], {name: entries[rows] for name, entries in columns.items()})
    except Exception as error:  # a library that does not make such a table has not let it in
        raise EbformerError(type(error).__name__) from error


def frame_of(kind: str, columns: dict[str, list[Any]]) -> Any:
    import pandas
    import polars
    import pyarrow

    if kind == "pandas":
        return pandas.DataFrame(columns)
    if kind in ("polars", "lazy"):
        frame = polars.DataFrame(columns)
        return frame.lazy() if kind == "lazy" else frame
    table = pyarrow.table(columns)
    return duckdb.connect().from_arrow(table) if kind == "duckdb" else table


def check_answers(rows: Any) -> list[Any]:
    """Numbers where there are answers, and probabilities between 0 and 1; the estimates, None where there is none."""
    answers = ["estimate", "lower", "upper", "predicted", "expected", "p_above", "p_below", "p_top", "lfsr"]
    for name in set(answers) & set(names_of(rows)):
        told = [number for number in column_of(rows, name) if number is not None]
        probability = name.startswith("p_") or name == "lfsr"
        check_numbers(told, name, *((0.0, 1.0) if probability else ()))
    return column_of(rows, "estimate")


def names_of(rows: Any) -> list[str]:
    rows = rows.collect() if hasattr(rows, "collect") else rows
    return list(rows.column_names if hasattr(rows, "column_names") else rows.columns)


def column_of(rows: Any, name: str) -> list[Any]:
    """The entries of a column, None where one is missing, which NaN says in pandas."""
    if isinstance(rows, duckdb.DuckDBPyRelation):
        return [row[0] for row in rows.select(f'"{name}"').fetchall()]
    rows = rows.collect() if hasattr(rows, "collect") else rows
    column = rows[name]
    if type(rows).__module__.startswith("pandas"):
        return [None if entry != entry else entry for entry in column.to_list()]
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column.to_list())
