"""A world as a map from uniform numbers to priors: all that has to be known of it to move among its priors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, cast

import numpy as np

from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.lab.worlds import Priors, World

Integers = np.ndarray[Any, np.dtype[np.intp]]


@dataclass
class Script:
    """Stands for a generator: hands out uniform numbers that were written down before, one row [d] per prior.

    >>> Script(np.array([[0.25, 0.5], [0.75, 0.1]])).uniform(0.0, 2.0, 2).tolist()
    [0.5, 1.5]
    """

    numbers: Floats
    read: int = 0

    def random(self, size: int | tuple[int, ...] | None = None) -> Floats:
        """The next numbers of every prior, which take up rows of the result that follow each other."""
        if size is None:
            raise InputError("the world draws its priors one by one, so that uniform numbers cannot be told apart")
        count = len(self.numbers)
        start, self.read = self.read, self.read + int(np.prod(size)) // count
        if self.read > self.numbers.shape[1]:
            more = np.random.default_rng(start).random((count, self.read - self.numbers.shape[1]))
            self.numbers = np.concatenate([self.numbers, more], axis=1)
        return self.numbers[:, start : self.read].reshape(size)

    def uniform(self, low: Any, high: Any, size: int | tuple[int, ...]) -> Floats:
        return np.asarray(low + (high - low) * self.random(size))

    def integers(self, low: int, high: int | None = None, size: int | tuple[int, ...] = 1) -> Integers:
        first, last = (0, low) if high is None else (low, high)
        return (first + (last - first) * self.random(size)).astype(np.intp)

    def standard_exponential(self, size: int | tuple[int, ...]) -> Floats:
        return np.asarray(-np.log1p(-self.random(size)))

    def exponential(self, scale: float, size: int | tuple[int, ...]) -> Floats:
        return scale * self.standard_exponential(size)

    def standard_cauchy(self, size: int | tuple[int, ...]) -> Floats:
        return np.asarray(np.tan(np.pi * (self.random(size) - 0.5)))

    def __getattr__(self, name: str) -> NoReturn:
        raise InputError(f"the world draws its priors by Generator.{name}, which is not made of few uniform numbers")


def priors_of(world: World, numbers: Floats) -> Priors:
    """The priors that these uniform numbers [count, d] make."""
    return world.draw_many(cast(np.random.Generator, Script(numbers)), len(numbers))


def dimensions(world: World) -> int:
    """How many uniform numbers make a prior.

    >>> from ebformer.lab.worlds import Neural, Universal
    >>> dimensions(Universal(size=10)), dimensions(Neural())
    (20, 104)
    """
    script = Script(np.empty((1, 0)))
    world.draw_many(cast(np.random.Generator, script), 1)
    return script.read
