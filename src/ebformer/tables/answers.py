"""What can be asked about the units of a table: every answer, its columns and how it is computed, in one list.

To add an answer, add what asks for it to `Wanted` and a line to `ANSWERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.channels.base import Channel
from ebformer.distributions import Posterior, tails
from ebformer.drift import Drift
from ebformer.errors import InputError
from ebformer.ranking import cells, expected_rank, p_top
from ebformer.rule import Rule

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Arrays = Sequence[NDArray[Any]]


@dataclass(frozen=True)
class Wanted:
    """Which columns to answer with, beside `estimate`.

    `interval` is the level of `lower` and `upper`; None means 0.9 where the method has a posterior and no interval
    where it has none. `above` is the rate that `p_above` is about, `future` what will be known about the next
    observation, such as its exposure (`predicted`, with its interval), and `top` the length of the list that `p_top` is
    about. `drift` says how rates move until then: a `Drift`, the path of a saved one or "typical"; `predicted_still` is
    the prediction without it.
    """

    interval: float | None = None
    future: float | None = None
    top: int | None = None
    above: float | None = None
    drift: Drift | str | None = None

    def __post_init__(self) -> None:
        tails(self.level)
        if self.drift is not None and self.future is None:
            raise InputError("a drift is about the next observation: say what will be known about it, as future=")
        self.moving  # a file that holds none is named now  # noqa: B018
        if self.above is not None and not (isinstance(self.above, Real) and np.isfinite(self.above)):
            raise InputError(f"the rate to be above is {self.above!r}: give one number for all units")
        # One number for all: answers are per distinct observation, so a list would not find its rows.
        if self.future is not None and not (isinstance(self.future, Real) and 0 < self.future < np.inf):
            raise InputError(f"the future exposure is {self.future!r}: give one positive number for all units")
        if self.top is not None and not (isinstance(self.top, Integral) and self.top >= 1):
            raise InputError(f"the length of the top list is {self.top!r}: give a whole number of at least 1")

    @cached_property
    def moving(self) -> Drift | None:
        """How rates move, read from its file where one is named."""
        return Drift.named(self.drift) if isinstance(self.drift, str) else self.drift

    @property
    def level(self) -> float:
        return 0.9 if self.interval is None else self.interval

    def check(self, channel: Channel) -> None:
        """An `InputError` where the channel cannot answer."""
        if self.future is not None and not channel.possible_known(np.asarray(float(self.future))):
            raise InputError(f"the future {channel.words.known} is {self.future!r}: {channel.words.ask_known}")


@dataclass(frozen=True, eq=False)
class Asked:
    """Some questions to one rule: observations [q]. Their posterior is computed once, for all that need it."""

    rule: Rule
    x: Floats
    known: Floats

    @cached_property
    def posterior(self) -> Posterior:
        return self.rule.posterior(self.x, self.known)


@dataclass(frozen=True)
class Answer:
    """Columns that are answered together: when they are asked for, how, and what they mean.

    `each` answers questions to one rule, block by block; `all` those about units among each other, from all blocks and
    the number of units [q] that ask each question. `certain` answers need a prior of every rule, and are given unasked
    where there is one. `meaning` may name fields of `Wanted`, and the `words` of the channel.
    """

    columns: tuple[str, ...]
    asked: Callable[[Wanted], bool]
    meaning: str
    each: Callable[[Asked, Wanted], Arrays] | None = None
    all: Callable[[Sequence[Asked], Ints, Wanted], Arrays] | None = None
    certain: bool = False

    def sentence(self, wanted: Wanted, channel: Channel) -> str:
        """What the columns hold.

        >>> from ebformer.channels import POISSON
        >>> print(ANSWERS[2].sentence(Wanted(above=1.5), POISSON))
        p_above: the probability that the rate is above 1.5
        """
        return f"{', '.join(self.columns)}: {self.meaning.format(wanted=wanted, words=channel.words)}"


def _estimate(asked: Asked, wanted: Wanted) -> Arrays:
    return [asked.rule(asked.x, asked.known) if asked.rule.prior is None else asked.posterior.mean]


def _predicted(asked: Asked, wanted: Wanted) -> Arrays:
    ahead = asked.rule.predict(asked.x, asked.known, wanted.future, drift=wanted.moving)
    return [ahead.mean, *ahead.interval(wanted.level)]


def _predicted_still(asked: Asked, wanted: Wanted) -> Arrays:
    return [asked.rule.predict(asked.x, asked.known, wanted.future).mean]


def _ranks(asked: Sequence[Asked], units: Ints, wanted: Wanted) -> Arrays:
    assert wanted.top is not None
    weights = cells([each.posterior for each in asked], units)
    return [expected_rank(weights, units), p_top(weights, units, wanted.top)]


ANSWERS = (
    Answer(
        ("estimate",),
        lambda wanted: True,
        "the expected {words.theta} given what was seen",
        each=_estimate,
    ),
    Answer(
        ("lower", "upper"),
        lambda wanted: wanted.interval is not None or wanted.above is not None,
        "the ends of the interval that holds the {words.theta} with probability {wanted.level:g}",
        each=lambda asked, wanted: asked.posterior.interval(wanted.level),
        certain=True,
    ),
    Answer(
        ("p_above",),
        lambda wanted: wanted.above is not None,
        "the probability that the {words.theta} is above {wanted.above:g}",
        each=lambda asked, wanted: [asked.posterior.exceeds(wanted.above or 0.0)],
    ),
    Answer(
        ("predicted", "predicted_lower", "predicted_upper"),
        lambda wanted: wanted.future is not None,
        "the next {words.x} with {words.known} {wanted.future:g}, and the interval that holds it with probability "
        "{wanted.level:g}",
        each=_predicted,
    ),
    Answer(
        ("predicted_still",),
        lambda wanted: wanted.drift is not None,
        "the next {words.x} if no {words.theta} moved until then",
        each=_predicted_still,
    ),
    Answer(
        ("expected_rank", "p_top"),
        lambda wanted: wanted.top is not None,
        "the expected rank, 1 for the highest {words.theta}, and the probability of being among the {wanted.top} "
        "highest",
        all=_ranks,
    ),
)
"""Every answer, in the order of its columns."""


def asked_for(wanted: Wanted, has_priors: bool) -> list[Answer]:
    """The answers to give; `has_priors` says whether every rule has one."""
    return [answer for answer in ANSWERS if answer.asked(wanted) or (answer.certain and has_priors)]
