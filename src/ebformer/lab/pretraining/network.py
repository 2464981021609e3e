"""The torch twin of networks/forward.py: the same arrays under the same names, stacked tallies in, estimates out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from ebformer.lab.pretraining.attention import linear_attention, softmax_attention
from ebformer.networks.architecture import Architecture, stabilised, token_features
from ebformer.networks.constants import LAYER_NORM_EPSILON


@dataclass(frozen=True)
class Tokens:
    """The tallies of a batch, stacked without padding; tally b owns tokens start[b] to start[b + 1] - 1."""

    features: Tensor
    """[T, f] what `token_features` says of each distinct value."""
    z: Tensor
    """[T] the stabilised values."""
    multiplicity: Tensor
    """[T] how many units showed each."""
    share: Tensor
    """[T] multiplicity / n."""
    start: Tensor
    """[b + 1]."""
    tally: Tensor
    """[T] the tally of each token."""

    @classmethod
    def of(
        cls, architecture: Architecture, x: NDArray[Any], multiplicity: NDArray[Any], lengths: NDArray[Any]
    ) -> Tokens:
        """From the values and multiplicities of all tallies end to end, and how many distinct values each has."""
        start = np.concatenate([[0], np.cumsum(lengths)])
        n = np.add.reduceat(multiplicity, start[:-1])
        tally = np.repeat(np.arange(len(lengths)), lengths)
        features = token_features(architecture, x[:, None], n[tally])[:, 0]
        real = (features, stabilised(x), multiplicity, multiplicity / n[tally])
        return cls(*(torch.from_numpy(a.astype(np.float32)) for a in real), *map(torch.from_numpy, (start, tally)))

    def to(self, device: torch.device | str) -> Tokens:
        """The same tokens on another device."""
        return Tokens(**{name: tensor.to(device) for name, tensor in vars(self).items()})


def layer_norm(width: int) -> nn.LayerNorm:
    return nn.LayerNorm(width, LAYER_NORM_EPSILON)


class Attention(nn.Module):
    """Multi-head attention among the tokens of each tally: h [T, d] gives [T, d]."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.architecture = architecture
        self.qkv = nn.Linear(architecture.width, 3 * architecture.width)
        self.out = nn.Linear(architecture.width, architecture.width)

    def forward(self, h: Tensor, tokens: Tokens) -> Tensor:
        qkv, heads = self.qkv(h), self.architecture.heads
        if self.architecture.attention == "softmax":
            mixed = softmax_attention(qkv, tokens.multiplicity, tokens.start, heads)
        else:
            mixed = linear_attention(qkv, tokens.share, tokens.start, tokens.tally, self.architecture)
        return self.out(mixed)  # type: ignore[no-any-return]


class Mlp(nn.Module):
    """Two linear maps around an exact GELU."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, h: Tensor) -> Tensor:
        return self.down(F.gelu(self.up(h)))  # type: ignore[no-any-return]


class WeightSet(nn.Module):
    """What the layers that share a weight set do: h += gain * attention(norm(h)); h += gain * mlp(norm(h))."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.norm1, self.attention = layer_norm(architecture.width), Attention(architecture)
        if architecture.mlp:
            self.norm2, self.mlp = layer_norm(architecture.width), Mlp(architecture.width)

    def forward(self, h: Tensor, tokens: Tokens, gain: float) -> Tensor:
        h = torch.add(h, self.attention(self.norm1(h), tokens), alpha=gain)
        return torch.add(h, self.mlp(self.norm2(h)), alpha=gain) if hasattr(self, "mlp") else h


class TransformerModule(nn.Module):
    """Tokens in, one estimate of theta per token [T] out; `state_dict()` has the arrays of `Architecture.shapes()`."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.architecture = architecture
        self.embed = nn.Linear(architecture.features, architecture.width)
        self.sets = nn.ModuleList(WeightSet(architecture) for _ in range(architecture.weight_sets))
        self.norm, self.head = layer_norm(architecture.width), nn.Linear(architecture.width, 1)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                nn.init.xavier_uniform_(parameter)
            elif not name.endswith("weight"):
                nn.init.zeros_(parameter)
        if architecture.embedding == "stabilised":
            nn.init.zeros_(self.head.weight)

    def forward(self, tokens: Tokens) -> Tensor:
        h = self.embed(tokens.features)  # [T, d]
        for layer in range(self.architecture.layers):
            h = self.sets[self.architecture.set_of(layer)](h, tokens, self.architecture.gain)
        out = self.head(self.norm(h))[:, 0]
        return F.gelu(out) if self.architecture.embedding == "linear" else (tokens.z + out) ** 2 / 4
