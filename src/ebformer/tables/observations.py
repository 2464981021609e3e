"""The tally of a table: one GROUP BY, whoever does it, then everything happens on the distinct observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ebformer.binning import FINEST, distinct_rows
from ebformer.errors import InputError
from ebformer.tables.columns import Columns, Missing, Role, check_policy, complaint, usable
from ebformer.tally import Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LIMIT = 30_000
"""More distinct observations than this are answered in bins of log exposure."""


@dataclass(frozen=True, eq=False)
class Distinct:
    """What a GROUP BY returns: arrays [u] of group (text), count, exposure (or its bin) and the number of rows.

    A missing entry is None in `group` and NaN in `count` and `exposure`; text that is no number is -inf.
    """

    group: NDArray[np.object_] | None
    count: Floats
    exposure: Floats
    rows: Ints


class Source(Protocol):
    """A table, wherever it lives; `width` 0 means exact exposures, otherwise floor(log(exposure) / width)."""

    @property
    def names(self) -> list[str]:
        """The names of its columns, in order."""

    def distinct(self, columns: Columns, width: float) -> Distinct:
        """The distinct observations and how many rows showed each."""

    def distinct_exposures(self, columns: Columns, limit: int) -> int:
        """How many distinct exposures there are; counting may stop above the limit."""

    def offender(self, columns: Columns, role: Role, missing_too: bool) -> tuple[int | None, object] | None:
        """The first entry that cannot be used in this role, with its row (from 1) where rows have an order."""

    def with_answers(self, columns: Columns, width: float, keys: Distinct, answers: dict[str, NDArray[Any]]) -> Any:
        """The table with one new column per answer, joined on what `distinct` returned."""


@dataclass(frozen=True, eq=False)
class Observations:
    """The usable distinct observations of a table, checked: arrays [u], and how many rows were left out as missing."""

    columns: Columns
    keys: Distinct
    width: float
    missing: int

    @property
    def count(self) -> Ints:
        """The count of each distinct observation."""
        return self.keys.count.astype(np.int64)

    @property
    def exposure(self) -> Floats:
        """Its exposure; where exposures were binned, the middle of the bin on the log scale."""
        return np.exp((self.keys.exposure + 0.5) * self.width) if self.width else self.keys.exposure

    def bounds(self) -> tuple[Floats, Floats]:
        """The least and the greatest exposure that each observation may stand for."""
        if not self.width:
            return self.exposure, self.exposure
        return np.exp(self.keys.exposure * self.width), np.exp((self.keys.exposure + 1) * self.width)

    def members(self) -> dict[str | None, NDArray[np.intp]]:
        """Where each group's observations are; without groups, all of them under None."""
        if self.keys.group is None:
            return {None: np.arange(self.keys.rows.size)}
        names, which = np.unique(self.keys.group, return_inverse=True)
        starts = np.cumsum(np.bincount(which))[:-1]
        return dict(zip(map(str, names), np.split(np.argsort(which, kind="stable"), starts), strict=True))

    def tallies(self) -> dict[str | None, Tally]:
        """One tally per group."""
        exposure = None if self.columns.exposure is None else self.exposure
        return {
            name: Tally(self.count[at], self.keys.rows[at], None if exposure is None else exposure[at])
            for name, at in self.members().items()
        }


def observe(source: Source, columns: Columns, missing: Missing = "error") -> Observations:
    """Group a table to its distinct observations, or complain about the first entry that cannot be used.

    Rows with a missing entry are refused, or with `missing="keep"` left out here and without an answer later.
    """
    columns.found_in(source.names)
    check_policy(missing)
    width = 0.0
    if columns.exposure is not None and source.distinct_exposures(columns, LIMIT) > LIMIT:
        width = FINEST
    found = source.distinct(columns, width)
    if not width and columns.exposure is not None and found.rows.size > LIMIT:
        width = FINEST
        found = source.distinct(columns, width)
    if found.rows.size == 0:
        raise InputError("the table has no rows: give at least one unit")
    whole = _check(source, columns, found, width, missing)
    keys = Distinct(
        None if found.group is None else found.group[whole],
        found.count[whole],
        found.exposure[whole],
        found.rows[whole],
    )
    if keys.rows.size == 0:
        raise InputError("every row has a missing entry: give at least one whole unit")
    while width and keys.rows.size > LIMIT and width < 1.0:
        width *= 2.0
        keys = merged(keys, np.floor(keys.exposure / 2.0))
    return Observations(columns, keys, width, missing=int(found.rows.sum() - keys.rows.sum()))


def _check(source: Source, columns: Columns, found: Distinct, width: float, missing: Missing) -> NDArray[np.bool_]:
    """Where observations are whole; raises for the first entry that is neither usable nor allowed to be missing."""
    whole = np.ones(found.rows.size, dtype=bool)
    for role in ("count", "exposure", "group"):
        if columns.role(role) is None:
            continue
        if role == "group":
            assert found.group is not None
            good = np.array([name is not None for name in found.group], dtype=bool)
            bad = ~good & (missing == "error")
        elif role == "exposure" and width:
            # A bin is missing for exposures that are missing and for those that have no logarithm: ask which.
            good = np.isfinite(found.exposure)
            bad = ~good
        else:
            numbers = found.count if role == "count" else found.exposure
            good = usable(role, numbers)
            bad = ~good & ((missing == "error") | ~np.isnan(numbers))
        if bad.any():
            offender = source.offender(columns, role, missing_too=missing == "error")
            if offender is not None:
                row, value = offender
                raise complaint(columns, role, value, row)
        whole &= good
    return whole


def merged(keys: Distinct, exposure: Floats) -> Distinct:
    """The same observations with these exposure keys instead; those that became equal are added up."""
    first, inverse = distinct_rows(keys.group, keys.count, exposure)
    return Distinct(
        None if keys.group is None else keys.group[first],
        keys.count[first],
        exposure[first],
        np.bincount(inverse, weights=keys.rows).astype(np.int64),
    )
