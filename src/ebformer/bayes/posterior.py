"""What is known of a rate after its count: posteriors on atoms, on the cells of a grid, and of gamma form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ebformer.errors import InputError

Floats = NDArray[np.float64]
Number = TypeVar("Number", bound=np.generic)


class Distribution(ABC, Generic[Number]):
    """One distribution per unit, of its rate or its next count; answers have the shape of x, unless they say otherwise.

    It prints as its kind and its means: the weights of hundreds of atoms would fill a notebook.

    >>> GammaPosterior(np.array([2.0, 6.0]), np.array([2.0, 2.0]))
    GammaPosterior(2 units, means from 1 to 3)
    """

    @property
    @abstractmethod
    def mean(self) -> Floats:
        """The expected value given x."""

    @property
    @abstractmethod
    def variance(self) -> Floats:
        """The variance given x."""

    @abstractmethod
    def quantile(self, q: ArrayLike) -> NDArray[Number]:
        """The smallest value v with P(at most v | x) >= q; shape x.shape + q.shape."""

    def interval(self, level: float = 0.9) -> tuple[NDArray[Number], NDArray[Number]]:
        """The equal-tailed interval that holds the value with probability `level`, at least."""
        low, high = tails(level)
        return self.quantile(low), self.quantile(high)

    def __repr__(self) -> str:
        mean = self.mean
        if mean.size < 2:
            what = f"1 unit, mean {float(mean.item()):.4g}" if mean.size else "0 units"
        else:
            what = f"{mean.size:,} units, means from {mean.min():.4g} to {mean.max():.4g}"
        return f"{type(self).__name__}({what})"


class Posterior(Distribution[np.float64]):
    """What is known of theta after seeing x."""

    @abstractmethod
    def exceeds(self, c: ArrayLike) -> Floats:
        """P(theta > c | x); shape x.shape + c.shape."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Draws from the posterior; shape x.shape + (n,)."""


@dataclass(frozen=True, eq=False, repr=False)
class DiscretePosterior(Posterior):
    """P(theta = atoms[j] | x) = weights[..., j]: atoms [k], weights x.shape + (k,)."""

    atoms: Floats
    weights: Floats

    @property
    def mean(self) -> Floats:
        return np.asarray(self.weights @ self.atoms)

    @property
    def variance(self) -> Floats:
        return np.asarray((self.weights * (self.atoms - self.mean[..., None]) ** 2).sum(axis=-1))

    def quantile(self, q: ArrayLike) -> Floats:
        return np.asarray(self.atoms[self._reached(probabilities(q))])

    def _reached(self, levels: Floats) -> NDArray[np.intp]:
        """Which atom brings P(theta <= atom | x) to each level: x.shape + levels.shape."""
        below = np.cumsum(self.weights, axis=-1)
        below[..., -1] = 1.0
        # A slack of a few ulp keeps a level that the cumulative sum meets up to rounding on the atom that meets it.
        reached = below[..., None, :] >= levels.reshape(-1, 1) * (1 - 1e-14)
        return np.asarray(reached.argmax(axis=-1).reshape(self.weights.shape[:-1] + levels.shape))

    def exceeds(self, c: ArrayLike) -> Floats:
        levels = thresholds(c)
        return self._probability((self.atoms > levels.reshape(-1, 1)).astype(np.float64), levels)

    def _probability(self, shares: Floats, levels: Floats) -> Floats:
        """x.shape + levels.shape, from the share [levels, k] of every atom that counts; rounding takes none above 1."""
        found = np.minimum(self.weights @ shares.T, 1.0)
        return np.asarray(found.reshape(self.weights.shape[:-1] + levels.shape))

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        return np.asarray(self.atoms[self._drawn(n, rng)])

    def _drawn(self, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Which atoms n draws per unit hit: x.shape + (n,)."""
        check_draws(n, rng)
        below = np.cumsum(self.weights, axis=-1)[..., None, :]
        at = (rng.random((*self.weights.shape[:-1], n, 1)) * below[..., -1:] >= below).sum(axis=-1)
        return np.asarray(np.minimum(at, self.atoms.size - 1))


@dataclass(frozen=True, eq=False, repr=False)
class GridPosterior(DiscretePosterior):
    """The posterior of a `GridPrior`: what an atom bears is spread evenly over its cell, edges [k + 1].

    A rate of 0 stays a point, since some units may have no events at all. Only intervals hold whole cells, so that they
    are never too short for the grid; mean and variance are the atoms'.

    >>> after = GridPosterior(np.array([0.0, 1.0, 4.0]), np.array([0.0, 0.8, 0.2]), np.array([0.0, 0.25, 2.25, 4.0]))
    >>> after.interval(0.5), after.exceeds([0.25, 1.25, 2.25]).round(3).tolist()
    ((array(0.25), array(2.25)), [1.0, 0.6, 0.2])
    """

    edges: Floats

    @property
    def ends(self) -> Floats:
        """Up to where each atom is spread, [k]."""
        return np.where(self.atoms == 0, 0.0, self.edges[1:])

    def quantile(self, q: ArrayLike) -> Floats:
        levels = probabilities(q)
        at = self._reached(levels.reshape(-1))
        reached = np.take_along_axis(np.cumsum(self.weights, axis=-1), at, axis=-1)
        held = np.take_along_axis(self.weights, at, axis=-1)
        beyond = np.clip((reached - levels.reshape(-1)) / np.maximum(held, np.finfo(float).tiny), 0.0, 1.0)
        found = self.ends[at] - beyond * (self.ends[at] - self.edges[at])
        return np.asarray(found.reshape(self.weights.shape[:-1] + levels.shape))

    def exceeds(self, c: ArrayLike) -> Floats:
        levels = thresholds(c)
        width = self.ends - self.edges[:-1]
        with np.errstate(over="ignore"):  # a cell may be as narrow as numbers get
            above = (self.ends - levels.reshape(-1, 1)) / np.where(width > 0, width, 1.0)
        above = np.where(width > 0, np.clip(above, 0.0, 1.0), self.atoms > levels.reshape(-1, 1))
        return self._probability(above, levels)

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        at = self._drawn(n, rng)
        return np.asarray(rng.uniform(self.edges[at], self.ends[at]))

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        first, last = (self._reached(np.asarray(tail)) for tail in tails(level))
        return np.asarray(self.edges[first]), np.asarray(self.edges[last + 1])


@dataclass(frozen=True, eq=False, repr=False)
class GammaPosterior(Posterior):
    """theta | x ~ Gamma(shape, rate), one pair per observation."""

    shape: Floats
    rate: Floats

    @property
    def mean(self) -> Floats:
        return self.shape / self.rate

    @property
    def variance(self) -> Floats:
        return self.shape / self.rate**2

    def quantile(self, q: ArrayLike) -> Floats:
        levels = probabilities(q)
        return np.asarray(special.gammaincinv(_against(levels, self.shape), levels) / _against(levels, self.rate))

    def exceeds(self, c: ArrayLike) -> Floats:
        levels = np.maximum(thresholds(c), 0.0)  # every rate exceeds a negative one
        return np.asarray(special.gammaincc(_against(levels, self.shape), levels * _against(levels, self.rate)))

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        check_draws(n, rng)
        return rng.gamma(self.shape[..., None], 1 / self.rate[..., None], size=(*self.shape.shape, n))


def check_draws(n: int, rng: np.random.Generator) -> None:
    """An `InputError` unless n draws can be taken from a generator of random numbers.

    >>> check_draws(2, np.random.default_rng(0))
    """
    if not (isinstance(n, Integral) and n >= 0):
        raise InputError(f"the number of draws is {n!r}: give a whole number of at least 0")
    if not isinstance(rng, np.random.Generator):
        raise InputError(f"draws need a generator of random numbers, not {rng!r}: give numpy.random.default_rng(0)")


def _against(levels: Floats, parameter: Floats) -> Floats:
    """A parameter per observation, given trailing axes so that it broadcasts against levels: x.shape + (1, ...)."""
    return parameter.reshape(parameter.shape + (1,) * levels.ndim)


def tails(level: float) -> tuple[float, float]:
    """The probabilities below the two ends of an equal-tailed interval.

    >>> tails(0.5)
    (0.25, 0.75)
    """
    if not (isinstance(level, Real) and 0 < level < 1):
        raise InputError(f"the level of an interval is {level!r}: give a probability between 0 and 1")
    return (1 - level) / 2, (1 + level) / 2


def probabilities(q: ArrayLike) -> Floats:
    """Numbers in [0, 1], or an `InputError` that names the first offender.

    >>> probabilities([0.05, 0.95]).tolist()
    [0.05, 0.95]
    """
    levels = _numbers(q, "the level of a quantile")
    bad = ~((levels >= 0) & (levels <= 1))
    if bad.any():
        raise InputError(f"the level of a quantile is {levels[bad].flat[0]:g}: give a probability between 0 and 1")
    return levels


def thresholds(c: ArrayLike) -> Floats:
    """Numbers that rates can be compared with, or an `InputError` where one is NaN.

    >>> thresholds([-1, 0.5]).tolist()
    [-1.0, 0.5]
    """
    levels = _numbers(c, "the rate to exceed")
    if np.isnan(levels).any():
        raise InputError("the rate to exceed is nan: give a number")
    return levels


def _numbers(given: ArrayLike, name: str) -> Floats:
    """An array of numbers, or an `InputError` that says what should have been some."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is {given!r}: give numbers") from error
