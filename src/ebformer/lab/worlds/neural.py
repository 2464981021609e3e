"""Neural-generated priors: mixtures of pushforwards of the uniform law through small random networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from scipy.special import erf, expit

from ebformer.distributions import Floats
from ebformer.lab.worlds.base import World

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
def quadrature(nodes: int) -> tuple[Floats, Floats]:
    """The tensor Gauss-Legendre rule on [0, 1]^4: points [4, nodes^4] and weights [nodes^4].

    The networks are smooth, and the corners of the cube (the tails of a prior) get points of small weight: ten thousand
    such points beat a million random ones.
    """
    node, weight = np.polynomial.legendre.leggauss(nodes)
    points = np.stack(np.meshgrid(*[(node + 1) / 2] * WIDTH)).reshape(WIDTH, -1)
    weights: Floats = np.prod(np.meshgrid(*[weight / 2] * WIDTH), axis=0).ravel()
    points.flags.writeable = weights.flags.writeable = False
    return points, weights


def push_forward(rng: np.random.Generator, count: int, points: Floats) -> Floats:
    """`count` random networks sigmoid(10 (v . activation(W u + b) + c)) at every point u [4, p]: [count, p]."""
    uniform = rng.uniform(-0.5, 0.5, (count, WIDTH * WIDTH + 2 * WIDTH + 1))
    weight, bias, readout = np.split(uniform[:, :-1], [WIDTH * WIDTH, WIDTH * WIDTH + WIDTH], axis=1)
    activation = rng.integers(len(ACTIVATIONS), size=count)
    hidden = weight.reshape(count, WIDTH, WIDTH) @ points + bias[:, :, None]  # [count, 4, p]
    for kind, function in enumerate(ACTIVATIONS):
        chosen = activation == kind
        hidden[chosen] = function(hidden[chosen])
    output = (readout[:, None, :] @ hidden)[:, 0] + uniform[:, -1:]
    return np.asarray(expit(10 * output))


def gather(atoms: Floats, weights: Floats, cells: int) -> tuple[Floats, Floats]:
    """Replace the atoms [count, k] on [0, 1] within each of `cells` cells, even in sqrt(theta), by their mean.

    Even in sqrt(theta) because there the Poisson channel blurs everything by the same amount.
    """
    count = len(atoms)
    cell = np.minimum((np.sqrt(atoms) * cells).astype(np.int64), cells - 1) + cells * np.arange(count)[:, None]
    mass: Floats = np.bincount(cell.ravel(), weights.ravel(), count * cells).astype(np.float64)
    moment = np.bincount(cell.ravel(), (weights * atoms).ravel(), count * cells)
    mean = np.divide(moment, mass, out=np.zeros_like(mass), where=mass > 0)
    return mean.reshape(count, cells), mass.reshape(count, cells)


@dataclass(frozen=True)
class Neural(World):
    """Four networks per prior, each pushing Uniform[0, 1]^4 to [0, 1]; their mixture is stretched to [0, theta_max].

    A network stands at fineness^4 quadrature points, and all that comes out is gathered into 64 fineness cells.
    Reference: the paper's appendix "Training priors".

    >>> Neural(theta_max=50.0).draw_many(np.random.default_rng(0), 32).atoms.shape
    (32, 256)
    """

    name: ClassVar[str] = "neural"

    def sample(self, rng: np.random.Generator, theta_max: Floats, fineness: int) -> tuple[Floats, Floats]:
        points, weights = quadrature(fineness)
        base = push_forward(rng, len(theta_max) * NETWORKS, points).reshape(len(theta_max), NETWORKS * len(weights))
        mixed = np.broadcast_to(np.outer(OVERWRITING, weights).ravel(), base.shape)
        atoms, mass = gather(base, mixed, 64 * fineness)
        return theta_max[:, None] * atoms, mass
