"""priorformer: a transformer over a grid of candidate thetas whose answer is a prior.

Two tracks of log-weights over the same atoms run side by side. One is accelerated EM, which on its own would converge
to the nonparametric maximum likelihood estimate. The other is the network's, which begins near the conjugate prior of
greatest likelihood: each of its blocks reads both tracks and their EM factors D_j = sum_k (N_k / n) p(x_k | theta_j) /
f(x_k), lets every cell of four atoms attend to the cells near it, and moves each log-weight along log D_j, towards the
EM track, and by a learned amount. The data enter through the likelihood alone, so one network serves every channel,
whatever is known of the units; what it costs depends on the range of the observations, not on n.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ebformer.binning import coarsened
from ebformer.errors import InputError
from ebformer.networks import kernels
from ebformer.networks.conjugate_start import conjugate_start
from ebformer.networks.constants import (
    GAP_UNIT,
    LARGEST_GAP,
    LARGEST_LOG_COUNT,
    LARGEST_LOG_FACTOR,
    LEAST_LOG_COUNT,
    LOG_COUNT_UNIT,
    PER_CELL,
    SURPRISE_UNIT,
    TRACK_FEATURES,
)
from ebformer.networks.em_track import (
    LOWEST_LOG_WEIGHT,
    EmTrack,
    em_factor,
)
from ebformer.networks.grid import SPACING, Grid
from ebformer.networks.likelihood import Likelihood
from ebformer.networks.prior_uncertainty import versions
from ebformer.networks.priorformer_block import PriorformerBlock, PriorformerConfig
from ebformer.networks.rare import at_an_end, mean_in_agreement
from ebformer.networks.weights import Weights
from ebformer.prior import GridPrior, UncertainPrior
from ebformer.tally import Tally

Array = NDArray[Any]

LARGEST_LOG_N = 14.5
"""log n is read up to here (about two million units, the most in training); beyond, only the data sharpen."""
LEAST_MASS, LEAST_LOG_NEAR, LOG_N_UNIT = 1e-9, -3.0, 10.0
"""Of the features that never change: bounds of the mass of a cell and of the logarithm of its units, and what log n is
divided by."""
LEAST_VARIANCE = 0.05
"""Added to the variance of a unit's p(x | theta_j) / f(x), which may be nearly 0."""
MANY = 1e5
"""Units, beyond which the likelihood may object to the answer."""
POLISH, MOST_POLISH, WORTHWHILE = 20, 200, 6.0
"""EM steps at a time and in all, and the gain in log-likelihood that makes them worth it."""
SMOOTHED, MOST_SMOOTHED = 200.0, 0.3
"""Atoms share their weight with either neighbour, this over n of it and at most this much."""
FINER = 4096
"""Units, beyond which an atom becomes four points instead of two: intervals hold whole cells between points."""
FEW, SEVERAL = 512, 1600
"""Distinct observations of up to MANY units, and of more, that a network reads; the others are binned."""
LARGEST_GRID = 2**16
"""Cells; enough for counts from 0 to 250 million."""


class Start(NamedTuple):
    """Where both tracks begin."""

    own: Array
    """[a] the network's own,"""
    em: Array
    """[a] and EM's;"""
    precision: Array
    """[a] one over the standard error of D there;"""
    track: Array
    """[blocks, a] what EM reaches beside every block."""


@dataclass(frozen=True, eq=False)
class PriorformerNetwork:
    """The network made ready to run: `network.prior(tally)` is its answer.

    `dtype` is the precision of everything but the likelihood's logarithm; float32 is twice as fast. Of wider ranges
    than `largest_grid` covers nothing is read: cost grows with them.
    """

    weights: Weights[PriorformerConfig]
    dtype: type = np.float32
    largest_grid: int = LARGEST_GRID

    @cached_property
    def blocks(self) -> tuple[PriorformerBlock, ...]:
        """The arrays, block by block."""
        return tuple(PriorformerBlock.of(self.weights, i, self.dtype) for i in range(self.weights.config.blocks))

    def prior(self, tally: Tally) -> GridPrior:
        """The prior the network reads off a tally.

        Thetas are measured inside in units of the noise, and from the middle of the effects where they have no origin
        of their own, so that other units or another origin change nothing but the units and the origin of the answer.
        """
        channel = tally.channel
        if (ending := at_an_end(tally)) is not None:
            return ending
        x, known, origin, scale = channel.reduced(tally.x, tally.known, tally.multiplicity)
        x, known, count = condensed(rounded(x), known.astype(np.float32).astype(np.float64), tally)
        grid = Grid.of(channel, x, known, count)
        if grid.last - grid.first > self.largest_grid:
            raise InputError(
                f"these {channel.words.xs} spread over {SPACING * PER_CELL * (grid.last - grid.first):,.0f} deviations "
                f"of their noise, too wide a range for priorformer: take {channel.conjugate}"
            )
        theta, each = spread(grid, self.read(grid, x, known, count), points=2 if tally.n <= FINER else 4)
        if channel.whole:
            theta = mean_in_agreement(theta, each.mean(axis=0), x, known, count, channel)
        return UncertainPrior(origin + scale * theta, each, channel)

    def read(self, grid: Grid, x: Array, known: Array, count: Array) -> Array:
        """The weights that the network gives the atoms of a grid, in the versions that it cannot tell apart: [h, a]."""
        order, n = Likelihood.order(grid, x, known), float(count.sum())
        likelihood = Likelihood.of(grid, x[order], known[order], self.dtype)
        share: Array = (count[order] / n).astype(self.dtype)
        started = self.start(grid, likelihood, share, n)
        answer = np.exp(self.answers(likelihood, share, n, grid.edges(), *started)[-1].astype(np.float64))
        if grid.mirrored:
            turned = (np.ascontiguousarray(each[..., ::-1]) for each in started)
            other = self.answers(likelihood.reflected, share, n, grid.reflected_edges(), *turned)[-1]
            answer = (answer + np.exp(other[::-1].astype(np.float64))) / 2.0
        weights = smoothed(grid, answer, n)
        if n > MANY:
            weights = polished(likelihood, share, n, weights)
        if grid.own_mirror_image(x, known, count):  # but for the order of sums
            weights = (weights + weights[::-1]) / 2.0
        return versions(grid, likelihood, count[order], weights)

    def start(self, grid: Grid, likelihood: Likelihood, share: Array, n: float) -> Start:
        """Where both tracks begin, and what EM reaches beside every block."""
        flat: Array = np.full(likelihood.shape[1], -math.log(likelihood.shape[1]), dtype=self.dtype)
        em = flat + np.log(em_factor(likelihood, share, flat)[2])
        precision = self.precision(likelihood, share, em, min(n, math.exp(LARGEST_LOG_N)))
        track = EmTrack(likelihood, share, em).along(len(self.blocks), self.weights.config.em_steps)
        return Start(conjugate_start(grid, likelihood, share, em), em, precision, track)

    def answers(
        self,
        likelihood: Likelihood,
        share: Array,
        n: float,
        edges: Array,
        own: Array,
        em: Array,
        precision: Array,
        track: Array,
    ) -> Array:
        """Log-weights of the atoms after every block, [blocks, a]; the last four are a `Start`."""
        log_n = min(math.log(n), LARGEST_LOG_N)
        given = likelihood, share, own, precision, track, self.static_features(em, log_n, edges), log_n
        found = self.answers_compiled(*given)
        return np.stack(list(self.answers_in_numpy(*given))) if found is None else found

    def answers_compiled(
        self,
        likelihood: Likelihood,
        share: Array,
        own: Array,
        precision: Array,
        track: Array,
        static: Array,
        log_n: float,
    ) -> Array | None:
        """All blocks in C; None where only numpy can run them."""
        if len(likelihood.pieces) > 1:
            return None
        matrix, blocks = likelihood.pieces[0][2], [block.compiled for block in self.blocks]
        return kernels.all_blocks(blocks, matrix, share, own, precision, track, static, LOWEST_LOG_WEIGHT, log_n)

    def answers_in_numpy(
        self,
        likelihood: Likelihood,
        share: Array,
        own: Array,
        precision: Array,
        track: Array,
        static: Array,
        log_n: float,
    ) -> Iterator[Array]:
        """The blocks one after another, as they are defined."""
        cells = static.shape[1]
        h: Array = np.zeros((cells, self.weights.config.width), dtype=self.dtype)
        for block, em in zip(self.blocks, track, strict=True):
            both = np.stack([own, em])
            d = em_factor(likelihood, share, both)[2]
            log_count = (both + log_n).clip(LEAST_LOG_COUNT, LARGEST_LOG_COUNT)
            gradient = np.log(d).clip(-LARGEST_LOG_FACTOR, LARGEST_LOG_FACTOR)
            surprise = np.arcsinh((d - 1.0) * precision)
            gap = (both[1:] - own).clip(-LARGEST_GAP, LARGEST_GAP)
            tracks = np.concatenate([log_count / LOG_COUNT_UNIT, gradient, surprise / SURPRISE_UNIT, gap / GAP_UNIT])
            of_cells = tracks.reshape(TRACK_FEATURES, cells, PER_CELL).transpose(1, 0, 2).reshape(cells, -1)
            h, (along, towards, shift) = block(h, np.concatenate([of_cells, static.T], axis=1))
            own = own + (1.0 + along) * gradient[0] + gap[0] / (1.0 + np.exp(-towards)) + shift
            own = np.maximum(own - own.max(), LOWEST_LOG_WEIGHT)
            own -= math.log(np.exp(own).sum())
            yield own

    @staticmethod
    def precision(likelihood: Likelihood, share: Array, log_weights: Array, n: float) -> Array:
        """One over the standard error of every D_j, roughly: n units whose p(x | theta_j) / f(x) vary."""
        f, ratio, d = em_factor(likelihood, share, log_weights)
        variance = likelihood.squared.pull_back(ratio / f) - d * d
        return np.asarray(np.sqrt(n / (np.maximum(variance, 0.0) + LEAST_VARIANCE)))

    @staticmethod
    def static_features(em: Array, log_n: float, edges: Array) -> Array:
        """What no block changes: units near the cell, log n, and where the cell lies; [STATIC_FEATURES, j]."""
        near = np.log(np.maximum(np.add.reduce(np.exp(em).reshape(-1, PER_CELL), axis=1), LEAST_MASS)) + log_n
        near = near.clip(LEAST_LOG_NEAR, LARGEST_LOG_COUNT) / LOG_COUNT_UNIT
        return np.stack([near, np.full(len(near), log_n / LOG_N_UNIT), *edges]).astype(em.dtype)


def rounded(x: Array) -> Array:
    """To a millionth of the noise: what rounding errors of other units or origins cannot change."""
    return np.asarray(np.rint(x * 2.0**20) / 2.0**20)


def condensed(x: Array, known: Array, tally: Tally) -> tuple[Array, Array, Array]:
    """The reduced observations of a tally and how many units showed each, where these are many in bins.

    Bins are an eighth of the noise wide, or the next power of two that leaves FEW of them or, of many units, SEVERAL:
    what a network costs does not grow with n. Answers are given for the observations themselves.
    """
    if tally.channel.whole and tally.common is not None:
        return x, known, tally.multiplicity
    limit = FEW if tally.n <= MANY else SEVERAL
    small = coarsened(Tally(x, tally.multiplicity, known, channel=tally.channel), limit, finest=SPACING)
    return small.x, small.known, small.multiplicity


def smoothed(grid: Grid, weights: Array, n: float) -> Array:
    """The weight of every atom shared with its neighbours, all but the ends of the domain; the last step.

    A sample of n units cannot place weight as finely as the grid could, and answers that pretend to are too sure.
    """
    inner = grid.inner
    shared = min(MOST_SMOOTHED, SMOOTHED / n) * np.where(inner, weights, 0.0)
    result = weights - 2.0 * shared
    result[1:] += np.where(inner[1:], shared[:-1], 0.0)
    result[:-1] += np.where(inner[:-1], shared[1:], 0.0)
    return np.asarray(result / result.sum())


def spread(grid: Grid, weights: Array, points: int) -> tuple[Array, Array]:
    """The weight of every atom, [..., a], shared by points that lie evenly on its part of the grid, but at the ends.

    An atom stands for the thetas around it. Taken for a point, it would make a theta that is nearly its own look like
    one beyond it, so that intervals cover too little. The estimates hardly notice.
    """
    return grid.atoms(points)[1], np.repeat(weights / points, points, axis=-1)


def polished(likelihood: Likelihood, share: Array, n: float, weights: Array) -> Array:
    """An answer the likelihood objects to, after as many accelerated EM steps as gain WORTHWHILE nats per POLISH steps.

    Training saw few samples beyond MANY units, and there the likelihood speaks clearly. An answer that is as likely as
    any other within the noise is left alone: EM would only roughen it.
    """
    track = EmTrack(likelihood, share, np.log(weights).astype(share.dtype))
    reached = share @ np.log(likelihood.marginal(weights))
    for _ in range(MOST_POLISH // POLISH):
        further = np.exp(track.advance(POLISH).astype(np.float64))
        level = share @ np.log(likelihood.marginal(further))
        if n * (level - reached) < WORTHWHILE:
            break
        weights, reached = further / further.sum(), level
    return weights
