"""priorformer: a transformer over a grid of candidate rates whose answer is a prior.

Two tracks of log-weights over the same atoms run side by side. One is accelerated EM, which on its own would converge
to the nonparametric maximum likelihood estimate. The other is the network's: each of its blocks reads both tracks and
their EM factors D_j = sum_k (N_k / n) p(x_k | theta_j) / f(x_k), lets every cell of four atoms attend to the cells near
it, and moves each log-weight along log D_j, towards the EM track, and by a learned amount. The data enter through the
likelihood alone, so units may have any exposures, and the cost depends on the range of the counts, not on n.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.errors import InputError
from ebformer.networks import kernels
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
    CHECK,
    LARGEST_PULL,
    LEAST_PULL,
    LOWEST_LOG_WEIGHT,
    STRIDE,
    EmTrack,
    em_factor,
)
from ebformer.networks.grid import BEND, SPACING, Likelihood, atoms, coordinate, extent, middles, rate, strides
from ebformer.networks.priorformer_block import PriorformerBlock, PriorformerConfig
from ebformer.networks.weights import Weights
from ebformer.prior import GridPrior
from ebformer.tally import Tally

Array = NDArray[Any]

LARGEST_LOG_N = 14.5
"""log n is read up to here (about two million units, the most in training); beyond, only the data sharpen."""
LEAST_MASS, LEAST_LOG_NEAR, LOG_N_UNIT, DECAYS = 1e-9, -3.0, 10.0, (1.0, 4.0, 16.0)
"""Of the features that never change: bounds of the mass of a cell and of the logarithm of its units, what log n is
divided by, and the scales on which a cell's distance from 0 is felt."""
LEAST_VARIANCE = 0.05
"""Added to the variance of a unit's p(x | theta_j) / f(x), which may be nearly 0."""
RARE = 0.02
"""Mean counts below this were hardly seen in training."""
MANY = 1e5
"""Units, beyond which the likelihood may object to the answer."""
POLISH, MOST_POLISH, WORTHWHILE = 20, 200, 6.0
"""EM steps at a time and in all, and the gain in log-likelihood that makes them worth it."""
SMOOTHED, MOST_SMOOTHED = 200.0, 0.3
"""Atoms share their weight with either neighbour, this over n of it and at most this much."""
FINER = 4096
"""Units, beyond which an atom becomes four points instead of two: intervals hold whole cells between points."""
LARGEST_GRID = 2**17
"""Cells; enough for counts from 0 to a thousand million."""


@dataclass(frozen=True, eq=False)
class PriorformerNetwork:
    """The network made ready to run: `network.prior(tally)` is its answer.

    `dtype` is the precision of everything but the likelihood's logarithm; float32 is twice as fast.
    """

    weights: Weights[PriorformerConfig]
    dtype: type = np.float32

    @cached_property
    def blocks(self) -> tuple[PriorformerBlock, ...]:
        """The arrays, block by block."""
        return tuple(PriorformerBlock.of(self.weights, i, self.dtype) for i in range(self.weights.config.blocks))

    def prior(self, tally: Tally) -> GridPrior:
        """The prior the network reads off a tally; unequal exposures welcome.

        Rates are measured per mean exposure inside, so that equal exposures give the unexposed answer.
        """
        exposure = tally.known
        unit = float(exposure @ tally.multiplicity) / tally.n
        x, t, count = tally.x, exposure / unit, tally.multiplicity
        if tally.common != 1.0:
            order = np.lexsort((x / t, strides(t)))
            x, t, count = x[order], t[order], count[order]
        theta, weights = spread(*self.read(x, t, count), points=2 if tally.n <= FINER else 4)
        scale = mean_in_agreement(float(weights @ theta), x, count) / unit
        return GridPrior(theta * scale, weights)

    def read(self, x: Array, exposure: Array, count: Array) -> tuple[Array, Array]:
        """The network's own answer, atoms and weights, to observations of mean exposure 1 sorted as Likelihood asks."""
        first, last = extent(x, exposure)
        if last - first > LARGEST_GRID:
            raise InputError(
                f"at the mean exposure counts would reach up to {float(np.max(x / exposure)):,.0f}, "
                "too wide a range for priorformer: count in larger units, or take gamma"
            )
        theta, n = atoms(first, last), float(count.sum())
        likelihood = Likelihood.of(x, exposure, theta, self.dtype)
        share: Array = (count / n).astype(self.dtype)
        answer = self.answers(likelihood, share, n, middles(first, last))[-1]
        weights = smoothed(theta, np.exp(answer.astype(np.float64)), n)
        if n > MANY:
            weights = polished(likelihood, share, n, weights)
        return theta, weights

    def answers(self, likelihood: Likelihood, share: Array, n: float, u: Array) -> Array:
        """Log-weights of the atoms after every block, [blocks, a]."""
        log_n = min(math.log(n), LARGEST_LOG_N)
        count = likelihood.shape[1]
        flat: Array = np.full(count, -math.log(count), dtype=self.dtype)
        start = flat + np.log(em_factor(likelihood, share, flat)[2])
        precision = self.precision(likelihood, share, start, math.exp(log_n))
        static = self.static_features(start, log_n, u)
        given = likelihood, share, start, precision, static, log_n
        found = self.answers_compiled(*given)
        return np.stack(list(self.answers_in_numpy(*given))) if found is None else found

    def answers_compiled(
        self, likelihood: Likelihood, share: Array, start: Array, precision: Array, static: Array, log_n: float
    ) -> Array | None:
        """All blocks in C; None where only numpy can run them."""
        if len(likelihood.pieces) > 1:
            return None
        steps = self.weights.config.em_steps, CHECK, STRIDE, LEAST_PULL, LARGEST_PULL
        matrix, blocks = likelihood.pieces[0][2], [block.compiled for block in self.blocks]
        return kernels.all_blocks(blocks, matrix, share, start, precision, static, steps, LOWEST_LOG_WEIGHT, log_n)

    def answers_in_numpy(
        self, likelihood: Likelihood, share: Array, start: Array, precision: Array, static: Array, log_n: float
    ) -> Iterator[Array]:
        """The blocks one after another, as they are defined."""
        config, cells = self.weights.config, static.shape[1]
        track, own = EmTrack(likelihood, share, start), start
        h: Array = np.zeros((cells, config.width), dtype=self.dtype)
        for block in self.blocks:
            both = np.stack([own, track.advance(config.em_steps)])
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
    def static_features(em: Array, log_n: float, u: Array) -> Array:
        """What no block changes: units near the cell, log n, and where the cell lies; [STATIC_FEATURES, j]."""
        near = np.log(np.maximum(np.add.reduce(np.exp(em).reshape(-1, PER_CELL), axis=1), LEAST_MASS)) + log_n
        near = near.clip(LEAST_LOG_NEAR, LARGEST_LOG_COUNT) / LOG_COUNT_UNIT
        root = 2.0 * np.sqrt(rate(u))
        decays = [np.exp(root / -scale) for scale in DECAYS]
        static = [near, np.full(len(u), log_n / LOG_N_UNIT), *decays, np.minimum(u, BEND)]
        return np.stack(static).astype(em.dtype)


def smoothed(theta: Array, weights: Array, n: float) -> Array:
    """The weight of every atom shared with its neighbours, all but theta = 0; the last thing the network does.

    A sample of n units cannot place weight as finely as the grid could, and answers that pretend to are too sure.

    >>> smoothed(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.2, 0.0, 0.8, 0.0]), n=800).tolist()
    [0.2, 0.2, 0.4, 0.2]
    """
    shared = min(MOST_SMOOTHED, SMOOTHED / n) * np.where(theta > 0.0, weights, 0.0)
    result = weights - 2.0 * shared
    result[1:] += shared[:-1]
    result[:-1] += np.where(theta[:-1] > 0.0, shared[1:], 0.0)
    return np.asarray(result / result.sum())


def spread(theta: Array, weights: Array, points: int) -> tuple[Array, Array]:
    """The weight of every atom shared by points that lie evenly on its part of the grid; theta = 0 stays.

    An atom stands for the rates around it. Taken for a point, it would make a rate that is nearly its own look like one
    beyond it, so that intervals cover too little. The estimates hardly notice.

    >>> at, weights = spread(np.array([0.0, 16.0]), np.array([0.25, 0.75]), points=2)
    >>> at.round(3).tolist(), weights.tolist()
    ([0.0, 0.0, 15.875, 16.125], [0.125, 0.125, 0.375, 0.375])
    """
    offset = SPACING * ((np.arange(points) + 0.5) / points - 0.5)
    at = rate(np.add.outer(coordinate(theta), offset))
    at[theta == 0.0] = 0.0
    return at.ravel(), np.repeat(weights / points, points)


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


def mean_in_agreement(mean: float, x: Array, count: Array) -> float:
    """The factor that brings the mean of a prior within one standard error of the mean count, where events are rare.

    Below RARE the network was hardly trained: the shape of the prior is then a guess, but its mean is not.

    >>> mean_in_agreement(5.0, np.array([4]), np.array([9])), mean_in_agreement(1e-3, np.array([0]), np.array([10**9]))
    (1.0, 1e-06)
    """
    n = int(count.sum())
    observed = float(count @ x) / n
    if observed >= RARE:
        return 1.0
    variance = max(float(count @ (x - observed) ** 2) / n, 1.0 / n)
    error = math.sqrt(variance / n)
    return min(max(mean, observed - error), observed + error) / mean
