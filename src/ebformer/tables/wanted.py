"""Which answers are wanted of a table: the words of users, checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np

from ebformer.channels.base import Channel
from ebformer.channels.bounds import LARGEST, SMALLEST
from ebformer.channels.words import Words
from ebformer.drift import Drift
from ebformer.errors import InputError
from ebformer.levels import tails
from ebformer.plural import plain
from ebformer.selection import Bar, Side, check_fdr

SIDES: dict[Side, str] = {"above": "above", "below": "below", "apart": "null"}
"""Which thetas may be discoveries, and what asks for each."""


@dataclass(frozen=True)
class Wanted:
    """Which columns to answer with, beside `estimate`.

    `interval` is the level of `lower` and `upper`; None means 0.9 where the method has a posterior and no interval
    where it has none. `above` and `below` are the rates that `p_above` and `p_below` are about, `null` the effect whose
    two sides `lfsr` is about; each is a number, or a multiple of the mean such as "1.5x". `fdr` is the share of errors
    in the list of those that are `selected`. `future` is what will be known about the next observation, such as its
    exposure: a number, or the column that has it (`predicted`, with its interval). `top` is the length of the list that
    `p_top` is about. `per` is the exposure, or the number of trials, that rates are given for. `drift` says how rates
    move until the next observation: a `Drift`, the path of a saved one or "typical"; `predicted_still` is the
    prediction without it. `signals` asks for the words of those who compare observed with expected counts: `EBGM`,
    `EB05`, `EB95`.
    """

    interval: float | None = None
    future: float | str | None = None
    top: int | None = None
    above: float | str | Bar | None = None
    below: float | str | Bar | None = None
    null: float | str | Bar | None = None
    fdr: float | None = None
    per: float | None = None
    drift: Drift | str | None = None
    signals: bool = False

    def __post_init__(self) -> None:
        tails(self.level)
        for name, bar in self.bars.items():
            object.__setattr__(self, SIDES[name], bar)
        if self.fdr is not None:
            check_fdr(self.fdr)
            if len(self.bars) > 1:
                given = " and ".join(SIDES[side] for side in self.bars)
                raise InputError(f"{given} are given, and fdr is about one list: give one of them")
        if self.per is not None and not (isinstance(self.per, Real) and SMALLEST <= self.per <= LARGEST):
            raise InputError(f"rates are to be given per {self.per!r}: give a positive number up to 1e50, such as 1000")
        self.moving  # a file that holds none is named now  # noqa: B018
        # A number or a column: answers are per distinct observation, so a list would not find its rows.
        future = self.future
        if not (future is None or isinstance(future, str) or (isinstance(future, Real) and 0 <= future < np.inf)):
            raise InputError(f"the future is {future!r}: give one number of at least 0 for all units, or a column")
        if self.top is not None and not (isinstance(self.top, Integral) and self.top >= 1):
            raise InputError(f"the length of the top list is {self.top!r}: give a whole number of at least 1")

    @cached_property
    def moving(self) -> Drift | None:
        """How rates move, read from its file where one is named."""
        if self.drift is None or isinstance(self.drift, Drift):
            return self.drift
        return Drift.named(self.drift)

    @property
    def number_ahead(self) -> float | None:
        """What will be known about the next observation of all units alike, if anything."""
        return None if isinstance(self.future, str) else self.future

    @property
    def leading(self) -> str:
        """What a unit of the top list is, in words.

        >>> Wanted(top=1).leading, Wanted(top=3).leading
        ('the highest', 'among the 3 highest')
        """
        return "the highest" if self.top == 1 else f"among the {self.top} highest"

    def ahead(self, words: Words) -> str:
        """What will be known about the next observation, in words."""
        if isinstance(self.future, str):
            return f"{words.known} as in {self.future}"
        return "" if self.future is None else words.amount.format(plain(self.future))

    def theta(self, words: Words) -> str:
        """What is answered, in words.

        >>> from ebformer.channels import POISSON
        >>> Wanted().theta(POISSON.words), Wanted(per=1e6).theta(POISSON.words)
        ('rate', 'rate per 1,000,000')
        """
        return words.theta if self.per is None else f"{words.theta} per {plain(self.per)}"

    @property
    def level(self) -> float:
        return 0.9 if self.interval is None else self.interval

    @property
    def bars(self) -> dict[Side, Bar]:
        """What thetas are compared with, for every side that is asked about."""
        given = {side: getattr(self, name) for side, name in SIDES.items()}
        return {side: Bar.of(bar) for side, bar in given.items() if bar is not None}

    def bar(self, side: Side) -> float:
        """What thetas are compared with, once it is `settled`."""
        return self.bars[side].number / (self.per or 1.0)

    @property
    def discovery(self) -> Side:
        """What the list of those selected is about."""
        return next(iter(self.bars))

    def settled(self, mean: Callable[[], float], channel: Channel) -> Wanted:
        """The same with bars as numbers, in the units of the answers; `mean` gives that of all units, if needed."""
        bars = self.bars
        if self.fdr is not None and not bars:
            if channel.domain[0] > -np.inf:
                raise InputError(f"fdr needs to know which {channel.words.thetas} are discoveries: give above or below")
            bars = {"apart": Bar(0.0)}
        times = self.per or 1.0
        settled: dict[str, Any] = {
            SIDES[side]: bar.at(times * mean()) if bar.times_mean else bar for side, bar in bars.items()
        }
        return replace(self, **settled)

    def check(self, channel: Channel) -> None:
        """An `InputError` where the channel cannot answer."""
        if self.per is not None and not channel.whole:
            raise InputError(f"{channel.words.xs} are not counted, so there is nothing to give them per: leave out per")
        if isinstance(self.future, Real) and not channel.possible_future(np.asarray(float(self.future))):
            raise InputError(f"the future {channel.words.known} is {self.future!r}: {channel.words.ask_known}")
        if self.moving is not None:
            self.moving.check(channel)
