"""The tally of a table: one GROUP BY, whoever does it, then everything happens on the distinct observations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ebformer.binning import FINEST, WIDEST, distinct_rows, fineness
from ebformer.errors import InputError
from ebformer.tables.columns import NO_ROWS, Columns, Missing, Role, check_missing
from ebformer.tables.entries import Offender, complaint
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
    """What a GROUP BY returns: arrays [u] of group (text), x, what is known (or its bin) and the number of rows.

    A missing entry is None in `group` and NaN in `x` and `known`. Text that is no number is -inf, and so is the bin of
    what has no logarithm.
    """

    group: NDArray[np.object_] | None
    x: Floats
    known: Floats
    rows: Ints

    @property
    def by_role(self) -> dict[Role, NDArray[Any]]:
        """What rows were grouped by."""
        numbers: dict[Role, NDArray[Any]] = {"x": self.x, "known": self.known}
        return numbers if self.group is None else numbers | {"group": self.group}

    def at(self, which: NDArray[Any]) -> Distinct:
        """Some of them, by mask or by position."""
        group = None if self.group is None else self.group[which]
        return Distinct(group, self.x[which], self.known[which], self.rows[which])

    def merged(self) -> Distinct:
        """Each of them once: the rows of equal ones are added up."""
        first, which = distinct_rows(numbered(self.group), self.x, self.known)
        return replace(self.at(first), rows=np.bincount(which, weights=self.rows).astype(np.int64))


def numbered(texts: NDArray[np.object_] | None) -> NDArray[np.int64] | None:
    """Numbers for texts, equal where the texts are; None is a text of its own.

    >>> numbered(np.array(["b", None, "b"], dtype=object)).tolist()
    [0, 1, 0]
    """
    if texts is None:
        return None
    seen: dict[object, int] = {}
    return np.array([seen.setdefault(text, len(seen)) for text in texts], dtype=np.int64)


class Source(Protocol):
    """A table, wherever it lives; `width` 0 asks for `known` itself, else for floor(log known / width * fineness)."""

    @property
    def names(self) -> list[str]:
        """The names of its columns, in order."""

    def distinct(self, columns: Columns, width: float) -> Distinct:
        """The distinct observations and how many rows showed each."""

    def distinct_known(self, columns: Columns, limit: int) -> int:
        """In how many ways units are known to differ, such as distinct exposures; counting may stop above the limit."""

    def offender(self, columns: Columns, width: float, keys: Distinct, role: Role) -> Offender | None:
        """The entry in this role of the first row that shows one of these observations, and how many rows do."""

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
    def x(self) -> Floats:
        """What was observed: counts."""
        return self.keys.x

    @cached_property
    def known(self) -> Floats:
        """What is known about each: its exposure; where these were binned, the middle of the bin on the log scale."""
        return self._within_bin(0.5) if self.width else self.keys.known

    def bounds(self) -> tuple[Floats, Floats]:
        """The least and the greatest known that each observation may stand for."""
        if not self.width:
            return self.known, self.known
        return self._within_bin(0.0), self._within_bin(1.0)

    def _within_bin(self, share: float) -> Floats:
        return np.exp((self.keys.known + share) * self.width / fineness(self.keys.x))

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
    def distinct_tallies(self) -> list[tuple[Tally, list[str | None]]]:
        """Each tally once, and the groups that showed it: many small groups look the same and need one fit."""
        names, group = self.groups
        order = np.lexsort((self.keys.known, self.keys.x, group))
        _, observation = distinct_rows(self.keys.x, self.keys.known, self.keys.rows)
        shown, ends = observation[order], [0, *np.cumsum(np.bincount(group)).tolist()]
        same: dict[bytes, list[int]] = {}
        for i, (start, end) in enumerate(pairwise(ends)):
            same.setdefault(shown[start:end].tobytes(), []).append(i)
        known = None if self.columns.known is None else self.known
        found = []
        for members in same.values():
            at = order[ends[members[0]] : ends[members[0] + 1]]
            about = None if known is None else known[at]
            tally = Tally(self.x[at], self.keys.rows[at], about, channel=self.columns.channel)
            found.append((tally, [names[i] for i in members]))
        return found

    def tallies(self) -> dict[str | None, Tally]:
        """One tally per group, sorted by name."""
        found = {name: tally for tally, names in self.distinct_tallies for name in names}
        return {name: found[name] for name in self.groups[0]}


def observe(source: Source, columns: Columns, missing: Missing = "error") -> Observations:
    """Group a table to its distinct observations, or complain about the first entry that cannot be used.

    Rows with a missing entry are refused, or with `missing="keep"` left out here and without an answer later.
    """
    columns.found_in(source.names)
    check_missing(missing)
    width = 0.0
    if columns.known is not None and source.distinct_known(columns, LIMIT) > LIMIT:
        width = FINEST
    found = source.distinct(columns, width)
    most = LIMIT if found.group is None else max(LIMIT, PER_GROUP * len(set(found.group.tolist())))
    if not width and columns.known is not None and found.rows.size > most:
        width = FINEST
        found = source.distinct(columns, width)
    if found.rows.size == 0:
        raise InputError(NO_ROWS)
    keys = found.at(_complete(source, columns, found, width, missing))
    if keys.rows.size == 0:
        raise InputError("every row has a missing entry: give at least one whole unit")
    while width and keys.rows.size > most and width < WIDEST:
        width *= 2.0
        keys = replace(keys, known=np.floor(keys.known / 2.0)).merged()
    return Observations(columns, keys, width, missing=int(found.rows.sum() - keys.rows.sum()))


def _complete(source: Source, columns: Columns, found: Distinct, width: float, missing: Missing) -> NDArray[np.bool_]:
    """Where nothing is missing; raises for the first entry that is neither usable nor allowed to be missing."""
    complete = np.ones(found.rows.size, dtype=bool)
    for role in columns.roles:
        entries = found.by_role[role]
        if role == "group":
            good = np.array([name is not None for name in entries], dtype=bool)
            absent = ~good
        else:
            good = np.isfinite(entries) if role == "known" and width else columns.usable(role, entries)
            absent = np.isnan(entries)
        bad = ~good if missing == "error" else ~good & ~absent
        if bad.any():
            offender = source.offender(columns, width, found.at(bad), role)
            if offender is None:
                raise InputError("the table has other rows at every look: give one that stays, such as a file")
            raise complaint(columns, role, offender)
        complete &= good
    return complete
