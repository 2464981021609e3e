"""The gradient D of the likelihood over the whole interval: on a lattice that resolves it, and at its maxima."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import binom

from ebformer.distributions import Floats
from ebformer.estimators.npmle.columns import Columns
from ebformer.estimators.npmle.sample import Block, Sample, clusters
from ebformer.estimators.npmle.weights import crests

ORDER = 12
"""Nodes of an interpolation: D is then off by 3e-9 at most, and by 3e-7 beside the ends, which are nodes."""
TINY = 1e-100
"""The least bend that a slope is divided by."""


class Layer(NamedTuple):
    """Observations of like noise, asked at nodes that resolve them: c A is smooth between these and 0 outside."""

    columns: Columns
    enclosed: slice
    """Which points of the lattice lie among the nodes."""
    around: NDArray[np.intp]
    """The ORDER nodes around each of these points."""
    share: Floats
    """How much each of these nodes counts for."""

    @classmethod
    def of(cls, sample: Sample, blocks: list[Block]) -> Layer:
        """Of blocks that hang together."""
        channel = sample.channel
        low = max(sample.low, min(block.first for block in blocks))
        high = min(sample.high, max(block.last for block in blocks))
        first, last = channel.coordinate(np.array([low, high]))
        count = max(ORDER, 1 + int(np.ceil((last - first) / blocks[0].unit)))
        nodes = channel.at_coordinate(np.linspace(first, last, count))
        start, stop = np.searchsorted(sample.lattice, low), np.searchsorted(sample.lattice, high, side="right")
        place = (channel.coordinate(sample.lattice[start:stop]) - first) * ((count - 1) / (last - first))
        return cls(Columns.of(sample, nodes, blocks), slice(int(start), int(stop)), *interpolation(place, count))

    def pull(self, c: Floats) -> Floats:
        """c A at the enclosed points of the lattice."""
        return np.asarray((self.share * self.columns.pull(c)[self.around]).sum(axis=1))


def interpolation(place: Floats, count: int) -> tuple[NDArray[np.intp], Floats]:
    """The ORDER nodes among 0, 1, ..., count - 1 around each place, and their shares: Lagrange's polynomials.

    >>> around, share = interpolation(np.array([0.0, 20.3]), 40)
    >>> (share * around**3).sum(axis=1).round(9).tolist() == [0.0, 8365.427]
    True
    """
    start = np.clip(np.floor(place).astype(np.intp) - ORDER // 2 + 1, 0, count - ORDER)
    around = start[:, None] + np.arange(ORDER)
    apart = place[:, None] - around
    sign = (-1.0) ** np.arange(ORDER) * binom(ORDER - 1, np.arange(ORDER))
    share = sign / np.where(apart == 0, TINY, apart)  # a place at a node takes all from it
    return around, share / share.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Lattice:
    """D at the points of `sample.lattice`.

    Where observations are too many to be asked at every point, those of like noise are asked at nodes as far apart as
    they allow, and D is interpolated between these.
    """

    sample: Sample
    layers: list[Layer]
    columns: Columns | None

    @classmethod
    def of(cls, sample: Sample) -> Lattice:
        if len(sample.blocks) == 1:
            return cls(sample, [], Columns.of(sample, sample.lattice))
        layers = []
        for unit in np.unique(sample.units):
            alike = [block for block in sample.blocks if block.unit == unit]
            ends = np.array([(block.first, block.last) for block in alike]).T
            layers += [Layer.of(sample, [alike[i] for i in run]) for run in clusters(*ends)]
        return cls(sample, layers, None)

    def pull(self, c: Floats) -> Floats:
        """c A [k]: with c = q / F, this is D at the points."""
        if self.columns is not None:
            return self.columns.pull(c)
        d = np.zeros(self.sample.lattice.size)
        for layer in self.layers:
            d[layer.enclosed] += layer.pull(c)
        return d

    def peaks(self, atoms: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Every local maximum over [low, high] of D under a mixing distribution that may exceed 1, and D there.

        Maxima are found beside the points, among lattice and atoms, that are higher than their neighbours, and then
        polished by Newton: the largest value on a lattice would under-report the gap.
        """
        sample, columns = self.sample, Columns.of(self.sample, atoms)
        c = sample.q / columns.mix(weights)
        nodes = np.concatenate([sample.lattice, atoms])
        height = np.concatenate([self.pull(c), columns.pull(c)])
        order = np.argsort(nodes, kind="stable")
        # Between nodes D rises above both by less than 5 %, so lower maxima cannot reach 1.
        theta = top = nodes[order][crests(height[order], 0.95)]
        if not theta.size:  # weights that rounding has spoilt, where errors span many decades: as far off as can be
            return atoms[:1], np.array([np.inf])
        highest = np.zeros(top.size)
        for _ in range(6):
            d, slope, bend = curve(sample, theta, c)
            top, highest = np.where(d > highest, theta, top), np.maximum(d, highest)
            step = np.where(bend < 0, -slope / np.minimum(bend, -TINY), 0.0)
            moved = np.minimum(np.maximum(theta + step, sample.low), sample.high)
            if float(np.abs((moved - theta) * slope).max()) < 1e-16:
                break
            theta = moved
        return top, highest


def curve(sample: Sample, theta: Floats, c: Floats) -> Floats:
    """c A and its first two derivatives at theta, [3, k]."""
    order = np.argsort(theta)
    sums, place = np.zeros((3, theta.size)), theta[order]
    for block in sample.blocks:
        cols = block.reach(place)
        for total, each in zip(sums, block.sample.jet(place[cols]), strict=True):
            total[cols] += c[block.rows] @ each
    curves = np.empty_like(sums)
    curves[:, order] = sums
    return curves
