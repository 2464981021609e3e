"""Where tallies come from: here they are drawn from a world, in `given` they are read from a file."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ebformer.channels.bounds import LARGEST_WHOLE
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.lab.arena.losses import Case, Key, Loss, Truth
from ebformer.lab.worlds.base import World


class Scored(Protocol):
    """Data whose truth is known."""

    @property
    def key(self) -> Key:
        """Which data."""

    def score(self, name: str, estimator: Estimator) -> Loss:
        """What an estimator pays."""


class Trial(Protocol):
    """Tallies that share what is costly to prepare; one trial is one piece of work for one core."""

    @property
    def keys(self) -> list[Key]:
        """Which tallies it can make."""

    def cases(self, wanted: Iterable[Key]) -> Iterator[Scored]:
        """Make those that are wanted; each comes out the same whatever else is wanted."""


@dataclass(frozen=True)
class DrawnTrial:
    """All tallies of one prior of a world: one per size and repeat.

    The seed of a prior depends on (seed, world name, prior), that of a tally on (seed, world name, prior, n, repeat):
    not on the order of work, the number of workers, or which other tallies were asked for.
    """

    world: World
    prior: int
    sizes: tuple[int, ...]
    repeats: int
    seed: int

    @property
    def keys(self) -> list[Key]:
        return [Key(self.world.name, n, self.prior, repeat) for n in self.sizes for repeat in range(self.repeats)]

    def cases(self, wanted: Iterable[Key]) -> Iterator[Case]:
        truth = Truth.of(self.world.draw(self._generator()))
        for key in wanted:
            yield Case(key, truth.draw(key.n, self._generator(key.n, key.repeat)), truth)

    def _generator(self, *path: int) -> np.random.Generator:
        name = zlib.crc32(self.world.name.encode())
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(name, self.prior, *path)))


def draw_trials(
    worlds: Sequence[World], sizes: Sequence[int], priors: int, repeats: int = 1, seed: int = 0
) -> list[DrawnTrial]:
    """`priors` priors of every world, each seen through `repeats` tallies of every size.

    >>> from ebformer.lab.worlds import PointMass
    >>> [trial.keys[0] for trial in draw_trials([PointMass()], [128], priors=1)]
    [Key(data='point-mass', n=128, case=0, repeat=0)]
    """
    for name, number in [("priors", priors), ("repeats", repeats), *(("n", n) for n in sizes)]:
        if not 1 <= number <= LARGEST_WHOLE:
            raise InputError(f"{name} is {number}: give a whole number of at least 1 and at most 2^53")
    if seed < 0:
        raise InputError(f"seed is {seed}: give a whole number of at least 0")
    names = [world.name for world in worlds]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise InputError(
            f"two worlds are called {repeated[0]}, and a table tells worlds apart by name: draw one at a time"
        )
    sizes = tuple(dict.fromkeys(sizes))
    return [DrawnTrial(world, prior, sizes, repeats, seed) for prior in range(priors) for world in worlds]
