"""A block of priorformer, in which every cell of the grid attends to the cells near it, and what determines it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.errors import InputError
from ebformer.networks import kernels
from ebformer.networks.config import Config
from ebformer.networks.constants import PER_CELL, RMS_NORM_EPSILON, TRACK_FEATURES
from ebformer.networks.weights import FAMILIES, Weights

Array = NDArray[Any]

STATIC_FEATURES = 10
"""Numbers per cell that a block reads and that never change."""
QUERIES = 96
"""Cells whose attention is computed at once; a tally on [0, 50] has about 40."""


@dataclass(frozen=True)
class PriorformerConfig(Config):
    """What determines a priorformer.

    >>> PriorformerConfig().parameters
    366720
    """

    blocks: int = 12
    width: int = 48
    heads: int = 4
    reach: int = 32
    """A cell attends to this many cells on either side, so that cost grows linearly with the range of the counts."""
    em_steps: int = 16
    """Accelerated EM steps beside every block."""

    def __post_init__(self) -> None:
        if self.heads < 1 or self.width % self.heads:
            raise InputError(f"heads must divide the width: {self.heads} heads cannot share a width of {self.width}")

    def shapes(self) -> dict[str, tuple[int, ...]]:
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


FAMILIES["priorformer"] = PriorformerConfig


@dataclass(frozen=True, eq=False)
class PriorformerBlock:
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
    def of(cls, weights: Weights[PriorformerConfig], i: int, dtype: type) -> PriorformerBlock:
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


def affine(h: Array, layer: tuple[Array, Array]) -> Array:
    result = h @ layer[0]
    result += layer[1]
    return np.asarray(result)


def rms_norm(h: Array) -> Array:
    """h divided by its root mean square, cell by cell."""
    square = np.add.reduce(h * h, axis=1, keepdims=True)
    square *= 1.0 / h.shape[1]
    square += RMS_NORM_EPSILON
    return np.asarray(h / np.sqrt(square, out=square))
