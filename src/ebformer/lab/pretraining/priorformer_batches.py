"""Batches for priorformer: tallies over one shared grid, with exact Bayes rules and exact posteriors as targets.

All tallies of a batch share their sample size and the order of magnitude of their rates, so that one likelihood matrix
serves them all: marginals, EM steps and their gradients become plain matrix products.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy
from torch import Tensor

from ebformer.lab.pretraining.priorformer_worlds import LARGEST_RATE, Draw
from ebformer.networks.constants import PER_CELL
from ebformer.networks.grid import LOWEST, SPACING, atoms, coordinate, extent, middles, rate, relative_likelihood

Floats = NDArray[Any]

PER_ATOM = 3
"""Points of the fine grid per atom: priors are laid on it with their mean kept."""
PICKS = 12
"""Units per tally whose whole posterior is compared; the mean is compared for all."""


@dataclass(frozen=True)
class GridBatch:
    """b tallies on the union of their stretches of the grid: j cells, a = 4 j atoms, m distinct observations."""

    x: NDArray[np.int64]
    """[m] counts."""
    exposure: Floats
    """[m], 1 on average over the units."""
    likelihood: Tensor
    """[a, m], each column relative to its maximum."""
    theta: Tensor
    """[a] the atoms, in units of the mean exposure."""
    u: Tensor
    """[j] the coordinate in the middle of every cell."""
    share: Tensor
    """[b, m] multiplicity / n."""
    n: Tensor
    """[b]."""
    inside: Tensor
    """[b, j] the cells a tally uses."""
    bayes: Tensor
    """[b, m] E[theta | x, G]."""
    mean: Tensor
    """[b] average of `bayes` over the units."""
    picked: Tensor
    """[b, PICKS] observations drawn from the tally."""
    posterior: Tensor
    """[b, PICKS, a] distribution function of theta given the picked observation and G."""
    world: NDArray[Any]
    """[b] the name of the world of each prior."""


def fine_atoms(count: int) -> Floats:
    """The first points of the fine grid."""
    theta = rate(LOWEST + SPACING / PER_ATOM * np.arange(count))
    theta[0] = 0.0
    return theta


@functools.cache
def table() -> NDArray[np.float32]:
    """The relative likelihood of every count under every point of the fine grid; [counts, points]."""
    points = int((float(coordinate(np.array(LARGEST_RATE))) - LOWEST) / SPACING * PER_ATOM) + 3 * PER_ATOM * PER_CELL
    counts = np.arange(columns(LARGEST_RATE))
    return single(relative_likelihood(counts, fine_atoms(points)).T)


def single(likelihood: Floats) -> NDArray[np.float32]:
    return np.ascontiguousarray(likelihood, dtype=np.float32)


def columns(mean: float) -> int:
    """How many counts matter for rates up to `mean`."""
    return int(mean + 9 * np.sqrt(mean) + 16)


def on_fine_grid(draw: Draw, points: int) -> Floats:
    """The weights of a prior on the fine grid: each atom is split between its neighbours so that its rate is kept."""
    theta = fine_atoms(points)
    left = np.clip(np.searchsorted(theta, draw.atoms, side="right") - 1, 0, points - 2)
    right = np.clip((draw.atoms - theta[left]) / (theta[left + 1] - theta[left]), 0.0, 1.0)
    return np.bincount(left, draw.weights * (1 - right), points) + np.bincount(left + 1, draw.weights * right, points)


def make_batch(
    rng: np.random.Generator,
    draws: list[Draw],
    n: NDArray[np.int64],
    exposure: Floats | None = None,
) -> GridBatch:
    """Draw one tally of n[b] units from each prior; with `exposure` [k] and n [k], n[k] units of each exposure.

    Exposures are divided by their mean over the units, and rates multiplied by it.
    """
    largest = max(float(draw.atoms.max()) for draw in draws)
    points = min(table().shape[1], int((float(coordinate(np.array(largest))) - LOWEST) / SPACING * PER_ATOM) + 3)
    prior = np.stack([on_fine_grid(draw, points) for draw in draws]).astype(np.float32)
    fine = fine_atoms(points)
    if exposure is None:
        x = np.arange(min(columns(largest), len(table())))
        t = np.ones(len(x))
        fine_likelihood = table()[: len(x), :points]
        groups = [(slice(0, len(x)), n)]
    else:
        t_k = exposure * n.sum() / (exposure @ n)
        sizes = [columns(largest * one) for one in t_k]
        ends = np.cumsum(sizes)
        x, t = np.concatenate([np.arange(size) for size in sizes]), np.repeat(t_k, sizes)
        fine_likelihood = single(relative_likelihood(x, fine, t).T)
        groups = [
            (slice(end - size, end), np.full(len(draws), units))
            for size, end, units in zip(sizes, ends, n, strict=True)
        ]

    marginal = prior @ fine_likelihood.T
    bayes = (prior * fine.astype(np.float32)) @ fine_likelihood.T / marginal
    pmf = marginal * np.exp(xlogy(x, x) - x - gammaln(x + 1))
    tally = np.zeros(pmf.shape, dtype=np.int64)
    for group, units in groups:
        tally[:, group] = rng.multinomial(units, pmf[:, group] / pmf[:, group].sum(axis=1, keepdims=True))

    seen = np.flatnonzero(tally.any(axis=0))
    x, t, tally, bayes, fine_likelihood = x[seen], t[seen], tally[:, seen], bayes[:, seen], fine_likelihood[seen]
    total = tally.sum(axis=1, keepdims=True)
    stretch = np.array([extent(x[row > 0], t[row > 0]) for row in tally])
    first, last = int(stretch[:, 0].min()), int(stretch[:, 1].max())
    cell = np.arange(first, last)

    picked = np.stack([rng.choice(len(x), PICKS, p=row / row.sum()) for row in tally])
    fine_posterior = prior[:, None, :] * fine_likelihood[picked]
    fine_posterior /= fine_posterior.sum(axis=-1, keepdims=True)
    return GridBatch(
        x=x,
        exposure=t,
        likelihood=tensor(single(relative_likelihood(x, atoms(first, last), t))),
        theta=tensor(atoms(first, last)),
        u=tensor(middles(first, last)),
        share=tensor(tally / total),
        n=tensor(total[:, 0]),
        inside=torch.as_tensor((cell >= stretch[:, :1]) & (cell < stretch[:, 1:])),
        bayes=tensor(bayes),
        mean=tensor((tally * bayes).sum(axis=1) / total[:, 0]),
        picked=torch.as_tensor(picked),
        posterior=tensor(distribution(fine_posterior, first * PER_CELL, last * PER_CELL)),
        world=np.array([draw.world for draw in draws]),
    )


def distribution(fine: Floats, first: int, last: int) -> Floats:
    """Masses on the fine grid [..., points] as a distribution function at the atoms first, ..., last - 1.

    A fine point counts to its nearest atom; what lies beyond the ends counts to the outermost atoms.
    """
    start = first * PER_ATOM - PER_ATOM // 2
    padded = np.zeros((*fine.shape[:-1], (last - first) * PER_ATOM), dtype=fine.dtype)
    low, high = max(0, start), min(fine.shape[-1], start + padded.shape[-1])
    if high > low:
        padded[..., low - start : high - start] = fine[..., low:high]
    padded[..., 0] += fine[..., :low].sum(axis=-1)
    return np.cumsum(padded.reshape(*fine.shape[:-1], last - first, PER_ATOM).sum(axis=-1), axis=-1)


def tensor(array: Floats) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(array), dtype=torch.float32)
