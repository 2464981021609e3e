"""The tally of a table: one GROUP BY, whoever does it, then everything happens on the distinct observations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ebformer.binning import alike, distinct_rows
from ebformer.channels.base import Channel
from ebformer.deviations import deviations
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.tables.columns import ERRORS, NO_ROWS, Columns, Missing, Role, check_missing
from ebformer.tables.entries import complaint, reason
from ebformer.tables.keys import defects, future_key, keys, unkeyed, unkeyed_future
from ebformer.tables.source import Distinct, Source
from ebformer.tally import Tally

T = TypeVar("T")
Ints = NDArray[np.int64]

LIMIT = 30_000
"""More distinct observations than this are answered in bins ..."""
PER_GROUP = 100
"""... unless they are fewer than this per group: to fit a group takes longer than to answer so many. More stay where
bins would grow wider than the noise of large counts."""


@dataclass(frozen=True, eq=False)
class Observations:
    """The usable distinct observations of a table, checked: arrays [u], and how many rows were left out as missing.

    `unusable` are those that cannot be answered, and `reasons` says why, one each; without any where the table was
    refused for such a row.
    """

    columns: Columns
    keys: Distinct
    width: float
    missing: int
    unusable: Distinct | None = None
    reasons: tuple[str, ...] = ()

    @cached_property
    def _middle(self) -> tuple[Floats, Floats]:
        return self._within_bin((0.5, 0.5))

    @property
    def x(self) -> Floats:
        """What was observed; where observations were binned, the middle of the bin."""
        return self._middle[0]

    @property
    def known(self) -> Floats:
        """What is known about each, such as its exposure; where observations were binned, the middle of the bin."""
        return self._middle[1]

    @cached_property
    def future(self) -> Floats | None:
        """What will be known about the next observation of each, where a column says it."""
        found = self.keys.more.get("future")
        return None if found is None else unkeyed_future(self.columns.channel, found, self.width)

    @property
    def history(self) -> Ints | None:
        """The number of each one's history, where units have some."""
        found = self.keys.more.get("history")
        return None if found is None else found.astype(np.int64)

    @property
    def expected(self) -> Floats | None:
        """What the covariates of each let expect, where there are any."""
        return self.keys.more.get("expected")

    @property
    def unseen(self) -> Floats | None:
        """Which covariates of each a fit cannot read (`Encoding.unseen`), where there are such."""
        return self.keys.more.get("unseen")

    def corners(self) -> list[tuple[Floats, Floats]]:
        """The observations at the ends of the bins, four ways to combine them."""
        return [self._within_bin((a, b)) for a in (0.0, 1.0) for b in (0.0, 1.0)]

    def _within_bin(self, at: tuple[float, float]) -> tuple[Floats, Floats]:
        return unkeyed(self.columns.channel, self.keys.x, self.keys.known, self.width, at)

    @cached_property
    def groups(self) -> tuple[list[str | None], NDArray[np.intp]]:
        """The groups by name, sorted, and which of them each observation is of; without groups, all are of None."""
        if self.keys.group is None:
            return [None], np.zeros(self.keys.rows.size, dtype=np.intp)
        return self.keys.group.shown

    @property
    def distinct_tallies(self) -> list[tuple[Tally, list[str | None]]]:
        """Each tally once, and the groups that showed it: many small groups look the same and need one fit.

        A group of which nothing was seen, such as one without any trials, has none.
        """
        names = self.groups[0]
        return [(tally, [names[i] for i in members]) for tally, members in self._alike]

    def of_groups(self, make: Callable[[Tally, str | None], T]) -> dict[str | None, T]:
        """What is made of each distinct tally and one of its groups, for every group, sorted by name."""
        names = self.groups[0]
        made: list[T] = []
        which = np.full(len(names), -1)
        for tally, members in self._alike:
            which[members] = len(made)
            made.append(make(tally, names[members[0]]))
        return {name: made[i] for name, i in zip(names, which.tolist(), strict=True) if i >= 0}

    @cached_property
    def _alike(self) -> list[tuple[Tally, list[int]]]:
        """The distinct tallies and the numbers of their groups."""
        group = self.groups[1]
        told = () if self.expected is None else (self.expected,)
        order = np.lexsort((*told, self.keys.known, self.keys.x, group))
        _, observation = distinct_rows(self.keys.x, self.keys.known, self.keys.rows, *told)
        shown, sizes = observation[order], np.bincount(group)
        starts = np.cumsum(sizes) - sizes
        found: list[tuple[Tally, list[int]]] = []
        for size in np.unique(sizes).tolist():
            those = np.flatnonzero(sizes == size)
            seen = shown[starts[those, None] + np.arange(size)]  # row by row what each of these groups showed, in order
            which = alike(seen)
            for members in np.split(those[np.argsort(which, kind="stable")], np.cumsum(np.bincount(which))[:-1]):
                at = order[starts[members[0]] : starts[members[0]] + size]
                if not bool(np.all(self.columns.channel.blank(self.x[at], self.known[at]))):
                    found.append((self.tally(at), members.tolist()))
        found.sort(key=lambda each: each[1][0])  # by their first groups
        return found or [
            (self.tally(), list(range(len(self.groups[0]))))
        ]  # which says what is wrong where nothing was seen at all

    def tally(self, at: NDArray[Any] | slice = slice(None)) -> Tally:
        """The tally of all observations, or of those at these places; with covariates, of deviations from expected."""
        x, known, channel = self.x[at], self.known[at], self.columns.channel
        if self.expected is not None:
            x, known = deviations(channel, x, known, self.expected[at])
        return Tally(x, self.keys.rows[at], known, channel=channel)

    def tallies(self) -> dict[str | None, Tally]:
        """One tally per group of which something was seen, sorted by name."""
        return self.of_groups(lambda tally, _: tally)


def observe(source: Source, columns: Columns, missing: Missing = "error") -> Observations:
    """Group a table to its distinct observations, or complain about the first entry that cannot be used.

    Rows with a missing entry are refused, or with `missing="keep"` left out here and without an answer later. With
    "explain", so are all that cannot be used, with a reason.
    """
    columns.found_in(source.names)
    check_missing(missing)
    channel, (finest, widest) = columns.channel, columns.channel.widths
    varied: list[Role] = [
        role for role in columns.roles if role in ("known", "future") or (role == "x" and not channel.whole)
    ]
    width = finest if any(source.variety(columns, role, LIMIT) > LIMIT for role in varied) else 0.0
    if columns.history is not None:  # few units share one, and bins would make them hardly fewer
        width = 0.0
    found = source.distinct(columns, width)
    most = LIMIT if found.group is None else max(LIMIT, PER_GROUP * len(found.group.shown[0]))
    if not width and found.rows.size > most and columns.history is None:
        binned = source.distinct(columns, finest)
        if binned.rows.size < found.rows.size:
            width, found = finest, binned
    if found.rows.size == 0:
        raise InputError(NO_ROWS)
    usable, reasons = _usable(source, columns, found, width, missing)
    kept, lost = found.at(usable), found.at(~usable)
    if kept.rows.size == 0 and missing == "keep":
        raise InputError("every row has a missing entry: give at least one whole unit")
    while width and kept.rows.size > most and width < widest:
        kept, lost = _coarser(channel, kept, width).merged(), _coarser(channel, lost, width)
        width *= 2.0
    return Observations(columns, kept, width, int(lost.rows.sum()), lost if missing == "explain" else None, reasons)


def units_of(source: Source, columns: Columns, missing: Missing = "error") -> tuple[Source, Columns]:
    """The table with the rows of every unit added up, and the columns it has then; without a unit, as they are."""
    if columns.unit is None:
        return source, columns
    check_rows(source, columns, missing)
    made = source.of_units(columns)
    if columns.covariates is not None:
        plain = replace(columns, covariates=None)
        units, apart = (each.kinds([columns.unit])[0] for each in (source.of_units(plain), made))
        if apart > units:
            raise InputError(
                f"rows of one {columns.unit} differ in a covariate, so that it does not tell about the unit: "
                "leave that column out, or make it the same in all rows of a unit"
            )
    return made, columns.of_units


def check_rows(source: Source, columns: Columns, missing: Missing) -> None:
    """Refuse rows that cannot be added up to units, each as it stands; one of no unit or look would join others."""
    observe(source, columns, missing)
    for word, column in (("unit", columns.unit), ("look", columns.look)):
        if column is not None and (rows := source.nameless(column)):
            have, of = (f"{rows:,} rows do not", "they are") if rows > 1 else ("a row does not", "it is")
            raise InputError(f"{have} say which {word} {of} of: fill in column {column!r}, or leave such rows out")


def _coarser(channel: Channel, found: Distinct, width: float) -> Distinct:
    """The same observations in bins of twice the width; what stands for no bin stays."""
    x, known = found.x.copy(), found.known.copy()
    at = np.isfinite(x) & np.isfinite(known)
    x[at], known[at] = keys(channel, *unkeyed(channel, x[at], known[at], width), 2.0 * width)
    more = dict(found.more)
    if "future" in more:
        future = more["future"] = more["future"].copy()
        at = np.isfinite(future)
        future[at] = future_key(channel, unkeyed_future(channel, future[at], width), 2.0 * width)
    return replace(found, x=x, known=known, more=more)


def _usable(
    source: Source, columns: Columns, found: Distinct, width: float, missing: Missing
) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Which observations can be used, and why each of the others cannot be.

    Raises for the first entry that is neither usable nor allowed to be missing.
    """
    usable = np.ones(found.rows.size, dtype=bool)
    why = np.full(found.rows.size, None, dtype=object)
    for role, absent, wrong in defects(columns, found.x, found.known, found.more, found.group, width):
        refused = absent | wrong if missing in ERRORS else wrong & (missing == "keep")
        if refused.any():
            offender = source.offender(columns, width, found.at(refused), role)
            if offender is None:
                raise InputError("the table has other rows at every look: give one that stays, such as a file")
            raise complaint(columns, role, offender, missing)
        why[absent & usable] = reason(columns, role, missing=True)
        why[wrong & usable] = reason(columns, role, missing=False)
        usable &= ~(absent | wrong)
    return usable, tuple(why[~usable])
