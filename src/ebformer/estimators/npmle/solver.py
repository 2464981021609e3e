"""Maximum likelihood over all mixing distributions: a convex ladder of finer lattices, finished by Newton's method.

1. EM on a lattice, a few steps: cheap, and F is then close enough for quadratic models to be trusted.
2. `reweigh`: sequential quadratic programming for the weights on fixed points, with an active set.
3. `halve`: points half-way between each support point and its neighbours, and step 2 again.
4. `sharpen`: unite neighbours and let Newton's method move atoms and weights together; it converges quadratically.
   Where D then exceeds 1 elsewhere, an atom is missing: put one there, and again.
5. Certify by the largest value of D over the whole interval. If that is above the tolerance, back to 3: the ladder
   alone converges too, only more slowly, so a failed Newton step costs time and never correctness.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.estimators.npmle.columns import Columns
from ebformer.estimators.npmle.lattice import Lattice
from ebformer.estimators.npmle.newton import slide
from ebformer.estimators.npmle.sample import Sample
from ebformer.estimators.npmle.weights import crests, em_steps, reweigh
from ebformer.prior import Prior

EM_STEPS = 15
RUNGS = 12
ATTEMPTS = 4
"""To put atoms where D exceeds 1 before the ladder is climbed further."""
MISSING = 1e-7
"""How far D exceeds 1 only where an atom is missing."""
CLOSE = 0.7
"""Cells of the lattice between atoms that are taken for one."""
START = 1e-3
"""How far D may exceed 1 on the lattice before it is refined."""
WIDTH = 0.25
"""How far observations are moved together, in their noise, where there are too many to start with."""
FINISH = 1e-10
"""Newton gets here at no cost, and estimates then agree to six digits; the tolerance is what is promised."""


class Solution(NamedTuple):
    """Atoms, weights, the certified gap = max D - 1 and the number of quadratic models solved."""

    atoms: Floats
    weights: Floats
    gap: float
    iterations: int

    @property
    def prior(self) -> Prior:
        """Atoms and weights as a prior."""
        return Prior(self.atoms, self.weights)


class Peaked(Protocol):
    """What knows D everywhere under atoms and weights."""

    def peaks(self, atoms: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Where D has local maxima that may exceed 1, and how high they are."""


class Candidate(NamedTuple):
    """Atoms and weights, and the local maxima of D: where they are and how high."""

    atoms: Floats
    weights: Floats
    tops: Floats
    heights: Floats

    @classmethod
    def of(cls, lattice: Peaked, atoms: Floats, weights: Floats) -> Candidate:
        return cls(atoms, weights, *lattice.peaks(atoms, weights))

    @property
    def gap(self) -> float:
        """max D - 1: how far the log-likelihood per unit may be below the largest."""
        return float(np.append(self.heights, 1.0).max()) - 1.0


def maximise(sample: Sample, tolerance: float) -> Solution:
    """The mixing distribution on [low, high] of largest likelihood, certified to `tolerance` or the best found.

    >>> from ebformer.tally import Tally
    >>> solution = maximise(Sample.of(Tally.of([0, 0, 0, 8, 9])), 1e-9)
    >>> solution.atoms.round(6).tolist(), solution.weights.round(6).tolist()
    ([0.0, 8.498268], [0.599918, 0.400082])
    """
    if sample.low == sample.high:
        return Solution(outward(sample.channel, np.array([sample.low])), np.ones(1), 0.0, 0)
    lattice, goal = Lattice.of(sample), min(tolerance, FINISH)
    columns, weights, iterations = start(lattice)
    top, found = sample.lattice[:0], []
    for rung in range(RUNGS):
        new = np.concatenate([halve(sample.channel, columns.points, weights), top])
        columns, weights = extended(sample, columns, weights, new)
        weights, steps = reweigh(columns, sample.q, weights, weights, max(tolerance / 4**rung, 1e-15))
        i = np.flatnonzero(weights)
        support, masses = columns.points[i], weights[i]
        sharp, slides = sharpen(lattice, *unite(sample, support, masses, np.diff(i) == 1), goal)
        iterations += steps + slides
        found.append(sharp)
        if sharp.gap <= goal:
            break
        found.append(Candidate.of(lattice, support, masses))
        if found[-1].gap <= goal:
            break
        top = found[-1].tops[found[-1].heights > 1]
    best = min(found, key=lambda candidate: candidate.gap)
    return Solution(outward(sample.channel, best.atoms), best.weights, best.gap, iterations)


def sharpen(lattice: Lattice, theta: Floats, w: Floats, goal: float) -> tuple[Candidate, int]:
    """Newton's method and, while D exceeds 1 elsewhere, again with atoms there; also the number of models solved."""
    sample, found, iterations = lattice.sample, [], 0
    for _ in range(ATTEMPTS):
        theta, w, steps = slide(sample, theta, w)
        found.append(Candidate.of(lattice, theta, w))
        iterations += steps
        if (gap := found[-1].gap) <= max(goal, MISSING):
            break
        columns, w = extended(sample, Columns.of(sample, theta), w, found[-1].tops[found[-1].heights > 1 + 0.01 * gap])
        w, steps = reweigh(columns, sample.q, w, w, 0.1 * goal)
        theta, w = unite(sample, columns.points[w > 0], w[w > 0])
        iterations += steps
    return min(found, key=lambda candidate: candidate.gap), iterations


def start(lattice: Lattice, width: float = WIDTH) -> tuple[Columns, Floats, int]:
    """Weights that are about right on points of the lattice, the columns of these, and the number of models solved.

    Where there are too many observations to try every point on all of them, fewer observations that are much like them
    say which points to try; others join them where D exceeds 1.
    """
    sample, columns = lattice.sample, lattice.columns
    if columns is not None:
        dense = em_steps(columns, sample.q, np.full(sample.lattice.size, 1 / sample.lattice.size), EM_STEPS)
        return columns, *reweigh(columns, sample.q, dense, sparse_start(dense), START)
    coarse, weights, iterations = start(Lattice.of(sample.merged(width)), 2 * width)
    at = np.minimum(np.searchsorted(sample.lattice, coarse.points[weights > 0]), sample.lattice.size - 1)
    near = np.unique(np.clip(at[:, None] + np.arange(-2, 2), 0, sample.lattice.size - 1))
    columns = Columns.of(sample, sample.lattice[near])
    weights = np.asarray(np.bincount(np.searchsorted(near, at), weights[weights > 0], near.size), dtype=np.float64)
    for _ in range(RUNGS):
        weights, steps = reweigh(columns, sample.q, weights, weights, START)
        iterations += steps
        new = sample.lattice[crests(lattice.pull(sample.q / columns.mix(weights)), 1 + 2 * START)]
        if new.size == 0:
            break
        columns, weights = extended(sample, columns, weights, new)
    return columns, weights, iterations


def extended(sample: Sample, columns: Columns, weights: Floats, new: Floats) -> tuple[Columns, Floats]:
    """The columns of new points among the others, and the weights of all."""
    joined, which = columns.joined(Columns.of(sample, np.sort(new)))
    return joined, np.concatenate([weights, np.zeros(new.size)])[which]


def sparse_start(dense: Floats) -> Floats:
    """The weight of every hump of a dense vector, put on its crest."""
    crest = np.flatnonzero(crests(dense, 0.0))
    sparse = np.zeros(dense.size)
    sparse[crest] = np.add.reduceat(dense, np.concatenate([[0], (crest[1:] + crest[:-1] + 1) // 2]))
    return sparse


def outward(channel: Channel, theta: Floats) -> Floats:
    """The ends of the domain in place of what stood for them."""
    (low, high), (least, most) = channel.domain, channel.inside
    return np.where(theta <= least, low, np.where(theta >= most, high, theta))


def halve(channel: Channel, points: Floats, weights: Floats) -> Floats:
    """Midpoints, in the stable coordinate, of the cells next to the support."""
    u, found = channel.coordinate(points), weights > 0
    cell = np.flatnonzero(found[1:] | found[:-1])
    return channel.at_coordinate(0.5 * (u[cell] + u[cell + 1]))


def unite(
    sample: Sample, theta: Floats, w: Floats, neighbours: NDArray[np.bool_] | None = None
) -> tuple[Floats, Floats]:
    """One atom, at the mean, for atoms that are neighbours or closer than CLOSE cells of the lattice.

    An atom at `high` stays where it is if there are observations beyond, which nothing else may be able to explain.
    """
    place = np.interp(theta, sample.lattice, np.arange(sample.lattice.size, dtype=np.float64))
    apart = np.diff(place) > CLOSE
    if neighbours is not None:
        apart &= ~neighbours
    if sample.beyond.size:
        apart |= theta[1:] == sample.high
    group = np.concatenate([[0], np.cumsum(apart)])
    mass = np.bincount(group, weights=w)
    last = theta[np.append(apart, True)]  # the mean is counted from here, so that it cannot exceed it by rounding
    return last - np.bincount(group, weights=w * (last[group] - theta)) / mass, np.asarray(mass, dtype=np.float64)
