"""Priors of any world given a table: particles in the cube of the uniform numbers that a world makes its priors of.

Particles begin as priors drawn from the world. The likelihood of the table counts to a power that rises from 0 to 1 as
fast as it leaves half of them alive; each time they are drawn again and moved by Metropolis' rule (a sequential Monte
Carlo sampler, Del Moral, Doucet and Jasra 2006). A move changes some of a particle's uniform numbers (Kelemen et al.
2002), so that nothing has to be known of the world.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn, cast

import numpy as np
from scipy.optimize import brentq

from ebformer.channels import POISSON
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.lab.worlds import Priors, World
from ebformer.tally import Tally

CELL = 0.05
"""Spacing of the grid on which priors are held, in standard deviations of the noise."""
START = 16
"""Priors that are drawn from the world for every particle."""
ALIVE = 0.5
"""The share of particles that a rise of the power leaves alive, in effect."""
MOVES = 12
"""Metropolis' steps of all particles after each rise, and between two looks at them."""
FEW_LOOKS = 2
"""At particles on their way, at powers below the last."""
SMALLEST = 1e-3
"""Steps are log-uniform from this share of the cube to half of it, in one to all of its directions."""
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


@dataclass(frozen=True)
class Seen:
    """What priors on a grid of rates up to `end` say of counts below `size`, and of a tally of them."""

    tally: Tally
    size: int
    end: float
    theta: Floats = field(init=False, repr=False)
    kernel: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        top = float(POISSON.coordinate(np.asarray(self.end)))
        theta = POISSON.at_coordinate(CELL * np.arange(int(top / CELL) + 3, dtype=np.float64))
        x = np.arange(self.size, dtype=np.float64)[:, None]
        object.__setattr__(self, "theta", theta)
        object.__setattr__(self, "kernel", np.exp(POISSON.log_likelihood(x, theta)))

    def weights(self, priors: Priors) -> Floats:
        """Weights on the grid [priors, k]: an atom is split between its two neighbours, which keeps the mean."""
        theta, count = self.theta, len(priors)
        atoms = np.minimum(priors.atoms, theta[-1])
        low = np.minimum((POISSON.coordinate(atoms) / CELL).astype(np.intp), theta.size - 2)
        upper = (atoms - theta[low]) / (theta[low + 1] - theta[low])
        cell, shape = low + theta.size * np.arange(count)[:, None], (count, theta.size)
        below, above = (
            np.bincount((cell + side).ravel(), (share * priors.weights).ravel(), count * theta.size).reshape(shape)
            for side, share in ((0, 1.0 - upper), (1, upper))
        )
        return np.asarray(below + above)

    def log_likelihood(self, weights: Floats) -> Floats:
        """Of the tally under each prior."""
        f = np.maximum(weights @ self.kernel[self.tally.values].T, 1e-300)
        return np.asarray(np.log(f) @ self.tally.multiplicity)

    def rules(self, weights: Floats) -> Floats:
        """theta_G(x) at x = 0, 1, ...: [priors, size]."""
        return np.asarray(((weights * self.theta) @ self.kernel.T) / np.maximum(weights @ self.kernel.T, 1e-300))


class Particles(NamedTuple):
    """Uniform numbers [particles, d], and the weights on the grid and the log-likelihood of the priors they make."""

    numbers: Floats
    weights: Floats
    evidence: Floats

    @classmethod
    def of(cls, world: World, seen: Seen, numbers: Floats) -> Particles:
        weights = seen.weights(priors_of(world, numbers))
        return cls(numbers, weights, seen.log_likelihood(weights))

    def taken(self, which: Integers) -> Particles:
        return Particles(*(each[which] for each in self))


def tempered(
    world: World,
    tally: Tally,
    size: int,
    particles: int,
    powers: Sequence[float],
    looks: int,
    rng: np.random.Generator,
) -> Iterator[tuple[float, Floats]]:
    """Rules [particles, size] of priors drawn given the tally, its likelihood to each power in turn, several times."""
    pool = rng.random((START * particles, dimensions(world)))
    end = max(float(priors_of(world, pool[: 4 * particles]).atoms.max()), float(tally.values.max()))
    seen = Seen(tally, size, end)
    parts = [Particles.of(world, seen, some) for some in np.array_split(pool, START)]
    now, reached = Particles(*(np.concatenate(each) for each in zip(*parts, strict=True))), 0.0
    for power in powers:
        while reached < power:
            rise = largest_rise(now.evidence, power - reached, ALIVE * particles)
            now = now.taken(drawn_again(now.evidence * rise, particles, rng))
            reached = power if rise >= power - reached else reached + rise
            now = moved(world, seen, now, reached, rng)
        for _ in range(looks if power == powers[-1] else FEW_LOOKS):
            yield power, seen.rules(now.weights)
            now = moved(world, seen, now, power, rng)


def moved(world: World, seen: Seen, now: Particles, power: float, rng: np.random.Generator) -> Particles:
    """The particles after some steps of Metropolis' rule, of any length and in any number of directions."""
    count, d = now.numbers.shape
    for _ in range(MOVES):
        length = 0.5 * (2.0 * SMALLEST) ** rng.random((count, 1))
        moves = rng.random((count, d)) < d ** -rng.random((count, 1))
        moves[np.arange(count), rng.integers(d, size=count)] = True
        tried = (now.numbers + length * moves * rng.standard_normal((count, d))) % 1.0
        new = Particles.of(world, seen, tried)
        taken = np.log(rng.random(count)) < power * (new.evidence - now.evidence)
        now = Particles(
            *(np.where(taken.reshape(-1, *[1] * (a.ndim - 1)), b, a) for a, b in zip(now, new, strict=True))
        )
    return now


def effective(log_weight: Floats) -> float:
    """How many of weighted draws are left, in effect: (sum w)^2 / sum w^2.

    >>> effective(np.zeros(5)), effective(np.array([0.0, -1000.0]))
    (5.0, 1.0)
    """
    weight = np.exp(log_weight - log_weight.max())
    return float(weight.sum() ** 2 / (weight @ weight))


def largest_rise(evidence: Floats, most: float, alive: float) -> float:
    """By how much the power may rise so that so many priors stay alive, in effect."""
    if effective(most * evidence) >= alive:
        return most
    return float(np.exp(brentq(lambda t: effective(np.exp(t) * evidence) - alive, np.log(most) - 40.0, np.log(most))))


def drawn_again(log_weight: Floats, count: int, rng: np.random.Generator) -> Integers:
    """So many indices, each as often as its weight says, to within one."""
    weight = np.exp(log_weight - log_weight.max())
    at = np.searchsorted(np.cumsum(weight), (np.arange(count) + rng.random()) / count * weight.sum())
    return np.asarray(np.minimum(at, weight.size - 1))
