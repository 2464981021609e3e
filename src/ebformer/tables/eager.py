"""Data frames in memory: pandas, polars, pyarrow and whatever else narwhals reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ebformer.binning import distinct_rows
from ebformer.errors import InputError
from ebformer.tables.columns import Columns, Role, about_booleans
from ebformer.tables.entries import MISSING_GROUPS, Offender, means_missing
from ebformer.tables.keys import keys, more_keys
from ebformer.tables.names import Names
from ebformer.tables.source import Contents, Distinct

WITHOUT_ARRAYS = (nw.Decimal, nw.Int128, nw.UInt128)
"""Kinds of numbers that numpy has no arrays of."""
KINDS: dict[type, nw.dtypes.DType] = {
    bool: nw.Boolean(),
    np.bool_: nw.Boolean(),
    bytes: nw.Binary(),
    date: nw.Date(),
    time: nw.Time(),
    datetime: nw.Datetime(),
    timedelta: nw.Duration(),
    list: nw.List(nw.Object()),
    np.ndarray: nw.List(nw.Object()),
    dict: nw.Struct([]),
}
"""What a column of such entries would be, were it not one of Python objects."""


class EagerTable:
    """A data frame as a source; what comes back has the type that went in, lazy frames of polars included."""

    def __init__(self, frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> None:
        self.lazy = isinstance(frame, nw.LazyFrame)
        self.frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        self._named: dict[str, Names] = {}

    @property
    def names(self) -> list[str]:
        return list(self.frame.columns)

    def distinct(self, columns: Columns, width: float) -> Distinct:
        return self._shown(columns, width).merged()

    def variety(self, columns: Columns, role: Role, limit: int) -> int:
        name = columns.role(role)
        assert name is not None
        return int(np.unique(self._numbers(name)).size)

    def kinds(self, names: Sequence[str]) -> tuple[int, list[int]]:
        return len(self.frame), [self.frame[name].n_unique() for name in names]

    def of_units(self, columns: Columns) -> EagerTable:
        assert columns.unit is not None
        shown, channel, after = self._shown(columns, 0.0), columns.channel, columns.of_units
        _, which = distinct_rows(*(self.named(name).which for name in columns.by))
        _, first, unit = np.unique(which, return_index=True, return_inverse=True)
        order = np.argsort(np.argsort(first))[unit]  # units in the order of their first rows
        with np.errstate(all="ignore"):
            usable = channel.usable(shown.x, shown.known)
            a, b = channel.summands(shown.x, shown.known)
            x, known = channel.added_up(
                *(np.bincount(order, np.where(usable, each, 0.0)).astype(float) for each in (a, b))
            )
        lost = np.bincount(order, ~usable) > 0
        rows = self.frame[np.sort(first).tolist()].select(*columns.by)
        names, wholes = (columns.x, str(after.known)), (channel.whole, channel.whole_known)
        totals = {
            name: np.ma.array(np.where(lost, 0.0, each).astype(np.int64 if whole else np.float64), mask=lost)
            for name, whole, each in zip(names, wholes, (x, known), strict=True)
        }
        if columns.common is not None:  # NaN where the rows of a unit differ, or lack it
            future = shown.more["future"]
            alike = np.bincount(order, future != future[np.sort(first)][order]) == 0
            totals[columns.common] = np.ma.array(np.where(alike, future[np.sort(first)], 0.0), mask=~alike)
        each = np.arange(first.size)
        kept = []
        for name in columns.beside:
            by_unit = np.lexsort((self.frame[name].is_null().to_numpy(), order))  # what is missing comes last
            kept.append(self.frame[name][by_unit[np.searchsorted(order[by_unit], each)].tolist()])
        new = [self._column(name, values, each) for name, values in totals.items()]
        made = EagerTable(rows.with_columns(*kept, *new))
        made.lazy = self.lazy
        return made

    def arrays(self) -> dict[str, NDArray[Any]]:
        found = {name: self.frame[name] for name in self.names}
        return {
            name: self._numbers(name)
            if column.dtype.is_numeric() and column.null_count()
            else np.array(column.to_list())
            if column.dtype.is_numeric()
            else self._objects(name)
            for name, column in found.items()
        }

    def made_of(self, columns: dict[str, NDArray[Any]]) -> EagerTable:
        home = self.frame.implementation
        made = EagerTable(nw.from_dict({name: entries.tolist() for name, entries in columns.items()}, backend=home))
        made.lazy = self.lazy
        return made

    def contents(self, columns: Columns) -> Contents:
        assert columns.covariates is not None
        shown = self._shown(columns, 0.0)
        told = {name: self._entries(name) for name in columns.covariates.names}
        return Contents(shown.x, shown.known, told, shown.rows)

    def with_told(self, columns: Columns, contents: Contents, told: Mapping[str, NDArray[np.float64]]) -> EagerTable:
        new = [self._column(name, values, np.arange(values.size)) for name, values in told.items()]
        made = EagerTable(self.frame.with_columns(*new))
        made.lazy = self.lazy
        return made

    def offender(self, columns: Columns, width: float, shown: Distinct, role: Role) -> Offender | None:
        at = np.flatnonzero(self._which(columns, width, shown) >= 0)
        if at.size == 0:
            return None
        name = columns.role(role)
        assert name is not None
        entry = self.frame[name][int(at[0])]
        if hasattr(entry, "to_list"):  # what narwhals makes of a list
            entry = entry.to_list()
        if type(entry) is int and np.isinf(_number(entry)):
            entry = _number(entry)  # hundreds of digits would tell a reader no more
        return Offender(entry, int(at[0]) + 1, at.size)

    def with_answers(self, columns: Columns, width: float, shown: Distinct, answers: dict[str, NDArray[Any]]) -> Any:
        which = self._which(columns, width, shown)
        new = [self._column(name, values, which) for name, values in answers.items()]
        if self.frame.implementation.is_pandas():  # whose own `assign` keeps what a GeoDataFrame has beyond its columns
            return self.frame.to_native().assign(**{each.name: each.to_native().array for each in new})
        answered = self.frame.with_columns(*new)
        return answered.lazy().to_native() if self.lazy else answered.to_native()

    def _which(self, columns: Columns, width: float, asked: Distinct) -> NDArray[np.intp]:
        """Which of these observations each row shows, -1 where none."""
        rows, size = self._shown(columns, width), asked.rows.size
        together = asked.and_then(rows)
        group = None if together.group is None else together.group.which
        _, same = distinct_rows(group, together.x, together.known, *together.more.values())
        position = np.full(same.max() + 1, -1)
        position[same[:size]] = np.arange(size)
        return position[same[size:]]

    def _column(self, name: str, values: NDArray[Any], which: NDArray[np.intp]) -> nw.Series[Any]:
        """The answers row by row, empty where a row has none."""
        home, lost = self.frame.implementation, which < 0
        if not (lost.any() or np.ma.is_masked(values)):
            return nw.new_series(name, np.ma.getdata(values)[which], backend=home)
        empty = lost | np.ma.getmaskarray(values)[which]
        if values.dtype.kind == "O":
            texts = [None if none else text for text, none in zip(np.ma.getdata(values)[which], empty, strict=True)]
            return nw.new_series(name, texts, nw.String(), backend=home)
        column = nw.new_series(name, np.where(empty, np.nan, np.ma.getdata(values)[which]), backend=home)
        if home.is_pandas_like():
            return column
        return column.fill_nan(None).cast(nw.Int64()) if values.dtype.kind == "i" else column.fill_nan(None)

    def _shown(self, columns: Columns, width: float) -> Distinct:
        """What every row shows."""
        x = self._numbers(columns.x)
        known = self._numbers(columns.known) if isinstance(columns.known, str) else np.full(x.shape, columns.constant)
        group = None if columns.group is None else self.named(columns.group)
        one_each, more = np.broadcast_to(np.int64(1), x.shape), more_keys(columns, self._numbers, width)
        return Distinct(group, *keys(columns.channel, x, known, width), one_each, more)

    def _entries(self, name: str) -> NDArray[Any]:
        """A covariate: numbers, or text."""
        kind = self._kind(name)
        if kind.is_temporal():
            raise InputError(f"covariate {name!r} holds {kind}: make it a number first, such as the year")
        if kind == nw.Boolean():
            entries = zip(self.frame[name].to_list(), self.frame[name].is_null().to_list(), strict=True)
            return np.array([np.nan if missing else float(entry) for entry, missing in entries])
        return self._numbers(name) if kind.is_numeric() else self.texts(name)

    def _numbers(self, name: str) -> NDArray[np.float64]:
        column, kind = self.frame[name], self._kind(name)
        if kind == nw.Boolean():
            raise about_booleans(name)
        if kind.is_temporal() or kind.is_nested() or kind == nw.Binary():
            raise InputError(f"column {name!r} holds {type(kind).__name__}, not numbers: name another column")
        if column.dtype.is_numeric() and column.dtype not in WITHOUT_ARRAYS and column.null_count() == 0:
            return np.asarray(column.to_numpy(), dtype=np.float64)
        entries = zip(column.to_list(), column.is_null().to_list(), strict=True)
        return np.array([np.nan if missing else _number(entry) for entry, missing in entries], dtype=np.float64)

    def _objects(self, name: str) -> NDArray[np.object_]:
        """The entries of a column as they are, None where one is missing."""
        column = self.frame[name]
        entries = zip(column.to_list(), column.is_null().to_list(), strict=True)
        return np.fromiter((None if missing else entry for entry, missing in entries), dtype=object, count=len(column))

    def _kind(self, name: str) -> nw.dtypes.DType:
        """What a column holds; where its library knows but objects, what all of them are, if that is no number."""
        column = self.frame[name]
        if not isinstance(column.dtype, nw.Object | nw.Unknown):
            return column.dtype
        entries = zip(column.to_list(), column.is_null().to_list(), strict=True)
        found = {type(entry) for entry, missing in entries if not missing}
        return KINDS.get(found.pop(), column.dtype) if len(found) == 1 else column.dtype

    def nameless(self, column: str) -> int:
        return int(self.named(column).missing.sum())

    def named(self, name: str) -> Names:
        """The entries of a column as names of groups or units."""
        if name not in self._named:
            column = self.frame[name]
            self._named[name] = _ranked(column) if column.dtype == nw.String() else Names.of(self.texts(name))
        return self._named[name]

    def texts(self, name: str) -> NDArray[np.object_]:
        """The entries of a column as text, None where one is missing."""
        column = self.frame[name]
        texts = np.empty(len(column), dtype=object)
        entries = zip(map(str, column.to_list()), column.is_null().to_list(), strict=True)
        texts[:] = [None if missing else _name(text) for text, missing in entries]
        return texts


def _name(text: str) -> str | None:
    """The text, unless it says that a name is missing."""
    return None if means_missing(text, MISSING_GROUPS) else text


def _ranked(column: nw.Series[Any]) -> Names:
    """The entries of a column of text as names, numbered where they lie: of each name, one entry becomes Python's."""
    rank = column.rank("dense").fill_null(0).to_numpy().astype(np.intp)  # 0 where there is none, names from 1 on
    row = np.zeros(rank.max(initial=0) + 1, dtype=np.intp)
    row[rank] = np.arange(rank.size)
    names = [None, *map(_name, column[row[1:].tolist()].to_list())]
    number = np.cumsum([name is not None for name in names])
    number[[name is None for name in names]] = 0
    return Names([None, *(name for name in names if name is not None)], number[rank])


def _number(entry: Any) -> float:
    """NaN where text says that the entry is missing, -inf where it is no number; as a file's text would be read.

    >>> _number("2.5"), _number("two"), _number(10**400)
    (2.5, -inf, inf)
    """
    if isinstance(entry, str) and means_missing(entry):
        return np.nan
    if isinstance(entry, bool | np.bool_ | bytes):  # as in a file, where true is text
        return -np.inf
    try:
        return float(entry)
    except OverflowError:
        return np.inf if entry > 0 else -np.inf
    except (TypeError, ValueError):
        return -np.inf
