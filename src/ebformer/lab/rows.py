"""Rows of results on disk: named tuples as CSV or Parquet, which come back bit for bit."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, get_type_hints

from ebformer.atomic import replacing
from ebformer.errors import InputError

Row = TypeVar("Row", bound=NamedTuple)
FilePath = str | os.PathLike[str]


class Column(NamedTuple):
    """A column of a file: its name there, the field of the rows that it holds, and the type of its entries."""

    name: str
    field: str
    type: type[str] | type[int] | type[float]

    def entry(self, cell: str) -> str | int | float:
        """What a cell of CSV says; an empty one is an unknown number."""
        return nan if self.type is float and not cell else self.type(cell)


@dataclass(frozen=True)
class Format(Generic[Row]):
    """How rows of one kind are written: in which columns, and by what they are told apart and sorted.

    >>> class Time(NamedTuple):
    ...     method: str
    ...     seconds: float
    >>> Format.of(Time).lines([Time("mle", 0.1), Time("npmle", nan)])
    'mle,0.1\\nnpmle,\\n'
    """

    make: Callable[..., Row]
    """A row from its fields by name."""
    columns: tuple[Column, ...]
    identity: Callable[[Row], Any]

    @classmethod
    def of(cls, kind: type[Row], identity: Callable[[Row], Any] = tuple) -> Format[Row]:
        """Every field in a column of its name."""
        hints = get_type_hints(kind)
        return cls(kind, tuple(Column(field, field, hints[field]) for field in kind._fields), identity)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def write(self, rows: Iterable[Row], path: FilePath) -> None:
        """CSV or Parquet by the suffix, in the order of the rows; the file appears whole or not at all."""
        with replacing(path) as partial:
            if is_parquet(path):
                import pyarrow as pa
                import pyarrow.parquet as pq

                arrow = {str: pa.string(), int: pa.int64(), float: pa.float64()}
                entries = list(zip(*map(self._entries, rows), strict=True)) or [()] * len(self.columns)
                types = [arrow[column.type] for column in self.columns]
                pq.write_table(pa.table([*map(pa.array, entries, types)], names=self.names), partial)
            else:
                partial.write_text(self.csv(rows), encoding="utf-8")

    def read(self, path: FilePath) -> list[Row]:
        """What `write` wrote."""
        if is_parquet(path):
            import pyarrow as pa
            import pyarrow.parquet as pq

            try:
                table = pq.read_table(path)
            except pa.ArrowInvalid as error:
                raise InputError(f"{path} is no Parquet file: name another, or delete it") from error
            self._check(path, table.column_names)
            return [self._row(entries) for entries in zip(*(c.to_pylist() for c in table.columns), strict=True)]
        header, _, body = Path(path).read_text(encoding="utf-8").partition("\n")
        self._check(path, header.strip().split(","))
        return self.parse(body, path)

    def csv(self, rows: Iterable[Row]) -> str:
        """A header and `lines`."""
        return ",".join(self.names) + "\n" + self.lines(rows)

    def lines(self, rows: Iterable[Row]) -> str:
        """Lines of CSV without a header; repr keeps every bit of a number, and an unknown one is an empty cell."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(
            ["" if entry != entry else repr(entry) if isinstance(entry, float) else entry for entry in entries]
            for entries in map(self._entries, rows)
        )
        return text.getvalue()

    def parse(self, body: str, path: FilePath) -> list[Row]:
        """The rows of what `lines` wrote to `path`."""
        rows = []
        for number, cells in enumerate(csv.reader(io.StringIO(body)), 1):
            try:
                rows.append(self._row(column.entry(cell) for column, cell in zip(self.columns, cells, strict=True)))
            except ValueError as error:
                damaged = f"{path} is damaged in row {number}, {','.join(cells)[:60]!r}"
                raise InputError(f"{damaged}: mend or delete it") from error
        return rows

    def _entries(self, row: Row) -> list[Any]:
        return [column.type(getattr(row, column.field)) for column in self.columns]

    def _row(self, entries: Iterable[Any]) -> Row:
        return self.make(**dict(zip((column.field for column in self.columns), entries, strict=True)))

    def _check(self, path: FilePath, names: list[str]) -> None:
        if names != self.names:
            found, asked = ", ".join(names)[:60], ", ".join(self.names)
            raise InputError(f"{path} has the columns {found!r}, not {asked}: name another, or delete it")


def is_parquet(path: FilePath) -> bool:
    """Whether a table is Parquet or CSV, by its suffix; others are refused."""
    suffix = Path(path).suffix
    if suffix not in (".csv", ".parquet"):
        raise InputError(f"{path} ends in {suffix or 'no suffix'}: name a .csv or .parquet file")
    return suffix == ".parquet"
