"""The forward pass of a transformer on tallies: equal tokens are collapsed into one token with a weight.

The network has no positions, so k equal tokens act as one token that counts k times in every softmax (or in linear
attention's key-value sum). Cost follows the number of distinct values, not n. A token of weight 0 is attended by nobody
but attends to all: that evaluates the rule at values nobody showed, and it is also all the padding a batch needs.

What is written here in numpy defines the answers. Where kernels.c is compiled, it runs the layers instead (all but
linear attention, in float32) and gives the same to rounding.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from ebformer.distributions import Floats
from ebformer.networks import kernels
from ebformer.networks.architecture import Architecture, stabilised, token_features
from ebformer.networks.constants import GELU_LOGIT, LAYER_NORM_EPSILON
from ebformer.networks.weights import Weights

Array = NDArray[Any]
Affine = tuple[Array, Array]
Precision = Literal["float32", "float64"]

COLUMNS = 512
"""Tokens in the MLP at once, so that its arrays stay in the cache of one core."""
SCORES = 2**16
"""Attention scores at once, for the same reason: beyond about 90 distinct values the tokens take turns."""
FEWEST = 32
"""Tokens whose turn it is at once, at least: products with fewer columns are slow."""
PRODUCT = 2**19
"""Multiplications in one matrix product, at most: OpenBLAS would share larger ones among threads, whose meeting takes
longer than the product itself."""
NORMALISERS = (1e-25, 1e30)
"""Where the sum of a softmax lies here, nothing that matters has overflowed or underflowed, in float32 either."""
TINY = 1e-37
"""Added to the normalisers of linear attention: a token without any kernel mass gathers 0 instead of 0 / 0."""


@dataclass(frozen=True, eq=False)
class Layer:
    """A weight set with everything constant multiplied in: norm weights, the scale of the scores, the residual gain.

    Matrices [out, in] come with their biases as columns [out, 1].
    """

    qkv: Affine
    """[3d + heads, d]: queries, keys, then per head its values and a one, whose weighted sum is the normaliser."""
    out: Affine
    mlp: tuple[Affine, Affine] | None
    """The maps up to the hidden neurons and down again."""


@dataclass(frozen=True, eq=False)
class Network:
    """Weights made ready to run in one precision."""

    architecture: Architecture
    embed: Affine
    layers: tuple[Layer, ...]
    head: Affine


@functools.lru_cache(maxsize=16)
def ready(weights: Weights[Architecture], precision: Precision = "float32") -> Network:
    """Fold the weights of a network once, in double precision, before it runs many times."""
    a, arrays = weights.config, {name: array.astype(np.float64) for name, array in weights.arrays.items()}
    sets = [_fold(a, arrays, f"sets.{w}.", precision) for w in range(a.weight_sets)]
    return Network(
        a,
        _affine(arrays["embed.weight"], arrays["embed.bias"], precision),
        tuple(sets[a.set_of(layer)] for layer in range(a.layers)),
        _affine(*_after_norm(arrays, "norm", "head"), precision),
    )


def _fold(a: Architecture, arrays: dict[str, Array], of: str, precision: Precision) -> Layer:
    d, c = a.width, a.width // a.heads
    qkv = np.column_stack(_after_norm(arrays, f"{of}norm1", f"{of}attention.qkv"))  # [3d, d + 1], the bias last
    if a.attention == "softmax":
        qkv[:d] *= c**-0.5
    values = np.zeros((a.heads, c + 1, d + 1))
    values[:, :c] = qkv[2 * d :].reshape(a.heads, c, d + 1)
    values[:, c, d] = 1.0
    qkv = np.vstack([qkv[: 2 * d], values.reshape(-1, d + 1)])
    out = _affine(a.gain * arrays[f"{of}attention.out.weight"], a.gain * arrays[f"{of}attention.out.bias"], precision)
    mlp = None
    if a.mlp:
        up = _affine(*_after_norm(arrays, f"{of}norm2", f"{of}mlp.up"), precision)
        down = _affine(a.gain * arrays[f"{of}mlp.down.weight"], a.gain * arrays[f"{of}mlp.down.bias"], precision)
        mlp = up, down
    return Layer(_affine(qkv[:, :d], qkv[:, d], precision), out, mlp)


def _after_norm(arrays: dict[str, Array], norm: str, linear: str) -> tuple[Array, Array]:
    """W (g c + b) + w = (W g) c + (W b + w), where c is the token with mean 0 and variance 1."""
    matrix = arrays[f"{linear}.weight"]
    return matrix * arrays[f"{norm}.weight"], matrix @ arrays[f"{norm}.bias"] + arrays[f"{linear}.bias"]


def _affine(matrix: Array, bias: Array, precision: Precision) -> Affine:
    return np.ascontiguousarray(matrix, dtype=precision), bias.astype(precision)[:, None]


def forward(network: Network, x: Array, share: Array, n: Array, trace: list[Array] | None = None) -> Floats:
    """The estimates of b tallies at u tokens each.

    x [b, u] values; share [b, k] = multiplicity / n of the first k <= u tokens, the others being queries of weight 0;
    n [b] sample sizes. Returns float64 [b, u]; a `trace` list receives the tokens [b, u, d] before the first and after
    every layer. Tokens are the columns of every array in between, so that the innermost loops are long.
    """
    a, (b, u) = network.architecture, x.shape
    precision = network.embed[0].dtype
    share, softmax = np.ascontiguousarray(share, dtype=precision), a.attention == "softmax"
    h = affine(network.embed, token_features(a, x, n).astype(precision).reshape(b * u, -1).T)  # [d, b u]

    def record() -> None:
        if trace is not None:
            trace.append(h.T.reshape(b, u, -1).copy())

    # What leaves the range of floats is on its way to an exact 0 or 1 in the softmax or the GELU.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        record()
        for layer in network.layers:
            if not (softmax and kernels.attention(h.reshape(-1, b, u), share, a.heads, layer.qkv, layer.out)):
                h += attention(a, layer, normalised(h).reshape(-1, b, u), share)
            if layer.mlp is not None and not kernels.mlp(h, *layer.mlp):
                for columns in blocks(b * u, COLUMNS):
                    h[:, columns] += mlp(*layer.mlp, normalised(h[:, columns]))
            record()
        answer = affine(network.head, normalised(h)).reshape(b, u).astype(np.float64)
    return gelu(answer) if a.embedding == "linear" else (stabilised(x) + answer) ** 2 / 4


def affine(by: Affine, h: Array) -> Array:
    """W h + w for every column of h."""
    weight, bias = by
    at_once = max(16, (PRODUCT - 1) // weight.size // 16 * 16)
    if h.shape[1] <= at_once:
        out: Array = weight @ h
    else:
        out = np.empty((len(weight), h.shape[1]), dtype=h.dtype)
        for columns in blocks(h.shape[1], at_once):
            np.matmul(weight, h[:, columns], out=out[:, columns])
    out += bias
    return out


def normalised(h: Array) -> Array:
    """Every column of h [d, t] with mean 0 and variance 1."""
    d = len(h)
    c: Array = h - np.add.reduce(h, axis=0) * (1 / d)
    deviation = np.add.reduce(c * c, axis=0)
    deviation *= 1 / d
    deviation += LAYER_NORM_EPSILON
    c /= np.sqrt(deviation, out=deviation)
    return c


def attention(a: Architecture, layer: Layer, c: Array, share: Array) -> Array:
    """Every token of c [d, b, u] attends to the first k tokens of its tally, weighted by share [b, k]: [d, b u]."""
    (d, b, u), k = c.shape, share.shape[1]
    projected = affine(layer.qkv, c.reshape(d, b * u)).reshape(-1, b, u)
    q = _by_head(projected[:d], a.heads)  # [b, heads, d / heads, u]
    keys = _by_head(projected[d : 2 * d, :, :k], a.heads).swapaxes(-1, -2)  # [b, heads, k, d / heads]
    values = _by_head(projected[2 * d :, :, :k] * share, a.heads)  # [b, heads, d / heads + 1, k]
    mixed = np.empty((d + a.heads, b, u), dtype=c.dtype)
    by_head = _by_head(mixed, a.heads)
    if a.attention == "linear":
        np.matmul(values @ feature_map(a, keys), feature_map(a, q), out=by_head)
    else:
        for tally in range(b):
            for columns in blocks(u, max(FEWEST, SCORES // (a.heads * k))):
                softmax_mixture(q[tally, ..., columns], keys[tally], values[tally], by_head[tally, ..., columns])
    mixed = mixed.reshape(a.heads, -1, b * u)
    if a.attention == "softmax":
        gathered = mixed[:, :-1] / mixed[:, -1:]
    else:
        gathered = mixed[:, :-1] / (mixed[:, -1:] + TINY) if a.normalised else mixed[:, :-1]
    return affine(layer.out, gathered.reshape(d, b * u))


def _by_head(rows: Array, heads: int) -> Array:
    """Rows [heads c, b, u] as a view [b, heads, c, u]."""
    return rows.reshape(heads, -1, *rows.shape[1:]).transpose(2, 0, 1, 3)


def softmax_mixture(q: Array, keys: Array, values: Array, out: Array) -> None:
    """values exp(keys q), up to a factor per column: [heads, c, u], [heads, k, c], [heads, v, k] to out [heads, v, u].

    The usual guard subtracts the largest score of every column first, which takes longer than both products. It is only
    needed where the sums, which come last among the values, betray an overflow or underflow.
    """
    scores = keys @ q  # [heads, k, u]
    np.matmul(values, np.exp(scores, out=scores), out=out)
    sums = out[:, -1]
    if not (NORMALISERS[0] < sums.min() and sums.max() < NORMALISERS[1]):
        np.matmul(keys, q, out=scores)
        scores[:, values[0, -1] == 0] = -np.inf  # whom nobody attends must not set the scale, nor give 0 * inf
        scores -= scores.max(axis=-2, keepdims=True)
        np.matmul(values, np.exp(scores, out=scores), out=out)


def feature_map(a: Architecture, y: Array) -> Array:
    """The kernel feature of linear attention, entry by entry."""
    if a.feature_map == "relu":
        return np.maximum(y, 0)
    if a.feature_map == "elu+1":
        return np.where(y > 0, y + 1, np.exp(np.minimum(y, 0)))
    return y


def mlp(up: Affine, down: Affine, c: Array) -> Array:
    """Two affine maps around an exact GELU: c [d, t] to [d, t]."""
    return affine(down, gelu(affine(up, c)))


def gelu(y: Array) -> Array:
    """y Phi(y), Phi the normal distribution function.

    In float32 Phi(y) = 1 / (1 + exp(y P(y^2))), P with the coefficients GELU_LOGIT, exact to one unit in the seventh
    decimal: erf would take longer than all matrix products together.

    >>> gelu(np.array([-1.0, 0.0, 2.0])).round(6)
    array([-0.158655,  0.      ,  1.9545  ])
    """
    if y.dtype == np.float64:
        return y * (0.5 + 0.5 * erf(y * np.sqrt(0.5)))  # type: ignore[no-any-return]
    square = y * y
    p = square * GELU_LOGIT[0]
    for coefficient in GELU_LOGIT[1:-1]:
        p += coefficient
        p *= square
    p += GELU_LOGIT[-1]
    p *= y
    np.exp(p, out=p)
    p += 1
    return np.divide(y, p, out=p)


def blocks(length: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most `size` that cover `length`."""
    return (slice(start, start + size) for start in range(0, length, size))
