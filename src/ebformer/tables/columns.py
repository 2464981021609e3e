"""Which columns of a table are what, and the sentences for names that cannot be used as given."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, cast, get_args

import numpy as np

from ebformer.channels import POISSON, pick
from ebformer.channels.base import Channel
from ebformer.errors import InputError
from ebformer.expectation import Covariates

Role = Literal["x", "known", "future", "history", "expected", "unseen", "group"]
"""What a column may hold: the observation, what is known about how it was made and about the next one, the number of
the unit's history, what its covariates let expect and which of them a fit cannot read, the name of its group."""
Missing = Literal["error", "keep", "explain", "strict", "whole"]
"""What becomes of rows that cannot be used: an error, or rows without answers; `keep` allows for missing entries only,
`explain` for all, and adds a column that says why. The rest are errors with other advice, where a saved fit is `strict`
about its rows and where a table must be `whole`."""
ERRORS: tuple[Missing, ...] = ("error", "strict", "whole")
"""Those that refuse every row that cannot be used."""
NO_ROWS = "the table has no rows: give at least one unit"


@dataclass(frozen=True)
class Columns:
    """The columns that hold the observations and, where there are any, what is known of them and their groups.

    `known` is a column, one number for all rows, or None for the channel's usual one. `unit` names those whose rows are
    to be added up, and `added_up` those whose rows were; `future` is what will be known of their next observation. With
    `look` the rows of a unit are looks at it, one after the other; `history` then numbers what was seen before the last
    (`tables.histories`). `carried` are columns that units keep when their rows are added up, such as a name: the first
    entry that there is, of the last look where there are several. `covariates` tell about theta beside the observation;
    `expected` then says what, and `unseen` which a fit cannot read (`tables.expected`). The rest of `tables` speaks of
    roles, and asks here what is known of them.

    >>> Columns("goals", "games").found_in(["name", "goals", "game"])
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: there is no column 'games' (did you mean 'game'?); the columns are name, goals, game
    """

    x: str
    known: str | float | None = None
    group: str | None = None
    channel: Channel = POISSON
    unit: str | None = None
    look: str | None = None
    future: str | None = None
    history: str | None = None
    covariates: Covariates | None = None
    expected: str | None = None
    unseen: str | None = None
    added_up: str | None = None
    carried: tuple[str, ...] = ()

    @staticmethod
    def named(
        count: str | None = None,
        effect: str | None = None,
        group: str | None = None,
        unit: str | None = None,
        look: str | None = None,
        covariates: Covariates | None = None,
        **words: str | float | None,
    ) -> Columns:
        """The columns by the words of users; as everywhere, what is known picks the channel.

        >>> Columns.named("hits", trials="at_bats").channel
        Binomial()
        >>> Columns.named(effect="z", se=1).known
        1.0
        """
        channel, known = pick(None, words)
        given = {"count": count, "effect": effect}
        other = next((word for word, name in given.items() if name is not None and word != channel.column), None)
        if other == "effect":
            errors = "a column or one number for all, which is 1 for z-values"
            raise InputError(f"effects need their standard errors: give --se (in Python se=), {errors}")
        if other is not None:
            raise InputError(f"{channel.words.xs} are named by {channel.column}, not by {other}: give {channel.column}")
        if given[channel.column] is None:
            raise InputError(f"no column of {channel.words.xs} is named: say which it is, as {channel.column}")
        if isinstance(known, Real):
            try:
                number = float(known)
            except OverflowError:  # a whole number of hundreds of digits
                number = np.inf
            if not channel.possible_known(np.asarray(number)):
                raise InputError(f"{channel.keyword} is {known!r}: {channel.words.ask_known}")
            known = number
        if unit is not None and not channel.complete:
            raise InputError("rows without their zeros cannot be added up: give one row per unit")
        if look is not None and unit is None:
            raise InputError(f"{look!r} says which look at a unit a row is: name the column of units too, as unit")
        if covariates is not None and (look is not None or not channel.complete):
            other = "several looks" if look is not None else "a table without its zeros"
            raise InputError(f"covariates are for units seen once, all of them in the table, and not for {other}")
        return Columns(cast(str, given[channel.column]), known, group, channel, unit, look, covariates=covariates)

    @property
    def constant(self) -> float | None:
        """What is known of all rows alike, or None where a column says it."""
        return None if isinstance(self.known, str) else self.channel.usual if self.known is None else self.known

    @property
    def exposed(self) -> bool:
        """Whether the exposure of each row is known, or its trials, so that playing time is no part of what moves."""
        return isinstance(self.known, str) or self.channel.usual is None

    def role(self, role: Role) -> str | None:
        """The column that plays this role."""
        known = self.known if isinstance(self.known, str) else None
        columns: dict[Role, str | None] = {"x": self.x, "known": known, "group": self.group}
        return (columns | self._others)[role]

    @property
    def roles(self) -> list[Role]:
        """The roles that have a column."""
        return [role for role in get_args(Role) if self.role(role) is not None]

    def word(self, role: Role) -> str:
        """What users call a role.

        >>> Columns("goals", "games").word("known")
        'exposure'
        """
        return {"x": self.channel.column, "known": self.channel.keyword, "future": "future"}.get(role, role)

    def found_in(self, names: Sequence[str]) -> Columns:
        """These columns, or an `InputError` that names the nearest ones."""
        known = None if isinstance(self.known, float) else self.known
        told = () if self.covariates is None else self.covariates.names
        others = (known, self.group, self.unit, self.look, self.future, *told, *self.carried)
        for name in (self.x, *(other for other in others if other is not None)):
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
        for role in self.roles:
            if role != "x" and self.role(role) == self.x:
                words = f"the {self.word('x')} and the {self.word(role)}"
                raise InputError(f"{self.x!r} cannot be both {words}: name two columns")
        if self.x in told:
            raise InputError(f"{self.x!r} is what is to be estimated, and cannot be a covariate: leave it out")
        if self.unit is not None and self.unit in (self.x, known):
            raise InputError(f"{self.unit!r} cannot be a number and the unit: name two columns")
        if self.look is not None and self.look in (self.x, known, self.unit):
            raise InputError(f"{self.look!r} cannot be the look and what is looked at: name two columns")
        return self

    @property
    def of_units(self) -> Columns:
        """The columns after the rows of every unit were added up: what is known has a column then."""
        known = self.role("known") or self.channel.keyword
        while self.role("known") is None and known in (self.x, self.future, *self.by, *self.carried):
            known = f"total_{known}"
        return replace(self, known=known, unit=None, look=None, added_up=self.unit)

    @property
    def by(self) -> list[str]:
        """The columns whose entries tell apart what is added up: the unit, the look, the group and covariates."""
        told = () if self.covariates is None else self.covariates.names
        named = [name for name in (self.unit, self.look, self.group, *told) if name is not None]
        return list(dict.fromkeys(name for name in named if name != self.role("known")))

    @property
    def beside(self) -> list[str]:
        """The carried columns that play no other part."""
        taken = (self.x, self.role("known"), self.future, *self.by)
        return list(dict.fromkeys(name for name in self.carried if name not in taken))

    @property
    def common(self) -> str | None:
        """The column of the future, in which all rows of a unit say the same; what is known is added up instead."""
        return None if self.future == self.known else self.future

    @property
    def numbered(self) -> dict[Role, str]:
        """The columns of numbers that rows are told apart by, beside x and what is known."""
        return {role: name for role, name in self._others.items() if name is not None}

    @property
    def _others(self) -> dict[Role, str | None]:
        own = {"future": self.future, "history": self.history}
        return {**own, "expected": self.expected, "unseen": self.unseen}  # type: ignore[dict-item]


def check_missing(missing: str) -> None:
    """An `InputError` that names the choices, where this is not one about rows with a missing entry.

    >>> check_missing("drop")
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: missing is 'drop': choose error, keep or explain
    """
    if missing not in get_args(Missing):
        raise InputError(f"missing is {missing!r}: choose error, keep or explain")


def about_booleans(name: str) -> InputError:
    """True and false are no numbers, in whatever kind of table: a file of text could not tell."""
    return InputError(f"column {name!r} holds true and false, not numbers: write 1 and 0")


def check_unambiguous(chosen: Sequence[str | None], header: Sequence[str]) -> None:
    """Refuse a name that several columns of a header share; in capitals neither, since SQL takes them for the same.

    >>> check_unambiguous(["goals"], ["Goals", "goals"])
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: several columns are called 'goals' (Goals, goals): rename all but one
    """
    for name in filter(None, chosen):
        called = [other for other in header if other.lower() == name.lower()]
        if len(called) > 1:
            raise InputError(f"several columns are called {name!r} ({', '.join(called)}): rename all but one")


def check_nothing_overwritten(new: Sequence[str], names: Sequence[str]) -> None:
    """Refuse new columns that a table already has; in capitals too, since SQL takes them for the same.

    >>> check_nothing_overwritten(["estimate"], ["name", "estimate"])
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: the table already has a column 'estimate': rename or drop it first
    """
    lowered = {each.lower() for each in new}
    for name in names:
        if str(name).lower() in lowered:
            raise InputError(f"the table already has a column {name!r}: rename or drop it first")


def only_count_column(candidates: Sequence[str], names: Sequence[str]) -> str:
    """The only column that could hold counts, or an `InputError` that asks for one.

    >>> only_count_column(["goals"], ["name", "goals"])
    'goals'
    >>> only_count_column(["id", "goals"], ["id", "name", "goals"])
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
        raise InputError(f"several columns could hold the counts ({first_few(candidates)}): name one with --count")
    raise InputError(f"no column holds whole numbers of at least 0; the columns are {', '.join(names)}")


TOLD = 5
"""As many names of a long list are told."""


def first_few(names: Sequence[object], tell: Callable[[Any], str] = str, total: int | None = None) -> str:
    """The first five of perhaps a million names, as `tell` words them, and how many more there are.

    `total` says how many there are where `names` has but the first of them.

    >>> first_few(range(7)), first_few(["a", "b"])
    ('0, 1, 2, 3, 4 and 2 more', 'a, b')
    """
    more = (len(names) if total is None else total) - TOLD
    return ", ".join(map(tell, names[:TOLD])) + (f" and {more:,} more" if more > 0 else "")
