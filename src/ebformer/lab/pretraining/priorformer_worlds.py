"""The priors priorformer is trained on: the paper's neural and Dirichlet worlds, few atoms, smooth and everyday shapes,
and bells that end at a hard upper edge.

No prior of the multinomial and the least favourable world is among them. But Dirichlet processes of concentration 500
come close to the multinomial world on [0, 50], so that world counts as covered in training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtr

from ebformer.lab.worlds.base import PaperThetaMax, log_uniform
from ebformer.lab.worlds.dirichlet import Dirichlet
from ebformer.lab.worlds.neural import Neural

Floats = NDArray[Any]

LARGEST_RATE = 560.0
"""The largest rate of any training prior."""
SMALLEST_THETA_MAX = 0.05
PLACES = (np.arange(500) + 0.5) / 500
"""Even on [0, 1]."""
NORMAL = np.linspace(-5.3, 5.3, 500)
QUANTILES, MASSES = ndtr(NORMAL), np.diff(ndtr(np.concatenate([[-np.inf], (NORMAL[1:] + NORMAL[:-1]) / 2, [np.inf]])))
"""Quantiles that reach one in ten million on either side, since heavy tails matter, and the mass each stands for."""


@dataclass(frozen=True)
class Draw:
    """One prior and the name of the world it came from."""

    world: str
    atoms: Floats
    weights: Floats


def theta_max(rng: np.random.Generator) -> float:
    """Two in three from the paper's law, the others log-uniform from rare events to 200."""
    if rng.random() < 2 / 3:
        return float(PaperThetaMax(floor=SMALLEST_THETA_MAX).draw(rng, 1)[0])
    return float(log_uniform(rng, SMALLEST_THETA_MAX, 200.0))


def neural(rng: np.random.Generator, top: Floats) -> list[Draw]:
    """The paper's neural world."""
    atoms, weights = Neural().sample(rng, top, 6)
    return [Draw("neural", *pair) for pair in zip(atoms, weights, strict=True)]


def dirichlet(world: str, low: float, high: float) -> Callable[[np.random.Generator, float], Draw]:
    """Dirichlet processes on the uniform law whose concentration is log-uniform on [low, high]."""

    def draw(rng: np.random.Generator, top: float) -> Draw:
        alpha = float(log_uniform(rng, low, high))
        atoms, weights = Dirichlet(alpha=alpha).sample(rng, np.array([top]), 4)
        return Draw(world, atoms[0], weights[0])

    return draw


def few(rng: np.random.Generator, top: float) -> Draw:
    """1 to 20 atoms anywhere, or denser near zero."""
    k = int(log_uniform(rng, 1.0, 21.0))
    place = rng.random(k) ** (1 + rng.integers(2))
    return Draw("few", top * place, uneven(rng, place))


def spaced(rng: np.random.Generator, top: float) -> Draw:
    """1 to 20 atoms with comparable gaps in sqrt(theta), in one case of four the first at zero."""
    k = int(log_uniform(rng, 1.0, 21.0))
    regularity = log_uniform(rng, 1.0, 100.0)
    gap = rng.gamma(regularity, 1 / regularity, k)
    root = np.cumsum(gap) - gap[0] * (1.0 if rng.random() < 0.25 else rng.random())
    root /= max(root[-1], 1e-12)
    if rng.random() < 0.7:  # gaps of one to four deviations of the noise, however large theta_max is
        root *= min(1.0, k * log_uniform(rng, 0.8, 4.0) / (2 * np.sqrt(top)))
        root += (1 - root[-1]) * (rng.random() if rng.random() < 0.5 else 1.0)
    place = np.clip(root, 0.0, 1.0) ** 2
    return Draw("spaced", top * place, uneven(rng, place))


def uneven(rng: np.random.Generator, place: Floats) -> Floats:
    """Random weights, nearly equal or not at all, with a trend up or down."""
    even = log_uniform(rng, 0.3, 30.0)
    weights = (rng.gamma(even, 1.0, len(place)) + 1e-9) * (place + 1e-3) ** rng.uniform(-1.0, 3.0)
    return np.asarray(weights / weights.sum())


def smooth(rng: np.random.Generator, top: float) -> Draw:
    """One or two beta densities on parts of [0, theta_max], half of the time times exp of a random continuous curve.

    The curve is linear between normal values of standard deviation 0.1 to 1 at places 0.3 to 8 noise deviations apart.
    """
    parts = 1 if rng.random() < 0.6 else 2
    place = PLACES**2
    atoms, weights = [], []
    for part in rng.dirichlet(np.ones(parts)):
        a, b = log_uniform(rng, 0.5, 8.0, 2)
        low, high = np.sort(rng.random(2)) if parts == 2 or rng.random() < 0.3 else (0.0, 1.0)
        density = PLACES * place ** (a - 1) * (1 - place) ** (b - 1)
        atoms.append(top * (low + (high - low) * place))
        weights.append(part * density / density.sum())
    theta, mass = np.concatenate(atoms), np.concatenate(weights)
    if rng.random() < 0.5:
        knots = np.arange(0.0, 2 * np.sqrt(top) + 8.0, log_uniform(rng, 0.3, 8.0))
        curve = log_uniform(rng, 0.1, 1.0) * rng.standard_normal(len(knots))
        mass = mass * np.exp(np.interp(2 * np.sqrt(theta), knots, curve))
    return Draw("smooth", theta, mass / mass.sum())


def everyday(rng: np.random.Generator, top: float) -> Draw:
    """Gamma, log-normal and power laws, alone or in pairs, three in ten with structural zeros; cut at 2 theta_max."""
    atoms, weights = np.zeros(0), np.zeros(0)
    parts = 1 if rng.random() < 0.65 else 2
    for part in rng.dirichlet(np.ones(parts)):
        kind = rng.integers(4)
        if kind < 2:
            shape = log_uniform(rng, 0.15, 60.0)
            value = gammaincinv(shape, QUANTILES) / shape * top * log_uniform(rng, 0.03, 0.5)
        elif kind == 2:
            value = np.exp(NORMAL * log_uniform(rng, 0.1, 1.5)) * top * log_uniform(rng, 0.03, 0.5)
        else:
            value = top * (1 + (log_uniform(rng, 10.0, 1e4) - 1) * QUANTILES) ** -rng.uniform(0.5, 2.0)
        atoms, weights = np.append(atoms, value), np.append(weights, part * MASSES)
    if rng.random() < 0.3:
        zeros = rng.random()
        atoms, weights = np.append(atoms, 0.0), np.append(weights * (1 - zeros), zeros)
    kept = atoms <= min(2 * top, LARGEST_RATE)
    kept[np.argmin(atoms)] = True
    return Draw("everyday", np.minimum(atoms[kept], LARGEST_RATE), weights[kept] / weights[kept].sum())


def edged(rng: np.random.Generator, top: float) -> Draw:
    """A bell in sqrt(theta), a density or a comb of atoms, that ends at theta_max: cut, or the rest piled up there.

    Rates have hard limits where something saturates. The edge lies one of the bell's deviations below its centre
    to one and a half above it, so it always matters; the comb's gaps are 0.8 to 3 deviations of the noise.
    """
    end, comb, piled = 2 * np.sqrt(top), rng.random() < 2 / 3, rng.random() < 0.5
    width = log_uniform(rng, 0.7, 6.0)
    centre = end + width * rng.uniform(-1.5, 1.0)
    gap = log_uniform(rng, 0.8, 3.0) if comb else 0.05
    steps = np.full(int(end / gap) + 1, gap)
    if comb:
        regularity = log_uniform(rng, 10.0, 1000.0)
        steps *= rng.gamma(regularity, 1 / regularity, len(steps))
    below = end - np.cumsum(steps)
    root = np.concatenate([end + gap * np.arange(int(6 * width / gap) + 1 if piled else 1), below[below >= 0]])
    bell = -0.5 * ((root - centre) / width) ** 2
    weights = np.exp(bell - bell.max())
    if comb:
        even = log_uniform(rng, 3.0, 300.0)
        weights *= rng.gamma(even, 1 / even, len(root))
    return Draw("edged", np.minimum(root, end) ** 2 / 4, weights / weights.sum())


SINGLE: dict[str, Callable[[np.random.Generator, float], Draw]] = {
    "coarse dirichlet": dirichlet("coarse dirichlet", 0.5, 20.0),
    "dirichlet": dirichlet("dirichlet", 20.0, 150.0),
    "fine dirichlet": dirichlet("fine dirichlet", 150.0, 1500.0),
    "few": few,
    "spaced": spaced,
    "smooth": smooth,
    "everyday": everyday,
    "edged": edged,
}


def draw_priors(rng: np.random.Generator, top: Floats, shares: Mapping[str, float]) -> list[Draw]:
    """One prior per entry of `top`, worlds in proportion to `shares`."""
    ends = np.rint(np.cumsum(list(shares.values())) / sum(shares.values()) * len(top)).astype(int)
    draws: list[Draw] = []
    for world, end in zip(shares, ends, strict=True):
        wanted = top[len(draws) : end]
        if world == "neural":
            draws += neural(rng, wanted) if len(wanted) else []
        else:
            draws += [SINGLE[world](rng, float(one)) for one in wanted]
    return draws
