"""The world with one prior in it: the hardest on [0, theta_max]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ebformer.distributions import Floats
from ebformer.estimators.least_favourable import least_favourable
from ebformer.lab.worlds.base import World


@dataclass(frozen=True)
class LeastFavourable(World):
    """Always the prior on [0, theta_max] with the largest mmse, whose Bayes rule is the minimax rule.

    >>> prior = LeastFavourable(theta_max=2.0).draw(np.random.default_rng(0))
    >>> prior == LeastFavourable(theta_max=2.0).draw(np.random.default_rng(1))
    True
    """

    name: ClassVar[str] = "least-favourable"

    def sample(self, rng: np.random.Generator, theta_max: Floats, fineness: int) -> tuple[Floats, Floats]:
        priors = [least_favourable(float(end))[0] for end in theta_max]
        atoms, weights = np.zeros((2, len(priors), max(map(len, priors), default=1)))
        for row, prior in enumerate(priors):
            atoms[row, : len(prior)] = prior.atoms
            weights[row, : len(prior)] = prior.weights
        return atoms, weights
