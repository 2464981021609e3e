"""What the data say about a mixing distribution: observations, and how likely each is under every theta."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.tally import Tally

SILENT = 45.0
"""Where the likelihood of an observation is exp(-SILENT) = 3e-20 of its largest, it has nothing to say."""
STEP = 0.2
"""Spacing of the lattice in the stable coordinate, per standard deviation of the noise."""
WHOLE = 1_000_000
"""Entries of a matrix, observations by points of the lattice, that is held as a whole."""
ROWS = 256
"""Observations in a block of a larger one."""
CHUNK = 1_000_000
"""Entries of a kernel that are computed at a time."""


class Block(NamedTuple):
    """Observations of like noise that are close together, and the interval outside of which they are silent.

    `rows` says which they are, `unit` is the spacing of the lattice that resolves them.
    """

    rows: NDArray[np.intp] | slice
    sample: Sample
    first: float
    last: float
    unit: float

    def reach(self, points: Floats) -> slice:
        """Which of these points, which are sorted, the block has to be asked about."""
        start, stop = np.searchsorted(points, [self.first, self.last])
        return slice(int(start), int(stop))


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
        return cls(channel, x, known, np.ascontiguousarray(q), min(float(mle.min()), high), high)

    def part(self, chosen: NDArray[np.intp], share: float) -> Sample:
        """Some of the observations, which make up this share of the units, on their own."""
        q = self.q[chosen] / share
        return Sample.of_shares(self.channel, self.x[chosen], self.known[chosen], q, self.high)

    def merged(self, width: float) -> Sample:
        """About the same observations, but fewer: moved together by no more than `width` of their noise."""
        moved = np.stack(self.channel.merge(self.x, self.known, self.q, width))
        (x, known), which = np.unique(moved, axis=1, return_inverse=True)
        q = np.asarray(np.bincount(which.reshape(-1), self.q), dtype=np.float64)
        return Sample.of_shares(self.channel, x, known, q, self.high)

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

    @functools.cached_property
    def speaking(self) -> tuple[Floats, Floats]:
        """Outside of these intervals, first and last theta [u], observations are silent."""
        # The row of an observation beyond `high` falls faster still than that of its nearest.
        return self.channel.within(self.nearest, self.known, SILENT)

    @functools.cached_property
    def units(self) -> Floats:
        """The spacing of a lattice that resolves each observation, [u]: STEP of its noise, rounded down.

        Spacings are halved, never divided otherwise, so that the lattices of unequal noise share their points.
        """
        return np.asarray(STEP * 2.0 ** np.floor(np.log2(self.channel.noise(self.known))))

    def kernel(self, theta: Floats) -> Floats:
        """A [u, k], in chunks that bound the memory of what lies between."""
        if self.x.size * theta.size > CHUNK and theta.size > 1:
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

    @functools.cached_property
    def lattice(self) -> Floats:
        """Points [k] that resolve D wherever it can have a maximum.

        At a maximum D'' = sum_k q_k A_k'' / F_k <= 0, so some observation bends down there: the union of these
        intervals is enough.

        >>> (Sample.of(Tally.of([0, 1, 400])).lattice ** 0.5)[[0, 1, 2, -3, -2, -1]].round(3).tolist()
        [0.0, 0.1, 0.2, 19.8, 19.9, 20.0]
        """
        first, last = (self.channel.coordinate(theta) for theta in self.channel.concave(self.x, self.known))
        pieces = []
        for unit in np.unique(self.units):
            alike = self.units == unit
            start, end = np.floor(first[alike] / unit), np.ceil(last[alike] / unit)
            for run in clusters(start, end):
                pieces.append(self.channel.at_coordinate(unit * np.arange(start[run[0]], end[run].max() + 1)))
        theta = np.concatenate([*pieces, self.ascent])
        inside = theta[(theta > self.low) & (theta < self.high)]
        return np.unique(np.concatenate([[self.low], inside, [self.high]]))

    @property
    def ascent(self) -> Floats:
        """Points that resolve the rows of observations beyond `high`, which rise like exp(-slope (high - theta)).

        They halve the distance to `high` from half a cell of the lattice to the scale of the steepest of these rows.

        >>> from ebformer.channels import POISSON
        >>> shares = np.array([0.0, 1e3]), np.ones(2), np.full(2, 0.5)
        >>> Sample.of_shares(POISSON, *shares, theta_max=4.0).ascent.round(3)
        array([3.802, 3.901, 3.951, 3.975, 3.988, 3.994, 3.997, 3.998])
        """
        if self.beyond.size == 0:
            return np.empty(0)
        high, known = np.asarray(self.high), self.known[self.beyond]
        steepest = float(self.channel.derivatives(self.x[self.beyond], high, known)[0].max())
        u = self.channel.coordinate(high) - 0.5 * STEP * self.channel.noise(known).min()
        width = high - self.channel.at_coordinate(u)
        halvings = min(max(int(np.ceil(np.log2(float(width) * steepest / STEP))), 0), 26)
        return np.asarray(high - width * 0.5 ** np.arange(halvings))

    @functools.cached_property
    def blocks(self) -> list[Block]:
        """The observations as a whole or, where there are too many, in blocks to be asked only where they speak."""
        whole = Block(slice(None), self, -np.inf, np.inf, float(self.units.min()))
        if self.x.size * self.lattice.size <= WHOLE:
            return [whole]
        first, last = self.speaking
        blocks = []
        for unit in np.unique(self.units):
            alike = np.flatnonzero(self.units == unit)
            for run in clusters(first[alike], last[alike]):
                for rows in np.array_split(alike[run], -(-run.size // ROWS)):
                    block = Sample(self.channel, self.x[rows], self.known[rows], self.q[rows], self.low, self.high)
                    blocks.append(Block(rows, block, float(first[rows].min()), float(last[rows].max()), float(unit)))
        return blocks if len(blocks) > 1 else [whole]


def clusters(first: Floats, last: Floats) -> list[NDArray[np.intp]]:
    """Which intervals hang together: between the unions of these there are gaps.

    >>> [run.tolist() for run in clusters(np.array([0.0, 5.0, 1.0]), np.array([2.0, 6.0, 3.0]))]
    [[0, 2], [1]]
    """
    order = np.argsort(first, kind="stable")
    gaps = np.flatnonzero(first[order][1:] > np.maximum.accumulate(last[order])[:-1]) + 1
    return np.split(order, gaps)
