"""The family of transformers that T24r, L24r and T24f belong to: what determines a network, and the arrays it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ebformer.errors import InputError
from ebformer.networks.config import Config

Attention = Literal["softmax", "linear"]
FeatureMap = Literal["identity", "elu+1", "relu"]
Embedding = Literal["linear", "stabilised"]

FREQUENCIES = (0.5, 1.0, 2.0, 4.0)
"""Angular frequencies of the sines and cosines of z in the stabilised embedding; z has standard deviation 1."""


@dataclass(frozen=True)
class Architecture(Config):
    """A transformer without positions over the distinct values of a tally.

    `layers` layers share `weight_sets` sets of weights: layer i uses set floor(i * weight_sets / layers). A layer is
    `h += gain * attention(norm(h)); h += gain * mlp(norm(h))`.

    The `linear` embedding is `[x, 1]` with a GELU output, as published. The `stabilised` one feeds z = 2 sqrt(x + 3/8),
    its sines and cosines, log(1 + x) and, where `sees_n`, log n, and answers (z + delta)^2 / 4: untrained, delta is 0
    and the network is the MLE up to 3/8.

    >>> Architecture(weight_sets=2, embedding="linear").parameters
    25601
    >>> Architecture(weight_sets=24, embedding="linear").parameters
    305089
    >>> Architecture(attention="linear").shapes()["head.weight"]
    (1, 32)
    """

    layers: int = 24
    width: int = 32
    heads: int = 8
    weight_sets: int = 2
    attention: Attention = "softmax"
    feature_map: FeatureMap = "identity"
    normalised: bool = False
    """Linear attention only: divide by the sum of the kernel (Katharopoulos et al.) instead of by n (L24r)."""
    embedding: Embedding = "stabilised"
    sees_n: bool = True
    """Stabilised embedding only. Attention sees proportions alone: without this, 100 units look like a million."""
    largest_n: float = 1e9
    """Where `sees_n`: in use (training always tells n), a larger sample is presented as one of this size."""
    gain: float = 0.5
    mlp: bool = True

    def __post_init__(self) -> None:
        for name, choices in (("attention", Attention), ("feature_map", FeatureMap), ("embedding", Embedding)):
            if (choice := getattr(self, name)) not in get_args(choices):
                raise InputError(f"{name} is {choice!r}: choose from {', '.join(get_args(choices))}")
        if not 1 <= self.heads <= self.width or self.width % self.heads:
            raise InputError(f"heads must divide the width: {self.heads} heads cannot share a width of {self.width}")
        if not 1 <= self.weight_sets <= self.layers:
            raise InputError(f"weight_sets must lie between 1 and layers = {self.layers}, not {self.weight_sets}")

    @property
    def features(self) -> int:
        """How many numbers describe a token before the embedding."""
        if self.embedding == "linear":
            return 2
        return 2 * len(FREQUENCIES) + 3 + int(self.sees_n)

    def set_of(self, layer: int) -> int:
        """The weight set that a layer uses."""
        return layer * self.weight_sets // self.layers

    def shapes(self) -> dict[str, tuple[int, ...]]:
        d = self.width
        shapes: dict[str, tuple[int, ...]] = {"embed.weight": (d, self.features), "embed.bias": (d,)}
        for w in range(self.weight_sets):
            shapes |= {
                f"sets.{w}.norm1.weight": (d,),
                f"sets.{w}.norm1.bias": (d,),
                f"sets.{w}.attention.qkv.weight": (3 * d, d),
                f"sets.{w}.attention.qkv.bias": (3 * d,),
                f"sets.{w}.attention.out.weight": (d, d),
                f"sets.{w}.attention.out.bias": (d,),
            }
            if self.mlp:
                shapes |= {
                    f"sets.{w}.norm2.weight": (d,),
                    f"sets.{w}.norm2.bias": (d,),
                    f"sets.{w}.mlp.up.weight": (4 * d, d),
                    f"sets.{w}.mlp.up.bias": (4 * d,),
                    f"sets.{w}.mlp.down.weight": (d, 4 * d),
                    f"sets.{w}.mlp.down.bias": (d,),
                }
        return shapes | {"norm.weight": (d,), "norm.bias": (d,), "head.weight": (1, d), "head.bias": (1,)}


def stabilised(x: NDArray[Any]) -> NDArray[np.float64]:
    """The variance-stabilised count z = 2 sqrt(x + 3/8), whose noise has standard deviation near 1 whatever the rate.

    >>> stabilised(np.array([0, 100])).round(3)
    array([ 1.225, 20.037])
    """
    return 2.0 * np.sqrt(np.asarray(x, dtype=np.float64) + 0.375)


def token_features(architecture: Architecture, x: NDArray[Any], n: NDArray[Any]) -> NDArray[np.float64]:
    """The description of every token: x [..., u] and sample sizes n [...] give features [..., u, f].

    >>> token_features(Architecture(embedding="linear"), np.array([3, 5]), np.array(2)).tolist()
    [[3.0, 1.0], [5.0, 1.0]]
    """
    x = np.asarray(x, dtype=np.float64)
    if architecture.embedding == "linear":
        return np.stack([x, np.ones_like(x)], axis=-1)
    z = stabilised(x)
    columns = [z / 10.0, np.log1p(x) / 3.0, np.ones_like(z)]
    for frequency in FREQUENCIES:
        columns += [np.sin(frequency * z), np.cos(frequency * z)]
    if architecture.sees_n:
        told = np.minimum(np.asarray(n, dtype=np.float64), architecture.largest_n)
        log_n = (np.log(told)[..., None] - 7.0) / 2.0
        columns.append(np.broadcast_to(log_n, z.shape))
    return np.stack(columns, axis=-1)
