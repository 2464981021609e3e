"""What others measured on the same cases: comparisons are paired case by case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ebformer.errors import InputError
from ebformer.lab.arena.losses import Key, Loss
from ebformer.lab.rows import Column
from ebformer.tables.arrays import FilePath, read_columns


def read_published(path: FilePath, cases: Iterable[Key], columns: Sequence[Column]) -> list[Loss]:
    """Others' losses on our cases, from a CSV or Parquet file with these columns; those on other cases are left out.

    >>> import tempfile
    >>> from ebformer.lab.arena.table import PUBLISHED_REGRETS
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     print("world,n,tally,estimator,regret\\nneural,128,7,T24r,0.25", file=file, flush=True)
    ...     [loss.regret for loss in read_published(file.name, [Key("neural", 128, 7)], PUBLISHED_REGRETS)]
    [0.25]
    """
    table = read_columns([path], [column.name for column in columns])
    told = [column.field for column in columns if column.field in Key._fields]
    ours = {tuple(getattr(key, field) for field in told): key for key in cases}
    found: dict[tuple[Key, str], dict[str, Any]] = {}
    for entries in zip(*(table[column.name].tolist() for column in columns), strict=True):
        row = {column.field: column.type(entry) for column, entry in zip(columns, entries, strict=True)}
        key, name = ours.get(tuple(row[field] for field in told)), str(row["estimator"])
        if key is not None and found.setdefault((key, name), row) != row:
            raise InputError(f"{path} has two scores of {name} on {key.data}, {key.case}: leave one of them out")
    if not found:
        there = dict.fromkeys(table[next(column.name for column in columns if column.field == "data")].tolist())
        raise InputError(f"{path} has none of the cases to be scored here: it has {', '.join(map(str, there))}")
    return [Loss(**key._asdict() | row) for (key, _), row in found.items()]
