"""What the data say about a mixing distribution: the likelihood of a tally, and its gradient over a whole interval."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ebformer.channels.base import Channel, Floats
from ebformer.tally import Tally

STEP = 0.2
"""Spacing of the lattice in the stable coordinate, per standard deviation of the noise."""
TINY = 1e-100
"""The least bend that a quadratic model is divided by."""
BLOCK = 4_000_000
"""Entries of a kernel that are computed at a time."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct observations x [u], what is known of them [u], their frequencies q [u], and where the atoms may be.

    A mixing distribution G has log-likelihood sum_k q_k log F_k with F_k = E_G[A_k(theta)]; rows are scaled to
    A_k(theta) = p(x_k | theta) / p(x_k | b_k), at most 1, where b_k is the theta in [low, high] that suits x_k best.
    Its gradient is D(theta) = sum_k q_k A_k(theta) / F_k: G is the NPMLE if and only if D <= 1 everywhere
    (Lindsay 1983), and no atom lies outside [min mle, max mle]. Ends of the domain are replaced by `channel.inside`.
    """

    channel: Channel
    x: Floats
    known: Floats
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
        return cls.of_shares(tally.channel, tally.x, tally.known, tally.multiplicity / tally.n, theta_max)

    @classmethod
    def of_shares(cls, channel: Channel, x: Floats, known: Floats, q: Floats, theta_max: float | None = None) -> Sample:
        """The sample in which a share q [u] of the units, of sum 1, shows x."""
        mle = np.clip(channel.mle(x, known), *channel.inside)
        high = float(mle.max()) if theta_max is None else min(float(mle.max()), max(theta_max, channel.inside[0]))
        return cls(channel, x, known, q, min(float(mle.min()), high), high)

    def part(self, chosen: NDArray[np.intp], share: float) -> Sample:
        """Some of the observations, which make up this share of the units, on their own."""
        q = self.q[chosen] / share
        return Sample.of_shares(self.channel, self.x[chosen], self.known[chosen], q, self.high)

    @functools.cached_property
    def beyond(self) -> NDArray[np.intp]:
        """Which observations would be explained best by a theta above `high`; their rows rise all the way to it."""
        return np.flatnonzero(np.minimum(self.channel.mle(self.x, self.known), self.channel.inside[1]) > self.high)

    @functools.cached_property
    def nearest(self) -> Floats:
        """x [u] itself or, for an observation beyond, the one that `high` suits best."""
        x = self.x.copy()
        x[self.beyond] = self.channel.mean(np.asarray(self.high), self.known[self.beyond])
        return x

    def kernel(self, theta: Floats) -> Floats:
        """A [u, k], in blocks that bound the memory of what lies between."""
        if self.x.size * theta.size > BLOCK and theta.size > 1:
            return np.concatenate([self.kernel(half) for half in np.array_split(theta, 2)], axis=1)
        fall = self.channel.deviance(self.x[:, None], theta, self.known[:, None])
        if self.beyond.size:
            x, known = self.x[self.beyond, None], self.known[self.beyond, None]
            fall[self.beyond] = self.channel.fall(x, theta, known, np.asarray(self.high))
        return np.exp(-fall)

    def jet(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """A and its first two derivatives in theta, each [u, k]."""
        a = self.kernel(theta)
        first, second = self.channel.derivatives(self.x[:, None], theta, self.known[:, None])
        return a, a * first, a * second

    def slope(self, theta: Floats, a: Floats, c: Floats) -> Floats:
        """c A' [k], where A [u, k] is known."""
        if a.size > BLOCK and theta.size > 1:
            halves = zip(np.array_split(theta, 2), np.array_split(a, 2, axis=1), strict=True)
            return np.concatenate([self.slope(half, part, c) for half, part in halves])
        return np.asarray(c @ (a * self.channel.derivatives(self.x[:, None], theta, self.known[:, None])[0]))

    def lattice(self, step: float = STEP) -> Floats:
        """Points that resolve D wherever it can have a maximum, at spacing `step` or finer in the stable coordinate.

        At a maximum D'' = sum_k q_k A_k'' / F_k <= 0, so some observation bends down there: the union of these
        intervals is enough. Spacings are halved, never divided otherwise, so that the lattices of observations with
        unequal noise share their points.

        >>> (Sample.of(Tally.of([0, 9])).lattice(1.0) ** 0.5).tolist()
        [1e-50, 2.0, 2.5, 3.0]
        """
        first, last = (self.channel.coordinate(theta) for theta in self.channel.concave(self.x, self.known))
        levels = np.floor(np.log2(self.channel.noise(self.known)))
        pieces = []
        for level in np.unique(levels):
            unit = step * 2.0**level
            at = levels == level
            order = np.argsort(first[at], kind="stable")
            starts = np.floor(first[at][order] / unit)
            ends = np.maximum.accumulate(np.ceil(last[at][order] / unit))
            gaps = np.flatnonzero(starts[1:] > ends[:-1])
            for i, j in zip([0, *(gaps + 1)], [*gaps, starts.size - 1], strict=True):
                pieces.append(self.channel.at_coordinate(unit * np.arange(starts[i], ends[j] + 1)))
        theta = np.concatenate([*pieces, self.ascent(step)])
        inside = theta[(theta > self.low) & (theta < self.high)]
        return np.unique(np.concatenate([[self.low], inside, [self.high]]))

    def ascent(self, step: float = STEP) -> Floats:
        """Points that resolve the rows of observations beyond `high`, which rise like exp(-slope (high - theta)).

        They halve the distance to `high` from half a cell of the lattice to the scale of the steepest of these rows.

        >>> from ebformer.channels import POISSON
        >>> shares = np.array([0.0, 1e3]), np.ones(2), np.full(2, 0.5)
        >>> Sample.of_shares(POISSON, *shares, theta_max=4.0).ascent().round(3)
        array([3.802, 3.901, 3.951, 3.975, 3.988, 3.994, 3.997, 3.998])
        """
        if self.beyond.size == 0:
            return np.empty(0)
        high, known = np.asarray(self.high), self.known[self.beyond]
        steepest = float(self.channel.derivatives(self.x[self.beyond], high, known)[0].max())
        u = self.channel.coordinate(high) - 0.5 * step * self.channel.noise(known).min()
        width = high - self.channel.at_coordinate(u)
        halvings = min(max(int(np.ceil(np.log2(float(width) * steepest / step))), 0), 26)
        return np.asarray(high - width * 0.5 ** np.arange(halvings))

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
        slope = np.concatenate([self.slope(lattice, kernel, c), c @ slope_at_atoms])[order]
        # Between nodes D rises above both by less than 5 %, so lower maxima cannot reach 1.
        falls = (slope[:-1] > 0) & (slope[1:] <= 0) & (np.maximum(height[:-1], height[1:]) > 0.95)
        i = np.flatnonzero(falls)
        inner = nodes[i] + (nodes[i + 1] - nodes[i]) * (slope[i] / (slope[i] - slope[i + 1]))
        ends = [self.low] * bool(slope[0] <= 0) + [self.high] * bool(slope[-1] > 0)
        top = np.concatenate([inner, ends])
        for _ in range(6):
            a, da, dda = self.jet(top)
            d, dd, ddd = c @ a, c @ da, c @ dda
            newton = np.where(ddd < 0, top - dd / np.minimum(ddd, -TINY), top)
            moved = np.minimum(np.maximum(newton, self.low), self.high)
            if float(np.abs((moved - top) * dd).max()) < 1e-16:
                break
            top = moved
        return top, d
