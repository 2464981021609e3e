"""Where the files are, and their columns. None ships with ebformer: docs/realdata.md says what to download."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.errors import InputError

FilePath = str | os.PathLike[str]


def data_folder(data_dir: FilePath | None = None) -> Path:
    """The folder with nhl/, mlb/, books/ and classic/: `data_dir`, else $EBFORMER_DATA, else ../shared/data."""
    folder = Path(data_dir or os.environ.get("EBFORMER_DATA") or "../shared/data")
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}: name the folder of the data by --data-dir or EBFORMER_DATA")
    return folder


def find(data_dir: FilePath | None, *patterns: str) -> list[Path]:
    """The files that match the first pattern that has any, in order of name."""
    folder = data_folder(data_dir)
    for pattern in patterns:
        if found := sorted(folder.glob(pattern)):
            return found
    raise InputError(f"{folder} has no {' and no '.join(patterns)}: docs/realdata.md says where to get them")


def read_text(path: FilePath) -> str:
    """A text in UTF-8, also gzipped."""
    raw = Path(path).read_bytes()
    try:
        return (gzip.decompress(raw) if Path(path).suffix == ".gz" else raw).decode("utf-8-sig")
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise InputError(f"{path} is no text in UTF-8: save it as such ({error})") from error


def read_columns(paths: Iterable[FilePath], columns: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Named columns of CSV (also gzipped) or Parquet files, one file after the other, through DuckDB."""
    import duckdb

    files, wanted = [os.fspath(path) for path in paths], list(columns)
    reader = "read_parquet" if files[0].endswith(".parquet") else "read_csv"
    try:
        relation = duckdb.sql(f"SELECT * FROM {reader}(?, union_by_name = true)", params=[files])
        assert relation is not None  # a SELECT always has one
        for column in wanted:
            if column not in relation.columns:
                raise InputError(f"{files[0]} has no column {column!r}: it has {', '.join(relation.columns)}")
        quoted = ", ".join('"' + column.replace('"', '""') + '"' for column in wanted)
        found: dict[str, NDArray[Any]] = relation.select(quoted).fetchnumpy()
    except duckdb.Error as error:
        raise InputError(f"{files[0]} cannot be read as a table: {str(error).splitlines()[0]}") from error
    for column, entries in found.items():
        if np.ma.is_masked(entries):
            row = int(np.flatnonzero(np.ma.getmaskarray(entries))[0])
            raise InputError(f"{files[0]}: column {column!r} has no entry in row {row + 1}: fill it in or drop the row")
    return {column: np.asarray(entries) for column, entries in found.items()}
