"""Versions of a prior that its table cannot tell apart: how unsure an answer of a network is of itself.

An answer is one prior, and few units know little of it. Its place and its spread are tilted, p_j exp(a z_j + b z_j^2),
by as much as the data leave open: (a, b) is Gaussian around 0, with the precision that the units have by Fisher's
information plus what the network knew before it saw them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.networks.grid import Grid
from ebformer.networks.likelihood import Likelihood

Array = NDArray[Any]

KNOWN_BEFORE = 20.0
"""Precision of both tilts before any unit is seen."""
LEAST_SPREAD, FARTHEST = 0.4, 4.0
"""z is measured in deviations of the prior, widened by so many of the noise, and goes up to so many of these."""


def versions(grid: Grid, likelihood: Likelihood, count: Array, weights: Array) -> Array:
    """Four priors [4, a], equally likely, whose tilts have mean 0 and the covariance that the data leave open.

    `count` are the units that showed each observation of the likelihood, `weights` those of the atoms.
    """
    tilts = centred_tilts(grid, weights)
    wide = likelihood.in_double
    score = wide.marginal(weights * tilts) / wide.marginal(weights)
    steps = np.sqrt(2.0) * inverse_square_root((score * count) @ score.T + KNOWN_BEFORE * np.eye(2))
    logs = np.log(weights) + np.concatenate([steps, -steps]) @ tilts
    found = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def centred_tilts(grid: Grid, weights: Array) -> Array:
    """z and its square at every atom, less their means: [2, a]."""
    v = grid.v_of(grid.theta)
    mean = float(weights @ v)
    noise = min(1.0, mean - grid.low, grid.length - mean)  # there is less of it near an end of the domain
    spread = np.sqrt(weights @ (v - mean) ** 2 + (LEAST_SPREAD * noise) ** 2)
    z = np.clip((v - mean) / spread, -FARTHEST, FARTHEST)
    tilts = np.stack([z, z * z])
    return np.asarray(tilts - (tilts @ weights)[:, None])


def inverse_square_root(matrix: Array) -> Array:
    """The symmetric root of the inverse of a positive definite matrix [2, 2], by Cayley and Hamilton.

    >>> (3 * inverse_square_root(np.array([[5.0, 4.0], [4.0, 5.0]]))).round(9).tolist()
    [[2.0, -1.0], [-1.0, 2.0]]
    """
    (a, b), (_, c) = matrix.tolist()
    root = (a * c - b * b) ** 0.5
    return np.asarray(np.array([[c + root, -b], [-b, a + root]]) / (root * (a + c + 2.0 * root) ** 0.5))
