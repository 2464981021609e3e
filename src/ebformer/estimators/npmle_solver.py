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
from scipy.linalg.lapack import dposv, dtrtrs

from ebformer.estimators.npmle_sample import SMALLEST, Sample
from ebformer.posterior import Floats
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
        """Atoms and weights as a prior, in which 0 is 0 again."""
        return Prior(np.where(self.atoms > SMALLEST, self.atoms, 0.0), self.weights)


def maximise(sample: Sample, tolerance: float) -> Solution:
    """The mixing distribution on [low, high] of largest likelihood, certified to `tolerance` or the best found.

    >>> from ebformer.tally import Tally
    >>> solution = maximise(Sample.of(Tally.of([0, 0, 0, 8, 9])), 1e-9)
    >>> solution.atoms.round(6).tolist(), solution.weights.round(6).tolist()
    ([0.0, 8.498268], [0.599918, 0.400082])
    """
    if sample.low == sample.high:
        return Solution(np.array([sample.low]), np.ones(1), 0.0, 0)
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
        new = np.concatenate([halve(points, weights), top])
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
                best = Solution(theta, w, gap, 0)
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


def crests(height: Floats, least: float) -> NDArray[np.bool_]:
    """Which entries exceed `least` and are no lower than their neighbours.

    >>> crests(np.array([3.0, 1.0, 2.0, 2.0]), 0.0).tolist()
    [True, False, True, False]
    """
    crest = height > least
    crest[1:] &= height[1:] > height[:-1]
    crest[:-1] &= height[:-1] >= height[1:]
    return crest


def reweigh(
    columns: Floats, q: Floats, weights: Floats, sparse: Floats, tolerance: float, steps: int = 12
) -> tuple[Floats, int]:
    """Weights v >= 0 on fixed points that maximise sum q log(columns v) - sum v, until max D - 1 <= tolerance.

    Each step maximises the quadratic model, sum_j (2 D_j - 1) v_j - sum_k q_k (columns v / F)_k^2 / 2, from `sparse`,
    bringing in local maxima of its gradient only, and then searches the line. Returns sparse weights of sum 1.
    """
    f = columns @ weights
    whole = False
    for step in range(steps):
        d = (q / f) @ columns
        gap = float(d.max()) - 1
        if whole and gap <= tolerance:
            return weights, step
        slack = max(0.01 * gap, 1e-15)
        gradient = d - 1
        for _ in range(20):
            free = np.flatnonzero((sparse > 0) | crests(gradient, slack))
            chosen = columns[:, free]
            scaled = chosen / f[:, None]
            v = nonnegative_minimiser(scaled.T @ (q[:, None] * scaled), 2 * d[free] - 1, sparse[free])
            sparse = np.zeros(sparse.size)
            sparse[free] = v
            ratio = (chosen @ v) / f
            gradient = np.where(sparse > 0, 0.0, 2 * d - 1 - (q * ratio / f) @ columns)
            if float(gradient.max()) <= slack:
                break
        part = line_maximiser(q, ratio - 1, float(v.sum() - weights.sum()))
        whole = part == 1.0
        weights = sparse if whole else weights + part * (sparse - weights)
        weights = weights / weights.sum()
        f = columns @ weights
    return (weights if whole else sparse / sparse.sum()), steps


def nonnegative_minimiser(h: Floats, b: Floats, v: Floats) -> Floats:
    """Lower v'Hv/2 - b'v over v >= 0 from a feasible v, dropping variables that would turn negative, for good.

    >>> nonnegative_minimiser(np.eye(2), np.array([1.0, -1.0]), np.array([0.5, 0.5])).tolist()
    [1.0, 0.0]
    """
    free = np.arange(b.size)
    h_free, b_free, value = h, b, (0.5 * (h @ v) - b) @ v
    while True:
        y = positive_definite_solve(h_free, b_free)
        bad = y <= 0
        if not bad.any():
            break
        cut = np.where(bad, 0.0, y)
        cut_value = (0.5 * (h_free @ cut) - b_free) @ cut
        if cut_value < value:
            keep, v, value = ~bad, cut, cut_value
        else:
            fraction = np.where(bad & (v > 0), v / np.maximum(v - y, 1e-300), np.where(bad, 0.0, np.inf))
            v = v + fraction.min() * (y - v)
            value = (0.5 * (h_free @ v) - b_free) @ v
            keep = fraction > fraction.min()
        free, v = free[keep], v[keep]
        h_free, b_free = h[free[:, None], free], b[free]
    out = np.zeros(b.size)
    out[free] = y
    return out


def positive_definite_solve(h: Floats, b: Floats) -> Floats:
    """H^-1 b by Cholesky, with the least ridge that makes H definite in floating point."""
    for ridge in (0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-8, 1e-6, 1e-3):
        _, y, failed = dposv(h + np.diag(ridge * h.diagonal()) if ridge else h, b)
        if not failed:
            return np.asarray(y)
    return np.asarray(b / h.diagonal())


def line_maximiser(q: Floats, change: Floats, mass: float) -> float:
    """The a in (0, 1] that roughly maximises sum q log(1 + a change) - a mass; exactly 1 where it still rises there."""
    lowest = float(change.min())
    a = 1.0 if lowest > -0.9 else -0.9 / lowest
    for _ in range(6):
        z = change / (1 + a * change)
        slope = float(q @ z) - mass
        if a == 1.0 and slope >= 0:
            break
        previous, a = a, min(1.0, max(a + slope / float(q @ (z * z)), 0.1 * a), 0.99 / max(-lowest, 0.99))
        if abs(a - previous) < 0.05 * previous:
            break
    return a


def halve(points: Floats, weights: Floats) -> Floats:
    """Midpoints, in sqrt(theta), of the cells next to the support."""
    root, found = np.sqrt(points), weights > 0
    cell = np.flatnonzero(found[1:] | found[:-1])
    return np.square(0.5 * (root[cell] + root[cell + 1]))


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


class Mixture(NamedTuple):
    """Atoms and weights [k], with A, A' and A'' at the atoms, each [u, k], and F [u]."""

    theta: Floats
    w: Floats
    jet: tuple[Floats, Floats, Floats]
    f: Floats

    @classmethod
    def of(cls, sample: Sample, theta: Floats, w: Floats) -> Mixture:
        jet = sample.jet(theta)
        return cls(theta, w, jet, jet[0] @ w)


def slide(sample: Sample, lattice: Floats, theta: Floats, w: Floats, steps: int = 15) -> tuple[Floats, Floats, int]:
    """Newton's method for atoms and weights together, in v (weights) and alpha = v * (shift of the atom).

    Newton works in theta: in sqrt(theta) every atom would be stationary at 0. An atom whose weight a whole step would
    take below 0 is given up if the weights, adjusted on their own, have no use for it.
    """
    now = Mixture.of(sample, theta, w)
    damping, step = 0.0, 0
    while step < steps:
        step += 1
        model = QuadraticModel.of(sample, now)
        if float(np.abs(model.gradient).max()) < 1e-13:
            break
        found = damped_step(sample, lattice, now, model, damping)
        if found is None:
            break
        now, whole, damping = found
        damping = 0.0 if damping < 1e-5 else damping / 10
        if not whole:
            w, _ = reweigh(now.jet[0], sample.q, now.w, now.w, 1e-15, steps=2)
            now = Mixture.of(sample, now.theta[w > 0], w[w > 0])
    order = np.argsort(now.theta)
    return now.theta[order], now.w[order], step


class QuadraticModel(NamedTuple):
    """The log-likelihood around a mixture, in v and in alpha of the atoms that may move, each divided by its `scale`.

    v A(theta + alpha / v) = v A + alpha A' + alpha^2 A'' / (2 v) + ..., so the Hessian of the negative log-likelihood
    is J' diag(q / F^2) J, J = [A, A'], plus bend = -D'' / w on the diagonal of alpha, with no mixed term.
    """

    j: Floats
    bend: Floats
    gradient: Floats
    scale: Floats
    moving: NDArray[np.intp]
    """Which atoms: an atom at an end of the interval stays there if D rises beyond it."""

    @classmethod
    def of(cls, sample: Sample, at: Mixture) -> QuadraticModel:
        a, da, dda = at.jet
        c = sample.q / at.f
        d, dd, ddd = c @ a, c @ da, c @ dda
        moving = np.flatnonzero(((at.theta > sample.low) | (dd > 0)) & ((at.theta < sample.high) | (dd < 0)))
        k, bend = at.w.size, -ddd[moving] / at.w[moving]
        j = np.concatenate([a, da[:, moving]], axis=1) * (np.sqrt(sample.q) / at.f)[:, None]
        scale = np.sqrt((j * j).sum(axis=0) + np.concatenate([np.zeros(k), np.maximum(bend, 0.0)]))
        gradient = np.concatenate([d - 1, dd[moving]]) / scale
        return cls(j / scale, bend / scale[k:] ** 2, gradient, scale, moving)


def damped_step(
    sample: Sample, lattice: Floats, now: Mixture, model: QuadraticModel, damping: float
) -> tuple[Mixture, bool, float] | None:
    """Damp Newton's step (Levenberg) until it does not lower the likelihood nor move an atom by three cells or more.

    Returns the mixture it leads to, whether the step was taken whole (else it stops before a weight reaches 0), and the
    damping that it took; None if no damping helps.
    """
    k, cells = now.w.size, np.arange(lattice.size, dtype=np.float64)
    place = np.interp(now.theta, lattice, cells)
    while damping < 1e3:
        y = damped_newton(model.j, model.bend, model.gradient, damping) / model.scale
        sinking = float((-y[:k] / now.w).max())
        part = 1.0 if sinking < 1 else 0.9 / sinking
        w = now.w + part * y[:k]
        shift = np.zeros(k)
        shift[model.moving] = part * y[k:] / w[model.moving]
        theta = np.minimum(np.maximum(now.theta + shift, sample.low), sample.high)
        if float(np.abs(np.interp(theta, lattice, cells) - place).max()) < 3:
            trial = Mixture.of(sample, theta, w / w.sum())
            if float(sample.q @ np.log1p(trial.f / now.f - 1)) > -1e-15:
                return trial, part == 1.0, damping
        damping = max(10 * damping, 1e-6)
    return None


def damped_newton(j: Floats, bend: Floats, gradient: Floats, damping: float) -> Floats:
    """(J'J + diag(0, bend) + damping I)^-1 gradient, or with the positive part of bend where that is not definite."""
    size, k = gradient.size, gradient.size - bend.size
    h = j.T @ j
    h.flat[:: size + 1] += damping
    h.flat[k * (size + 1) :: size + 1] += bend
    _, y, failed = dposv(h, gradient)
    if failed:
        # The triangle of a QR factorisation keeps digits that J'J has lost.
        rows = np.diag(np.sqrt(np.concatenate([np.zeros(k), np.maximum(bend, 0.0)]) + damping + 1e-300))
        r = np.linalg.qr(np.concatenate([j, rows]), mode="r")
        y, _ = dtrtrs(r, dtrtrs(r, gradient, trans=1)[0])
    return np.asarray(y)
