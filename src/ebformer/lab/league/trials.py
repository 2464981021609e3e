"""Tables of everyday priors, and what a method pays on one: regret, coverage, seconds."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ebformer.bayes import posterior
from ebformer.distributions import DiscretePosterior, Floats
from ebformer.estimators.base import Estimator
from ebformer.lab.arena.losses import Key, Loss
from ebformer.lab.league.priors import EVERYDAY, Everyday
from ebformer.prior import Prior
from ebformer.tally import Tally

Integers = NDArray[np.int64]

SIZES, TALLIES = (20, 50, 200, 1000, 10_000), 8
LARGE = 5_000
"""From here on a quarter of the tallies is enough: each tells as much as many small ones."""
ASKED = 40
"""Units whose intervals are asked for, evenly spaced from the lowest to the highest estimate."""


@dataclass(frozen=True, eq=False)
class EverydayCase:
    """Units of a prior that we know."""

    key: Key
    tally: Tally
    prior: Prior

    @cached_property
    def truth(self) -> DiscretePosterior:
        """What is known of every distinct observation by one who knows the prior."""
        found = posterior(self.prior, self.tally.x, self.tally.known, channel=self.tally.channel)
        assert isinstance(found, DiscretePosterior)
        return found

    def score(self, name: str, estimator: Estimator) -> Loss:
        """Fit and answer (timed together), and compare with the truth; intervals come after the clock has stopped."""
        tally, truth = self.tally, self.truth
        start = time.process_time()
        rule = estimator(tally)
        estimates = rule(tally.x, tally.known)
        seconds = time.process_time() - start
        share = tally.multiplicity / tally.n
        regret = float(share @ (estimates - truth.mean) ** 2)
        paid = Loss(*self.key, name, regret, regret + float(share @ truth.variance), seconds=seconds)
        if rule.prior is None:
            return paid
        units = spread(estimates, tally.multiplicity)
        low, high = rule.posterior(tally.x[units], tally.known[units]).interval(0.9)
        held = covered(truth, units, low, high)
        return paid._replace(coverage=held.mean(), top_tenth=held[-max(1, len(units) // 10) :].mean(), leader=held[-1])


def spread(estimates: Floats, multiplicity: Integers) -> Integers:
    """Which observations the asked units show: at most ASKED units, evenly spaced by their estimates.

    >>> spread(np.array([2.0, 1.0]), np.array([1, 3])).tolist()
    [1, 1, 1, 0]
    """
    order = np.argsort(estimates, kind="stable")
    upto = np.cumsum(multiplicity[order])
    ranks = np.linspace(0, upto[-1] - 1, min(ASKED, int(upto[-1]))).round()
    return np.asarray(order[np.searchsorted(upto, ranks, side="right")])


def covered(truth: DiscretePosterior, units: Integers, low: Floats, high: Floats) -> Floats:
    """P(low <= theta <= high | x) under the true prior: no theta is drawn."""
    inside = (low[:, None] <= truth.atoms) & (truth.atoms <= high[:, None])
    return np.asarray((truth.weights[units] * inside).sum(axis=1))


@dataclass(frozen=True)
class EverydayTrial:
    """One table of each size; a table depends on (seed, prior, n, its number) alone."""

    everyday: Everyday
    number: int
    sizes: tuple[int, ...]
    seed: int

    @property
    def keys(self) -> list[Key]:
        return [Key(f"{self.everyday.channel} {self.everyday.name}", n, self.number) for n in self.sizes]

    def cases(self, wanted: Iterable[Key]) -> Iterator[EverydayCase]:
        for key in wanted:
            path = zlib.crc32(key.data.encode()), key.n, self.number
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=path))
            channel, x, known = self.everyday.draw(key.n, rng)
            tally = Tally.of(x, known, channel=channel)
            yield EverydayCase(key, tally, self.everyday.prior)


def everyday_trials(
    tallies: int, sizes: Sequence[int] = SIZES, seed: int = 0, priors: Sequence[Everyday] = EVERYDAY
) -> list[EverydayTrial]:
    """So many tables per prior and size, a quarter of them (at least one) where there are many units.

    >>> [len(trial.keys) for trial in everyday_trials(3, priors=EVERYDAY[:1])]
    [5, 4, 4]
    """
    trials = []
    for number in range(tallies):
        played = tuple(n for n in sizes if n < LARGE or number < a_quarter(tallies))
        trials += [EverydayTrial(prior, number, played, seed) for prior in priors]
    return trials


def a_quarter(tallies: int) -> int:
    """For what is costly, and at least one.

    >>> a_quarter(12), a_quarter(2)
    (3, 1)
    """
    return max(1, tallies // 4)
