"""The tally of a table: one GROUP BY, whoever does it, then everything happens on the distinct observations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ebformer.binning import FINEST, WIDEST, distinct_rows, fineness
from ebformer.errors import InputError
from ebformer.tables.columns import NO_ROWS, Columns, Missing, Offender, Role, check_policy, complaint, usable
from ebformer.tally import Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LIMIT = 30_000
"""More distinct observations than this are answered in bins of log exposure ..."""
PER_GROUP = 100
"""... unless they are fewer than this per group: to fit a group takes longer than to answer so many. More stay where
bins would grow wider than the noise of large counts."""


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
    """A table, wherever it lives; `width` 0 asks for exact exposures, else floor(log exposure / width * fineness)."""

    @property
    def names(self) -> list[str]:
        """The names of its columns, in order."""

    def distinct(self, columns: Columns, width: float) -> Distinct:
        """The distinct observations and how many rows showed each."""

    def distinct_exposures(self, columns: Columns, limit: int) -> int:
        """How many distinct exposures there are; counting may stop above the limit."""

    def offender(self, columns: Columns, role: Role, missing_too: bool) -> Offender | None:
        """The first entry that cannot be used in this role, if there is one."""

    def with_answers(self, columns: Columns, width: float, keys: Distinct, answers: dict[str, NDArray[Any]]) -> Any:
        """The table with one new column per answer, joined on what `distinct` returned."""


@dataclass(frozen=True, eq=False)
class Observations:
    """The usable distinct observations of a table, checked: arrays [u], and how many rows were left out as missing."""

    columns: Columns
    keys: Distinct
    width: float
    missing: int

    @cached_property
    def count(self) -> Ints:
        """The count of each distinct observation."""
        return self.keys.count.astype(np.int64)

    @cached_property
    def exposure(self) -> Floats:
        """Its exposure; where exposures were binned, the middle of the bin on the log scale."""
        return self._within_bin(0.5) if self.width else self.keys.exposure

    def bounds(self) -> tuple[Floats, Floats]:
        """The least and the greatest exposure that each observation may stand for."""
        if not self.width:
            return self.exposure, self.exposure
        return self._within_bin(0.0), self._within_bin(1.0)

    def _within_bin(self, share: float) -> Floats:
        return np.exp((self.keys.exposure + share) * self.width / fineness(self.keys.count))

    @cached_property
    def groups(self) -> tuple[list[str | None], NDArray[np.intp]]:
        """The groups by name, sorted, and which of them each observation is of; without groups, all are of None."""
        if self.keys.group is None:
            return [None], np.zeros(self.keys.rows.size, dtype=np.intp)
        texts = self.keys.group.tolist()
        names = sorted(set(texts))
        number = {name: i for i, name in enumerate(names)}
        return names, np.fromiter(map(number.__getitem__, texts), dtype=np.intp, count=len(texts))

    @cached_property
    def alike(self) -> list[tuple[Tally, list[str | None]]]:
        """The distinct tallies, and the groups that showed each: many small groups look the same and need one fit."""
        names, group = self.groups
        order = np.lexsort((self.keys.exposure, self.keys.count, group))
        _, observation = distinct_rows(self.keys.count, self.keys.exposure, self.keys.rows)
        shown, ends = observation[order], [0, *np.cumsum(np.bincount(group)).tolist()]
        same: dict[bytes, list[int]] = {}
        for i, (start, end) in enumerate(pairwise(ends)):
            same.setdefault(shown[start:end].tobytes(), []).append(i)
        exposure = None if self.columns.exposure is None else self.exposure
        found = []
        for members in same.values():
            at = order[ends[members[0]] : ends[members[0] + 1]]
            tally = Tally(self.count[at], self.keys.rows[at], None if exposure is None else exposure[at])
            found.append((tally, [names[i] for i in members]))
        return found

    def tallies(self) -> dict[str | None, Tally]:
        """One tally per group, sorted by name."""
        found = {name: tally for tally, names in self.alike for name in names}
        return {name: found[name] for name in self.groups[0]}


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
    most = LIMIT if found.group is None else max(LIMIT, PER_GROUP * len(set(found.group.tolist())))
    if not width and columns.exposure is not None and found.rows.size > most:
        width = FINEST
        found = source.distinct(columns, width)
    if found.rows.size == 0:
        raise InputError(NO_ROWS)
    whole = _check(source, columns, found, width, missing)
    keys = Distinct(
        None if found.group is None else found.group[whole],
        found.count[whole],
        found.exposure[whole],
        found.rows[whole],
    )
    if keys.rows.size == 0:
        raise InputError("every row has a missing entry: give at least one whole unit")
    while width and keys.rows.size > most and width < WIDEST:
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
                raise complaint(columns, role, offender)
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
