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

from ebformer.channels.base import Channel, Floats
from ebformer.estimators.npmle.newton import slide
from ebformer.estimators.npmle.sample import Sample
from ebformer.estimators.npmle.weights import crests, reweigh
from ebformer.prior import Prior

EM_STEPS = 15
RUNGS = 12
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
    lattice = sample.lattice()
    kernel = sample.kernel(lattice)
    dense = np.full(lattice.size, 1 / lattice.size)
    for _ in range(EM_STEPS):
        dense = dense * ((sample.q / (kernel @ dense)) @ kernel)
    weights, iterations = reweigh(kernel, sample.q, dense, sparse_start(dense), 1e-3)
    points, columns = lattice, kernel
    best = Solution(lattice, dense, np.inf, 0)
    top = lattice[:0]
    for rung in range(RUNGS):
        new = np.concatenate([halve(sample.channel, points, weights), top])
        points, first = np.unique(np.concatenate([points, new]), return_index=True)
        columns = np.concatenate([columns, sample.kernel(new)], axis=1)[:, first]
        weights = np.concatenate([weights, np.zeros(new.size)])[first]
        weights, steps = reweigh(columns, sample.q, weights, weights, max(tolerance / 4**rung, 1e-15))
        atoms, masses, slides = slide(sample, lattice, *unite(sample, lattice, points, weights))
        iterations += steps + slides
        found = weights > 0
        for theta, w in ((atoms, masses), (points[found], weights[found])):
            top, d = sample.peaks(lattice, kernel, theta, sample.kernel(theta) @ w)
            gap = max(float(d.max()) - 1, 0.0)
            if gap < best.gap:
                best = Solution(outward(sample.channel, theta), w, gap, 0)
            if gap <= min(tolerance, FINISH):
                return best._replace(iterations=iterations)
        top = top[d > 1]
    return best._replace(iterations=iterations)


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


def unite(sample: Sample, lattice: Floats, points: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """One atom, at the mean, for support points that are neighbours or closer than 0.7 cells of the lattice.

    An atom at `high` stays where it is if there are observations beyond, which nothing else may be able to explain.
    """
    i = np.flatnonzero(weights > 0)
    theta, w = points[i], weights[i]
    place = np.interp(theta, lattice, np.arange(lattice.size, dtype=np.float64))
    apart = (place[1:] - place[:-1] > 0.7) & (i[1:] - i[:-1] > 1)
    if sample.beyond.size:
        apart |= theta[1:] == sample.high
    group = np.concatenate([[0], np.cumsum(apart)])
    mass = np.bincount(group, weights=w)
    last = theta[np.append(apart, True)]  # the mean is counted from here, so that it cannot exceed it by rounding
    return last - np.bincount(group, weights=w * (last[group] - theta)) / mass, np.asarray(mass, dtype=np.float64)
