"""Universal priors: few atoms, anywhere, with weights drawn uniformly from the simplex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.lab.worlds.base import World, log_uniform


@dataclass(frozen=True)
class Universal(World):
    """`size` atoms uniform on [0, theta_max] with Dirichlet(1, ..., 1) weights (Cannella, Teh, Han, Polyanskiy 2026).

    Their network T24U50 was trained on ten atoms up to 50. The Bayes rule of this world is nearly as good as can be for
    every prior on [0, theta_max] if the number of atoms grows like log n / log log n.

    >>> prior = Universal(theta_max=50.0).draw(np.random.default_rng(0))
    >>> len(prior), bool(0 <= prior.atoms[0] and prior.atoms[-1] <= 50.0)
    (10, True)
    """

    name: ClassVar[str] = "universal"
    size: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.size, int) and self.size >= 1):
            raise InputError(f"a universal prior has {self.size!r} atoms: give a whole number of at least 1")

    def sample(self, rng: np.random.Generator, theta_max: Floats, fineness: int) -> tuple[Floats, Floats]:
        shape = len(theta_max), self.size
        atoms, share = theta_max[:, None] * rng.random(shape), rng.standard_exponential(shape)
        return atoms, share / share.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Universals(World):
    """Universal priors of any number of atoms: k is log-uniform from 3 to 60, so that few groups and many are alike.

    >>> priors = Universals(theta_max=50.0).draw_many(np.random.default_rng(0), 100)
    >>> sizes = (priors.weights > 0).sum(axis=1)
    >>> int(sizes.min()), int(sizes.max()), bool(np.allclose(priors.weights.sum(axis=1), 1.0))
    (3, 60, True)
    """

    name: ClassVar[str] = "universals"
    sizes: tuple[int, int] = (3, 60)

    def sample(self, rng: np.random.Generator, theta_max: Floats, fineness: int) -> tuple[Floats, Floats]:
        low, high = self.sizes
        size = np.floor(log_uniform(rng, low, high + 1, len(theta_max)))
        atoms, weights = Universal(size=high).sample(rng, theta_max, fineness)
        weights = np.where(np.arange(high) < size[:, None], weights, 0.0)
        return atoms, weights / weights.sum(axis=1, keepdims=True)
