"""Worlds of effects: priors on the whole line, most of whose mass lies within theta_max of a centre near 0."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ebformer.distributions import Floats
from ebformer.lab.worlds import shapes
from ebformer.lab.worlds.base import log_uniform
from ebformer.lab.worlds.neural import Neural
from ebformer.lab.worlds.shapes import Shape, Shapes, mixture


class Effects(Shapes):
    """Effects have no natural origin or direction: every law is moved and may be turned round."""

    channel: ClassVar[str] = "normal"

    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        atoms, weights = self.law(rng, theta_max)
        return rng.choice([-1.0, 1.0]) * atoms + theta_max * rng.uniform(-0.2, 0.2), weights

    @abstractmethod
    def law(self, rng: np.random.Generator, size: float) -> Shape:
        """Atoms and weights around 0."""


def bell(rng: np.random.Generator, size: float) -> Floats:
    """Quantiles of a symmetric law: normal, Laplace, Student's t."""
    kind, spread = rng.integers(4), size * float(log_uniform(rng, 0.05, 0.6))
    if kind < 2:
        return np.asarray(spread * shapes.normal())
    return np.asarray(spread * (shapes.laplace() if kind == 2 else shapes.student(log_uniform(rng, 1.5, 10.0))))


@dataclass(frozen=True)
class Bells(Effects):
    """Normal laws, half of all, and symmetric ones with heavier tails."""

    name: ClassVar[str] = "bells"

    def law(self, rng: np.random.Generator, size: float) -> Shape:
        return bell(rng, size), shapes.MASSES


@dataclass(frozen=True)
class Skewed(Effects):
    """Gamma, log-normal and Weibull laws from any point on, to either side."""

    name: ClassVar[str] = "skewed"

    def law(self, rng: np.random.Generator, size: float) -> Shape:
        kind = rng.integers(3)
        if kind == 0:
            law = shapes.gamma(log_uniform(rng, 0.3, 20.0))
        elif kind == 1:
            law = np.exp(shapes.normal() * log_uniform(rng, 0.1, 1.2))
        else:
            law = shapes.weibull(log_uniform(rng, 0.6, 4.0))
        return size * log_uniform(rng, 0.1, 1.0) * (law - 1.0), shapes.MASSES


@dataclass(frozen=True)
class Flat(Effects):
    """Beta laws on an interval, among them the uniform law, and the paper's neural priors."""

    name: ClassVar[str] = "flat"

    def law(self, rng: np.random.Generator, size: float) -> Shape:
        if rng.random() < 0.4:
            atoms, weights = Neural().sample(rng, np.array([2.0 * size]), 4)
            return atoms[0] - size, weights[0]
        a, b = (1.0, 1.0) if rng.random() < 0.5 else log_uniform(rng, 0.4, 4.0, 2)
        return size * log_uniform(rng, 0.1, 1.0) * (2.0 * shapes.beta(a, b) - 1.0), shapes.MASSES


@dataclass(frozen=True)
class Modes(Effects):
    """Two to four bells of different centres and widths."""

    name: ClassVar[str] = "modes"

    def law(self, rng: np.random.Generator, size: float) -> Shape:
        count = int(rng.integers(2, 5))
        parts = [size * rng.uniform(-1.0, 1.0) + bell(rng, size * 0.7) for _ in range(count)]
        return mixture(rng.dirichlet(np.full(count, 2.0)), parts)


@dataclass(frozen=True)
class Scales(Effects):
    """Two to four bells of different widths around one centre, the narrowest perhaps a point."""

    name: ClassVar[str] = "scales"

    def law(self, rng: np.random.Generator, size: float) -> Shape:
        count = int(rng.integers(2, 5))
        widths = np.sort(log_uniform(rng, 0.003, 1.0, count))
        parts = [size * width * shapes.normal() for width in widths]
        if rng.random() < 0.3:
            parts[0] = np.zeros(1)
        return mixture(np.sort(rng.dirichlet(np.ones(count)))[::-1], parts)


@dataclass(frozen=True)
class Sparse(Effects):
    """Most effects are the same, and 0 to 50 % are not: a bell around it, a law to one side, or one to three points."""

    name: ClassVar[str] = "sparse"

    def law(self, rng: np.random.Generator, size: float) -> Shape:
        some = log_uniform(rng, 0.002, 0.5)
        kind = rng.integers(5)
        if kind < 2:
            parts, shares = [bell(rng, size)], np.ones(1)
        elif kind == 2:
            parts, shares = [size * log_uniform(rng, 0.1, 1.0) * shapes.gamma(log_uniform(rng, 0.7, 20.0))], np.ones(1)
        else:
            count = int(rng.integers(1, 4))
            sides = rng.choice([-1.0, 1.0], (count, 1)) if kind == 4 else np.ones((count, 1))
            parts, shares = list(size * sides * log_uniform(rng, 0.1, 1.0, (count, 1))), rng.dirichlet(np.ones(count))
        return mixture(np.append(1 - some, some * shares), [np.zeros(1), *parts])


@dataclass(frozen=True)
class FewEffects(Effects):
    """One to ten points."""

    name: ClassVar[str] = "few-effects"

    def law(self, rng: np.random.Generator, size: float) -> Shape:
        count = int(log_uniform(rng, 1.0, 11.0))
        weights = rng.dirichlet(np.full(count, log_uniform(rng, 0.5, 10.0)))
        return size * rng.uniform(-1.0, 1.0, count), weights + 1e-9
