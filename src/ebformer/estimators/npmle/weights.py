"""The weights of fixed points that make a sample likeliest: sequential quadratic programming with an active set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from ebformer.distributions import Floats
from ebformer.estimators.npmle import loops
from ebformer.estimators.npmle.columns import Columns


def crests(height: Floats, least: float) -> NDArray[np.bool_]:
    """Which entries exceed `least` and are no lower than their neighbours.

    >>> crests(np.array([3.0, 1.0, 2.0, 2.0]), 0.0).tolist()
    [True, False, True, False]
    """
    crest = height > least
    crest[1:] &= height[1:] > height[:-1]
    crest[:-1] &= height[:-1] >= height[1:]
    return crest


def em_steps(columns: Columns, q: Floats, weights: Floats, steps: int) -> Floats:
    """Weights on fixed points after so many EM steps: w <- w D."""
    compiled = None if columns.whole is None else loops.em_steps(columns.whole, q, weights, steps)
    if compiled is not None:
        return compiled
    for _ in range(steps):
        weights = weights * columns.pull(q / columns.mix(weights))
    return weights


def reweigh(
    columns: Columns, q: Floats, weights: Floats, sparse: Floats, tolerance: float, steps: int = 12
) -> tuple[Floats, int]:
    """Weights v >= 0 on fixed points that maximise sum q log(A v) - sum v, until max D - 1 <= tolerance.

    Each step maximises the quadratic model, sum_j (2 D_j - 1) v_j - sum_k q_k (A v / F)_k^2 / 2, from `sparse`,
    bringing in local maxima of its gradient only, and then searches the line. Returns sparse weights of sum 1.
    """
    compiled = None if columns.whole is None else loops.reweigh(columns.whole, q, weights, sparse, tolerance, steps)
    if compiled is not None:
        return compiled
    f = columns.mix(weights)
    root, whole = np.sqrt(q), False
    for step in range(steps):
        d = columns.pull(q / f)
        gap = float(d.max()) - 1
        if whole and gap <= tolerance:
            return weights, step
        slack = max(0.01 * gap, 1e-15)
        gradient = d - 1
        for _ in range(20):
            free = np.flatnonzero((sparse > 0) | crests(gradient, slack))
            v = nonnegative_minimiser(columns.gram(free, root / f), 2 * d[free] - 1, sparse[free])
            sparse = np.zeros(sparse.size)
            sparse[free] = v
            ratio = columns.mix(sparse) / f
            gradient = np.where(sparse > 0, 0.0, 2 * d - 1 - columns.pull(q * ratio / f))
            if float(gradient.max()) <= slack:
                break
        part = line_maximiser(q, ratio - 1, float(v.sum() - weights.sum()))
        whole = part == 1.0
        weights = sparse if whole else weights + part * (sparse - weights)
        weights = weights / weights.sum()
        f = columns.mix(weights)
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
