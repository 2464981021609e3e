"""A mixture of worlds: each prior comes whole from one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.lab.worlds.base import World
from ebformer.lab.worlds.dirichlet import Dirichlet
from ebformer.lab.worlds.neural import Neural


@dataclass(frozen=True)
class MixtureOfWorlds(World):
    """Half neural, half Dirichlet as in the paper, or any worlds with equal chances; theta_max is the mixture's own.

    >>> MixtureOfWorlds(theta_max=50.0).draw_many(np.random.default_rng(0), 8).weights.sum(axis=1).round(9).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """

    name: ClassVar[str] = "mixture"
    worlds: tuple[World, ...] = (Neural(), Dirichlet())

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.worlds:
            raise InputError("a mixture needs at least one world: give a tuple such as (Neural(), Dirichlet())")

    def sample(self, rng: np.random.Generator, theta_max: Floats, fineness: int) -> tuple[Floats, Floats]:
        choice = rng.integers(len(self.worlds), size=len(theta_max))
        drawn = [world.sample(rng, theta_max[choice == which], fineness) for which, world in enumerate(self.worlds)]
        widest = max(atoms.shape[1] for atoms, _ in drawn)
        atoms, weights = np.zeros((2, len(theta_max), widest))
        for which, (some_atoms, some_weights) in enumerate(drawn):
            atoms[choice == which, : some_atoms.shape[1]] = some_atoms
            weights[choice == which, : some_weights.shape[1]] = some_weights
        return atoms, weights
