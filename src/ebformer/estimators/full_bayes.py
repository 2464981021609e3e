"""Full Bayes: a conjugate prior whose two parameters are averaged over, not estimated, so that few units suffice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from ebformer.channels.hyperprior import Hyperprior
from ebformer.channels.mixed_prior import MixedPrior
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.rule import BayesRule, Convergence
from ebformer.tally import Tally

DEPTH = 15.0
"""Parameters whose log posterior density lies this far below the highest are left out: 3e-7 of the mass."""
STEP = 0.75
"""Standard deviations between the places of a row, which is narrower at its top than below where units are few."""
ROUNDED = 0.01
"""The highest row is a multiple of it away from the scale, so that the last digits of what is known move no row."""
BLOCK = STEP * np.arange(1, 11)
"""So far to either side is looked at, at a time."""
WIDEST = 1.0
"""The widest step along places that have ends, whose density falls off by a factor e per unit beyond them."""
FINEST = 1e-7
"""The least spread, relative to its scale, of which no table can tell a smaller one."""
MOST = 1000
"""Rows, and places of a row: more are only met where log posteriors are so large that rounding hides their fall."""
MOST_STEPS = 60
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
"""Multiples of it, without their whole parts, fill the unit interval evenly, however many they are."""


@dataclass(frozen=True)
class FullBayes(Estimator):
    """Mean and spread of a gamma, beta or normal prior are unknown, too, and integrated out.

    p(theta_i | all x) = sum_h p(h | all x) p(theta_i | x_i, h), where h runs over a grid of means and spreads. Before
    the data the mean is flat (log mean, log-odds of the mean) and the spread half-Cauchy (`Channel.hyperprior`). With
    one unit its answer is the observation itself; with thousands it is that of the likeliest conjugate prior. It never
    collapses to a point.

    >>> rule = FullBayes()(Tally.of([2, 3, 2, 3]))  # which vary less than Poisson counts of one rate
    >>> low, high = rule.posterior(3).interval(0.9)
    >>> print(rule([2, 3]).round(2), low.round(1), high.round(1))
    [2.32 2.54] 1.2 4.5
    """

    name: ClassVar[str] = "full-bayes"
    channels: ClassVar[tuple[str, ...]] = ("poisson", "binomial", "normal")
    monotone: ClassVar[bool] = True
    answers_unseen: ClassVar[bool] = True
    unequal_known: ClassVar[bool] = True
    learns: ClassVar[bool] = False

    def fit(self, tally: Tally) -> BayesRule:
        """Walk over all parameters that matter and weigh them by their posterior."""
        prior, convergence = hyperposterior(tally)
        return BayesRule(self.name, prior, channel=tally.channel, convergence=convergence)


def hyperposterior(tally: Tally) -> tuple[MixedPrior, Convergence]:
    """The conjugate priors on a grid that follows their posterior, and its weights.

    The grid has a row of places for each log spread, in steps of STEP of the row's standard deviation, and rows in
    steps of the log spread's. Sums over such grids are integrals to 1e-7, as all that is summed is smooth.

    >>> prior, _ = hyperposterior(Tally.of([1, 4, 2]))
    >>> round(float(prior.weights.sum()), 9)
    1.0
    """
    x, known, units = tally.x, tally.known, tally.multiplicity.astype(np.float64)
    hyper: Hyperprior = tally.channel.hyperprior(x, known, units)

    def log_posterior(place: Floats, log_spread: float) -> Floats:
        log_f = hyper.prior(place, np.exp(np.full(place.shape, log_spread))).log_marginal(x[:, None], known[:, None])
        return np.asarray(units @ log_f + hyper.log_density(place, np.asarray(log_spread)))

    rows = Rows(log_posterior, hyper)
    peak, step = rows.peak()
    found = [rows.row(peak, 0.0)]
    for direction in (-step, step):
        at = peak + direction
        # Narrow priors are nearly points: rows that are shifted against each other leave no gaps between these.
        while at > rows.least and len(found) < MOST:
            row = rows.row(at, len(found) * GOLDEN % 1.0)
            if not row.height > found[0].height - DEPTH:
                break
            found.append(row)
            at += direction
    logs = np.concatenate([row.log_weights for row in found])
    kept = logs > logs.max() - DEPTH
    if not kept.any() or max(len(found), *(row.places.size for row in found)) >= MOST:
        words = tally.channel.words
        raise InputError(f"these {words.xs} lie too far apart for full-bayes to weigh its priors: use npmle")
    places, spreads = (np.concatenate(each)[kept] for each in zip(*((r.places, r.spreads) for r in found), strict=True))
    weights = np.exp(logs[kept] - logs.max())
    evidence = Convergence(float(np.exp(-DEPTH)), len(found), True, "density at the edge of the grid")
    return MixedPrior(hyper.prior(places, spreads), weights / weights.sum()), evidence


@dataclass(frozen=True, eq=False)
class Row:
    """Places at one spread, and the logarithm of what each of them weighs."""

    places: Floats
    spreads: Floats
    log_weights: Floats

    @property
    def height(self) -> float:
        """The logarithm of its weight."""
        return float(np.logaddexp.reduce(self.log_weights))


@dataclass(eq=False)
class Rows:
    """Rows of the grid; the place and the width of the last one are where the next is looked for."""

    log_posterior: Callable[[Floats, float], Floats]
    hyper: Hyperprior

    def __post_init__(self) -> None:
        ends = bool(np.isfinite(self.hyper.most - self.hyper.least))
        self.widest = WIDEST if ends else np.inf
        self.place, self.width = self.hyper.start, 0.5 * (1.0 if ends else self.hyper.scale)
        self.least = float(np.log(FINEST * self.hyper.scale))

    def values(self, steps: NDArray[Any], log_spread: float) -> Floats:
        """The log posterior so many steps from where we are."""
        return self.log_posterior(np.asarray(self.place + self.width * steps, dtype=np.float64), log_spread)

    def climb(self, log_spread: float) -> float:
        """Go to the likeliest place at this spread and find the standard deviation there; the height of the row."""
        for _ in range(MOST_STEPS):
            below, here, above = self.values(np.array([-1, 0, 1]), log_spread).tolist()
            if not np.isfinite(below + here + above):  # so far out that a likelihood is 0: there is nothing to climb
                break
            slope, bend = 0.5 * (above - below), above - 2.0 * here + below  # per step
            step, width = (-slope / bend, (-bend) ** -0.5) if bend < 0 else (2.0 * np.sign(slope), 2.0)
            step, width = float(np.clip(step, -2.0, 2.0)), float(np.clip(width, 0.25, 2.0))
            self.place, before = self.place + step * self.width, self.width
            self.width = min(self.widest, width * self.width)
            if abs(step) < 1e-4 and abs(self.width / before - 1.0) < 1e-4:
                break
        return float(here + np.log(self.width))

    def row(self, log_spread: float, offset: float) -> Row:
        """All places at this spread that matter, `offset` steps from the likeliest and so on."""
        self.climb(log_spread)
        steps = STEP * offset + np.concatenate([-BLOCK[::-1], [0.0], BLOCK])
        values = self.values(steps, log_spread)
        while values[0] > values.max() - DEPTH and steps.size < MOST:
            further = steps[0] - BLOCK[::-1]
            steps, values = np.append(further, steps), np.append(self.values(further, log_spread), values)
        while values[-1] > values.max() - DEPTH and steps.size < MOST:
            further = steps[-1] + BLOCK
            steps, values = np.append(steps, further), np.append(values, self.values(further, log_spread))
        places = np.asarray(self.place + self.width * steps, dtype=np.float64)
        return Row(places, np.full(places.size, np.exp(log_spread)), values + np.log(self.width))

    def peak(self) -> tuple[float, float]:
        """The log spread at which a row is highest, and the standard deviation of log spreads there, roughly."""
        scale, step = float(np.log(self.hyper.scale)), 1.0
        at = scale + float(np.log(0.3))
        here = self.climb(at)
        for direction in (1.0, -1.0):
            while at > self.least and (ahead := self.climb(at + direction * step)) > here:
                at, here = at + direction * step, ahead
        found = minimize_scalar(lambda log: -self.climb(log), bounds=(at - step, at + step), method="bounded")
        at = scale + round((float(found.x) - scale) / ROUNDED) * ROUNDED
        here = self.climb(at)
        for _ in range(MOST_STEPS):
            fall = here - min(self.climb(at - step), self.climb(at + step))
            if 0.2 < fall < 1.0:
                break
            step *= float(np.clip(np.sqrt(0.5 / max(fall, 0.1)), 0.1, 2.0))
        return at, step
