"""Worlds of proportions: priors on [0, 1], most of whose mass lies below theta_max."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit

from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.lab.worlds import shapes
from ebformer.lab.worlds.base import ThetaMaxLaw, log_uniform
from ebformer.lab.worlds.neural import Neural
from ebformer.lab.worlds.shapes import Shape, Shapes, mixture


@dataclass(frozen=True)
class Proportions(Shapes):
    """Laws of probabilities; theta_max is at most 1."""

    channel: ClassVar[str] = "binomial"
    theta_max: float | ThetaMaxLaw = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.theta_max, ThetaMaxLaw) and self.theta_max > 1.0:
            raise InputError(f"theta_max is {self.theta_max}: the largest proportion is 1")


def beta(rng: np.random.Generator, theta_max: float) -> Floats:
    """Quantiles of a beta law: mean below theta_max, a + b log-uniform on [1, 3000]."""
    mean = min(theta_max * log_uniform(rng, 0.1, 1.0), 1.0 - 1e-3)
    total = log_uniform(rng, 1.0, 3000.0)
    return shapes.beta(max(total * mean, 0.05), max(total * (1.0 - mean), 0.05))


@dataclass(frozen=True)
class Betas(Proportions):
    """Beta laws of any mean below theta_max."""

    name: ClassVar[str] = "betas"

    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        return beta(rng, theta_max), shapes.MASSES


@dataclass(frozen=True)
class Wide(Proportions):
    """Beta laws with a + b below 6, which leave no proportion out: flat, U-shaped, or piled up at one end.

    >>> priors = Wide().draw_many(np.random.default_rng(0), 40)
    >>> bool(np.all(priors.atoms.max(axis=1) - priors.atoms.min(axis=1) > 0.5))
    True
    """

    name: ClassVar[str] = "wide"

    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        mean, total = theta_max * rng.uniform(0.05, 0.95), log_uniform(rng, 0.3, 6.0)
        return shapes.beta(max(total * mean, 0.05), max(total * (1.0 - mean), 0.05)), shapes.MASSES


@dataclass(frozen=True)
class Logits(Proportions):
    """Normal laws, and Student's, of log(theta / (1 - theta))."""

    name: ClassVar[str] = "logits"

    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        centre = logit(min(theta_max * log_uniform(rng, 0.1, 1.0), 0.99))
        law = shapes.normal() if rng.random() < 0.7 else shapes.student(log_uniform(rng, 2.0, 10.0))
        return expit(centre + log_uniform(rng, 0.02, 1.5) * law), shapes.MASSES


@dataclass(frozen=True)
class Spiked(Proportions):
    """A beta law and a point mass, half of the time at 0, that takes any share of the units."""

    name: ClassVar[str] = "spiked"

    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        share = rng.random()
        place = 0.0 if rng.random() < 0.5 else theta_max * rng.random()
        return mixture(np.array([share, 1 - share]), [np.array([place]), beta(rng, theta_max)])


@dataclass(frozen=True)
class Kinds(Proportions):
    """Two or three beta laws, mixed."""

    name: ClassVar[str] = "kinds"

    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        count = int(rng.integers(2, 4))
        return mixture(rng.dirichlet(np.full(count, 2.0)), [beta(rng, theta_max) for _ in range(count)])


@dataclass(frozen=True)
class FewProportions(Proportions):
    """One to eight points."""

    name: ClassVar[str] = "few-proportions"

    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        count = int(log_uniform(rng, 1.0, 9.0))
        weights = rng.dirichlet(np.full(count, log_uniform(rng, 0.5, 10.0)))
        return theta_max * rng.random(count) ** (1 + rng.integers(2)), weights + 1e-9


@dataclass(frozen=True)
class Pushed(Proportions):
    """The paper's neural priors, and flat laws between two bounds, below theta_max."""

    name: ClassVar[str] = "pushed"

    def shape(self, rng: np.random.Generator, theta_max: float) -> Shape:
        if rng.random() < 0.5:
            atoms, weights = Neural().sample(rng, np.array([theta_max]), 4)
            return atoms[0], weights[0]
        low, high = np.sort(rng.random(2)) * theta_max
        return low + (high - low) * shapes.QUANTILES, shapes.MASSES
