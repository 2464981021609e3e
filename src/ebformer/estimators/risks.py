"""The risk of Bayes rules at every rate in [0, theta_max], and their mmse, from tables of Poisson probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from scipy.special import ndtr

from ebformer.channels.poisson import deviance, log_peak
from ebformer.distributions import Floats
from ebformer.prior import Prior

FLOOR = 3e-7
"""The mass that is spread evenly over the interval, in sqrt(theta), beside the atoms."""
SMOOTH, NODES = 33.0, 0.125
"""From about this sqrt(x) on, sums over counts become sums over nodes with this spacing in sqrt(x)."""

Block = tuple[slice, slice, Floats]
"""Which rates, which counts, and p(x | theta) [rates, counts]."""


def _quadrature(last: float) -> tuple[Floats, Floats]:
    """Nodes x and weights with sum_x g(x) = weights @ g(nodes), x up to last, for all g that are summed here.

    Every count while x is small. Where it is large, the sum is the integral 2 int g(s^2) s ds, and that the trapezoid
    rule in s = sqrt(x): both hold to exp(-2 pi c / NODES), below 1e-16, since p(x | theta) has width 1/2 in s and the
    nearest pole of the Bayes rule lies c = pi / (4 distance of neighbouring atoms), some 0.8, off the real line.
    Gaussian weights, too wide for either rule to resolve, lead from one to the other; up to 500 all are counts.
    """
    counts = np.arange(min(last, (SMOOTH + 6) ** 2) + 1)
    roots = np.arange(SMOOTH - 6, max(np.sqrt(last), SMOOTH - 6), NODES)
    nodes = np.append(counts, roots**2)
    weights = np.append(ndtr(2 * (SMOOTH - np.sqrt(counts))), 2 * NODES * roots * ndtr(2 * (roots - SMOOTH)))
    order = np.argsort(nodes)
    order = order[weights[order] > 1e-20]
    return nodes[order], weights[order]


class Risks:
    """Poisson tables on [0, theta_max], in blocks of counts with the rates within reach, and what follows from them.

    The FLOOR lies on the rates `floor`, those `below` a rate, and leaves `rest` to the atoms; an atom of weight `light`
    or less is lost beside it.
    """

    def __init__(self, theta_max: float, below: float = np.inf) -> None:
        self.theta_max = theta_max
        self.x, weights = _quadrature(theta_max + 9 * np.sqrt(theta_max) + 30)
        self.log_peak = log_peak(self.x) + np.log(weights)
        self.edges = np.append(np.searchsorted(self.x, np.arange(0, np.sqrt(self.x[-1]), 4) ** 2), self.x.size)
        floor = self.even(0.0, 0.5)
        self.light = 0.01 * FLOOR / floor.size
        self.floor = floor[floor < below]
        self.mass = np.full(self.floor.size, FLOOR / floor.size)
        self.rest = 1 - float(self.mass.sum())
        # The moments of the floor about each count: [3, counts].
        self.moments = np.zeros((3, self.x.size))
        for rates, counts, p in self.table(self.floor):
            offset = self.floor[rates, None] - self.x[counts]
            self.moments[:, counts] = [self.mass[rates] @ (p * offset**power) for power in range(3)]

    def even(self, low: float, spacing: float) -> Floats:
        """Rates evenly spaced in sqrt(theta), from low to the end."""
        roots = np.linspace(low, np.sqrt(self.theta_max), 3 + int((np.sqrt(self.theta_max) - low) / spacing))
        return np.append(roots[:-1] ** 2, self.theta_max)

    def table(self, theta: Floats) -> Iterator[Block]:
        """The blocks for sorted rates; what is left out is below 1e-30."""
        theta = np.maximum(theta, 1e-12 * self.theta_max)
        for counts in map(slice, self.edges[:-1], self.edges[1:]):
            x = self.x[counts]
            rates = slice(*np.searchsorted(np.sqrt(theta), [np.sqrt(x[0]) - 6, np.sqrt(x[-1]) + 6]))
            if rates.start < rates.stop:
                yield rates, counts, np.exp(self.log_peak[counts] - deviance(x, theta[rates, None]))

    def bayes(self, a: Floats, w: Floats, table: Iterable[Block] | None = None) -> tuple[Floats, Floats]:
        """The marginal and the Bayes rule, less x, of atoms and floor together."""
        m, e, _ = self.moments.copy()
        for rates, counts, p in table or self.table(a):
            m[counts] += w[rates] @ p
            e[counts] += w[rates] @ (p * (a[rates, None] - self.x[counts]))
        return m, e / m

    def risk(self, theta: Floats, shift: Floats, table: Iterable[Block] | None = None, order: int = 0) -> Floats:
        """r(theta) and its derivatives, two at most: [order + 1, rates]; those of p are p (x / theta - 1) and so on."""
        answer = np.zeros((order + 1, theta.size))
        theta = np.maximum(theta, 1e-12 * self.theta_max)
        for rates, counts, p in table or self.table(theta):
            rate, x = theta[rates, None], self.x[counts]
            error = rate - x - shift[counts]
            answer[0, rates] += (p * error**2).sum(axis=1)
            if order > 0:
                score = x / rate - 1
                answer[1, rates] += (p * error * (error * score + 2)).sum(axis=1)
            if order > 1:
                answer[2, rates] += (p * (error**2 * (score**2 - x / rate**2) + 4 * error * score + 2)).sum(axis=1)
        return answer

    def mmse(self, a: Floats, w: Floats, table: Iterable[Block] | None = None) -> float:
        """The mmse of atoms and floor together."""
        shift = self.bayes(a, w, table)[1]
        floor = self.moments[2] - 2 * self.moments[1] * shift + self.moments[0] * shift**2
        return float(w @ self.risk(a, shift, table)[0] + floor.sum())

    def prior(self, a: Floats, w: Floats) -> Prior:
        """Atoms and floor together."""
        return Prior(np.append(a, self.floor), np.append(w, self.mass))

    def peaks(self, shift: Floats) -> tuple[Floats, Floats]:
        """The high local maxima of the risk on [0, theta_max], by sign changes of r', polished, and their heights."""
        grid = self.even(0.0, 0.05)
        risk, slope = self.risk(grid, shift, order=1)
        # Between two neighbours of the grid the risk rises by less than a hundredth.
        high = (slope[:-1] > 0) & (slope[1:] <= 0) & (risk[:-1] > 0.98 * risk.max())
        low, high = grid[:-1][high], grid[1:][high]
        theta = (low + high) / 2
        for _ in range(60):
            _, slope, bend = self.risk(theta, shift, order=2)
            low, high = np.where(slope > 0, theta, low), np.where(slope > 0, high, theta)
            newton = theta - slope / np.where(bend < 0, bend, -np.inf)
            middle = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
            if np.all(np.abs(middle - theta) <= 1e-9 * (high + low)):
                break
            theta = middle
        theta = np.concatenate([[0.0], theta, [self.theta_max]])
        return theta, self.risk(theta, shift)[0]
