"""The findings in words: how many units, what stands out, how sure that is, and whether the model fits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ebformer.check import too_few
from ebformer.distributions import Floats
from ebformer.plural import counted, plain
from ebformer.report.cells import cell, percent, sentence
from ebformer.report.rows import Units, seen
from ebformer.selection import Side
from ebformer.tables.columns import Columns
from ebformer.tables.remarks import about_covariates, about_null
from ebformer.tables.shrink import Shrunken
from ebformer.tables.wanted import Wanted

SURE = 0.95
"""A probability that counts as sure where one was asked for."""
BEYOND: dict[str, Side] = {"p_above": "above", "p_below": "below"}
"""The probabilities of being beyond a bar, and on which side of it."""


@dataclass(frozen=True, eq=False)
class Findings:
    """What is to be said about a table: numbers of units are those of the whole table, not of the page.

    `mean` is that of all observations, in the units of the answers, and `exposure` the sum of what is known, where it
    means something; `leader` is the unit with the highest estimate, and `boldest` that with the highest raw theta,
    where it is known.
    """

    table: Shrunken
    mean: float
    exposure: float
    leader: Units
    boldest: Units | None

    @cached_property
    def columns(self) -> Columns:
        return self.table.observations.columns

    @cached_property
    def settled(self) -> Wanted:
        """What was asked for, bars as numbers."""
        return self.table.fit.settled(self.table.wanted)

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """How many units each distinct observation stands for [u]."""
        return self.table.observations.keys.rows

    @property
    def n(self) -> int:
        return int(self.units.sum())

    def column(self, name: str) -> Floats | None:
        """An answer per distinct observation [u], where it was asked for."""
        found = self.table.answers.get(name)
        return None if found is None else np.asarray(found[: self.units.size], dtype=np.float64)

    def count(self, which: NDArray[np.bool_]) -> int:
        return int(self.units[which].sum())

    @cached_property
    def alike(self) -> bool:
        """Whether the mean is an end of the domain, as where nothing happened: every theta is on one side of it."""
        return self.mean / (self.table.wanted.per or 1.0) in self.columns.channel.domain

    @cached_property
    def middle(self) -> tuple[float, str]:
        """What units are told from, and its name: the null where one is stated, else the mean of all."""
        if (null := self.settled.bars.get("apart")) is not None:
            return null.number, cell(null.number)
        return self.mean, "the mean"

    @cached_property
    def sides(self) -> tuple[int, int] | None:
        """How many units lie above the middle, and how many below, with their whole interval."""
        lower, upper = self.column("lower"), self.column("upper")
        if lower is None or upper is None:
            return None
        middle, _ = self.middle
        return (0, 0) if self.alike else (self.count(lower > middle), self.count(upper < middle))

    @property
    def unit(self) -> str:
        """What thetas are measured in."""
        return measure(self.columns, self.table.wanted.per)

    @property
    def method(self) -> str:
        return next(iter(self.table.fit.rules.values())).method

    def headline(self) -> str:
        """The answer in one line: to the question that was asked or, where none was, who differs from the mean."""
        words = self.columns.channel.words
        if (listed := self.column("selected")) is not None:
            k = self.count(listed > 0)
            return f"{_many(k)} of {counted(self.n, 'unit')} {_are(k)} selected"
        for name, side in BEYOND.items():
            if (p := self.column(name)) is not None:
                bar = cell(self.settled.bars[side].number)
                k = self.count(p >= SURE)
                thetas = words.theta if self.n == 1 else words.thetas
                told = f"{_many(k)} of {self.n:,} {thetas} {_are(k)} {side} {bar}"
                return f"{told} with a probability of {percent(SURE)} or more"
        if self.n == 1:
            return "One unit, which has no others to learn from"
        if self.sides is None:
            return f"{self.n:,} units, each by itself"
        above, below = self.sides
        if above + below == 0:
            return f"None of {self.n:,} units can be told from {self.middle[1]}"
        clearly = f"clearly above {self.middle[1]}, {_many(below).lower()} below"
        return f"{_many(above)} of {self.n:,} units {_are(above)} {clearly}"

    def sentences(self) -> list[str]:
        """How many there are, what stands out, how sure that is."""
        found = [*self._how_many(), *self._what_was_asked(), *self._what_stands_out(), *self._how_sure(), *self._luck()]
        return found + [sentence(told) for told in about_covariates(self.table.fit)]

    def _how_many(self) -> list[str]:
        columns, words = self.columns, self.columns.channel.words
        mean = f"the mean is {cell(self.mean)}"
        if not columns.channel.whole:
            return [f"{counted(self.n, 'unit')}; weighted by precision, {mean}."]
        events = f"{_total(float(self.table.observations.x @ self.units))} {columns.x}"
        known = columns.role("known")
        if known is None:
            return [f"{counted(self.n, 'unit')} with {events}: {mean}."]
        total = words.seen.format(x=events, name="", known=_total(self.exposure), unit=known)
        return [f"{counted(self.n, 'unit')} with {' '.join(total.split())}: {mean} {self.unit}."]

    def _what_was_asked(self) -> list[str]:
        told, words = [], self.columns.channel.words
        wanted = self.settled
        for name, side in BEYOND.items():
            if (p := self.column(name)) is not None:
                beyond = f"the {wanted.theta(words)} is {side} {wanted.bars[side]}"
                told.append(
                    f"Of {counted(self.count(p >= SURE), 'unit')} it is at least {percent(SURE)} sure that {beyond}; "
                    f"{float(p @ self.units):,.0f} are expected to be."
                )
        if (wrong := self.column("lfsr")) is not None:
            k = self.count(wrong <= 1 - SURE)
            lie = "it lies" if k == 1 else "they lie"
            told.append(
                f"Of {counted(k, 'unit')} it is at least {percent(SURE)} sure on which side of {wanted.null} {lie}."
            )
            told += map(sentence, about_null(self.table.fit, self.table.observations, wanted))
        if (listed := self.column("selected")) is not None:
            told.append(
                f"The list of {self.count(listed > 0):,} that are selected is the longest of which no more than "
                f"{percent(wanted.fdr or 0.0)} is expected to be wrong."
            )
        if (top := self.column("p_top")) is not None:
            k = self.count(top >= SURE)
            whom, each = f"{_many(k)} of the {wanted.top:,} highest can", " each" * (k > 1)
            if wanted.top == 1:
                whom = f"The highest can{'' if k else 'not'}"
            told.append(f"{whom} be named with a probability of at least {percent(SURE)}{each}.")
        return told

    def _what_stands_out(self) -> list[str]:
        leader, words = self.leader, self.columns.channel.words
        estimate = float(leader.estimate[0])
        same = self.count(np.asarray(self.column("estimate")) == estimate)
        if same == self.n:
            return [f"All units have the same estimate, {cell(estimate)}."] if self.n > 1 else []
        who = leader.names[0] if same <= 1 else f"{same:,} units with one estimate"
        times = estimate / self.mean if self.columns.channel.whole and self.mean > 0 else np.nan
        ratio = f", {times:.1f} times the mean" if times > 1.2 else ""
        sure = ""
        if "lower" in leader.answers:
            ends = " to ".join(cell(float(leader.answers[end][0])) for end in ("lower", "upper"))
            sure = f" ({percent(self.table.wanted.level)} interval {ends})"
        return [f"The highest {words.theta} is that of {who}: {cell(estimate)}{sure}{ratio}."]

    def _how_sure(self) -> list[str]:
        if self.sides is None:
            alone = f"{self.method} gives no intervals"
            return [
                alone
                + (": nothing is shrunk, and noisy extremes stay where they are." if self.method == "mle" else ".")
            ]
        above, below = self.sides
        if self.n == 1:
            return []
        if self.alike:
            return [f"Every raw {self.columns.channel.words.theta} is {cell(self.mean)}, which tells no units apart."]
        if above + below == 0:
            return [f"The {percent(self.table.wanted.level)} intervals of all units hold {self.middle[1]}."]
        others, (_, middle) = self.n - above - below, self.middle
        told = f"lies above {middle} for {counted(above, 'unit')} and below it for {below:,}"
        rest = f"; the other {others:,} cannot be told from {middle}." if others else "."
        return [f"The {percent(self.table.wanted.level)} interval {told}{rest}"]

    def _luck(self) -> list[str]:
        """How much of what is seen is noise, and what became of the boldest observation."""
        told, words = [], self.columns.channel.words
        raw = words.thetas if self.columns.channel.whole else words.xs
        if (share := luck(self.table)) is not None:
            told.append(f"About {percent(round(share, 2))} of the spread of the raw {raw} is luck.")
        if self.boldest is not None and self.method != "mle" and not self.alike:
            unit = self.boldest
            known = "" if self.columns.known is None else f" ({cell(float(unit.raw[0]))})" * self.columns.channel.whole
            what = seen(self.columns, float(unit.x[0]), float(unit.known[0]))
            told.append(
                f"The highest raw {words.theta}, {what}{known}, is estimated at {cell(float(unit.estimate[0]))}."
            )
        return told


def _total(number: float) -> str:
    """A sum, with its thousands apart; of small ones four digits."""
    return f"{number:,.0f}" if number >= 1000 or number == np.floor(number) else f"{number:.4g}"


def _many(k: int) -> str:
    return "None" if k == 0 else f"{k:,}"


def _are(k: int) -> str:
    return "is" if k <= 1 else "are"


def measure(columns: Columns, per: float | None) -> str:
    """What thetas are measured in.

    >>> measure(Columns("goals", "games"), None), measure(Columns("deaths", "births"), 1000)
    ('goals / games', 'deaths per 1,000 births')
    """
    known = columns.role("known")
    if not columns.channel.whole or (known is None and per is None):
        return columns.x
    return f"{columns.x} / {known}" if per is None else f"{columns.x} per {plain(per)} {known or ''}".strip()


def luck(table: Shrunken) -> float | None:
    """The share of the variance of raw thetas that is noise: 1 - Var[theta] / Var[raw], by the total of units.

    Var[theta] = Var[E[theta | x]] + E[Var[theta | x]] over the units, under the fitted priors.
    """
    seen_of, channel = table.observations, table.observations.columns.channel
    if (
        any(rule.prior is None for rule in table.fit.rules.values())
        or not channel.complete
        or seen_of.history is not None
    ):
        return None
    questions, units = (
        table.fit.questions(seen_of, table.fit.settled(table.wanted)),
        seen_of.keys.rows.astype(np.float64),
    )
    x, known = seen_of.x[questions.first], seen_of.known[questions.first]
    with np.errstate(all="ignore"):
        raw = channel.mle(x, known)
    mean, variance = np.empty(x.size), np.empty(x.size)
    for rule, at in questions.blocks():
        after = rule.posterior(x[at], known[at])
        mean[at], variance[at] = after.mean, after.variance
    weight = np.bincount(questions.which, weights=units) * np.isfinite(raw)
    if weight.sum() < 2 or not np.ptp(raw[weight > 0]):
        return None

    def over_units(values: Floats) -> float:
        return float(np.average(np.where(weight > 0, values, 0.0), weights=weight))

    hidden = over_units(variance) + over_units(mean**2) - over_units(mean) ** 2
    seen_spread = over_units(raw**2) - over_units(raw) ** 2
    return float(np.clip(1 - hidden / seen_spread, 0.0, 1.0)) if seen_spread > 0 else None


def fit_sentence(table: Shrunken) -> str:
    """Whether the model describes the observations, for those who know nothing of models."""
    channel = table.observations.columns.channel
    if table.departures:
        told = "; ".join(table.departures)
        return f"Not quite: {told}. Read the estimates with care."
    if any(rule.prior is None for rule in table.fit.rules.values()):
        return f"{next(iter(table.fit.rules.values())).method} makes no claim that could be tested on these numbers."
    if not table.checks:
        return (
            f"Not tested: every unit has a prior of its own, around what its {channel.words.theta} is expected to be."
        )
    if all(check.sentence == too_few(channel) for check, _ in table.checks):
        return "There are too few units to tell: nothing speaks against the model, and nothing for it."
    return (
        f"Yes: {channel.words.xs} of every size are about as frequent as the model says, "
        "so nothing speaks against the estimates and their intervals."
    )
