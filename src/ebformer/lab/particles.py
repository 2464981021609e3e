"""Priors as particles: points in the cube of uniform numbers, with what the priors they make say of a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ebformer.channels import POISSON
from ebformer.distributions import Floats
from ebformer.lab.uniform_numbers import Integers, priors_of
from ebformer.lab.worlds import World
from ebformer.tally import Tally

CELL = 0.05
"""Spacing of the grid on which priors are held, in standard deviations of the noise."""
BEYOND = 10.0
"""How far the grid goes beyond the largest count, in the same unit: rates above are all impossible to the table."""


@dataclass(frozen=True)
class Seen:
    """What priors on a grid of rates up to `end` say of counts below `size`, and of a tally of them."""

    tally: Tally
    size: int
    end: float
    theta: Floats = field(init=False, repr=False)
    kernel: Floats = field(init=False, repr=False)
    likelihood: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        coordinate, counts = POISSON.coordinate(np.array([self.end, self.size]))
        top = min(float(coordinate), float(counts) + BEYOND)
        theta = POISSON.at_coordinate(CELL * np.arange(int(top / CELL) + 3, dtype=np.float64))
        x = np.arange(self.size, dtype=np.float64)[:, None]
        object.__setattr__(self, "theta", theta)
        object.__setattr__(self, "kernel", np.exp(POISSON.log_likelihood(x, theta)))
        object.__setattr__(self, "likelihood", np.ascontiguousarray(self.kernel[self.tally.values].T))

    def weights(self, atoms: Floats, weights: Floats) -> Floats:
        """Weights on the grid [priors, k]: an atom is split between its two neighbours, which keeps the mean."""
        theta, count = self.theta, len(atoms)
        atoms = np.minimum(atoms, theta[-1])
        low = np.minimum((POISSON.coordinate(atoms) / CELL).astype(np.intp), theta.size - 2)
        upper = (atoms - theta[low]) / (theta[low + 1] - theta[low])
        cell, shape = low + theta.size * np.arange(count)[:, None], (count, theta.size)
        below, above = (
            np.bincount((cell + side).ravel(), (share * weights).ravel(), count * theta.size).reshape(shape)
            for side, share in ((0, 1.0 - upper), (1, upper))
        )
        return np.asarray(below + above)

    def log_likelihood(self, weights: Floats) -> Floats:
        """Of the tally under each prior."""
        f = np.maximum(weights @ self.likelihood, 1e-300)
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
        priors = priors_of(world, numbers)
        weights = seen.weights(priors.atoms, priors.weights)
        return cls(numbers, weights, seen.log_likelihood(weights))

    def taken(self, which: Integers) -> Particles:
        return Particles(*(each[which] for each in self))
