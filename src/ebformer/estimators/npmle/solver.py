"""Maximum likelihood over all mixing distributions: a convex ladder of finer lattices, finished by Newton's method.

1. EM on a lattice, a few steps: cheap, and F is then close enough for quadratic models to be trusted.
2. `reweigh`: sequential quadratic programming for the weights on fixed points, with an active set.
3. `halve`: points half-way between each support point and its neighbours, and step 2 again.
4. `slide`: unite neighbours and let Newton's method move atoms and weights together; it converges quadratically.
5. Certify by the largest value of D over the whole interval. If that is above the tolerance, back to 3: the ladder
   alone converges too, only more slowly, so a failed Newton step costs time and never correctness.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ebformer.channels.base import Channel, Floats
from ebformer.estimators.npmle.columns import Columns
from ebformer.estimators.npmle.lattice import Lattice
from ebformer.estimators.npmle.newton import slide
from ebformer.estimators.npmle.sample import Sample
from ebformer.estimators.npmle.weights import crests, reweigh
from ebformer.prior import Prior

EM_STEPS = 15
START = 1e-3
"""How far D may exceed 1 on the lattice before it is refined."""
WIDTH = 0.25
"""How far observations are moved together, in their noise, where there are too many to start with."""
RUNGS = 12
ATTEMPTS = 4
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


def maximise(sample: Sample, tolerance: float) -> Solution:
    """The mixing distribution on [low, high] of largest likelihood, certified to `tolerance` or the best found.

    >>> from ebformer.tally import Tally
    >>> solution = maximise(Sample.of(Tally.of([0, 0, 0, 8, 9])), 1e-9)
    >>> solution.atoms.round(6).tolist(), solution.weights.round(6).tolist()
    ([0.0, 8.498268], [0.599918, 0.400082])
    """
    if sample.low == sample.high:
        return Solution(outward(sample.channel, np.array([sample.low])), np.ones(1), 0.0, 0)
    lattice = Lattice.of(sample)
    columns, weights, iterations = start(lattice)
    best = Solution(columns.points, weights, np.inf, 0)
    top = sample.lattice[:0]
    for rung in range(RUNGS):
        new = np.concatenate([halve(sample.channel, columns.points, weights), top])
        columns, weights = extended(sample, columns, weights, new)
        weights, steps = reweigh(columns, sample.q, weights, weights, max(tolerance / 4**rung, 1e-15))
        iterations += steps
        found = np.flatnonzero(weights)
        support, masses = columns.points[found], weights[found]
        theta, w = unite(sample, support, masses, 0.7, neighbours=np.diff(found) == 1)
        for attempt in range(ATTEMPTS):
            if attempt:
                points, which = np.unique(np.concatenate([theta, top[d > 1 + 0.01 * gap]]), return_index=True)
                w = np.concatenate([w, np.zeros(points.size)])[which]
                w, steps = reweigh(Columns.of(sample, points), sample.q, w, w, 1e-15)
                theta, w = unite(sample, points[w > 0], w[w > 0], 1.5)
                iterations += steps
            theta, w, steps = slide(sample, theta, w)
            iterations += steps
            top, d = lattice.peaks(theta, Columns.of(sample, theta).mix(w))
            gap = max(float(d.max()) - 1, 0.0)
            if gap < best.gap:
                best = Solution(outward(sample.channel, theta), w, gap, 0)
            if gap <= min(tolerance, FINISH):
                return best._replace(iterations=iterations)
        top, d = lattice.peaks(support, Columns.of(sample, support).mix(masses))
        gap = max(float(d.max()) - 1, 0.0)
        if gap < best.gap:
            best = Solution(outward(sample.channel, support), masses, gap, 0)
        if gap <= min(tolerance, FINISH):
            return best._replace(iterations=iterations)
        top = top[d > 1]
    return best._replace(iterations=iterations)


def start(lattice: Lattice, width: float = WIDTH) -> tuple[Columns, Floats, int]:
    """Weights that are about right on points of the lattice, the columns of these, and the number of models solved.

    Where there are too many observations to try every point on all of them, fewer observations that are much like them
    say which points to try; others join them where D exceeds 1.
    """
    sample, columns = lattice.sample, lattice.columns
    if columns is not None:
        dense = np.full(sample.lattice.size, 1 / sample.lattice.size)
        for _ in range(EM_STEPS):
            dense = dense * columns.pull(sample.q / columns.mix(dense))
        return columns, *reweigh(columns, sample.q, dense, sparse_start(dense), START)
    coarse, weights, iterations = start(Lattice.of(sample.merged(width)), 2 * width)
    atoms, weights = coarse.points[weights > 0], weights[weights > 0]
    at = np.searchsorted(sample.lattice, atoms)
    near = np.unique(np.clip(at[:, None] + np.arange(-2, 2), 0, sample.lattice.size - 1))
    columns = Columns.of(sample, sample.lattice[near])
    weights = np.bincount(np.clip(np.searchsorted(near, at), 0, near.size - 1), weights, near.size)
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
    sample: Sample, theta: Floats, w: Floats, cells: float, neighbours: NDArray[np.bool_] | None = None
) -> tuple[Floats, Floats]:
    """One atom, at the mean, for atoms that are neighbours or closer than so many cells of the lattice.

    An atom at `high` stays where it is if there are observations beyond, which nothing else may be able to explain.
    """
    place = np.interp(theta, sample.lattice, np.arange(sample.lattice.size, dtype=np.float64))
    apart = np.diff(place) > cells
    if neighbours is not None:
        apart &= ~neighbours
    if sample.beyond.size:
        apart |= theta[1:] == sample.high
    group = np.concatenate([[0], np.cumsum(apart)])
    mass = np.bincount(group, weights=w)
    last = theta[np.append(apart, True)]  # the mean is counted from here, so that it cannot exceed it by rounding
    return last - np.bincount(group, weights=w * (last[group] - theta)) / mass, np.asarray(mass, dtype=np.float64)
