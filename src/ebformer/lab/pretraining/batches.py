"""A world to tallies with the exact Bayes rule at every distinct value: what the networks learn from.

Priors are quantised on a fixed grid even in sqrt(theta), so one matrix product with the Poisson probabilities of the
grid gives every marginal f_G, the Bayes rule is (x + 1) f_G(x + 1) / f_G(x), and the tally of n units is one draw of
Multinomial(n, f_G). No theta is sampled and the cost does not grow with n.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from ebformer.distributions import Floats
from ebformer.lab.worlds.base import Priors

Integers = NDArray[np.int64]

STEP = 0.02
"""Spacing of the grid in sqrt(theta), a quantity that Poisson noise blurs by 1/2."""
GRID_END = 500.0
"""The upper end of the grid; no world of the paper reaches further."""


@dataclass(frozen=True)
class Tallies:
    """Drawn tallies end to end: tally b has the next lengths[b] entries."""

    x: Integers
    """[T] values."""
    multiplicity: Integers
    """[T] how many units each entry stands for."""
    target: Floats
    """[T] what a network should answer there."""
    lengths: Integers
    """[b]."""
    n: Integers
    """[b] units."""
    mean: Floats
    """[b] mean theta of the prior, which is also the risk of the MLE."""


@functools.cache
def poisson_matrix() -> tuple[Floats, Floats]:
    """The grid theta_k = (STEP k)^2 [K] and P[k, x] = Poisson(x; theta_k) for all x that occur [K, X]."""
    theta = (STEP * np.arange(round(np.sqrt(GRID_END) / STEP) + 1)) ** 2
    x = np.arange(round(GRID_END + 10 * np.sqrt(GRID_END)))
    return theta, np.exp(xlogy(x, theta[:, None]) - theta[:, None] - gammaln(x + 1))


def quantise(priors: Priors) -> Floats:
    """The weight each prior puts on each node of the grid, every atom moved to its nearest node: [b, K]."""
    nodes = len(poisson_matrix()[0])
    node = np.minimum(np.rint(np.sqrt(priors.atoms) / STEP), nodes - 1).astype(np.int64)
    cell = node + nodes * np.arange(len(priors))[:, None]
    weights = np.bincount(cell.ravel(), priors.weights.ravel(), nodes * len(priors))
    return np.asarray(weights, dtype=np.float64).reshape(len(priors), nodes)


def draw_tallies(priors: Priors, n: Integers, rng: np.random.Generator) -> Tallies:
    """One tally of n[b] units from each prior, with the exact Bayes rule as its target."""
    theta, poisson = poisson_matrix()
    weights = quantise(priors)
    marginal = weights @ poisson  # [b, X]
    seen = marginal[:, :-1]
    tally = rng.multinomial(n, seen / seen.sum(axis=1, keepdims=True))
    row, x = np.nonzero(tally)
    bayes = (x + 1) * marginal[row, x + 1] / marginal[row, x]
    return Tallies(x, tally[row, x], bayes, np.bincount(row, minlength=len(n)), n, weights @ theta)


def draw_units(priors: Priors, n: Integers, rng: np.random.Generator, theta_targets: bool, collapsed: bool) -> Tallies:
    """The same law the long way, unit by unit: theta from the prior, x from theta.

    The target is theta or the Bayes rule; collapsed, the units of equal x become one entry whose target is their mean,
    which has the same gradient.
    """
    grid, poisson = poisson_matrix()
    weights = quantise(priors)
    theta = np.concatenate(
        [grid[rng.choice(len(grid), size, p=w / w.sum())] for size, w in zip(n, weights, strict=True)]
    )
    row, x = np.repeat(np.arange(len(n)), n), rng.poisson(theta)
    marginal = weights @ poisson
    target = theta if theta_targets else (x + 1) * marginal[row, x + 1] / marginal[row, x]
    if not collapsed:
        return Tallies(x, np.ones_like(x), target, n, n, weights @ grid)
    entry, place, multiplicity = np.unique(row * poisson.shape[1] + x, return_inverse=True, return_counts=True)
    row, x = np.divmod(entry, poisson.shape[1])
    target = np.bincount(place, target) / multiplicity
    return Tallies(x, multiplicity, target, np.bincount(row, minlength=len(n)), n, weights @ grid)
