"""Named columns of files as arrays: for readers who need every row in memory, and not a tally."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.errors import InputError
from ebformer.tables.columns import about_booleans
from ebformer.tables.sql import quoted

FilePath = str | os.PathLike[str]


def read_columns(paths: Iterable[FilePath], columns: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Named columns of CSV (also gzipped) or Parquet files, one file after the other, every entry filled in."""
    import duckdb

    from ebformer.tables.files import check_input, complaints_about, lock

    files, wanted = [os.fspath(path) for path in paths], list(columns)
    reader = "read_parquet" if files[0].endswith(".parquet") else "read_csv"
    # The columns are those of the files: from a folder like year=2024 DuckDB would add or replace one.
    options = "union_by_name = true, hive_partitioning = false"
    for file in files:
        check_input(file)
    with complaints_about(files[0]), duckdb.connect() as connection:
        lock(connection, files)
        table = connection.sql(
            f"SELECT * FROM {reader}(?, {options})", params=[[glob.escape(os.path.abspath(file)) for file in files]]
        )
        for column in wanted:
            if column not in table.columns:
                raise InputError(f"{files[0]} has no column {column!r}: it has {', '.join(table.columns)}")
        found: dict[str, NDArray[Any]] = table.select(", ".join(map(quoted, wanted))).fetchnumpy()
    if found[wanted[0]].size == 0:
        raise InputError(f"{files[0]} has no rows: give at least one")
    for column, entries in found.items():
        if entries.dtype.kind == "b":
            raise about_booleans(column)
        missing = np.ma.getmaskarray(entries) | (np.ma.getdata(entries) != np.ma.getdata(entries))  # NaN differs
        if missing.any():
            row = int(np.flatnonzero(missing)[0])
            raise InputError(f"{files[0]}: column {column!r} has no entry in row {row + 1}: fill it in or drop the row")
    return {column: np.asarray(entries) for column, entries in found.items()}
