"""Neural-generated priors: mixtures of pushforwards of the uniform law through small random networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from scipy.special import erf, expit
from scipy.stats import qmc

from ebformer.worlds.base import Floats, World

NETWORKS, WIDTH = 4, 4
OVERWRITING = np.array([27, 9, 12, 16]) / 64
"""Mixture weights: start with network 1, then networks 2, 3, 4 each overwrite a draw with probability 1/4."""


def gelu(z: Floats) -> Floats:
    return np.asarray(0.5 * z * (1 + erf(z / np.sqrt(2))))


def relu(z: Floats) -> Floats:
    return np.maximum(z, 0)


def selu(z: Floats) -> Floats:
    return 1.0507009873554805 * np.where(z > 0, z, 1.6732632423543772 * np.expm1(np.minimum(z, 0)))


def celu(z: Floats) -> Floats:
    return np.where(z > 0, z, np.expm1(np.minimum(z, 0)))


def silu(z: Floats) -> Floats:
    return np.asarray(z * expit(z))


def tanhshrink(z: Floats) -> Floats:
    return z - np.tanh(z)


ACTIVATIONS: tuple[Callable[[Floats], Floats], ...] = (gelu, gelu, relu, selu, celu, silu, np.tanh, tanhshrink)
"""Equally likely entries: GELU stands twice, as in the published code."""


@cache
def inputs(points: int) -> Floats:
    """Sobol points on [0, 1]^4, each in the middle of its cell: [4, points], a power of two of them."""
    cube: Floats = qmc.Sobol(WIDTH, scramble=False).random(points).T + 0.5 / points
    cube.flags.writeable = False
    return cube


def generators(rng: np.random.Generator, count: int, points: int) -> Floats:
    """`count` random networks sigmoid(10 (v . activation(W u + b) + c)) at every Sobol point u: [count, points]."""
    uniform = rng.uniform(-0.5, 0.5, (count, WIDTH * WIDTH + 2 * WIDTH + 1))
    weight, bias, readout = np.split(uniform[:, :-1], [WIDTH * WIDTH, WIDTH * WIDTH + WIDTH], axis=1)
    activation = rng.integers(len(ACTIVATIONS), size=count)
    hidden = weight.reshape(count, WIDTH, WIDTH) @ inputs(points) + bias[:, :, None]  # [count, 4, points]
    for kind, function in enumerate(ACTIVATIONS):
        chosen = activation == kind
        hidden[chosen] = function(hidden[chosen])
    output = (readout[:, None, :] @ hidden)[:, 0] + uniform[:, -1:]
    return np.asarray(expit(10 * output))


@dataclass(frozen=True)
class Neural(World):
    """Four networks per prior, each pushing Uniform[0, 1]^4 to [0, 1]; their mixture is stretched to [0, theta_max].

    Each network is represented by 128 * fineness Sobol points of equal weight. Paper: appendix "Training priors".

    >>> Neural(theta_max=50.0).draw_many(np.random.default_rng(0), 32).atoms.shape
    (32, 512)
    """

    name: ClassVar[str] = "neural"

    def sample(self, rng: np.random.Generator, theta_max: Floats, fineness: int) -> tuple[Floats, Floats]:
        count, points = len(theta_max), 128 * fineness
        base = generators(rng, count * NETWORKS, points).reshape(count, NETWORKS * points)
        weights = np.repeat(OVERWRITING / points, points)
        return theta_max[:, None] * base, np.tile(weights, (count, 1))
