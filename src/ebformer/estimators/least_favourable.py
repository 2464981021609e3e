"""The least favourable prior on [0, theta_max]: the one whose mmse is largest.

    mmse(w, a) = sum_j w_j r(a_j),   r(theta) = E_theta (theta - t(x))^2,   t = the Bayes rule of the prior itself,

is concave in the weights, and its derivative in w_j is again r(a_j): at the maximum r <= mmse everywhere, with equality
on the support. Far below theta_max the best weights sink under any floating-point number, so a FLOOR of fixed mass is
spread over the interval: it lowers the mmse by less than FLOOR and keeps the Bayes rule tame where no atom is near.

Newton's method runs first on the weights of a fixed grid, with a logarithmic barrier that follows every weight down;
what is left are narrow heaps. Each heap becomes one atom, and Newton moves atoms and weights together.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from ebformer.errors import InputError
from ebformer.posterior import Floats
from ebformer.prior import Prior
from ebformer.rule import Convergence

TOLERANCE = 1e-6
"""A prior is certified when no rate in [0, theta_max] has a risk above mmse (1 + TOLERANCE)."""
MEANING = "largest risk on [0, theta_max] / mmse - 1"
LARGEST = 1e4
"""The largest theta_max. The cost grows with it: 0.2 s of one core at 50, 1 s at 200, 4 s at 1000, 10 s at 3000."""

FLOOR = 3e-7
SPACING = 0.12
"""Of the first grid, in sqrt(theta), where one standard deviation of x is 1/2 and atoms end up at least 0.6 apart."""
BARRIER = 1e-12
"""The last weight of the barrier, relative to the mmse and shared by all atoms."""
LIGHT = 1e-10
"""An atom of less weight is no atom."""
NEAR = 0.02
"""Atoms that met: this near in sqrt(theta), or relative to the whole interval where that is short."""


@lru_cache(maxsize=64)
def least_favourable(theta_max: float) -> tuple[Prior, Convergence]:
    """The prior on [0, theta_max] with the largest mmse, with its certificate (the paper's lemma on worst-case priors).

    >>> from ebformer.posterior import mmse
    >>> prior, convergence = least_favourable(0.1)
    >>> prior.atoms.tolist(), round(mmse(prior), 6)
    ([0.0, 0.1], 0.002377)
    """
    if not 0 < theta_max <= LARGEST:
        raise InputError(f"theta_max is {theta_max:g}: give a positive number of at most {LARGEST:g}")
    everywhere = _Risks(float(theta_max))
    a, w, steps = _first_atoms(everywhere)
    a, w, gap, taken = _exchange(everywhere, a, w)
    answer = everywhere.prior(a, w), Convergence(gap, steps + taken, gap <= TOLERANCE, MEANING)
    if gap > TOLERANCE:
        return answer
    # The floor can go: all of it where the lowest atom alone bounds the risk at 0, else what is above that atom.
    risks = _Risks(float(theta_max), below=0.0 if a[0] ** 2 < everywhere.mmse(a, w) else a[0])
    a, w, gap, more = _exchange(risks, a, w / w.sum() * risks.rest)
    if gap > TOLERANCE:
        return answer
    return risks.prior(a, w), Convergence(gap, steps + taken + more, True, MEANING)


def _exchange(risks: _Risks, a: Floats, w: Floats) -> tuple[Floats, Floats, float, int]:
    """Settle the atoms, look for rates whose risk is too large, and add atoms there until there is none."""
    steps = 0
    for _ in range(60):
        a, w, taken = _climb(risks, a, w, BARRIER / a.size, move=True)
        a, w = _joined(a, w, risks.rest)
        steps += taken
        peaks, heights = risks.peaks(risks.bayes(a, w)[1])
        value = risks.mmse(a, w)
        gap = float(heights.max()) / value - 1
        if gap <= TOLERANCE:
            break
        a, w = _with_atoms(a, w, peaks[heights > value * (1 + TOLERANCE / 2)], risks.rest)
    return a, w, gap, steps


Block = tuple[slice, slice, Floats]


class _Risks:
    """Poisson tables on [0, theta_max], in blocks of counts with the rates within reach, and what follows from them."""

    def __init__(self, theta_max: float, below: float = np.inf) -> None:
        self.theta_max = theta_max
        self.counts = int(theta_max + 9 * np.sqrt(theta_max) + 30)
        edges = np.arange(0, 4 + int(np.sqrt(self.counts)) + 1, 4) ** 2
        self.edges = np.minimum(edges, self.counts)
        self.log_factorial = gammaln(np.arange(self.counts) + 1.0)
        floor = self.even(0.0, 0.5)
        self.floor = floor[floor < below]
        self.floor_table = self.table(self.floor)
        self.mass = np.full(self.floor.size, FLOOR / floor.size)
        self.rest = 1 - float(self.mass.sum())

    def even(self, low: float, spacing: float) -> Floats:
        """Rates evenly spaced in sqrt(theta), from low to the end."""
        roots = np.linspace(low, np.sqrt(self.theta_max), 3 + int((np.sqrt(self.theta_max) - low) / spacing))
        return np.append(roots[:-1] ** 2, self.theta_max)

    def table(self, theta: Floats) -> list[Block]:
        """Which rates, which counts, p(x | theta) [rates, counts]; what is left out is below 1e-30."""
        blocks = []
        for start, stop in zip(self.edges[:-1], self.edges[1:], strict=True):
            reach = np.searchsorted(np.sqrt(theta), [np.sqrt(start) - 6, np.sqrt(stop) + 6])
            rates, counts = slice(*reach), slice(start, stop)
            rate = theta[rates, None]
            log_p = np.arange(start, stop) * np.log(np.maximum(rate, 1e-300)) - rate - self.log_factorial[counts]
            blocks.append((rates, counts, np.exp(log_p)))
        return blocks

    def bayes(self, a: Floats, w: Floats, table: list[Block] | None = None) -> tuple[Floats, Floats]:
        """The marginal and the Bayes rule of atoms and floor together; the rule two counts further, for differences."""
        m, e = np.zeros(self.counts), np.zeros(self.counts)
        for theta, mass, blocks in ((self.floor, self.mass, self.floor_table), (a, w, table or self.table(a))):
            for rates, counts, p in blocks:
                m[counts] += mass[rates] @ p
                e[counts] += (mass * theta)[rates] @ p
        t = e / m
        return m, np.append(t, t[[-1, -1]])

    def risk(self, theta: Floats, t: Floats, table: list[Block] | None = None, derivatives: int = 0) -> Floats:
        """r(theta) and its first derivatives: d/dtheta E g(x) = E [g(x + 1) - g(x)] for Poisson x."""
        answer = np.zeros((1 + derivatives, theta.size))
        for rates, counts, p in table or self.table(theta):
            e = [theta[rates, None] - t[counts.start + i : counts.stop + i] for i in range(1 + derivatives)]
            answer[0, rates] += (p * e[0] ** 2).sum(axis=1)
            if derivatives > 0:
                answer[1, rates] += (p * (e[1] ** 2 - e[0] ** 2 + 2 * e[0])).sum(axis=1)
            if derivatives > 1:
                bend = e[2] ** 2 - 2 * e[1] ** 2 + e[0] ** 2 + 4 * (e[1] - e[0]) + 2
                answer[2, rates] += (p * bend).sum(axis=1)
        return answer

    def mmse(self, a: Floats, w: Floats, table: list[Block] | None = None) -> float:
        """The mmse of atoms and floor together."""
        table = table or self.table(a)
        _, t = self.bayes(a, w, table)
        return float(w @ self.risk(a, t, table)[0] + self.mass @ self.risk(self.floor, t, self.floor_table)[0])

    def prior(self, a: Floats, w: Floats) -> Prior:
        """Atoms and floor together."""
        return Prior(np.append(a, self.floor), np.append(w, self.mass))

    def peaks(self, t: Floats) -> tuple[Floats, Floats]:
        """The local maxima of the risk on [0, theta_max], by sign changes of r', polished, and their heights."""
        grid = self.even(0.0, 0.05)
        slope = self.risk(grid, t, derivatives=1)[1]
        at = np.flatnonzero((slope[:-1] > 0) & (slope[1:] <= 0))
        low, high = grid[at], grid[at + 1]
        theta = (low + high) / 2
        for _ in range(60):
            _, slope, bend = self.risk(theta, t, derivatives=2)
            low, high = np.where(slope > 0, theta, low), np.where(slope > 0, high, theta)
            newton = theta - slope / np.where(bend < 0, bend, -np.inf)
            middle = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
            if np.all(np.abs(middle - theta) <= 1e-9 * (high + low)):
                break
            theta = middle
        theta = np.concatenate([[0.0], theta, [self.theta_max]])
        return theta, self.risk(theta, t)[0]


def _first_atoms(risks: _Risks) -> tuple[Floats, Floats, int]:
    """Optimal weights on a grid, one atom for each heap of them.

    For large theta_max all but the floor's mass lies within 4 to 6 theta_max^(1/6) of the end in sqrt(theta), the
    scale of Airy's equation, so the grid need not start at 0.
    """
    a = risks.even(max(0.0, np.sqrt(risks.theta_max) - 7 * risks.theta_max ** (1 / 6)), SPACING)
    w = np.full(a.size, risks.rest / a.size)
    steps = 0
    for barrier in np.geomspace(0.1, BARRIER, 12):
        a, w, taken = _climb(risks, a, w, barrier / a.size, move=False)
        steps += taken
    valleys = np.flatnonzero((w[1:-1] <= w[:-2]) & (w[1:-1] < w[2:])) + 1
    heaps = np.append(0, valleys)
    mass = np.add.reduceat(w, heaps)
    a = np.add.reduceat(a * w, heaps) / mass
    a[0], a[-1] = a[0] * (a[0] > 1e-3 * risks.theta_max), risks.theta_max
    return a[mass > LIGHT], mass[mass > LIGHT] * risks.rest / mass[mass > LIGHT].sum(), steps


def _climb(risks: _Risks, a: Floats, w: Floats, mu: float, move: bool) -> tuple[Floats, Floats, int]:
    """Newton's method on mmse (1 + mu sum_j log w_j), in the weights' relative changes and, on request, the atoms."""
    table = risks.table(a)
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
                new_table = risks.table(new_a) if move else table
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
    risks: _Risks, a: Floats, w: Floats, table: list[Block], barrier: float, move: bool
) -> tuple[Floats, Floats, float]:
    """The relative change of each weight, the shift of each atom, and the gain they promise to first order.

    The second derivative of e^2 / m is 2 c c' / m with c = de - t dm, plus that of the risks at a fixed rule, which is
    w_j r''(a_j) in the atoms; both make the mmse concave where r'' < 0, and only there may an atom move.
    """
    k = a.size
    m, t = risks.bayes(a, w, table)
    risk, slope, bend = risks.risk(a, t, table, derivatives=2)
    free = np.flatnonzero(move & (bend < 0) & (a > 0) & (a < risks.theta_max))
    gradient = np.concatenate([w * risk + barrier, (w * slope)[free]])
    curvature = np.diag(np.concatenate([np.full(k, barrier), -(w * bend)[free]]))
    for rates, counts, p in table:
        error = a[rates, None] - t[counts]
        moving = (free >= rates.start) & (free < rates.stop)
        here = free[moving] - rates.start
        # d/da [p (a - t)] = p + (a - t) p', and p' = p (x / a - 1).
        ratio = np.arange(counts.start, counts.stop) / a[free[moving], None] - 1
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
    right = np.stack([gradient, normal], axis=1) * unit[:, None]
    free, fixed = (np.linalg.solve(curvature * unit * unit[:, None], right) * unit[:, None]).T
    return np.asarray(free - (normal @ free) / (normal @ fixed) * fixed)


def _joined(a: Floats, w: Floats, total: float) -> tuple[Floats, Floats]:
    """Leave out atoms without weight and join those that met."""
    a, w = a[w > LIGHT], w[w > LIGHT]
    groups = np.append(0, np.flatnonzero(np.diff(np.sqrt(a)) > NEAR * min(1.0, np.sqrt(a[-1]))) + 1)
    mass = np.add.reduceat(w, groups)
    # Relative to the last of its group, so that an atom alone, above all theta_max itself, stays exactly where it is.
    last = a[np.append(groups[1:], a.size) - 1]
    offset = np.add.reduceat(w * (a - last[np.searchsorted(last, a)]), groups)
    return last + offset / mass, mass * total / mass.sum()


def _with_atoms(a: Floats, w: Floats, new: Floats, total: float) -> tuple[Floats, Floats]:
    """Put atoms where the risk is too large, light enough beside their neighbours not to disturb them."""
    new = new[np.abs(np.sqrt(new)[:, None] - np.sqrt(a)).min(axis=1) > NEAR * min(1.0, np.sqrt(a[-1]))]
    light = 0.3 * np.exp(np.interp(np.sqrt(new), np.sqrt(a), np.log(w)))
    order = np.argsort(np.append(a, new))
    weights = np.append(w, light)[order]
    return np.append(a, new)[order], weights * total / weights.sum()
