"""Dirichlet-process priors: random measures by stick breaking."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.lab.worlds.base import World


@dataclass(frozen=True)
class Dirichlet(World):
    """G ~ DP(alpha, Uniform[0, theta_max]) by stick breaking (Sethuraman 1994): alpha = 50 as in the paper.

    With E_1, E_2, ... standard exponential, the stick left after k breaks is exp(-(E_1 + ... + E_k) / alpha), and
    weight k is what break k took off. The last atom takes what is left after 2 fineness alpha breaks, about
    e^-8 of the mass in training and e^-32 in `draw`.

    >>> prior = Dirichlet(theta_max=10.0).draw(np.random.default_rng(0))
    >>> bool(prior.atoms[-1] <= 10), round(float(prior.weights.sum()), 12)
    (True, 1.0)
    """

    name: ClassVar[str] = "dirichlet"
    alpha: float = 50.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.alpha < np.inf:
            raise InputError(f"alpha is {self.alpha}: give a positive number (the paper uses 50)")

    def sample(self, rng: np.random.Generator, theta_max: Floats, fineness: int) -> tuple[Floats, Floats]:
        breaks = max(16, math.ceil(2 * fineness * self.alpha))
        uniform = rng.random((len(theta_max), breaks, 2))
        left = np.exp(np.cumsum(np.log1p(-uniform[:, :, 0]), axis=1) / self.alpha)
        left[:, -1] = 0.0
        weights = -np.diff(left, axis=1, prepend=1.0)
        return theta_max[:, None] * uniform[:, :, 1], weights


@dataclass(frozen=True)
class CoarseDirichlet(Dirichlet):
    """A handful of atoms carry most of the mass."""

    name: ClassVar[str] = "coarse-dirichlet"
    alpha: float = 8.0


@dataclass(frozen=True)
class FineDirichlet(Dirichlet):
    """Hundreds of atoms share the mass."""

    name: ClassVar[str] = "fine-dirichlet"
    alpha: float = 500.0
