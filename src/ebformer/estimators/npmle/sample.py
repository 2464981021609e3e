"""What the data say about a mixing distribution: the likelihood of a tally, and its gradient over a whole interval."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ebformer.bayes.marginal import Floats
from ebformer.channels.poisson import deviance
from ebformer.tally import Tally

STEP = 0.1
"""Spacing of the lattice in sqrt(exposure * theta), a fifth of the standard deviation of sqrt(x)."""
SMALLEST = 1e-100
"""Stands for theta = 0, where p(x | theta) / theta would be 0/0; no observation can tell the two apart."""

BLOCK = 4_000_000
"""Entries of a kernel that are computed at a time."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct observations x [u] with exposures t [u] and frequencies q [u], and the interval that holds the atoms.

    A mixing distribution G has log-likelihood sum_k q_k log F_k with F_k = E_G[A_k(theta)]; rows are scaled to
    A_k(theta) = p(x_k | t_k theta) / p(x_k | m_k), at most 1, where m_k = min(x_k, t_k high) is the mean that suits x_k
    best. Its gradient is D(theta) = sum_k q_k A_k(theta) / F_k: G is the NPMLE if and only if D <= 1 everywhere
    (Lindsay 1983), and no atom lies outside [min x/t, max x/t].
    """

    x: Floats
    t: Floats
    q: Floats
    low: float
    high: float

    @classmethod
    def of(cls, tally: Tally, theta_max: float | None = None) -> Sample:
        """The sample of a tally, with atoms of at most `theta_max`.

        >>> sample = Sample.of(Tally.of([0, 3, 9]))
        >>> sample.high, sample.q.round(3).tolist()
        (9.0, [0.333, 0.333, 0.333])
        """
        return cls.of_shares(tally.x, tally.known, tally.multiplicity / tally.n, theta_max)

    @classmethod
    def of_shares(cls, x: Floats, t: Floats, q: Floats, theta_max: float | None = None) -> Sample:
        """The sample in which a share q [u] of the units, of sum 1, has exposure t and shows x."""
        rates = x / t
        high = float(rates.max()) if theta_max is None else min(float(rates.max()), theta_max)
        low = min(float(rates.min()), high)
        return cls(x, t, q, max(low, SMALLEST), max(high, SMALLEST))

    @functools.cached_property
    def nearest(self) -> Floats:
        """m [u]: x itself, or t high for an observation beyond, whose row rises all the way to `high`."""
        return np.where(self.x / self.t > self.high, self.t * self.high, self.x)

    @functools.cached_property
    def beyond(self) -> NDArray[np.intp]:
        """Which observations exceed the mean of every admissible theta."""
        return np.flatnonzero(self.x > self.nearest)

    def kernel(self, theta: Floats) -> Floats:
        """A [u, k], in blocks that bound the memory of what lies between."""
        if self.x.size * theta.size > BLOCK and theta.size > 1:
            return np.concatenate([self.kernel(half) for half in np.array_split(theta, 2)], axis=1)
        fall = deviance(self.nearest[:, None], self.t[:, None] * theta)
        if self.beyond.size:
            # x log(m / mean) - m + mean, written as a sum of positive terms: at x = 10^16 no digit may be lost.
            x, m, t = (array[self.beyond, None] for array in (self.x, self.nearest, self.t))
            fall[self.beyond] = (x / m) * fall[self.beyond] + (x - m) * ((m - t * theta) / m)
        return np.exp(-fall)

    def jet(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """A and its first two derivatives in theta, each [u, k]."""
        a = self.kernel(theta)
        residual = self.x[:, None] - self.t[:, None] * theta
        per_theta = a / theta
        return a, per_theta * residual, per_theta * ((residual * residual - self.x[:, None]) / theta)

    def lattice(self, step: float = STEP) -> Floats:
        """Points that resolve D wherever it can have a maximum, at spacing `step` in sqrt(t theta) or finer.

        At a maximum D'' = sum_k q_k A_k ((x_k - t_k theta)^2 - x_k) / (theta^2 F_k) <= 0, so some observation has
        |x_k - t_k theta| <= sqrt(x_k): the union of these intervals is enough. Spacings are halved, never divided
        otherwise, so that the lattices of unequal exposures share their points.

        >>> (Sample.of(Tally.of([0, 9])).lattice(0.5) ** 0.5).tolist()
        [1e-50, 2.0, 2.5, 3.0]
        """
        root, deviation = np.sqrt(self.t), np.sqrt(self.x)
        first, last = np.sqrt(self.x - deviation) / root, np.sqrt(self.x + deviation) / root
        halvings = np.ceil(np.log2(root))
        pieces = []
        for level in np.unique(halvings):
            unit = step * 2.0**-level
            at = halvings == level
            order = np.argsort(first[at], kind="stable")
            starts = np.floor(first[at][order] / unit)
            ends = np.maximum.accumulate(np.ceil(last[at][order] / unit))
            gaps = np.flatnonzero(starts[1:] > ends[:-1])
            for i, j in zip([0, *(gaps + 1)], [*gaps, starts.size - 1], strict=True):
                pieces.append((unit * np.arange(starts[i], ends[j] + 1)) ** 2)
        theta = np.concatenate([*pieces, self.ascent(step)])
        inside = theta[(theta > self.low) & (theta < self.high)]
        return np.unique(np.concatenate([[self.low], inside, [self.high]]))

    def ascent(self, step: float = STEP) -> Floats:
        """Points that resolve the rows of x beyond `high`, which rise like exp(-(x - t high) (1 - theta / high)).

        They halve the distance to `high` from one cell of the lattice to the scale of the steepest of these rows.

        >>> Sample.of_shares(np.array([0.0, 1e3]), np.ones(2), np.full(2, 0.5), theta_max=4.0).ascent().round(3)
        array([3.8  , 3.9  , 3.95 , 3.975, 3.988, 3.994, 3.997, 3.998])
        """
        if self.beyond.size == 0:
            return np.empty(0)
        t = self.t[self.beyond]
        steepest = float((self.x[self.beyond] - t * self.high).max())
        cell = step / np.sqrt(float(t.max()) * self.high)
        halvings = min(max(int(np.ceil(np.log2(cell * steepest / (2 * step)))), 0), 26)
        points: Floats = self.high * (1 - min(cell, 0.5) * 0.5 ** np.arange(halvings))
        return points

    def peaks(self, lattice: Floats, kernel: Floats, atoms: Floats, f: Floats) -> tuple[Floats, Floats]:
        """Every local maximum of D over [low, high] that may exceed 1, and D there.

        Maxima are found where D' falls through 0 between neighbours among lattice and atoms, then polished by Newton:
        the largest value on a lattice would under-report the gap. `kernel` is A on the lattice, `f` is F [u].
        """
        c = self.q / f
        at_atoms, slope_at_atoms, _ = self.jet(atoms)
        nodes = np.concatenate([lattice, atoms])
        order = np.argsort(nodes, kind="stable")
        nodes = nodes[order]
        height = np.concatenate([c @ kernel, c @ at_atoms])[order]
        slope = np.concatenate([((c * self.x) @ kernel) / lattice - (c * self.t) @ kernel, c @ slope_at_atoms])[order]
        # Between nodes D rises above both by less than 5 %, so lower maxima cannot reach 1.
        falls = (slope[:-1] > 0) & (slope[1:] <= 0) & (np.maximum(height[:-1], height[1:]) > 0.95)
        i = np.flatnonzero(falls)
        inner = nodes[i] + (nodes[i + 1] - nodes[i]) * (slope[i] / (slope[i] - slope[i + 1]))
        ends = [self.low] * bool(slope[0] <= 0) + [self.high] * bool(slope[-1] > 0)
        top = np.concatenate([inner, ends])
        for _ in range(6):
            a, da, dda = self.jet(top)
            d, dd, ddd = c @ a, c @ da, c @ dda
            newton = np.where(ddd < 0, top - dd / np.minimum(ddd, -SMALLEST), top)
            moved = np.minimum(np.maximum(newton, self.low), self.high)
            if float(np.abs((moved - top) * dd).max()) < 1e-16:
                break
            top = moved
        return top, d
