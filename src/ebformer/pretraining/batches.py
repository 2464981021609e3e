"""A world to batches of tallies with the exact Bayes rule at every distinct value: what the networks learn from.

Priors are quantised on a fixed grid even in sqrt(theta), so one matrix product with the Poisson probabilities of the
grid gives every marginal f_G, the Bayes rule is (x + 1) f_G(x + 1) / f_G(x), and the tally of n units is one draw of
Multinomial(n, f_G). No theta is ever sampled and the cost does not grow with n.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from ebformer.worlds.base import Priors

STEP = 0.02
"""Spacing of the grid in sqrt(theta), where one unit is two standard deviations of sqrt(x)."""
LARGEST = 500.0
"""The upper end of the grid; no world of the paper reaches further."""
Floats = NDArray[np.float64]


@functools.cache
def poisson_matrix() -> Floats:
    """P[k, x] = probability of x under theta = (STEP * k)^2, for all x that occur: [K, X]."""
    theta = (STEP * np.arange(round(np.sqrt(LARGEST) / STEP) + 1)) ** 2
    x = np.arange(round(LARGEST + 10 * np.sqrt(LARGEST)))
    return np.exp(xlogy(x, theta[:, None]) - theta[:, None] - gammaln(x + 1))


def quantise(priors: Priors) -> Floats:
    """The weight each prior puts on each node of the grid, every atom moved to its nearest: [count, K]."""
    nodes = len(poisson_matrix())
    node = np.minimum(np.rint(np.sqrt(priors.atoms) / STEP), nodes - 1).astype(np.int64)
    cell = node + nodes * np.arange(len(priors))[:, None]
    return np.bincount(cell.ravel(), priors.weights.ravel(), nodes * len(priors)).reshape(len(priors), nodes)


@dataclass(frozen=True)
class Tallies:
    """Drawn tallies end to end; tally b has the next lengths[b] entries."""

    x: NDArray[np.int64]
    """[T] distinct values."""
    multiplicity: NDArray[np.int64]
    """[T] how many units showed each."""
    bayes: Floats
    """[T] E[theta | x] under the prior the tally was drawn from."""
    lengths: NDArray[np.int64]
    """[b]."""
    n: NDArray[np.int64]
    """[b] units."""
    mean: Floats
    """[b] the mean of the prior, which is also the risk of the MLE."""


def draw_tallies(priors: Priors, n: NDArray[np.int64], rng: np.random.Generator) -> Tallies:
    """One tally of n[b] units from each prior."""
    marginal = quantise(priors) @ poisson_matrix()  # [b, X]
    pmf = marginal / marginal.sum(axis=1, keepdims=True)
    tally = rng.multinomial(n, pmf)
    tally[:, -1] = 0
    row, x = np.nonzero(tally)
    bayes = (x + 1) * marginal[row, x + 1] / marginal[row, x]
    lengths = np.bincount(row, minlength=len(n))
    return Tallies(x, tally[row, x], bayes, lengths, n, pmf @ np.arange(pmf.shape[1]))


def log_uniform(low: int, high: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sample sizes whose logarithm is uniform between two bounds."""
    size: NDArray[Any] = np.exp(rng.uniform(np.log(low), np.log(high), count))
    return np.rint(size).astype(np.int64)
