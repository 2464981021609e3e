"""The least favourable prior on [0, theta_max]: the one whose mmse is largest.

    mmse(w, a) = sum_j w_j r(a_j),   r(theta) = E_theta (theta - t(x))^2,   t = the Bayes rule of the prior itself,

is concave in the weights, and its derivative in w_j is again r(a_j): at the maximum r <= mmse everywhere, with equality
on the support. Far below theta_max the best weights sink under any floating-point number, so a FLOOR of fixed mass is
spread over the interval: it lowers the mmse by less than FLOOR and keeps the Bayes rule tame where no atom is near.

Newton's method runs first on the weights of a fixed grid, with a logarithmic barrier that follows every weight down;
atoms are then added where the risk is still too large. On short intervals what the grid leaves are narrow heaps: each
becomes one atom, and Newton moves atoms and weights together. On long ones (CROWDED) atoms crowd until their places no
longer matter, except for the last few, and the grid with the added atoms is the answer.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.linalg import solve

from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.estimators.risks import Block, Risks
from ebformer.prior import Prior
from ebformer.rule import Convergence

TOLERANCE = 1e-6
"""A prior is certified when no rate in [0, theta_max] has a risk above mmse (1 + TOLERANCE)."""
MEANING = "largest risk on [0, theta_max] / mmse - 1"
LARGEST_THETA_MAX = 1e7
"""The largest theta_max. In seconds of one core: 0.1 at 50, 0.3 at 200, 0.7 at 500, 1 at 10^5, 2 at 10^6, 5 at 10^7."""
CROWDED = 1000.0
"""Up to this theta_max the atoms are moved to their best places."""

GRID = 0.12
"""Spacing of the first atoms in sqrt(theta), where a standard deviation of x is 1/2 and heaps are over 0.6 apart."""
BARRIER = 1e-12
"""The last weight of the barrier, relative to the mmse and shared by all atoms."""
NEAR = 0.02
"""Moving atoms that met: this near in sqrt(theta), or relative to the whole interval where that is short."""


@lru_cache(maxsize=64)
def least_favourable(theta_max: float) -> tuple[Prior, Convergence]:
    """The prior on [0, theta_max] with the largest mmse, with its certificate (the paper's lemma on worst-case priors).

    >>> from ebformer.bayes.marginal import mmse
    >>> prior, convergence = least_favourable(0.1)
    >>> prior.atoms.tolist(), round(mmse(prior), 6)
    ([0.0, 0.1], 0.002377)
    """
    if not 0 < theta_max <= LARGEST_THETA_MAX:
        raise InputError(f"theta_max is {theta_max:g}: give a positive number of at most {LARGEST_THETA_MAX:g}")
    risks, move = Risks(float(theta_max)), theta_max <= CROWDED
    # For large theta_max all but the floor's mass lies within 4 to 6 theta_max^(1/6) of the end in sqrt(theta), the
    # scale of Airy's equation, so the atoms need not start at 0.
    a = risks.even(max(0.0, np.sqrt(theta_max) - 7 * theta_max ** (1 / 6)), GRID if move else 2 * GRID)
    a, w, steps = _follow(risks, a, np.full(a.size, risks.rest / a.size), 0.1, move=False)
    if move:
        a, w = _heaps(a, w, risks)
    a, w, gap, taken = _exchange(risks, a, w, move)
    # The floor can go: all of it where the lowest atom alone bounds the risk at 0, else what is above that atom.
    lower = Risks(float(theta_max), below=0.0 if a[0] ** 2 < risks.mmse(a, w) else a[0])
    b, v, without, more = _exchange(lower, a, w / w.sum() * lower.rest, move)
    if without <= max(gap, TOLERANCE):
        risks, a, w, gap = lower, b, v, without
    return risks.prior(a, w), Convergence(gap, steps + taken + more, gap <= TOLERANCE, MEANING)


def _exchange(risks: Risks, a: Floats, w: Floats, move: bool) -> tuple[Floats, Floats, float, int]:
    """Settle the atoms, look for rates whose risk is too large, and add atoms there until there is none."""
    steps, missing = 0, np.zeros(0)
    for _ in range(60):
        if missing.size:
            a, w = _with_atoms(a, w, missing, risks, NEAR if move else NEAR / 20)
        a, w, taken = _follow(risks, a, w, BARRIER if move else 1e-9, move)
        a, w = _joined(a, w, risks, NEAR if move else 0.0)
        steps += taken
        peaks, heights = risks.peaks(risks.bayes(a, w)[1])
        value = risks.mmse(a, w)
        gap = float(heights.max()) / value - 1
        if gap <= TOLERANCE:
            break
        missing = peaks[heights > value * (1 + TOLERANCE / 2)]
    return a, w, gap, steps


def _follow(risks: Risks, a: Floats, w: Floats, barrier: float, move: bool) -> tuple[Floats, Floats, int]:
    """Down the central path: the best atoms and weights for one barrier after the other, to the last."""
    steps = 0
    for mu in np.geomspace(barrier, BARRIER, 1 + round(np.log10(barrier / BARRIER))):
        a, w, taken = _climb(risks, a, w, mu / a.size, move)
        steps += taken
    return a, w, steps


def _heaps(a: Floats, w: Floats, risks: Risks) -> tuple[Floats, Floats]:
    """One atom for each heap of weights on the grid."""
    heaps = np.append(0, np.flatnonzero((w[1:-1] <= w[:-2]) & (w[1:-1] < w[2:])) + 1)
    mass = np.add.reduceat(w, heaps)
    a = np.add.reduceat(a * w, heaps) / mass
    a[0], a[-1] = a[0] * (a[0] > 1e-3 * risks.theta_max), risks.theta_max
    a, w = a[mass > risks.light], mass[mass > risks.light]
    return a, w * risks.rest / w.sum()


def _climb(risks: Risks, a: Floats, w: Floats, mu: float, move: bool) -> tuple[Floats, Floats, int]:
    """Newton's method on mmse (1 + mu sum_j log w_j), in the weights' relative changes and, on request, the atoms."""
    table = list(risks.table(a))
    for step in range(1, 41):
        value = risks.mmse(a, w, table)
        growth, shift, gain = _newton_step(risks, a, w, table, mu * value, move)
        stride = float(np.abs(shift / np.maximum(2 * np.sqrt(a), 1e-9)).max())
        # No weight loses more than nine tenths, and no atom moves further than 0.2 in sqrt(theta).
        length = min(1.0, 0.9 / max(-growth.min(), 0.9), 0.2 / max(stride, 0.2))
        before = value + mu * value * np.log(w).sum()
        while True:
            new_a, new_w = np.clip(a + length * shift, 0.0, risks.theta_max), w * (1 + length * growth)
            new_w *= risks.rest / new_w.sum()
            if bool(np.all(np.diff(new_a) > 0)):
                new_table = list(risks.table(new_a)) if move else table
                after = risks.mmse(new_a, new_w, new_table) + mu * value * np.log(new_w).sum()
                # Where the gain drowns in rounding, Newton knows better than the difference of two values.
                if after >= before - 1e-13 * value or gain < 1e-11 * value:
                    break
            length /= 2
            if length < 1e-5:
                return a, w, step
        a, w, table = new_a, new_w, new_table
        if (max(np.abs(growth).max(), stride) < 1e-7) if move else (gain < 1e-3 * mu * value * a.size):
            break
    return a, w, step


def _newton_step(
    risks: Risks, a: Floats, w: Floats, table: list[Block], barrier: float, move: bool
) -> tuple[Floats, Floats, float]:
    """The relative change of each weight, the shift of each atom, and the gain they promise to first order.

    The second derivative of e^2 / m is 2 c c' / m with c = de - t dm, plus that of the risks at a fixed rule, which is
    w_j r''(a_j) in the atoms; both make the mmse concave where r'' < 0, and only there may an atom move.
    """
    k = a.size
    m, rule = risks.bayes(a, w, table)
    risk, *derivatives = risks.risk(a, rule, table, order=2 if move else 0)
    slope, bend = derivatives or np.zeros((2, k))
    free = np.flatnonzero((bend < 0) & (a > 0) & (a < risks.theta_max))
    gradient = np.concatenate([w * risk + barrier, (w * slope)[free]])
    curvature = np.diag(np.concatenate([np.full(k, barrier), -(w * bend)[free]]))
    for rates, counts, p in table:
        error = a[rates, None] - risks.x[counts] - rule[counts]
        moving = (free >= rates.start) & (free < rates.stop)
        here = free[moving] - rates.start
        # d/da [p (a - t)] = p + (a - t) p', and p' = p (x / a - 1).
        ratio = risks.x[counts] / a[free[moving], None] - 1
        c = np.concatenate([p * error, p[here] * (1 + error[here] * ratio)])
        c *= np.concatenate([w[rates], w[free[moving]]])[:, None] / np.sqrt(m[counts])
        rows = np.concatenate([np.arange(rates.start, rates.stop), k + np.flatnonzero(moving)])
        curvature[np.ix_(rows, rows)] += 2 * c @ c.T
    change = _constrained_step(curvature, gradient, np.concatenate([w, np.zeros(free.size)]), float(w @ risk))
    shift = np.zeros(k)
    shift[free] = change[k:]
    return change[:k], shift, float(change @ gradient)


def _constrained_step(curvature: Floats, gradient: Floats, normal: Floats, scale: float) -> Floats:
    """argmax gradient'd - d' curvature d / 2 subject to normal'd = 0.

    The mmse is homogeneous in the weights, so its curvature vanishes along them; a term that is constant under the
    constraint restores full rank.
    """
    curvature = curvature + scale * np.outer(normal, normal)
    unit = 1 / np.sqrt(np.diag(curvature))
    curvature *= unit
    curvature *= unit[:, None]
    right = np.stack([gradient, normal], axis=1) * unit[:, None]
    free, fixed = (solve(curvature, right, assume_a="sym", overwrite_a=True, check_finite=False) * unit[:, None]).T
    return np.asarray(free - (normal @ free) / (normal @ fixed) * fixed)


def _joined(a: Floats, w: Floats, risks: Risks, near: float) -> tuple[Floats, Floats]:
    """Leave out atoms that are light beside the floor and join those that met."""
    a, w = a[w > risks.light], w[w > risks.light]
    groups = np.append(0, np.flatnonzero(np.diff(np.sqrt(a)) > near * min(1.0, np.sqrt(a[-1]))) + 1)
    mass = np.add.reduceat(w, groups)
    # Relative to the last of its group, so that an atom alone, above all theta_max itself, stays exactly where it is.
    last = a[np.append(groups[1:], a.size) - 1]
    offset = np.add.reduceat(w * (a - last[np.searchsorted(last, a)]), groups)
    return last + offset / mass, mass * risks.rest / mass.sum()


def _with_atoms(a: Floats, w: Floats, new: Floats, risks: Risks, near: float) -> tuple[Floats, Floats]:
    """Put atoms where the risk is too large, light enough beside their neighbours not to disturb them."""
    new = new[np.abs(np.sqrt(new)[:, None] - np.sqrt(a)).min(axis=1) > near * min(1.0, np.sqrt(a[-1]))]
    light = 0.3 * np.exp(np.interp(np.sqrt(new), np.sqrt(a), np.log(w)))
    order = np.argsort(np.append(a, new))
    weights = np.append(w, light)[order]
    return np.append(a, new)[order], weights * risks.rest / weights.sum()
