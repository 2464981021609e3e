"""Distributions of a unit's theta and of its next observation: what every answer has, and those on atoms and cells."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral, Real
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, xlogy

from ebformer.errors import InputError

Floats = NDArray[np.float64]
ENTRIES = 2**22
"""Weights of units are summed up in blocks of this many numbers, which bounds the memory beside their own."""
Number = TypeVar("Number", bound=np.generic)


class Distribution(ABC, Generic[Number]):
    """One distribution per unit, of theta or of its next observation; answers have the shape of x, or say otherwise.

    It prints as its kind and its means: the weights of hundreds of atoms would fill a notebook.

    >>> DiscretePosterior(np.array([1.0, 3.0]), np.array([[1.0, 0.0], [0.5, 0.5]]))
    DiscretePosterior(2 units, means from 1 to 2)
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

    def to_frame(self, level: float = 0.9) -> Any:
        """Mean, standard deviation and interval of every unit, as a pandas, polars or pyarrow table, whichever is here.

        >>> after = DiscretePosterior(np.array([1.0, 3.0]), np.array([[1.0, 0.0], [0.5, 0.5]]))
        >>> list(after.to_frame().columns)
        ['mean', 'deviation', 'lower', 'upper']
        """
        low, high = self.interval(level)
        columns = {"mean": self.mean, "deviation": np.sqrt(self.variance), "lower": low, "upper": high}
        return table_of({name: np.ravel(column) for name, column in columns.items()})

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

    @property
    def mean_log(self) -> Floats:
        """E[log theta | x], whose exponential is the geometric mean; -inf where theta may be 0."""
        levels, weights = np.polynomial.legendre.leggauss(64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(self.quantile((levels + 1) / 2)) @ (weights / 2))

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
        return self._in_blocks(lambda w: (w * (self.atoms - (w @ self.atoms)[:, None]) ** 2).sum(axis=-1), ())

    @property
    def mean_log(self) -> Floats:
        return np.asarray(xlogy(self.weights, self.atoms).sum(axis=-1))

    def quantile(self, q: ArrayLike) -> Floats:
        return np.asarray(self.atoms[self._reached(probabilities(q))])

    def _reached(self, levels: Floats) -> NDArray[np.intp]:
        """Which atom brings P(theta <= atom | x) to each level: x.shape + levels.shape."""
        return self._in_blocks(lambda weights: _reaching(np.cumsum(weights, axis=-1), levels.ravel()), levels.shape)

    def _in_blocks(self, answer: Callable[[Floats], NDArray[Number]], each: tuple[int, ...]) -> NDArray[Number]:
        """What `answer` makes of the weights [u, k] of some units at a time, numbers of shape `each` for each unit."""
        shape, k = self.weights.shape[:-1], self.atoms.size
        units, block = self.weights.reshape(-1, k), max(1, ENTRIES // (k * max(1, math.prod(each))))
        found = [answer(units[start : start + block]) for start in range(0, max(1, len(units)), block)]
        return np.concatenate(found).reshape(shape + each)

    def exceeds(self, c: ArrayLike) -> Floats:
        levels = thresholds(c)
        return self._probability(np.searchsorted(self.atoms, levels.ravel(), side="right"), 1.0, levels)

    def _probability(self, first: NDArray[np.intp], share: Floats | float, levels: Floats) -> Floats:
        """x.shape + levels.shape: a `share` of the first atom that counts, for each level, and all atoms after it."""

        def probability(of: Floats) -> Floats:
            none = np.zeros((len(of), 1))
            weights = np.concatenate([of, none], axis=-1)
            after = np.concatenate([np.cumsum(of[:, ::-1], axis=-1)[:, ::-1], none], axis=-1)
            found = after[:, np.minimum(first + 1, self.atoms.size)] + share * weights[:, first]
            return np.minimum(found, 1.0)

        return self._in_blocks(probability, levels.shape)

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        return np.asarray(self.atoms[self._drawn(n, rng)])

    def _drawn(self, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Which atoms n draws per unit hit: x.shape + (n,)."""
        check_draws(n, rng)
        shape, k = self.weights.shape[:-1], self.atoms.size
        below = (np.cumsum(weights) for weights in self.weights.reshape(-1, k))
        at = rng.random((math.prod(shape), n))
        found = [np.searchsorted(row, levels * row[-1], side="right") for row, levels in zip(below, at, strict=True)]
        return np.minimum(np.array(found, dtype=np.intp).reshape(*shape, n), k - 1)


@dataclass(frozen=True, eq=False, repr=False)
class GridPosterior(DiscretePosterior):
    """The posterior of a `GridPrior`: what an atom bears is spread evenly over its cell, edges [k + 1].

    `points` [k] are atoms that stay points: a rate of 0, since some units may have no events at all, or an effect of
    exactly 0. Only intervals hold whole cells, so that they are never too short for the grid; mean and variance are
    the atoms'.

    >>> edges, points = np.array([0.0, 0.25, 2.25, 4.0]), np.array([True, False, False])
    >>> after = GridPosterior(np.array([0.0, 1.0, 4.0]), np.array([0.0, 0.8, 0.2]), edges, points)
    >>> after.interval(0.5), after.exceeds([0.25, 1.25, 2.25]).round(3).tolist()
    ((array(0.25), array(2.25)), [1.0, 0.6, 0.2])
    """

    edges: Floats
    points: NDArray[np.bool_]

    @property
    def starts(self) -> Floats:
        """From where on each atom is spread, [k]."""
        return np.where(self.points, self.atoms, self.edges[:-1])

    @property
    def ends(self) -> Floats:
        """Up to where each atom is spread, [k]."""
        return np.where(self.points, self.atoms, self.edges[1:])

    def quantile(self, q: ArrayLike) -> Floats:
        levels, starts, ends = probabilities(q), self.starts, self.ends

        def within_cells(weights: Floats) -> Floats:
            below = np.cumsum(weights, axis=-1)
            at = _reaching(below.copy(), levels.ravel())
            reached, held = (np.take_along_axis(of, at, axis=-1) for of in (below, weights))
            beyond = np.clip((reached - levels.ravel()) / np.maximum(held, np.finfo(float).tiny), 0.0, 1.0)
            return np.asarray(ends[at] - beyond * (ends[at] - starts[at]))

        return self._in_blocks(within_cells, levels.shape)

    def exceeds(self, c: ArrayLike) -> Floats:
        levels = thresholds(c)
        flat, ends = levels.ravel(), self.ends
        first = np.searchsorted(ends, flat, side="right")
        at = np.minimum(first, ends.size - 1)
        width = ends[at] - self.starts[at]
        with np.errstate(over="ignore"):  # a cell may be as narrow as numbers get
            share = (ends[at] - flat) / np.where(width > 0, width, 1.0)
        return self._probability(first, np.where(width > 0, np.clip(share, 0.0, 1.0), 1.0), levels)

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        at = self._drawn(n, rng)
        return np.asarray(rng.uniform(self.starts[at], self.ends[at]))

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        first, last = (self._reached(np.asarray(tail)) for tail in tails(level))
        return np.asarray(self.starts[first]), np.asarray(self.ends[last])


def _reaching(below: Floats, levels: Floats) -> NDArray[np.intp]:
    """Where sums [u, k], which end at 1 but for rounding, first come to each level: [u, levels]."""
    below[:, -1] = 1.0
    # A slack of a few ulp keeps a level that the cumulative sum meets up to rounding on the atom that meets it.
    reached = below[:, None, :] >= levels[:, None] * (1 - 1e-14)
    return np.asarray(reached.argmax(axis=-1))


class Predictive(Distribution[Any]):
    """The next observation of the same unit: a whole number where `whole`, else any number."""

    whole: ClassVar[bool] = True

    @abstractmethod
    def log_density(self, y: ArrayLike) -> Floats:
        """The logarithm of `pmf` or `pdf`; shape x.shape + y.shape."""

    @abstractmethod
    def cdf(self, y: ArrayLike) -> Floats:
        """P(next observation <= y | x); shape x.shape + y.shape."""

    def pmf(self, y: ArrayLike) -> Floats:
        """P(next observation = y | x); shape x.shape + y.shape."""
        if not self.whole:
            raise InputError("no single value of a continuous observation has a probability: ask for its pdf")
        return np.exp(self.log_density(y))

    def pdf(self, y: ArrayLike) -> Floats:
        """The density of the next observation at y; shape x.shape + y.shape."""
        if self.whole:
            raise InputError("whole numbers have no density: ask for their pmf")
        return np.exp(self.log_density(y))


def table_of(columns: dict[str, NDArray[Any]]) -> Any:
    """Columns as a table of the first library for tables that is installed: pandas, polars or pyarrow.

    >>> table_of({"x": np.arange(3)}).shape
    (3, 1)
    """
    for library, make in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
        try:
            return getattr(import_module(library), make)(columns)
        except ModuleNotFoundError:
            continue
    raise InputError("a table needs a library for tables: install pandas, polars or pyarrow")


def check_draws(n: int, rng: np.random.Generator) -> None:
    """An `InputError` unless n draws can be taken from a generator of random numbers.

    >>> check_draws(2, np.random.default_rng(0))
    """
    if not (isinstance(n, Integral) and n >= 0):
        raise InputError(f"the number of draws is {n!r}: give a whole number of at least 0")
    if not isinstance(rng, np.random.Generator):
        raise InputError(f"draws need a generator of random numbers, not {rng!r}: give numpy.random.default_rng(0)")


def against(levels: Floats, parameter: Floats) -> Floats:
    """A parameter per observation, given trailing axes so that it broadcasts against levels: x.shape + (1, ...).

    >>> against(np.zeros((2, 3)), np.zeros(5)).shape
    (5, 1, 1)
    """
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
    """Numbers that thetas can be compared with, or an `InputError` where one is NaN.

    >>> thresholds([-1, 0.5]).tolist()
    [-1.0, 0.5]
    """
    levels = _numbers(c, "the number to exceed")
    if np.isnan(levels).any():
        raise InputError("the number to exceed is nan: give a number")
    return levels


def _numbers(given: ArrayLike, name: str) -> Floats:
    """An array of numbers, or an `InputError` that says what should have been some."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is {given!r}: give numbers") from error


def below_one(q: ArrayLike) -> Floats:
    """Probabilities below 1, or an `InputError`: no next observation is certain to be the largest.

    >>> below_one(0.5).item()
    0.5
    """
    levels = probabilities(q)
    if bool(np.any(levels == 1)):
        raise InputError("the level of a quantile is 1, and no count is certain to be enough: give a number below 1")
    return levels


def whole_quantile(cdf: Callable[[Floats], Floats], levels: Floats, law: Predictive) -> NDArray[np.int64]:
    """The smallest y >= 0 with cdf(y) >= level, of every unit of a law: x.shape + levels.shape."""
    found = first_reaching(cdf, levels.reshape(-1), law)
    return found.reshape(found.shape[:-1] + levels.shape)


def first_reaching(cdf: Callable[[Floats], Floats], levels: Floats, law: Predictive) -> NDArray[np.int64]:
    """The same for levels (q,), or x.shape + (q,) where units have their own: x.shape + (q,), as cdf has it.

    Searched from where a normal law with the same moments has it, by secants and every third step by halves.
    """
    goal = levels * (1 - 1e-14)
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = np.sqrt(law.variance)[..., None]
        near = np.floor(law.mean[..., None] + deviation * np.clip(ndtri(goal), -10.0, 10.0))
    near = np.where(np.isfinite(near), np.maximum(near, 0.0), 0.0)
    reach = np.where(np.isfinite(deviation), np.maximum(np.floor(0.25 * deviation), 1.0), 1.0) + 0.0 * near
    below, above = np.maximum(near - reach, -1.0), near + reach
    under, over = cdf(below), cdf(above)
    while True:
        low = (under >= goal) & (below >= 0)
        high = ~low & (over < goal)
        if not bool(np.any(low | high)):
            break
        reach = 4.0 * reach
        below, above = (
            np.where(high, above, np.where(low, np.maximum(below - reach, -1.0), below)),
            np.where(low, below, np.where(high, above + reach, above)),
        )
        under, over = np.where(high, over, under), np.where(low, under, over)
        found = cdf(np.where(low, below, above))
        under, over = np.where(low, found, under), np.where(high, found, over)
    # Beyond 2^53 neighbouring floats are further apart than counts, so that what ends the search is no count between.
    step = 0
    while bool(np.any((below < (middle := np.maximum(np.floor(0.5 * (below + above)), 0.0))) & (middle < above))):
        step += 1
        if step % 3:
            with np.errstate(divide="ignore", invalid="ignore"):
                secant = np.floor(below + (goal - under) / (over - under) * (above - below))
            middle = np.where((secant > below) & (secant < above), secant, middle)
        found = cdf(middle)
        reached = found >= goal
        # Illinois: the end that stays counts half, so that both ends move.
        under, over = (
            np.where(reached, goal + 0.5 * (under - goal), found),
            np.where(reached, found, goal + 0.5 * (over - goal)),
        )
        below, above = np.where(reached, below, middle), np.where(reached, middle, above)
    if bool(np.any(above >= 2.0**63)):
        raise InputError(f"a next count may reach {above.max():.0e}, more than can be written: ask for less exposure")
    return above.astype(np.int64)


def on_whole_numbers(log_pmf: Callable[[Floats], Floats], y: Floats) -> Floats:
    """log_pmf where y is a whole number of at least 0, and -inf, the logarithm of 0, elsewhere.

    >>> on_whole_numbers(lambda y: 0 * y, np.array([2.0, 0.5])).tolist()
    [0.0, -inf]
    """
    possible = (y >= 0) & (y == np.floor(y))
    return np.where(possible, log_pmf(np.where(possible, y, 0.0)), -np.inf)
