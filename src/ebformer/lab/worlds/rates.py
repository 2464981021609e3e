"""Worlds of rates that priorformer is trained on beside the paper's: everyday laws with unbounded tails, and hard ones.

`theta_max` is the upper end of bounded priors; of unbounded ones it is a large rate, with tails that go beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ebformer.distributions import Floats
from ebformer.lab.worlds import shapes
from ebformer.lab.worlds.base import log_uniform
from ebformer.lab.worlds.shapes import Shape, Shapes, mixture, uneven

PLACES = (np.arange(400) + 0.5) / 400
"""Even on [0, 1]."""


@dataclass(frozen=True)
class Gammas(Shapes):
    """Gamma laws: shape log-uniform on [0.15, 100], mean log-uniform on [0.03, 0.7] theta_max."""

    name: ClassVar[str] = "gammas"

    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        law = shapes.gamma(log_uniform(rng, 0.15, 100.0))
        return theta_max * log_uniform(rng, 0.03, 0.7) * law, shapes.MASSES


@dataclass(frozen=True)
class Tails(Shapes):
    """Log-normal, Weibull, Pareto and shifted exponential laws, whose tails are heavier than a gamma law's, or lighter.

    >>> priors = Tails(theta_max=10.0).draw_many(np.random.default_rng(0), 3)
    >>> bool(priors.atoms.max() > 10.0)
    True
    """

    name: ClassVar[str] = "tails"

    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        return theta_max * heavy(rng), shapes.MASSES


def heavy(rng: np.random.Generator) -> Floats:
    """Quantiles of a law with a tail; most of it lies on [0, 1]."""
    kind, size = rng.integers(5), float(log_uniform(rng, 0.03, 0.5))
    if kind < 2:
        return np.asarray(size * np.exp(shapes.normal() * log_uniform(rng, 0.05, 1.5)))
    if kind == 2:
        return np.asarray(size * shapes.weibull(log_uniform(rng, 0.5, 4.0)))
    if kind == 3:
        return np.asarray(0.5 * size * shapes.pareto(log_uniform(rng, 1.0, 6.0)))
    start = rng.random()
    return np.asarray(size * (start + (1 - start) * shapes.weibull(1.0)))


@dataclass(frozen=True)
class Groups(Shapes):
    """Two or three groups of units, each with a law of its own, or few units far above the others; half with zeros.

    A group is gamma, heavy-tailed or a point. Structural zeros take any share of the units.
    """

    name: ClassVar[str] = "groups"

    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        zeros = rng.random() if rng.random() < 0.5 else 0.0
        count = int(rng.integers(1 if zeros else 2, 4))
        parts = list[Floats]()
        for _ in range(count):
            kind = rng.integers(3)
            if kind == 0:
                parts.append(log_uniform(rng, 0.03, 0.7) * shapes.gamma(log_uniform(rng, 0.3, 100.0)))
            else:
                parts.append(heavy(rng) if kind == 1 else log_uniform(rng, 0.02, 1.0, 1))
        shares = rng.dirichlet(np.ones(count))
        if count > 1 and rng.random() < 0.3:
            rare = log_uniform(rng, 1e-3, 0.1)
            shares = np.append(shares[:-1] / shares[:-1].sum() * (1 - rare), rare)
            parts[-1] = parts[-1] * log_uniform(rng, 1.0, 10.0)
        if zeros:
            shares, parts = np.append(shares * (1 - zeros), zeros), [*parts, np.zeros(1)]
        atoms, weights = mixture(shares, parts)
        return theta_max * atoms, weights


@dataclass(frozen=True)
class Alike(Shapes):
    """Rates that differ by 0.02 to 2 deviations of the noise, or not at all."""

    name: ClassVar[str] = "alike"

    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        mean = theta_max * log_uniform(rng, 0.05, 1.0)
        if rng.random() < 0.25:
            return np.array([mean]), np.ones(1)
        spread = log_uniform(rng, 0.02, 2.0) / np.sqrt(mean)
        if rng.random() < 0.6:
            return mean * shapes.gamma(max(spread**-2, 0.05)), shapes.MASSES
        return mean * np.exp(shapes.normal() * min(spread, 2.0)), shapes.MASSES


@dataclass(frozen=True)
class Few(Shapes):
    """1 to 20 atoms anywhere, or denser near zero."""

    name: ClassVar[str] = "few"

    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        k = int(log_uniform(rng, 1.0, 21.0))
        place = rng.random(k) ** (1 + rng.integers(2))
        return theta_max * place, uneven(rng, place)


@dataclass(frozen=True)
class Spaced(Shapes):
    """1 to 20 atoms with comparable gaps in sqrt(theta), in one case of four the first at zero."""

    name: ClassVar[str] = "spaced"

    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        k = int(log_uniform(rng, 1.0, 21.0))
        regularity = log_uniform(rng, 1.0, 100.0)
        gap = rng.gamma(regularity, 1 / regularity, k)
        root = np.cumsum(gap) - gap[0] * (1.0 if rng.random() < 0.25 else rng.random())
        root /= max(root[-1], 1e-12)
        if rng.random() < 0.7:  # gaps of one to four deviations of the noise, however large theta_max is
            root *= min(1.0, k * log_uniform(rng, 0.8, 4.0) / (2 * np.sqrt(theta_max)))
            root += (1 - root[-1]) * (rng.random() if rng.random() < 0.5 else 1.0)
        place = np.clip(root, 0.0, 1.0) ** 2
        return theta_max * place, uneven(rng, place)


@dataclass(frozen=True)
class Smooth(Shapes):
    """One or two beta densities on parts of [0, theta_max], half of the time times exp of a random continuous curve.

    The curve is linear between normal values of standard deviation 0.1 to 1 at places 0.3 to 8 noise deviations apart.
    """

    name: ClassVar[str] = "smooth"

    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        parts = 1 if rng.random() < 0.6 else 2
        place = PLACES**2
        atoms, weights = [], []
        for part in rng.dirichlet(np.ones(parts)):
            a, b = log_uniform(rng, 0.5, 8.0, 2)
            low, high = np.sort(rng.random(2)) if parts == 2 or rng.random() < 0.3 else (0.0, 1.0)
            density = PLACES * place ** (a - 1) * (1 - place) ** (b - 1)
            atoms.append(theta_max * (low + (high - low) * place))
            weights.append(part * density / density.sum())
        theta, mass = np.concatenate(atoms), np.concatenate(weights)
        if rng.random() < 0.5:
            knots = np.arange(0.0, 2 * np.sqrt(theta_max) + 8.0, log_uniform(rng, 0.3, 8.0))
            curve = log_uniform(rng, 0.1, 1.0) * rng.standard_normal(len(knots))
            mass = mass * np.exp(np.interp(2 * np.sqrt(theta), knots, curve))
        return theta, mass


@dataclass(frozen=True)
class Edged(Shapes):
    """A bell in sqrt(theta), a density or a comb of atoms, that ends at theta_max: cut, or the rest piled up there.

    Rates have hard limits where something saturates. The edge lies one of the bell's deviations below its centre
    to one and a half above it, so it always matters; the comb's gaps are 0.8 to 3 deviations of the noise.
    """

    name: ClassVar[str] = "edged"

    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        end, comb, piled = 2 * np.sqrt(theta_max), rng.random() < 2 / 3, rng.random() < 0.5
        width = log_uniform(rng, 0.7, 6.0)
        centre = end + width * rng.uniform(-1.5, 1.0)
        gap = log_uniform(rng, 0.8, 3.0) if comb else 0.05
        steps = np.full(int(end / gap) + 1, gap)
        if comb:
            regularity = log_uniform(rng, 10.0, 1000.0)
            steps *= rng.gamma(regularity, 1 / regularity, len(steps))
        below = end - np.cumsum(steps)
        root = np.concatenate([end + gap * np.arange(int(6 * width / gap) + 1 if piled else 1), below[below >= 0]])
        bell = -0.5 * ((root - centre) / width) ** 2
        weights = np.exp(bell - bell.max())
        if comb:
            even = log_uniform(rng, 3.0, 300.0)
            weights *= rng.gamma(even, 1 / even, len(root))
        return np.minimum(root, end) ** 2 / 4, weights
