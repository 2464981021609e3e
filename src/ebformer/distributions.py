"""Distributions of a unit's theta and of its next observation: what every answer has, and those on atoms and cells."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from ebformer.errors import InputError
from ebformer.levels import check_draws, probabilities, tails, thresholds

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
