"""Priors by their quantiles: the laws of textbooks, laid on points that reach far into both tails."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.special import betaincinv, gammaincinv, ndtr, stdtrit

from ebformer.distributions import Floats
from ebformer.lab.worlds.base import MEASURING, World, log_uniform
from ebformer.prior import Prior

Shape = tuple[Floats, Floats]
"""Atoms and weights."""

NORMAL = np.linspace(-5.3, 5.3, 400)
QUANTILES, MASSES = ndtr(NORMAL), np.diff(ndtr(np.concatenate([[-np.inf], (NORMAL[1:] + NORMAL[:-1]) / 2, [np.inf]])))
"""Quantiles that reach one in ten million on either side, since tails matter, and the mass each stands for."""

TAIL = 1e-4
"""Of either tail, the mass that is piled up where it begins in a prior to measure on: every count below the largest
theta is visited there."""


class Shapes(World):
    """A world whose priors are drawn one by one, each of its own size."""

    @abstractmethod
    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        """One prior: its atoms, in any order, and their weights, of any sum."""

    def sample(self, rng: np.random.Generator, theta_max: Floats, fineness: int) -> Shape:
        drawn = [self.shape(rng, float(one)) for one in theta_max]
        widest = max((len(atoms) for atoms, _ in drawn), default=0)
        atoms, weights = np.zeros((2, len(drawn), widest))
        for row, (some, mass) in enumerate(drawn):
            atoms[row, : len(some)], weights[row, : len(some)] = some, mass / mass.sum()
        return atoms, weights

    def draw(self, rng: np.random.Generator, fineness: int = MEASURING) -> Prior:
        whole = super().draw(rng, fineness)
        return Prior(*trimmed(whole.atoms, whole.weights, TAIL))


def normal() -> Floats:
    """Quantiles of the standard normal law."""
    return NORMAL


def student(freedom: float) -> Floats:
    """Of Student's t."""
    return np.asarray(stdtrit(freedom, QUANTILES))


def laplace() -> Floats:
    """Of the Laplace law of scale 1."""
    return np.sign(NORMAL) * -np.log(2.0 * np.minimum(QUANTILES, ndtr(-NORMAL)))


def gamma(shape: float) -> Floats:
    """Of the gamma law of this shape and mean 1."""
    return np.asarray(gammaincinv(shape, QUANTILES) / shape)


def beta(a: float, b: float) -> Floats:
    """Of the beta law."""
    return np.asarray(betaincinv(a, b, QUANTILES))


def weibull(shape: float) -> Floats:
    """Of the Weibull law of this shape and scale 1; 1 is the exponential law."""
    return np.asarray((-np.log(ndtr(-NORMAL))) ** (1.0 / shape))


def pareto(index: float) -> Floats:
    """Of the Pareto law of this tail index from 1 on."""
    return np.asarray(ndtr(-NORMAL) ** (-1.0 / index))


def mixture(shares: Floats, parts: list[Floats]) -> Shape:
    """Laws by their quantiles, mixed; a part of one atom is a point mass."""
    weights = [share * (MASSES if len(part) > 1 else np.ones(1)) for share, part in zip(shares, parts, strict=True)]
    return np.concatenate(parts), np.concatenate(weights)


def uneven(rng: np.random.Generator, place: Floats) -> Floats:
    """Random weights of atoms at places in [0, 1], nearly equal or not at all, with a trend up or down."""
    even = log_uniform(rng, 0.3, 30.0)
    weights = (rng.gamma(even, 1.0, len(place)) + 1e-9) * (place + 1e-3) ** rng.uniform(-1.0, 3.0)
    return np.asarray(weights / weights.sum())


def trimmed(atoms: Floats, weights: Floats, tail: float) -> Shape:
    """A prior whose tails of this mass are piled up where they begin.

    >>> atoms, weights = trimmed(np.array([3.0, 1.0, 2.0, 9.0]), np.array([0.5, 0.2, 0.299, 0.001]), 0.01)
    >>> atoms.tolist(), weights.round(3).tolist()
    ([3.0, 1.0, 2.0, 3.0], [0.5, 0.2, 0.299, 0.001])
    """
    order = np.argsort(atoms)
    below = np.cumsum(weights[order]) / weights.sum()
    low = int(np.searchsorted(below, tail))
    high = min(int(np.searchsorted(below, 1.0 - tail)), len(atoms) - 1)
    return np.clip(atoms, atoms[order[low]], atoms[order[high]]), weights / weights.sum()
