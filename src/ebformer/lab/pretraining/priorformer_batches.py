"""Batches for priorformer: tallies over one shared grid, with exact Bayes rules and exact posteriors as targets.

All tallies of a batch share their channel, their sample size, what is known of their units and the order of magnitude
of their thetas, so that one likelihood matrix serves them all: marginals, EM steps and gradients are matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ebformer.channels.base import Channel
from ebformer.lab.worlds.shapes import Shape, trimmed
from ebformer.networks.constants import PER_CELL
from ebformer.networks.grid import WIDTH, Grid
from ebformer.networks.likelihood import relative_likelihood

Array = NDArray[Any]

PER_ATOM = 3
"""Points of the fine grid per atom: priors are laid on it with their mean kept."""
PICKS = 12
"""Units per tally whose whole posterior is compared; the mean is compared for all."""
STEP, SKIPPED = 0.5, 4.0
"""Observations lie half a deviation of the noise apart, whole numbers only where that skips SKIPPED of them or more.

A Gaussian seen through a lattice as fine as this tells as much of its mean, to nine digits, as one that is not."""
TAIL = 0.02
"""Of the units of a tally, how many may be expected in what is cut from either tail of its prior."""
MOST_CELLS, MOST_COLUMNS = 176, 800
"""A batch spans at most so many cells, and at most about so many observations: priors that lie far off are left out."""
CELLS_IN_ALL, FEWEST = 1600, 6
"""Of a batch of many cells only so many tallies are kept, and FEWEST at least."""


@dataclass(frozen=True)
class Setting:
    """What the tallies of a batch share."""

    channel: Channel
    known: Array
    """[k] what may be known of a unit,"""
    units: NDArray[np.int64]
    """[k] and of how many units: n in all."""
    theta_max: float
    lean: float = 0.0
    """How much the better known units are those of large theta: their chance grows by exp(lean) per deviation."""

    @property
    def n(self) -> int:
        return int(self.units.sum())


@dataclass(frozen=True)
class GridBatch:
    """b tallies on the union of their stretches of the grid: j cells, a = 4 j atoms, m distinct observations."""

    grid: Grid
    x: Array
    """[m]."""
    known: Array
    """[m]."""
    likelihood: Tensor
    """[a, m], each column relative to its maximum."""
    theta: Tensor
    """[a] the atoms."""
    edges: Tensor
    """[8, j] how near the ends of the domain are."""
    share: Tensor
    """[b, m] multiplicity / n."""
    n: Tensor
    """[b]."""
    inside: Tensor
    """[b, j] the cells a tally uses."""
    bayes: Tensor
    """[b, m] E[theta | x, G]."""
    variance: Tensor
    """[b] of the noise in theta, at the mean of `bayes` over the units."""
    picked: Tensor
    """[b, PICKS] observations drawn from the tally, the largest among them."""
    posterior: Tensor
    """[b, PICKS, a] distribution function of theta given the picked observation and G."""
    world: NDArray[Any]
    """[b] the name of the world of each prior."""


def make_batch(
    rng: np.random.Generator, setting: Setting, drawn: list[tuple[str, Shape]], leaders: int = 2
) -> GridBatch | None:
    """Draw one tally from each prior, given with the name of its world; None where too few fit on a grid."""
    whole = Grid.whole(setting.channel, setting.known, setting.units)
    shapes = [trimmed(*shape, TAIL / setting.n) for _, shape in drawn]
    ends = whole.v_of(np.array([[atoms.min(), atoms.max()] for atoms, _ in shapes]))
    noise = setting.channel.noise(setting.known) / whole.noise
    fitting = together(ends, min(WIDTH * MOST_CELLS, STEP * MOST_COLUMNS / float(np.sum(1.0 / noise))))
    if len(fitting) < FEWEST:
        return None
    drawn, shapes, ends = [drawn[b] for b in fitting], [shapes[b] for b in fitting], ends[fitting]
    fine = whole.between(float(ends.min()) - WIDTH, float(ends.max()) + WIDTH)
    u, theta = fine.atoms(PER_ATOM)
    prior = np.stack([laid(fine, u, theta, *shape) for shape in shapes])

    x, known, width, level = lattice(rng, setting, float(theta.min()), float(theta.max()))
    likelihood = relative_likelihood(setting.channel, x, theta, known, np.float32).T  # [m, points]
    height = width * np.exp(setting.channel.log_peak(x, known))
    tally = np.zeros((len(drawn), len(x)), dtype=np.int64)
    bayes = np.zeros(tally.shape)
    priors = leaning(prior, u, setting)
    for one, units in enumerate(setting.units):
        own = level == one
        marginal = priors[one] @ likelihood[own].T
        bayes[:, own] = (priors[one] * theta) @ likelihood[own].T / marginal
        total = likelihood[own].T @ height[own].astype(np.float32)  # 1, but for what a lattice of unequal steps misses
        pmf = ((priors[one] / total) @ likelihood[own].T * height[own]).astype(np.float64)
        tally[:, own] = rng.multinomial(units, pmf / pmf.sum(axis=1, keepdims=True))

    bottom, top = whole.spoken_of(x, known)
    stretch = np.array([whole.between(bottom[row > 0].min(), top[row > 0].max()).stretch for row in tally])
    cells = int(stretch[:, 1].max() - stretch[:, 0].min())
    kept = np.sort(rng.permutation(len(drawn))[: max(FEWEST, CELLS_IN_ALL // cells)])
    seen = np.flatnonzero(tally[kept].any(axis=0))
    tally, bayes, stretch = tally[np.ix_(kept, seen)], bayes[np.ix_(kept, seen)], stretch[kept]
    grid = replace(whole, first=int(stretch[:, 0].min()), last=int(stretch[:, 1].max()))
    total = tally.sum(axis=1, keepdims=True)
    picked = np.stack([picks(rng, row, estimate, leaders) for row, estimate in zip(tally, bayes, strict=True)])
    posterior = np.stack([priors[level[seen[one]], b] for b, row in zip(kept, picked, strict=True) for one in row])
    posterior *= likelihood[seen[picked.ravel()]]
    posterior /= posterior.sum(axis=-1, keepdims=True)
    cell = np.arange(grid.first, grid.last)
    return GridBatch(
        grid=grid,
        x=x[seen],
        known=known[seen],
        likelihood=tensor(relative_likelihood(setting.channel, x[seen], grid.theta, known[seen], np.float32)),
        theta=tensor(grid.theta),
        edges=tensor(grid.edges()),
        share=tensor(tally / total),
        n=tensor(total[:, 0]),
        inside=torch.as_tensor((cell >= stretch[:, :1]) & (cell < stretch[:, 1:])),
        bayes=tensor(bayes),
        variance=tensor(noise_variance(grid, (tally * bayes).sum(axis=1) / total[:, 0])),
        picked=torch.as_tensor(picked),
        posterior=tensor(distribution(posterior, fine, grid).reshape(len(kept), PICKS, -1)),
        world=np.array([drawn[b][0] for b in kept]),
    )


def together(ends: Array, most: float) -> NDArray[np.intp]:
    """Those of the intervals [b, 2] whose union is at most so long, without the ones that reach out farthest.

    >>> together(np.array([[0.0, 2.0], [1.0, 9.0], [1.0, 3.0]]), most=4.0).tolist()
    [0, 2]
    """
    left = np.arange(len(ends))
    while len(left) and np.ptp(ends[left]) > most:
        out = np.abs(ends[left] - np.median(ends[left])).max(axis=1)
        left = np.delete(left, int(np.argmax(out)))
    return left


def laid(grid: Grid, u: Array, theta: Array, atoms: Array, weights: Array) -> Array:
    """The weights of a prior on the fine grid: each atom is split between its neighbours so that its theta is kept."""
    left = np.clip(np.searchsorted(u, grid.u_of(atoms), side="right") - 1, 0, len(u) - 2)
    gap = theta[left + 1] - theta[left]
    right = np.clip(np.divide(atoms - theta[left], gap, out=np.zeros(len(atoms)), where=gap > 0), 0.0, 1.0)
    mass = np.bincount(left, weights * (1 - right), len(u)) + np.bincount(left + 1, weights * right, len(u))
    return mass.astype(np.float32)


def leaning(prior: Array, u: Array, setting: Setting) -> Array:
    """The prior of the units of each level of what is known: [k, b, points]."""
    if setting.lean == 0.0:
        return np.broadcast_to(prior, (len(setting.known), *prior.shape))
    precision = -2.0 * np.log(setting.channel.noise(setting.known))
    mean = prior @ u
    z = (u - mean[:, None]) / np.sqrt(np.maximum(prior @ u**2 - mean**2, 1e-6))[:, None]
    tilt = np.exp(setting.lean * np.multiply.outer(precision - precision.mean(), np.clip(z, -3.0, 3.0)))
    chance = tilt * setting.units[:, None, None]
    leant = prior * (chance / chance.sum(axis=0))
    return np.asarray((leant / leant.sum(axis=-1, keepdims=True)).astype(np.float32))


def lattice(rng: np.random.Generator, setting: Setting, low: float, high: float) -> tuple[Array, ...]:
    """Every observation that thetas from low to high may give, what is known of it, how much it stands for, its level.

    Where x is continuous the lattice lies anywhere, so that the network does not learn where atoms are.
    """
    channel, columns = setting.channel, list[tuple[Array, ...]]()
    for level, known in enumerate(setting.known):
        about = np.array([known])
        bottom, top = (
            float(channel.mean(np.array([end]), about)[0] + side * np.sqrt(channel.variance(np.array([end]), about))[0])
            for end, side in ((low, -8.0), (high, 8.0))
        )
        if channel.whole:
            x = np.array(whole_numbers(channel, max(0.0, np.floor(bottom - 4.0)), np.ceil(top + 12.0), known))
            x = x[channel.possible_pair(x, about)]
            width = np.gradient(x) if len(x) > 1 else np.ones(1)
            width[[0, -1]] = 1.0
        else:
            step = STEP * float(np.sqrt(channel.variance(np.array([low]), about))[0])
            x = np.arange(bottom + step * rng.random(), top, step)
            width = np.full(len(x), step)
        columns.append((x, np.full(len(x), known), width, np.full(len(x), level)))
    return tuple(np.concatenate(parts) for parts in zip(*columns, strict=True))


def whole_numbers(channel: Channel, bottom: float, top: float, known: float) -> list[float]:
    """Whole numbers from bottom to top, STEP deviations of the noise apart where these are many."""
    x, about, numbers = bottom, np.array([known]), list[float]()
    while x <= top and bool(channel.possible_pair(np.array([x]), about)[0]):
        numbers.append(x)
        deviation = float(np.sqrt(channel.variance(channel.mle(np.array([x]), about), about))[0])
        x += np.floor(STEP * deviation) if STEP * deviation >= SKIPPED else 1.0
    return numbers


def noise_variance(grid: Grid, theta: Array) -> Array:
    """(dtheta / dv)^2: the variance of the noise of a typical unit, for thetas not too near the ends of the domain."""
    v = np.clip(grid.v_of(np.clip(theta, *grid.channel.domain)), grid.low + 0.45, grid.length - 0.45)
    return np.asarray((grid.theta_at(v + 0.05) - grid.theta_at(v - 0.05)) / 0.1) ** 2


def picks(rng: np.random.Generator, row: Array, estimate: Array, leaders: int) -> NDArray[np.int64]:
    """PICKS observations of a tally: the leader, others of the leading tenth, and others at random."""
    order = np.argsort(np.where(row > 0, estimate, -np.inf))[::-1]
    leading = order[: 1 + int(np.searchsorted(np.cumsum(row[order]), row.sum() / 10))]
    some = rng.choice(leading, leaders - 1, p=row[leading] / row[leading].sum())
    return np.concatenate([order[:1], some, rng.choice(len(row), PICKS - leaders, p=row / row.sum())])


def distribution(fine: Array, on: Grid, grid: Grid) -> Array:
    """Masses on the fine version of one grid [..., points] as a distribution function at the atoms of another.

    A fine point counts to its nearest atom; what lies beyond the ends counts to the outermost atoms.
    """
    mass = fine.reshape(*fine.shape[:-1], -1, PER_ATOM).sum(axis=-1)
    start, stop = (PER_CELL * (end - on.first) for end in grid.stretch)
    padded = np.zeros((*mass.shape[:-1], stop - start), dtype=mass.dtype)
    low, high = np.clip([start, stop], 0, mass.shape[-1])
    if high > low:
        padded[..., low - start : high - start] = mass[..., low:high]
    padded[..., 0] += mass[..., :low].sum(axis=-1)
    return np.cumsum(padded, axis=-1)


def tensor(array: Array) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(array), dtype=torch.float32)
