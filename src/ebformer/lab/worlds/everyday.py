"""Worlds a practitioner meets. T24r, L24r and T24f were trained on none of them, priorformer on relatives of most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammainc, ndtr

from ebformer.distributions import Floats
from ebformer.lab.worlds.base import World, log_uniform


def by_cells(
    cdf: Callable[[Floats], Floats], moment: Callable[[Floats], Floats], theta_max: Floats, fineness: int
) -> tuple[Floats, Floats]:
    """A continuous law, conditioned on [0, theta_max], as the masses and means of cells even in sqrt(theta).

    `cdf(c)` = P(theta <= c) and `moment(c)` = E[theta; theta <= c] take edges [count, cells + 1].
    """
    edges = theta_max[:, None] * np.linspace(0, 1, 64 * fineness + 1) ** 2
    mass = np.maximum(np.diff(cdf(edges), axis=1), 0.0)
    middle = (edges[:, 1:] + edges[:, :-1]) / 2
    mean = np.divide(np.diff(moment(edges), axis=1), mass, out=middle, where=mass > 1e-12)
    return np.clip(mean, edges[:, :-1], edges[:, 1:]), mass / mass.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class PointMass(World):
    """Every unit has the same rate, uniform on [0, theta_max].

    >>> len(PointMass().draw(np.random.default_rng(0)))
    1
    """

    name: ClassVar[str] = "point-mass"

    def sample(self, rng: np.random.Generator, theta_max: Floats, fineness: int) -> tuple[Floats, Floats]:
        return (theta_max * rng.random(len(theta_max)))[:, None], np.ones((len(theta_max), 1))


@dataclass(frozen=True)
class FewAtoms(World):
    """Two to five groups of units: atoms uniform on [0, theta_max], weights uniform on the simplex.

    >>> 2 <= len(FewAtoms().draw(np.random.default_rng(0))) <= 5
    True
    """

    name: ClassVar[str] = "few-atoms"

    def sample(self, rng: np.random.Generator, theta_max: Floats, fineness: int) -> tuple[Floats, Floats]:
        groups = rng.integers(2, 6, size=(len(theta_max), 1))
        share = np.where(np.arange(5) < groups, rng.standard_exponential((len(theta_max), 5)), 0.0)
        return theta_max[:, None] * rng.random((len(theta_max), 5)), share / share.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class GammaWorld(World):
    """Gamma priors: shape log-uniform on [1/2, 8], mean uniform on [0.02, 0.4] theta_max, cut off at theta_max.

    >>> GammaWorld().draw_many(np.random.default_rng(0), 3).weights.sum(axis=1).round(9).tolist()
    [1.0, 1.0, 1.0]
    """

    name: ClassVar[str] = "gamma"

    def sample(self, rng: np.random.Generator, theta_max: Floats, fineness: int) -> tuple[Floats, Floats]:
        shape = log_uniform(rng, 0.5, 8, (len(theta_max), 1))
        mean = theta_max[:, None] * rng.uniform(0.02, 0.4, (len(theta_max), 1))
        rate = shape / mean
        return by_cells(
            lambda c: np.asarray(gammainc(shape, rate * c)),
            lambda c: np.asarray(mean * gammainc(shape + 1, rate * c)),
            theta_max,
            fineness,
        )


@dataclass(frozen=True)
class LogNormal(World):
    """Log-normal priors: median log-uniform on [0.02, 0.4] theta_max, log-sd uniform on [0.3, 1.5], cut at theta_max.

    >>> LogNormal().draw_many(np.random.default_rng(0), 3).weights.sum(axis=1).round(9).tolist()
    [1.0, 1.0, 1.0]
    """

    name: ClassVar[str] = "lognormal"

    def sample(self, rng: np.random.Generator, theta_max: Floats, fineness: int) -> tuple[Floats, Floats]:
        mu = np.log(theta_max)[:, None] + rng.uniform(np.log(0.02), np.log(0.4), (len(theta_max), 1))
        sigma = rng.uniform(0.3, 1.5, (len(theta_max), 1))

        def standardised(c: Floats) -> Floats:
            with np.errstate(divide="ignore"):
                return (np.log(c) - mu) / sigma

        return by_cells(
            lambda c: np.asarray(ndtr(standardised(c))),
            lambda c: np.asarray(np.exp(mu + sigma**2 / 2) * ndtr(standardised(c) - sigma)),
            theta_max,
            fineness,
        )


@dataclass(frozen=True)
class ZeroInflated(World):
    """A share of structural zeros, uniform on [0.2, 0.9], and a gamma prior for the rest.

    >>> float(ZeroInflated().draw(np.random.default_rng(0)).atoms[0])
    0.0
    """

    name: ClassVar[str] = "zero-inflated"

    def sample(self, rng: np.random.Generator, theta_max: Floats, fineness: int) -> tuple[Floats, Floats]:
        zeros = rng.uniform(0.2, 0.9, (len(theta_max), 1))
        atoms, weights = GammaWorld().sample(rng, theta_max, fineness)
        return np.pad(atoms, ((0, 0), (1, 0))), np.concatenate([zeros, (1 - zeros) * weights], axis=1)


@dataclass(frozen=True)
class Zipf(World):
    """A vocabulary of 1000 words: the word of rank r has rate theta_max r^-s, with s uniform on [1/2, 2].

    >>> prior = Zipf(theta_max=50.0).draw(np.random.default_rng(0))
    >>> len(prior), float(prior.atoms[-1])
    (1000, 50.0)
    """

    name: ClassVar[str] = "zipf"

    def sample(self, rng: np.random.Generator, theta_max: Floats, fineness: int) -> tuple[Floats, Floats]:
        exponent = rng.uniform(0.5, 2.0, (len(theta_max), 1))
        atoms = theta_max[:, None] * np.arange(1, 1001) ** -exponent
        return atoms, np.full(atoms.shape, 1e-3)
