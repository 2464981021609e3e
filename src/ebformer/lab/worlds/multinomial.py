"""Multinomial priors: fixed atoms, evenly spaced, with weights drawn uniformly from the simplex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ebformer.distributions import Floats
from ebformer.lab.worlds.base import World


@dataclass(frozen=True)
class Multinomial(World):
    """10 theta_max atoms evenly spaced on [0.1, theta_max] with Dirichlet(1, ..., 1) weights: the paper's section 5.

    >>> prior = Multinomial(theta_max=50.0).draw(np.random.default_rng(0))
    >>> len(prior), round(float(prior.atoms[0]), 12), float(prior.atoms[-1])
    (500, 0.1, 50.0)
    """

    name: ClassVar[str] = "multinomial"

    def sample(self, rng: np.random.Generator, theta_max: Floats, fineness: int) -> tuple[Floats, Floats]:
        size = np.maximum(np.round(10 * theta_max), 1)[:, None]
        rank = np.arange(int(size.max(initial=1)))
        lowest = np.minimum(0.1, theta_max)[:, None]
        atoms = theta_max[:, None] - (theta_max[:, None] - lowest) * (size - 1 - rank) / np.maximum(size - 1, 1)
        share = np.where(rank < size, rng.standard_exponential((len(theta_max), rank.size)), 0.0)
        return np.where(rank < size, atoms, 0.0), share / share.sum(axis=1, keepdims=True)
