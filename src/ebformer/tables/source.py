"""What the rest asks of a table, wherever it lives, and what it answers: its distinct observations, not its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ebformer.binning import distinct_rows
from ebformer.distributions import Floats
from ebformer.tables.columns import Columns, Role
from ebformer.tables.entries import Offender
from ebformer.tables.names import Names

Ints = NDArray[np.int64]

COUNTED = 1_000_000
"""Rows among which names that repeat are looked for, at least."""


@dataclass(frozen=True, eq=False)
class Distinct:
    """What a GROUP BY returns: arrays [u] of group (names), x, what is known (or its bin) and the number of rows.

    `more` has the numbers of further roles, such as what will be known of the next observation. A missing entry is None
    in `group` and NaN among numbers. Text that is no number is -inf; `keys` says what bins are.
    """

    group: Names | None
    x: Floats
    known: Floats
    rows: Ints
    more: Mapping[Role, Floats] = field(default_factory=dict)

    @property
    def by_role(self) -> dict[Role, NDArray[Any]]:
        """What rows were grouped by."""
        numbers: dict[Role, NDArray[Any]] = {"x": self.x, "known": self.known, **self.more}
        return numbers if self.group is None else numbers | {"group": self.group.texts}

    def at(self, which: NDArray[Any]) -> Distinct:
        """Some of them, by mask or by position."""
        group = None if self.group is None else self.group[which]
        more = {role: numbers[which] for role, numbers in self.more.items()}
        return Distinct(group, self.x[which], self.known[which], self.rows[which], more)

    def merged(self) -> Distinct:
        """Each of them once: the rows of equal ones are added up."""
        group = None if self.group is None else self.group.which
        first, which = distinct_rows(group, self.x, self.known, *self.more.values())
        return replace(self.at(first), rows=np.bincount(which, weights=self.rows).astype(np.int64))

    def and_then(self, other: Distinct) -> Distinct:
        """These, followed by others."""
        group = None if self.group is None or other.group is None else self.group.and_then(other.group)
        x, known = np.concatenate([self.x, other.x]), np.concatenate([self.known, other.known])
        more = {role: np.concatenate([numbers, other.more[role]]) for role, numbers in self.more.items()}
        return Distinct(group, x, known, np.concatenate([self.rows, other.rows]), more)


@dataclass(frozen=True, eq=False)
class Contents:
    """What rows say in full: arrays [u] of x and what is known, as in `Distinct`, their covariates, the number of rows.

    Covariates are numbers (NaN where missing) or text (None where missing).
    """

    x: Floats
    known: Floats
    covariates: dict[str, NDArray[Any]]
    rows: Ints


class Source(Protocol):
    """A table, wherever it lives; `width` 0 asks for x and `known` themselves, else for their bins (`keys`)."""

    @property
    def names(self) -> list[str]:
        """The names of its columns, in order."""

    def distinct(self, columns: Columns, width: float) -> Distinct:
        """The distinct observations and how many rows showed each."""

    def variety(self, columns: Columns, role: Role, limit: int) -> int:
        """How many distinct numbers stand in this role; counting may stop above the limit."""

    def kinds(self, names: Sequence[str]) -> tuple[int, list[int]]:
        """The number of rows and, roughly, of distinct entries in these columns; of the first million rows at least."""

    def of_units(self, columns: Columns) -> Source:
        """A table with one row per unit (and group): its observations added up, empty where one cannot be used."""

    def nameless(self, column: str) -> int:
        """How many rows have no entry in a column of names."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Its columns, every row in memory: a missing number is NaN."""

    def made_of(self, columns: dict[str, NDArray[Any]]) -> Source:
        """A table of the same kind with these columns."""

    def contents(self, columns: Columns) -> Contents:
        """Observations with their covariates: each once, or row by row."""

    def with_told(self, columns: Columns, contents: Contents, told: Mapping[str, Floats]) -> Source:
        """The same table with columns of what covariates tell, by name, from that at each of its contents."""

    def offender(self, columns: Columns, width: float, shown: Distinct, role: Role) -> Offender | None:
        """The entry in this role of the first row that shows one of these observations, and how many rows do."""

    def with_answers(self, columns: Columns, width: float, shown: Distinct, answers: dict[str, NDArray[Any]]) -> Any:
        """The table with one new column per answer, joined on what `distinct` returned; masked entries are empty."""
