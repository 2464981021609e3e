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
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.errors import InputError
from ebformer.prior import GridPrior
from ebformer.tally import Tally
from ebformer.transformer import kernels
from ebformer.transformer.em_track import LOWEST_LOG_WEIGHT, EmTrack, em_factor
from ebformer.transformer.grid import (
    LOWEST,
    PER_CELL,
    SPACING,
    Likelihood,
    atoms,
    coordinate,
    extent,
    rate,
)
from ebformer.transformer.weights import FAMILIES, Weights

Array = NDArray[Any]

TRACK_FEATURES, STATIC_FEATURES = 7, 6
"""Numbers per atom that a block reads from the two tracks, and numbers per cell that never change."""
UNITS = np.array([[0.25], [0.25], [1.0], [1.0], [0.5], [0.5], [0.25]], dtype=np.float32)
"""Scales of what a block reads: log counts, log D and its score for both tracks, and the gap between them."""
LARGEST_LOG_N = 14.5
"""log n is read up to here (about two million units, the most in training); beyond, only the data sharpen."""
RARE = 0.02
"""Mean counts below this were hardly seen in training."""
MANY = 1e5
"""Units, beyond which the likelihood may object to the answer."""
POLISH, MOST_POLISH, WORTHWHILE = 20, 200, 6.0
"""EM steps at a time and in all, and the gain in log-likelihood that makes them worth it."""
LARGEST_GRID = 2**17
"""Cells; enough for counts from 0 to a thousand million."""
QUERIES = 96
"""Cells whose attention is computed at once; a tally on [0, 50] has about 40."""


@dataclass(frozen=True)
class PriorformerConfig:
    """What determines a priorformer.

    >>> PriorformerConfig().parameters
    212576
    """

    blocks: int = 7
    width: int = 48
    heads: int = 4
    reach: int = 32
    """A cell attends to this many cells on either side, so that cost grows linearly with the range of the counts."""
    em_steps: int = 16
    """Accelerated EM steps beside every block."""

    def __post_init__(self) -> None:
        if self.heads < 1 or self.width % self.heads:
            raise InputError(f"heads must divide the width: {self.heads} heads cannot share a width of {self.width}")

    @property
    def parameters(self) -> int:
        """Number of trainable numbers."""
        return sum(math.prod(shape) for shape in self.shapes().values())

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Every array by name, with its shape; the order is that of the weights file."""
        d, shapes = self.width, dict[str, tuple[int, ...]]()
        for i in range(self.blocks):
            shapes |= {
                f"blocks.{i}.nearness": (self.heads, 2 * self.reach + 1),
                f"blocks.{i}.embed.weight": (d, TRACK_FEATURES * PER_CELL + STATIC_FEATURES),
                f"blocks.{i}.embed.bias": (d,),
                f"blocks.{i}.qkv.weight": (3 * d, d),
                f"blocks.{i}.out.weight": (d, d),
                f"blocks.{i}.up.weight": (4 * d, d),
                f"blocks.{i}.up.bias": (4 * d,),
                f"blocks.{i}.down.weight": (d, 4 * d),
                f"blocks.{i}.head.weight": (3 * PER_CELL, d),
                f"blocks.{i}.head.bias": (3 * PER_CELL,),
            }
        return shapes

    def describe(self) -> dict[str, Any]:
        """A plain dictionary that `from_description` reads back."""
        return asdict(self)

    @classmethod
    def from_description(cls, description: dict[str, Any]) -> PriorformerConfig:
        """The inverse of `describe`; unknown fields are refused."""
        unknown = set(description) - {field.name for field in fields(cls)}
        if unknown:
            raise InputError(f"unknown priorformer fields: {', '.join(sorted(unknown))}")
        return cls(**description)


FAMILIES["priorformer"] = PriorformerConfig


@dataclass(frozen=True, eq=False)
class Block:
    """The arrays of one block, matrices transposed to [in, out] for a product from the left."""

    nearness: Array
    """[heads, QUERIES, QUERIES + 2 reach]: what cell q adds to its logit of cell k - reach; FAR beyond reach."""
    embed: tuple[Array, Array]
    qkv: Array
    out: Array
    up: tuple[Array, Array]
    down: Array
    head: tuple[Array, Array]
    compiled: kernels.NearBlock
    """The same for kernels.c."""

    @classmethod
    def of(cls, weights: Weights[PriorformerConfig], i: int, dtype: type) -> Block:
        config, prefix = weights.config, f"blocks.{i}."
        own = {name.removeprefix(prefix): values for name, values in weights.arrays.items() if name.startswith(prefix)}

        def array(name: str) -> Array:
            return np.ascontiguousarray(own[name].T, dtype=dtype)

        qkv = array("qkv.weight")
        qkv[:, : config.width] /= math.sqrt(config.width // config.heads)
        offset = np.arange(QUERIES + 2 * config.reach) - np.arange(QUERIES)[:, None]
        near = np.take(array("nearness").T, np.clip(offset, 0, 2 * config.reach), axis=1)
        return cls(
            nearness=np.where((offset < 0) | (offset > 2 * config.reach), near.dtype.type(kernels.FAR), near),
            embed=(array("embed.weight"), array("embed.bias")),
            qkv=qkv,
            out=array("out.weight"),
            up=(array("up.weight"), array("up.bias")),
            down=array("down.weight"),
            head=(array("head.weight"), array("head.bias")),
            compiled=kernels.NearBlock(own, config.heads),
        )

    def __call__(self, h: Array, features: Array) -> tuple[Array, Array]:
        """The state h [j, d] and features [j, f] to the next state and the three moves of every atom [3, 4 j]."""
        h, said = self.compiled(h, features) or self.in_numpy(h, features)
        return h, said.reshape(-1, 3, PER_CELL).transpose(1, 0, 2).reshape(3, -1)

    def in_numpy(self, h: Array, features: Array) -> tuple[Array, Array]:
        """The next state [j, d] and what is said of the atoms [j, 12], as they are defined."""
        h = h + affine(features, self.embed)
        h += self.attend(rms_norm(h) @ self.qkv) @ self.out
        up = affine(rms_norm(h), self.up)
        gate = np.exp(-up)
        gate += 1.0
        h += np.divide(up, gate, out=gate) @ self.down
        return h, affine(rms_norm(h), self.head)

    def attend(self, qkv: Array) -> Array:
        """Attention of every cell to those within reach, QUERIES cells at a time: [j, 3 d] to [j, d]."""
        heads, _, keys = self.nearness.shape
        reach = (keys - QUERIES) // 2
        cells, width = len(qkv), qkv.shape[1] // 3
        q, k, v = qkv.reshape(cells, 3, heads, width // heads).transpose(1, 2, 0, 3)  # [heads, cells, d / heads]
        attended = np.empty((cells, heads, width // heads), dtype=qkv.dtype)
        for start in range(0, cells, QUERIES):
            stop = min(start + QUERIES, cells)
            low, high = max(0, start - reach), min(cells, stop + reach)
            logits = q[:, start:stop] @ k[:, low:high].transpose(0, 2, 1)
            logits += self.nearness[:, : stop - start, low - start + reach : high - start + reach]
            logits -= np.maximum.reduce(logits, axis=-1, keepdims=True)
            np.exp(logits, out=logits)
            mixed = logits @ v[:, low:high]
            mixed /= np.add.reduce(logits, axis=-1, keepdims=True)
            attended[start:stop] = mixed.transpose(1, 0, 2)
        return attended.reshape(cells, width)


@dataclass(frozen=True, eq=False)
class Priorformer:
    """The network made ready to run: `network.prior(tally)` is its answer.

    `dtype` is the precision of everything but the likelihood's logarithm; float32 is twice as fast.
    """

    weights: Weights[PriorformerConfig]
    dtype: type = np.float32

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The arrays, block by block."""
        return tuple(Block.of(self.weights, i, self.dtype) for i in range(self.weights.config.blocks))

    def prior(self, tally: Tally) -> GridPrior:
        """The prior the network reads off a tally; unequal exposures welcome.

        Rates are measured per mean exposure inside, so that equal exposures give the unexposed answer.
        """
        exposure = np.ones(len(tally)) if tally.exposure is None else tally.exposure
        unit = float(exposure @ tally.multiplicity) / tally.n
        x, t, count = tally.values.astype(np.float64), exposure / unit, tally.multiplicity
        if tally.exposure is not None:
            order = np.argsort(x / t, kind="stable")
            x, t, count = x[order], t[order], count[order]
        theta, weights = spread(*self.read(x, t, count))
        scale = mean_in_agreement(float(weights @ theta), x, count) / unit
        return GridPrior(theta * scale, weights)

    def read(self, x: Array, exposure: Array, count: Array) -> tuple[Array, Array]:
        """The network's own answer, atoms and weights, to observations sorted by x / exposure of mean exposure 1."""
        first, last = extent(x, exposure)
        if last - first > LARGEST_GRID:
            raise InputError(
                f"the counts reach up to {int(x.max()):,}, too wide a range for priorformer: count in larger units"
            )
        theta, n = atoms(first, last), float(count.sum())
        likelihood = Likelihood.of(x, exposure, theta, self.dtype)
        u = LOWEST + SPACING * (PER_CELL * np.arange(first, last) + (PER_CELL - 1) / 2)
        share: Array = (count / n).astype(self.dtype)
        log_weights = self.answer(likelihood, share, n, u)
        if n > MANY:
            log_weights = polished(likelihood, share, n, log_weights)
        weights = np.exp(log_weights.astype(np.float64))
        return theta, weights / weights.sum()

    def answer(self, likelihood: Likelihood, share: Array, n: float, u: Array) -> Array:
        """Log-weights of the atoms after the last block."""
        *_, last = self.answers(likelihood, share, n, u)
        return last

    def answers(self, likelihood: Likelihood, share: Array, n: float, u: Array) -> Iterator[Array]:
        """Log-weights of the atoms after every block."""
        log_n = min(math.log(n), LARGEST_LOG_N)
        count = likelihood.shape[1]
        start: Array = np.full(count, -math.log(count), dtype=self.dtype)
        em = start + np.log(em_factor(likelihood, share, start)[2])
        track = EmTrack(likelihood, share, em)
        precision = self.precision(likelihood, share, em, math.exp(log_n))
        own, h = em, np.zeros((len(u), self.weights.config.width), dtype=self.dtype)  # type: Array, Array
        features: Array = np.empty((len(u), TRACK_FEATURES * PER_CELL + STATIC_FEATURES), dtype=self.dtype)
        features[:, TRACK_FEATURES * PER_CELL :] = self.static_features(em, log_n, u).T
        by_track = features[:, : TRACK_FEATURES * PER_CELL].reshape(len(u), TRACK_FEATURES, PER_CELL)
        tracks: Array = np.empty((TRACK_FEATURES, count), dtype=self.dtype)
        counts, gradient, score, gap = tracks[0:2], tracks[2:4], tracks[4:6], tracks[6]
        both: Array = np.empty((2, count), dtype=self.dtype)
        for block in self.blocks:
            both[0], both[1] = own, track.advance(self.weights.config.em_steps)
            d = em_factor(likelihood, share, both)[2]
            clip(np.add(both, log_n, out=counts), -5.0, 12.0)
            clip(np.log(d, out=gradient), -3.0, 3.0)
            d -= 1.0
            d *= precision
            np.arcsinh(d, out=score)
            clip(np.subtract(both[1], both[0], out=gap), -8.0, 8.0)
            by_track[:] = (tracks * UNITS).reshape(TRACK_FEATURES, len(u), PER_CELL).transpose(1, 0, 2)
            h, (along, towards, shift) = block(h, features)
            own = own + (1.0 + along) * gradient[0] + gap / (1.0 + np.exp(-towards)) + shift
            own -= np.maximum.reduce(own)
            np.maximum(own, LOWEST_LOG_WEIGHT, out=own)
            own -= math.log(np.add.reduce(np.exp(own)))
            yield own

    @staticmethod
    def precision(likelihood: Likelihood, share: Array, log_weights: Array, n: float) -> Array:
        """One over the standard error of every D_j, roughly: n units whose p(x | theta_j) / f(x) vary."""
        f, ratio, d = em_factor(likelihood, share, log_weights)
        variance = likelihood.squared.pull_back(ratio / f) - d * d
        return np.asarray(np.sqrt(n / (np.maximum(variance, 0.0) + 0.05)))

    @staticmethod
    def static_features(em: Array, log_n: float, u: Array) -> Array:
        """What no block changes: units near the cell, log n, and where the cell lies; [STATIC_FEATURES, j]."""
        near = np.log(np.maximum(np.add.reduce(np.exp(em).reshape(-1, PER_CELL), axis=1), 1e-9)) + log_n
        root = 2.0 * np.sqrt(rate(u))
        static: Array = np.empty((STATIC_FEATURES, len(u)), dtype=em.dtype)
        np.multiply(clip(near, -3.0, 12.0), 0.25, out=static[0])
        static[1] = log_n / 10.0
        static[2] = np.exp(-root)
        static[3] = np.exp(root / -4.0)
        static[4] = np.exp(root / -16.0)
        static[5] = np.minimum(u, 0.5)
        return static


def spread(theta: Array, weights: Array) -> tuple[Array, Array]:
    """The weight of every atom shared by two points, a quarter of the way to its neighbours; theta = 0 stays.

    An atom stands for the rates around it. Taken for a point, it would make a rate that is nearly its own look like one
    beyond it, so that intervals cover too little. The estimates hardly notice.

    >>> points, weights = spread(np.array([0.0, 16.0]), np.array([0.25, 0.75]))
    >>> points.round(3).tolist(), weights.tolist()
    ([0.0, 0.0, 15.875, 16.125], [0.125, 0.125, 0.375, 0.375])
    """
    points = rate(np.add.outer(coordinate(theta), [-SPACING / 4, SPACING / 4]))
    points[theta == 0.0] = 0.0
    return points.ravel(), np.repeat(weights / 2, 2)


def polished(likelihood: Likelihood, share: Array, n: float, log_weights: Array) -> Array:
    """An answer the likelihood objects to, after as many accelerated EM steps as gain WORTHWHILE nats per POLISH steps.

    Training saw few samples beyond MANY units, and there the likelihood speaks clearly. An answer that is as likely as
    any other within the noise is left alone: EM would only roughen it.
    """
    track = EmTrack(likelihood, share, log_weights)
    reached = share @ np.log(likelihood.marginal(np.exp(log_weights)))
    for _ in range(MOST_POLISH // POLISH):
        further = track.advance(POLISH)
        level = share @ np.log(likelihood.marginal(np.exp(further)))
        if n * (level - reached) < WORTHWHILE:
            break
        log_weights, reached = further, level
    return log_weights


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


def clip(array: Array, low: float, high: float) -> Array:
    """`np.clip` in place, without its overhead, which is felt on arrays this short."""
    np.maximum(array, low, out=array)
    return np.minimum(array, high, out=array)


def affine(h: Array, layer: tuple[Array, Array]) -> Array:
    result = h @ layer[0]
    result += layer[1]
    return np.asarray(result)


def rms_norm(h: Array) -> Array:
    """h divided by its root mean square, cell by cell."""
    square = np.add.reduce(h * h, axis=1, keepdims=True)
    square *= 1.0 / h.shape[1]
    square += 1e-6
    return np.asarray(h / np.sqrt(square, out=square))
