"""Mixtures of closed forms, by the same weights for every unit or by its own: posterior and next observation, exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, ndtr, ndtri

from ebformer.channels.closed_forms import ClosedForm, ClosedFormPosterior, ClosedFormPredictive
from ebformer.distributions import Floats, Posterior, Predictive
from ebformer.levels import below_one, check_draws, next_numbers, probabilities, thresholds, whole_quantile

ENTRIES = 2**21
"""Parts of a mixture are summed so many numbers at a time, which bounds the memory."""
MOST_STEPS, EXACT = 100, 1e-11
"""Quantiles have their probability to within this."""
WIDEST = 37.0
"""Beyond so many standard deviations a normal has no mass that numbers can tell from 0."""


def mean_and_variance(parts: Any, weights: Floats) -> tuple[Floats, Floats]:
    """Of a mixture, from its parts' x.shape + (h,)."""
    mean = np.asarray((parts.mean * weights).sum(axis=-1))
    return mean, np.asarray(((parts.variance + (parts.mean - mean[..., None]) ** 2) * weights).sum(axis=-1))


def summed(law: ClosedForm, of: str, at: Floats, weights: Floats) -> Floats:
    """sum_h weights[..., h] * (a probability of part h) at `at`, x.shape + (q,) or (q,): x.shape + (q,)."""
    shape = law.parameters()[0].shape[:-1] + at.shape[-1:]
    total, block = np.zeros(shape), max(1, ENTRIES // max(1, int(np.prod(shape))))
    for start in range(0, weights.shape[-1], block):
        some = slice(start, start + block)
        part = type(law)(*(parameter[..., None, some] for parameter in law.parameters()))
        total += (getattr(part, of)(at[..., None]) * weights[..., None, some]).sum(axis=-1)
    return total


class Mixed:
    """sum_h weights[..., h] parts[..., h], parts of shape x.shape + (h,) and weights too, or (h,)."""

    parts: Any
    weights: Floats

    @property
    def mean(self) -> Floats:
        return mean_and_variance(self.parts, self.weights)[0]

    @property
    def variance(self) -> Floats:
        return mean_and_variance(self.parts, self.weights)[1]

    @property
    def matched(self) -> Any:
        """The law of the parts' family with the same mean and variance."""
        return self.parts.matching(*mean_and_variance(self.parts, self.weights))

    @property
    def units(self) -> tuple[int, ...]:
        """The shape of x."""
        return self.parts.parameters()[0].shape[:-1]  # type: ignore[no-any-return]

    def below(self, at: Floats) -> Floats:
        """The distribution function at `at`, x.shape + (q,) or (q,): x.shape + (q,)."""
        return summed(self.parts, "below", at, self.weights)


@dataclass(frozen=True, eq=False, repr=False)
class MixedPosterior(Mixed, Posterior):
    """theta | x, a mixture of laws with closed forms."""

    parts: ClosedFormPosterior
    weights: Floats

    @property
    def mean_log(self) -> Floats:
        return np.asarray((self.parts.mean_log * self.weights).sum(axis=-1))

    def exceeds(self, c: ArrayLike) -> Floats:
        levels = thresholds(c)
        found = summed(self.parts, "survival", levels.reshape(-1), self.weights)
        return np.minimum(found, 1.0).reshape(found.shape[:-1] + levels.shape)

    def quantile(self, q: ArrayLike) -> Floats:
        levels = probabilities(q)
        found = quantiles(self.matched, self.parts, self.below, levels.reshape(-1))
        return found.reshape(found.shape[:-1] + levels.shape)

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        check_draws(n, rng)
        below = np.cumsum(np.broadcast_to(self.weights, (*self.units, self.weights.shape[-1])), axis=-1)
        which = (below[..., None, :-1] < rng.random((*self.units, n, 1))).sum(axis=-1)
        drawn = self.parts.with_parameters(lambda parameter: np.take_along_axis(parameter, which, axis=-1))
        return np.asarray(drawn.sample(1, rng)[..., 0])


@dataclass(frozen=True, eq=False, repr=False)
class MixedPredictive(Mixed, Predictive):
    """The next observation, where it is a whole number."""

    parts: ClosedFormPredictive
    weights: Floats

    def log_density(self, y: ArrayLike) -> Floats:
        at = next_numbers(y)
        part = self.parts.with_parameters(lambda parameter: parameter[..., None, :])
        mixed = logsumexp(part.log_p(at.reshape(-1, 1)), axis=-1, b=self.weights[..., None, :])
        return np.asarray(mixed).reshape(self.units + at.shape)

    def cdf(self, y: ArrayLike) -> Floats:
        at = next_numbers(y)
        return self.below(at.reshape(-1)).reshape(self.units + at.shape)

    def quantile(self, q: ArrayLike) -> NDArray[Any]:
        return whole_quantile(self.below, below_one(q), self)


class ContinuousMixedPredictive(MixedPredictive):
    """Where it may be any number."""

    whole: ClassVar[bool] = False

    def quantile(self, q: ArrayLike) -> NDArray[Any]:
        levels = probabilities(q)
        found = quantiles(self.matched, self.parts, self.below, levels.reshape(-1))
        return found.reshape(self.units + levels.shape)


def quantiles(law: Any, parts: ClosedForm, cdf: Callable[[Floats], Floats], levels: Floats) -> Floats:
    """Where the cdf of a mixture reaches each level [q], in the shape x.shape + (q,), from a law that is near it.

    The law is the parts' own with the mixture's mean and variance: on the scale z on which it is standard normal the
    cdf of the mixture is nearly that of a normal. z is found by secants, every third step by halves.
    """
    near = law.facing(np.zeros(1))

    def at(z: Floats) -> Floats:
        return np.asarray(near.inverse(ndtr(z)))

    def off(z: Floats) -> Floats:
        return cdf(at(z)) - levels

    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        goal = np.clip(ndtri(levels), -WIDEST, WIDEST)
        shape = np.broadcast_shapes((*law.parameters()[0].shape, 1), levels.shape)
        low, high = np.broadcast_to(goal - 0.25, shape), np.broadcast_to(goal + 0.25, shape)
        under, over, reach = off(low), off(high), 0.5
        while reach < WIDEST and bool(np.any((under > 0) | (over < 0))):
            low, high = np.where(under > 0, low - reach, low), np.where(over < 0, high + reach, high)
            under, over, reach = off(low), off(high), 2.0 * reach
        middle = 0.5 * (low + high)
        for step in range(MOST_STEPS):
            secant = low - under * ((high - low) / (over - under))
            use = (step % 3 != 2) & (secant > low) & (secant < high)
            middle = np.where(use, secant, 0.5 * (low + high))
            miss = off(middle)
            if bool(np.all((np.abs(miss) <= EXACT) | (high - low <= 1e-14))):
                break
            left = miss < 0
            # Illinois: the end that stays counts half, so that both ends move.
            under, over = np.where(left, miss, 0.5 * under), np.where(left, 0.5 * over, miss)
            low, high = np.where(left, middle, low), np.where(left, high, middle)
        found = at(middle)
    ends = near.inverse(levels)
    found = np.where((levels == 0) | (levels == 1), ends, found)
    lost = np.isnan(found) | (np.isinf(found) & (levels > 0) & (levels < 1))
    return np.where(lost, _between(parts, cdf, levels), found) if lost.any() else found


def _between(parts: ClosedForm, cdf: Callable[[Floats], Floats], levels: Floats) -> Floats:
    """The same by halves: for parts of which some are wider than others by more digits than a number has."""
    law: Any = parts.with_parameters(lambda parameter: parameter[..., None, :])
    each = law.inverse(levels[:, None])  # a quantile of a mixture lies between its parts'
    low, high = each.min(axis=-1), each.max(axis=-1)
    for _ in range(2 * MOST_STEPS):
        middle = 0.5 * (low + high)
        reached = cdf(middle) >= levels
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return np.asarray(high)
