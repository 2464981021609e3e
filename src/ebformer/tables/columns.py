"""Which columns of a table are what, and the sentences for a table that cannot be used as given."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from ebformer.channels.base import LARGEST_WHOLE
from ebformer.errors import InputError

Role = Literal["count", "exposure", "group"]
Missing = Literal["error", "keep"]
NO_ANSWER = ("", ".", "na", "n/a", "#n/a", "<na>", "nan", "null", "none")
"""What a text file writes where an entry is missing, in lower case: a point is SAS's, #N/A a spreadsheet's."""
NO_GROUP = tuple(text for text in NO_ANSWER if text not in ("null", "none"))
"""The same among groups, where none may be a treatment and Null a name."""


@dataclass(frozen=True)
class Columns:
    """The columns that hold the counts and, where there are any, the exposures and the groups.

    >>> Columns("goals", "games").found_in(["name", "goals", "game"])
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: there is no column 'games' (did you mean 'game'?); the columns are name, goals, game
    """

    count: str
    exposure: str | None = None
    group: str | None = None

    def role(self, role: Role) -> str | None:
        """The column that plays this role."""
        return {"count": self.count, "exposure": self.exposure, "group": self.group}[role]

    def found_in(self, names: Sequence[str]) -> Columns:
        """These columns, or an `InputError` that names the nearest ones."""
        for name in (self.count, *(other for other in (self.exposure, self.group) if other is not None)):
            if isinstance(name, list | tuple):
                raise InputError(f"{name!r} are several columns: name one, or join them into one first")
            if not isinstance(name, str):  # pandas numbers columns that were given no names
                raise InputError(f"{name!r} is no name: call the columns by text, as frame.rename(columns=str) does")
            if name not in names:
                lowered = {str(other).lower(): other for other in names}
                near = difflib.get_close_matches(name.lower(), list(lowered), n=1)
                hint = f" (did you mean {lowered[near[0]]!r}?)" if near else ""
                shown = ", ".join(map(str, names[:20])) + (", ..." if len(names) > 20 else "")
                raise InputError(f"there is no column {name!r}{hint}; the columns are {shown}")
        for role in ("exposure", "group"):
            if self.role(role) == self.count:
                raise InputError(f"{self.count!r} cannot be both the count and the {role}: name two columns")
        return self


def check_policy(missing: str) -> None:
    """An `InputError` that names the choices, where this is not one about rows with a missing entry.

    >>> check_policy("drop")
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: missing is 'drop': choose error or keep
    """
    if missing not in get_args(Missing):
        raise InputError(f"missing is {missing!r}: choose {' or '.join(get_args(Missing))}")


def told_apart(chosen: Sequence[str | None], header: Sequence[str]) -> None:
    """Refuse a name that several columns of a header share; in capitals neither, since SQL takes them for the same.

    >>> told_apart(["goals"], ["Goals", "goals"])
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: several columns are called 'goals' (Goals, goals): rename all but one
    """
    for name in filter(None, chosen):
        called = [other for other in header if other.lower() == name.lower()]
        if len(called) > 1:
            raise InputError(f"several columns are called {name!r} ({', '.join(called)}): rename all but one")


def room_for(new: Sequence[str], names: Sequence[str]) -> None:
    """Refuse to overwrite: the new columns must not exist yet, in capitals neither, since SQL takes them for the same.

    >>> room_for(["estimate"], ["name", "estimate"])
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: the table already has a column 'estimate': rename or drop it first
    """
    for name in names:
        if str(name).lower() in new:
            raise InputError(f"the table already has a column {name!r}: rename or drop it first")


def the_candidate(candidates: Sequence[str], names: Sequence[str]) -> str:
    """The only column that could hold counts, or an `InputError` that asks for one.

    >>> the_candidate(["goals"], ["name", "goals"])
    'goals'
    >>> the_candidate(["id", "goals"], ["id", "name", "goals"])
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: several columns could hold the counts (id, goals): name one with --count
    """
    if len(candidates) == 1:
        if re.fullmatch(r"\s*\d+\s*", candidates[0]):
            raise InputError(
                f"the only column of counts is called {candidates[0]!r}, a number itself: give the table a header, "
                "or name that column with --count"
            )
        return candidates[0]
    if candidates:
        raise InputError(f"several columns could hold the counts ({', '.join(candidates)}): name one with --count")
    raise InputError(f"no column holds whole numbers of at least 0; the columns are {', '.join(names)}")


def some_of(names: Sequence[object]) -> str:
    """The first five of perhaps a million names, and how many more there are.

    >>> some_of(range(7)), some_of(["a", "b"])
    ('0, 1, 2, 3, 4 and 2 more', 'a, b')
    """
    return ", ".join(map(str, names[:5])) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")


NO_ROWS = "the table has no rows: give at least one unit"


class Offender(NamedTuple):
    """The first entry that cannot be used, its row (from 1) where rows have an order, and how many rows cannot be."""

    value: object
    row: int | None = None
    rows: int = 1


def complaint(columns: Columns, role: Role, offender: Offender) -> InputError:
    """One sentence about an entry that cannot be used; rows count from 1, the header is not one.

    >>> print(complaint(Columns("goals"), "count", Offender("seven", 3)))
    row 3: goals is 'seven', not a number
    >>> print(complaint(Columns("x"), "count", Offender("1,234")))
    x is '1,234': write numbers with a decimal point, or between semicolons all with a comma, no thousands separators
    >>> print(complaint(Columns("goals", "games"), "exposure", Offender(0, 7, 42)))
    row 7: games is 0: exposures must be positive and finite, so correct or drop that row (and 41 more rows)
    """
    where = "" if offender.row is None else f"row {offender.row}: "
    others = offender.rows - 1
    more = f" (and {others:,} more row{'s' if others > 1 else ''})" if others else ""
    return InputError(f"{where}{columns.role(role)} is {_trouble(role, offender.value)}{more}")


def _trouble(role: Role, value: object) -> str:
    """What is wrong with an entry, and what to do."""
    if value is None or str(value).strip().lower() in NO_ANSWER:
        # Named, for those who meant Namibia by NA.
        called = f"{value!r}, which means " if isinstance(value, str) and value.strip() else ""
        return (
            f"{called}missing: fill it in, drop the row, or keep such rows unanswered "
            '(--missing keep, in Python missing="keep")'
        )
    try:
        number = float(str(value))
    except ValueError:
        if re.fullmatch(r"\s*[-+]?\d+([.,'\s]\d+)+\s*", str(value)):
            return (
                f"{value!r}: write numbers with a decimal point, "
                "or between semicolons all with a comma, no thousands separators"
            )
        return f"{value!r}, not a number"
    # Python reads across a space that DuckDB does not know.
    if isinstance(value, str) and (stray := re.search(r"[^\x00-\x7f]", value)):
        return f"{value!r}, with a stray {unicodedata.name(stray[0], 'character')}: remove it"
    if role == "exposure":
        return f"{value}: exposures must be positive and finite, so correct or drop that row"
    if 0 <= number <= LARGEST_WHOLE:
        return f"{value}: counts are whole numbers; a rate needs its count in this column and its exposure in another"
    return f"{value}: counts are whole numbers of {'at least 0' if number < 0 else 'at most 2^53'}"


def usable(role: Role, numbers: np.ndarray) -> np.ndarray:
    """Where an entry can be used as a count or an exposure; NaN, a missing entry, cannot.

    >>> usable("count", np.array([0.0, 2.5, -1.0, np.nan])).tolist()
    [True, False, False, False]
    """
    with np.errstate(invalid="ignore"):
        if role == "exposure":
            return np.asarray((numbers > 0) & (numbers < np.inf))
        return np.asarray((numbers >= 0) & (numbers <= LARGEST_WHOLE) & (numbers == np.floor(numbers)))
