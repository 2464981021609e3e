"""Data frames in memory: pandas, polars, pyarrow and whatever else narwhals reads."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ebformer.binning import distinct_rows, fineness
from ebformer.tables.columns import NO_ANSWER, NO_GROUP, Columns, Offender, Role, usable
from ebformer.tables.observations import Distinct


class EagerTable:
    """A data frame as a source; what comes back has the type that went in, lazy frames of polars included."""

    def __init__(self, frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> None:
        self.lazy = isinstance(frame, nw.LazyFrame)
        self.frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame

    @property
    def names(self) -> list[str]:
        return list(self.frame.columns)

    def distinct(self, columns: Columns, width: float) -> Distinct:
        group, count, exposure = self._keys(columns, width)
        first, inverse = distinct_rows(_coded(group), count, exposure)
        return Distinct(
            None if group is None else group[first],
            count[first],
            exposure[first],
            np.bincount(inverse, minlength=first.size),
        )

    def distinct_exposures(self, columns: Columns, limit: int) -> int:
        return int(np.unique(self._numbers(columns, "exposure")).size)

    def offender(self, columns: Columns, role: Role, missing_too: bool) -> Offender | None:
        name = columns.role(role)
        assert name is not None
        if role == "group":
            bad = np.array([text is None for text in self._texts(name)], dtype=bool)
        else:
            numbers = self._numbers(columns, role)
            bad = ~usable(role, numbers) & (missing_too | ~np.isnan(numbers))
        at = np.flatnonzero(bad)
        if at.size == 0:
            return None
        entry = self.frame[name][int(at[0])]
        if isinstance(entry, int) and np.isinf(_number(entry)):
            entry = _number(entry)  # hundreds of digits would tell a reader no more
        return Offender(entry, int(at[0]) + 1, at.size)

    def with_answers(self, columns: Columns, width: float, keys: Distinct, answers: dict[str, NDArray[Any]]) -> Any:
        group, count, exposure = self._keys(columns, width)
        known = keys.rows.size
        together = None if group is None or keys.group is None else np.concatenate([keys.group, group])
        _, which = distinct_rows(
            _coded(together), np.concatenate([keys.count, count]), np.concatenate([keys.exposure, exposure])
        )
        position = np.full(which.max() + 1, -1)
        position[which[:known]] = np.arange(known)
        at = position[which[known:]]
        new = [self._column(name, values, at) for name, values in answers.items()]
        answered = self.frame.with_columns(*new)
        return answered.lazy().to_native() if self.lazy else answered.to_native()

    def _column(self, name: str, values: NDArray[Any], at: NDArray[np.intp]) -> nw.Series[Any]:
        """The answers row by row, empty where a row has none."""
        found = values[at]
        if bool(np.all(at >= 0)):
            return nw.new_series(name, found, backend=self.frame.implementation)
        column = nw.new_series(name, np.where(at >= 0, found, np.nan), backend=self.frame.implementation)
        return column if self.frame.implementation.is_pandas_like() else column.fill_nan(None)

    def _keys(
        self, columns: Columns, width: float
    ) -> tuple[NDArray[np.object_] | None, NDArray[np.float64], NDArray[np.float64]]:
        count = self._numbers(columns, "count")
        exposure = np.ones(count.size) if columns.exposure is None else self._numbers(columns, "exposure")
        if width:
            with np.errstate(invalid="ignore", divide="ignore"):
                exposure = np.where(exposure > 0, np.floor(np.log(exposure) / width * fineness(count)), np.nan)
        return None if columns.group is None else self._texts(columns.group), count, exposure

    def _numbers(self, columns: Columns, role: Role) -> NDArray[np.float64]:
        name = columns.role(role)
        assert name is not None
        column = self.frame[name]
        if column.dtype.is_numeric() and not column.dtype.is_decimal() and column.null_count() == 0:
            return np.asarray(column.to_numpy(), dtype=np.float64)
        entries = zip(column.to_list(), column.is_null().to_list(), strict=True)
        return np.array([np.nan if missing else _number(entry) for entry, missing in entries], dtype=np.float64)

    def _texts(self, name: str) -> NDArray[np.object_]:
        column = self.frame[name]
        texts = np.empty(len(column), dtype=object)
        entries = zip(column.to_list(), column.is_null().to_list(), strict=True)
        texts[:] = [None if missing or _is_one_of(NO_GROUP, str(entry)) else str(entry) for entry, missing in entries]
        return texts


def _coded(texts: NDArray[np.object_] | None) -> NDArray[np.int64] | None:
    """Numbers for texts, equal where the texts are; None is a text of its own."""
    if texts is None:
        return None
    seen: dict[object, int] = {}
    return np.array([seen.setdefault(text, len(seen)) for text in texts], dtype=np.int64)


def _number(entry: Any) -> float:
    """NaN where text says that the entry is missing, -inf where it is no number; as a file's text would be read.

    >>> _number("2.5"), _number("two"), _number(10**400)
    (2.5, -inf, inf)
    """
    if isinstance(entry, str) and _is_one_of(NO_ANSWER, entry):
        return np.nan
    try:
        return float(entry)
    except OverflowError:
        return np.inf if entry > 0 else -np.inf
    except (TypeError, ValueError):
        return -np.inf


def _is_one_of(missing: tuple[str, ...], text: str) -> bool:
    return text.strip().lower() in missing
