"""A world is a distribution over priors (the paper's prior-on-priors): draw one prior to measure, or many to train."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.prior import Prior

TRAINING, MEASURING = 4, 16
"""The fineness of `draw_many` and of `draw`; doubling the points of `draw` moves the Bayes rule by less than 1e-3."""


def log_uniform(rng: np.random.Generator, low: float, high: float, size: int | tuple[int, ...] | None = None) -> Any:
    """Numbers whose logarithm is uniform between those of two bounds; a single one without a size."""
    return np.exp(rng.uniform(np.log(low), np.log(high), size))


@runtime_checkable
class ThetaMaxLaw(Protocol):
    """A distribution of the upper end of the priors."""

    def draw(self, rng: np.random.Generator, count: int) -> Floats: ...


@dataclass(frozen=True)
class PaperThetaMax:
    """theta_max ~ 3/4 Uniform(0, 200) + 1/8 Exponential(mean 50) + 1/8 Cauchy(50, 10), clipped to [floor, 500].

    The published law clips at 0, which leaves an atom of empty worlds; the floor keeps every prior worth learning.

    >>> theta_max = PaperThetaMax().draw(np.random.default_rng(0), 1000)
    >>> bool(theta_max.min() >= 1), bool(theta_max.max() <= 500)
    (True, True)
    """

    floor: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.floor <= 500:
            raise InputError(f"the floor of theta_max is {self.floor}: give a number above 0 and at most 500")

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        kind = rng.random(count)
        drawn: Floats = np.select(
            [kind < 0.75, kind < 0.875],
            [rng.uniform(0, 200, count), rng.exponential(50, count)],
            50 + 10 * rng.standard_cauchy(count),
        )
        return np.asarray(np.clip(drawn, self.floor, 500.0))


@dataclass(frozen=True)
class Priors:
    """Many priors as rectangles: row i is sum_j weights[i, j] delta(atoms[i, j]), padded with atoms of weight 0.

    atoms, weights: float64 [count, k]; theta_max: float64 [count].
    """

    atoms: Floats
    weights: Floats
    theta_max: Floats

    def __len__(self) -> int:
        return len(self.atoms)

    def __getitem__(self, row: int) -> Prior:
        present = self.weights[row] > 0
        return Prior(self.atoms[row, present], self.weights[row, present])

    def __iter__(self) -> Iterator[Prior]:
        return (self[row] for row in range(len(self)))


@dataclass(frozen=True)
class World(ABC):
    """A distribution over priors on [0, theta_max]; `theta_max` is a number or a law such as `PaperThetaMax()`.

    Where priors have no upper end, most of their mass lies below theta_max, or within theta_max of 0. A new world says
    how its priors are drawn given theta_max (`sample`); equal generators give equal priors.
    """

    name: ClassVar[str]
    channel: ClassVar[str] = "poisson"
    """How observations arise from its thetas."""
    theta_max: float | ThetaMaxLaw = 50.0

    def __post_init__(self) -> None:
        if not isinstance(self.theta_max, ThetaMaxLaw) and not 0 < self.theta_max < np.inf:
            raise InputError(f"theta_max is {self.theta_max}: give a positive number or a law such as PaperThetaMax()")

    @abstractmethod
    def sample(self, rng: np.random.Generator, theta_max: Floats, fineness: int) -> tuple[Floats, Floats]:
        """One prior per entry of theta_max: atoms and weights [count, k].

        Fineness says how many points stand for a prior that is not finite itself; other worlds ignore it. One prior
        must use the same random numbers at every fineness, so that equal seeds give versions of the same prior.
        """

    def draw(self, rng: np.random.Generator, fineness: int = MEASURING) -> Prior:
        """One prior, finely resolved."""
        return self.draw_many(rng, 1, fineness)[0]

    def draw_many(self, rng: np.random.Generator, count: int, fineness: int = TRAINING) -> Priors:
        """Many priors at the resolution of training, fast."""
        if isinstance(self.theta_max, ThetaMaxLaw):
            theta_max = self.theta_max.draw(rng, count)
        else:
            theta_max = np.full(count, float(self.theta_max))
        return Priors(*self.sample(rng, theta_max, fineness), theta_max)
