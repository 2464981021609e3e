"""A column that holds no numbers is refused in every kind of table, whatever may be missing of it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ebformer as eb

pytestmark = pytest.mark.filterwarnings("ignore::ebformer.check.ModelWarning")

MIDNIGHT = dt.datetime(2024, 1, 1)
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "booleans": (pa.bool_(), [True, None, False]),
    "dates": (pa.date32(), [MIDNIGHT.date()] * 3),
    "moments": (pa.timestamp("us"), [MIDNIGHT] * 3),
    "times": (pa.time64("us"), [MIDNIGHT.time()] * 3),
    "durations": (pa.duration("us"), [dt.timedelta(days=2)] * 3),
    "bytes": (pa.binary(), [b"1", b"2", b"3"]),
    "bytes of one size": (pa.binary(1), [b"1", b"2", b"3"]),
    "lists": (pa.list_(pa.int64()), [[1], [2], [3]]),
    "structs": (pa.struct([("a", pa.int64())]), [{"a": 1}] * 3),
}
HOMES = {
    "pyarrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "pandas with arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "lazy": lambda table: pl.from_arrow(table).lazy(),
    "narwhals": lambda table: nw.from_native(pl.from_arrow(table)),
    "duckdb": lambda table: duckdb.connect().from_arrow(table),
}


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("role", ["count", "exposure", "future"])
@pytest.mark.parametrize("missing", ["error", "explain"])
def test_a_column_that_holds_no_numbers_is_refused_as_a_whole(home: str, kind: str, role: str, missing: Any) -> None:
    columns = {"count": pa.array([1, 2, 3]), "exposure": pa.array([1.0, 2.0, 3.0]), "future": pa.array([1.0, 1.0, 2.0])}
    columns[role] = pa.array(KINDS[kind][1], KINDS[kind][0])
    frame = HOMES[home](pa.table(columns))
    with pytest.raises(eb.InputError, match=f"column '{role}' holds .*, not numbers"):
        eb.shrink(frame, **{name: name for name in columns}, method="gamma", missing=missing)


@pytest.mark.parametrize("home", HOMES)
def test_dates_and_durations_are_no_covariates(home: str) -> None:
    after = [dt.timedelta(days=i) for i in range(12)]
    for days in ([MIDNIGHT.date() + each for each in after], after):
        frame = HOMES[home](pa.table({"x": pa.array(range(12)), "day": pa.array(days)}))
        with pytest.raises(eb.InputError, match="covariate 'day' holds"):
            eb.shrink(frame, "x", covariates=["day"], method="gamma")


@pytest.mark.parametrize("home", HOMES)
def test_a_column_without_any_entry_is_one_of_missing_numbers(home: str) -> None:
    frame = HOMES[home](pa.table({"x": pa.array([1, 2, 3]), "ahead": pa.nulls(3)}))
    with pytest.raises(eb.InputError, match="ahead is missing"):
        eb.shrink(frame, "x", future="ahead", method="gamma")


@pytest.mark.parametrize("home", HOMES)
def test_looks_that_are_missing_are_refused_and_lists_are_names(home: str) -> None:
    table = {"x": pa.array([1, 2, 3, 4]), "who": pa.array(["a", "a", "b", "b"])}
    with pytest.raises(eb.InputError, match="4 rows do not say which look they are of: fill in column 'look'"):
        eb.shrink(HOMES[home](pa.table(table | {"look": pa.nulls(4)})), "x", unit="who", look="look", method="gamma")
    lists = HOMES[home](pa.table(table | {"look": pa.array([[1], [2], [1], [2]])}))
    numbers = HOMES[home](pa.table(table | {"look": pa.array([1, 2, 1, 2])}))
    found = [
        np.sort(np.asarray(estimates(eb.shrink(each, "x", unit="who", look="look", method="gamma"))))
        for each in (lists, numbers)
    ]
    np.testing.assert_allclose(*found, rtol=1e-12)


def estimates(rows: Any) -> list[float]:
    if isinstance(rows, duckdb.DuckDBPyRelation):
        return [row[0] for row in rows.select("estimate").fetchall()]
    rows = rows.collect() if hasattr(rows, "lazy") and hasattr(rows, "collect") else rows
    return list(rows["estimate"].to_pylist() if hasattr(rows, "column_names") else rows["estimate"].to_list())


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=str)
@pytest.mark.parametrize("role", ["group", "unit"])
def test_names_are_the_same_however_arrow_holds_them(kind: pa.DataType, role: Any) -> None:
    columns = {
        "x": pa.array([1, 2, 3, 4]),
        "team": pa.array(["b", "a", "b", "a"]),
        "city": pa.array(["Z", "Y", "Z", "Y"]),
    }
    plain = pa.table(columns)
    held = pa.table(columns | {name: columns[name].cast(kind) for name in ("team", "city")})
    answers = [eb.shrink(table, "x", **{role: "team"}, method="gamma") for table in (plain, held)]
    assert answers[0].to_pylist() == answers[1].to_pylist()
