"""Every answer about the units of a table, its columns and how it is computed, in one list.

To add one, add what asks for it to `Wanted` and a line to `ANSWERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ebformer.channels.base import Channel
from ebformer.distributions import Floats, Posterior
from ebformer.drift import Drift, Earlier
from ebformer.ranking import cells, expected_rank, p_top
from ebformer.rule import Rule
from ebformer.selection import Side, error, grades, lfsr, p_above, p_below, selected
from ebformer.tables.wanted import Wanted

Ints = NDArray[np.int64]
Arrays = Sequence[NDArray[Any]]
LEADING: dict[str, Literal["highest", "lowest"]] = {
    "expected_rank": "lowest",
    "p_above": "highest",
    "p_below": "highest",
    "lfsr": "lowest",
}
"""Answers that say who is looked for, and who leads: the first of them that was asked for puts rows in order."""


@dataclass(frozen=True, eq=False)
class Asked:
    """Some questions to one rule: observations [q]. Their posterior is computed once, for all that need it."""

    rule: Rule
    x: Floats
    known: Floats
    future: Floats | float | None = None
    """What will be known about the next observation."""
    drift: Drift | None = None
    earlier: Earlier = ()
    expected: Floats | None = None
    """What covariates let expect, where there are any."""

    @cached_property
    def posterior(self) -> Posterior:
        return self.rule.posterior(self.x, self.known, drift=self.drift, earlier=self.earlier)

    @cached_property
    def interval(self) -> Callable[[float], tuple[Floats, Floats]]:
        """The posterior's, each computed once."""
        return cache(self.posterior.interval)


@dataclass(frozen=True)
class Answer:
    """Columns that are answered together: when they are asked for, how, and what they mean.

    `each` answers questions to one rule, block by block; `all` those about units among each other, from all blocks and
    the number of units [q] that ask each question. `certain` answers need a prior of every rule, and are given unasked
    where there is one. `meaning` may name fields of `Wanted`, the `words` of the channel, and `theta` in the units
    of the answers.
    """

    columns: tuple[str, ...]
    asked: Callable[[Wanted], bool]
    meaning: str
    each: Callable[[Asked, Wanted], Arrays] | None = None
    all: Callable[[Sequence[Asked], Ints, Wanted], Arrays] | None = None
    certain: bool = False
    in_theta: bool = False
    """They are values of theta, which `per` multiplies."""

    def sentence(self, wanted: Wanted, channel: Channel) -> str:
        """What the columns hold.

        >>> from ebformer.channels import POISSON
        >>> print(ANSWERS[3].sentence(Wanted(above=1.5), POISSON))
        p_above: the probability that the rate is above 1.5
        """
        words = channel.words
        fields = {"wanted": wanted, "words": words, "theta": wanted.theta(words), "ahead": wanted.ahead(words)}
        return f"{', '.join(self.columns)}: {self.meaning.format(**fields)}"


def _estimate(asked: Asked, wanted: Wanted) -> Arrays:
    return [asked.rule(asked.x, asked.known) if asked.rule.prior is None else asked.posterior.mean]


def _predicted(asked: Asked, wanted: Wanted) -> Arrays:
    future = np.broadcast_to(np.asarray(asked.future, dtype=np.float64), asked.x.shape)
    none = future == 0  # no exposure, no events: any other future stands in for it
    some = np.where(none, 1.0, future)
    ahead = asked.rule.predict(asked.x, asked.known, some, drift=asked.drift, earlier=asked.earlier)
    return [np.where(none, 0, answer) for answer in (ahead.mean, *ahead.interval(wanted.level))]


def _predicted_still(asked: Asked, wanted: Wanted) -> Arrays:
    future = np.broadcast_to(np.asarray(asked.future, dtype=np.float64), asked.x.shape)
    return [asked.rule.look.next_look.mean(asked.posterior.mean, future)]


def _ranks(asked: Sequence[Asked], units: Ints, wanted: Wanted) -> Arrays:
    assert wanted.top is not None
    weights = cells([each.posterior for each in asked], units)
    ranks = expected_rank(weights, units)
    return [ranks, p_top(weights, units, wanted.top), grades(weights, ranks)]


def _selected(asked: Sequence[Asked], units: Ints, wanted: Wanted) -> Arrays:
    assert wanted.fdr is not None
    side = wanted.discovery
    errors = np.concatenate([error(each.posterior, side, wanted.bar(side)) for each in asked])
    return [selected(errors, units, wanted.fdr)]


def _about_bar(column: str, side: Side, meaning: str, probability: Callable[[Asked, float], Floats]) -> Answer:
    return Answer(
        (column,),
        lambda wanted: side in wanted.bars,
        meaning,
        each=lambda asked, wanted: [probability(asked, wanted.bar(side))],
    )


EXPECTED = Answer(
    ("expected",),
    lambda wanted: True,
    "the {theta} to expect by the covariates alone",
    each=lambda asked, wanted: [asked.expected] if asked.expected is not None else [],
    in_theta=True,
)
"""The first answer where there are covariates."""
ANSWERS = (
    Answer(
        ("estimate",),
        lambda wanted: True,
        "the expected {theta} given what was seen",
        each=_estimate,
        in_theta=True,
    ),
    Answer(
        ("lower", "upper"),
        lambda wanted: wanted.interval is not None or bool(wanted.bars) or wanted.fdr is not None,
        "the ends of the interval that holds the {theta} with probability {wanted.level:g}",
        each=lambda asked, wanted: asked.interval(wanted.level),
        certain=True,
        in_theta=True,
    ),
    Answer(
        ("EBGM", "EB05", "EB95"),
        lambda wanted: wanted.signals,
        "the geometric mean of the {words.theta} given what was seen, and what it is below with probability 0.05, 0.95",
        each=lambda asked, wanted: [np.exp(asked.posterior.mean_log), *asked.interval(0.9)],
    ),
    _about_bar(
        "p_above",
        "above",
        "the probability that the {theta} is above {wanted.above}",
        lambda asked, bar: p_above(asked.posterior, bar),
    ),
    _about_bar(
        "p_below",
        "below",
        "the probability that the {theta} is below {wanted.below}",
        lambda asked, bar: p_below(asked.posterior, bar),
    ),
    _about_bar(
        "lfsr",
        "apart",
        "the local false sign rate, the probability that the {words.theta} is not on the side of {wanted.null} on "
        "which it seems to be, or exactly {wanted.null}",
        lambda asked, null: lfsr(asked.posterior, null),
    ),
    Answer(
        ("selected",),
        lambda wanted: wanted.fdr is not None,
        "in the longest list of which at most a share of {wanted.fdr:g} is expected to be wrong",
        all=_selected,
    ),
    Answer(
        ("predicted", "predicted_lower", "predicted_upper"),
        lambda wanted: wanted.future is not None,
        "the next {words.x} with {ahead}, and the interval that holds it with probability {wanted.level:g}",
        each=_predicted,
    ),
    Answer(
        ("predicted_still",),
        lambda wanted: wanted.drift is not None and wanted.future is not None,
        "the next {words.x} if no {words.theta} moved until then",
        each=_predicted_still,
    ),
    Answer(
        ("expected_rank", "p_top", "grade"),
        lambda wanted: wanted.top is not None,
        "the expected rank, 1 for the highest {words.theta}, the probability of being {wanted.leading}, "
        "and a grade: a new one begins where a unit is behind the first of the grade with probability 0.9",
        all=_ranks,
    ),
)
"""Every answer, in the order of its columns."""


def asked_for(wanted: Wanted, has_priors: bool) -> list[Answer]:
    """The answers to give; `has_priors` says whether every rule has one."""
    return [answer for answer in ANSWERS if answer.asked(wanted) or (answer.certain and has_priors)]
