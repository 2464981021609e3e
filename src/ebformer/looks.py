"""Units seen twice: what was observed before and after, with what is known about each look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ebformer.bayes.marginal import observations
from ebformer.bayes.prediction import future_known
from ebformer.binning import distinct_rows
from ebformer.channels import pick
from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.tally import Tally, whole_numbers

MOST_PAIRS = 2**16
"""More distinct pairs than this are taken together where they are nearer to each other than their noise."""

WIDTH = 2.0**-5
"""By this share of its noise an observation may move to be taken together with others, at first."""


@dataclass(frozen=True, eq=False)
class Looks:
    """Distinct pairs of observations of a unit and how many units showed each: x and known before, y and future after.

    All are float64 [m]. `future` is what is known about the second look, as for predictions.

    >>> Looks.of([3, 0, 3], [5, 1, 5], exposure=[80, 60, 80], future=82)
    Looks(3 units seen twice, 2 distinct pairs, poisson)
    """

    channel: Channel
    x: Floats
    known: Floats
    y: Floats
    future: Floats
    multiplicity: Floats

    @classmethod
    def of(
        cls,
        before: ArrayLike,
        after: ArrayLike,
        known: ArrayLike | None = None,
        future: ArrayLike | None = None,
        multiplicity: ArrayLike | None = None,
        *,
        channel: Channel | None = None,
        **words: ArrayLike | str | None,
    ) -> Looks:
        """One pair per unit, or per kind of unit with its `multiplicity`."""
        channel, about = pick(known, words, channel)
        x, about = observations(channel, before, about)
        if x.ndim != 1 or x.size == 0:
            raise InputError(f"the first look has shape {x.shape}: give one number per unit")
        y, then = observations(channel.next_look, after, future_known(channel, future, ()))
        if y.shape != x.shape:
            raise InputError(f"the first look has {x.size} units and the second {y.size}: give one of each per unit")
        m = np.ones(x.size) if multiplicity is None else whole_numbers(multiplicity, "multiplicity").astype(np.float64)
        if m.size != x.size:
            raise InputError(f"there are {m.size} multiplicities for {x.size} pairs of looks: give one for each")
        return cls(channel, x, about, y, then, m).gathered()

    @property
    def n(self) -> int:
        """The number of units."""
        return int(self.multiplicity.sum())

    @property
    def exposed(self) -> bool:
        """Whether units are known to differ in exposure, at both looks, or were counted out of trials."""
        return self.channel.usual is None or bool(np.ptp(self.known) > 0 and np.ptp(self.future) > 0)

    @property
    def tally(self) -> Tally:
        """The first look."""
        return Tally(self.x, self.multiplicity.astype(np.int64), self.known, channel=self.channel)

    def gathered(self) -> Looks:
        """Equal pairs taken together; where very many differ, so are those that lie within their noise."""
        pairs, width = self._distinct(), WIDTH
        while pairs.x.size > MOST_PAIRS and width <= 0.5:
            x, known = self.channel.merge(self.x, self.known, self.multiplicity, width)
            y, future = self.channel.next_look.merge(self.y, self.future, self.multiplicity, width)
            pairs = Looks(self.channel, x, known, y, future, self.multiplicity)._distinct()
            width *= 2.0
        return pairs

    def _distinct(self) -> Looks:
        first, which = distinct_rows(self.x, self.known, self.y, self.future)
        x, known, y, future = (each[first] for each in (self.x, self.known, self.y, self.future))
        return Looks(self.channel, x, known, y, future, np.bincount(which, self.multiplicity).astype(np.float64))

    def __repr__(self) -> str:
        return f"Looks({self.n:,} units seen twice, {self.x.size:,} distinct pairs, {self.channel.name})"
