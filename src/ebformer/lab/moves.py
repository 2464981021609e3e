"""Moves of particles that keep the law of priors given a table: what was drawn from it stays drawn from it.

Priors are drawn again: the world draws many, and one of them or the old one is taken, each with the chance that the
table gives it (sampling importance resampling, iterated: Andrieu, Lee and Vihola 2018). A neural prior is a mixture of
four networks, and none of many is as good as the old one; there each network is drawn again, beside the others.
Metropolis' steps then change some of a prior's uniform numbers (Kelemen et al. 2002), whatever the world.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from ebformer.distributions import Floats
from ebformer.lab.particles import Particles, Seen
from ebformer.lab.uniform_numbers import Integers, Script, priors_of
from ebformer.lab.worlds import Neural, World
from ebformer.lab.worlds.base import TRAINING
from ebformer.lab.worlds.neural import NETWORKS, OVERWRITING, WIDTH, push_forward, quadrature

Singles = NDArray[np.float32]

STEPS = 6
"""Metropolis' steps of all particles in one move."""
SMALLEST = 1e-3
"""Steps are log-uniform from this share of the cube to half of it, in one to all of its directions."""
POOLS, PICKS = 3, 8
"""Pools of networks in one move, and the steps with each."""
FRESH, FEWER = 64, 16
"""New priors, or networks of a pool, the same for all particles; fewer where each particle has its own theta_max."""
SMALL = np.float32(1e-30)
"""Stands for the chance of a count that is next to impossible."""
NUMBERS = WIDTH * WIDTH + 2 * WIDTH + 1
"""Uniform numbers that make a network, beside the one that picks its activation."""


def moved(world: World, seen: Seen, now: Particles, power: float, rng: np.random.Generator) -> Particles:
    """The particles after one move, with the likelihood to a power."""
    drawn_again = networks_drawn_again if isinstance(world, Neural) else priors_drawn_again
    return metropolis(world, seen, drawn_again(world, seen, now, power, rng), power, rng)


def metropolis(world: World, seen: Seen, now: Particles, power: float, rng: np.random.Generator) -> Particles:
    """The particles after some steps of Metropolis' rule, of any length and in any number of directions."""
    count, d = now.numbers.shape
    for _ in range(STEPS):
        length = 0.5 * (2.0 * SMALLEST) ** rng.random((count, 1))
        moves = rng.random((count, d)) < d ** -rng.random((count, 1))
        moves[np.arange(count), rng.integers(d, size=count)] = True
        tried = (now.numbers + length * moves * rng.standard_normal((count, d))) % 1.0
        new = Particles.of(world, seen, tried)
        taken = np.log(rng.random(count)) < power * (new.evidence - now.evidence)
        now = Particles(
            *(np.where(taken.reshape(-1, *[1] * (a.ndim - 1)), b, a) for a, b in zip(now, new, strict=True))
        )
    return now


def priors_drawn_again(world: World, seen: Seen, now: Particles, power: float, rng: np.random.Generator) -> Particles:
    """The particles after each was picked again: itself, or one of many new ones that are the same for all."""
    count, d = now.numbers.shape
    new = Particles.of(world, seen, rng.random((FRESH, d)))
    evidence = np.concatenate([np.broadcast_to(new.evidence, (count, FRESH)), now.evidence[:, None]], axis=1)
    pick = (power * evidence + rng.gumbel(size=evidence.shape)).argmax(axis=1)
    stays, each = pick == FRESH, pick % FRESH
    return Particles(
        *(np.where(stays.reshape(-1, *[1] * (a.ndim - 1)), a, b[each]) for a, b in zip(now, new, strict=True))
    )


def networks_drawn_again(world: World, seen: Seen, now: Particles, power: float, rng: np.random.Generator) -> Particles:
    """The particles after their networks were picked again from pools: their own four, and new ones."""
    count, d = now.numbers.shape
    ends, numbers, kinds = np.split(now.numbers, [d - NETWORKS * (NUMBERS + 1), d - NETWORKS], axis=1)
    own = np.concatenate([numbers.reshape(count, NETWORKS, NUMBERS), kinds[:, :, None]], axis=2)
    theta_max = priors_of(world, now.numbers).theta_max
    alike = bool(np.all(theta_max == theta_max[0]))
    f = marginals(seen, own, theta_max)  # [count, networks, values]
    for _ in range(POOLS):
        fresh = rng.random((1, FRESH if alike else FEWER, NUMBERS + 1))
        new = marginals(seen, fresh, theta_max[:1] if alike else theta_max)
        pool, f = (
            np.concatenate([old, np.broadcast_to(drawn, (count, *drawn.shape[1:]))], axis=1)
            for old, drawn in ((own, fresh), (f, new))
        )
        chosen = picked(f, seen.tally.multiplicity.astype(np.float32), power, rng)
        own, f = (np.take_along_axis(each, chosen[:, :, None], axis=1) for each in (pool, f))
    numbers, kinds = np.split(own, [NUMBERS], axis=2)
    return Particles.of(world, seen, np.concatenate([ends, numbers.reshape(count, -1), kinds[:, :, 0]], axis=1))


def picked(f: Singles, units: Singles, power: float, rng: np.random.Generator) -> Integers:
    """Which networks of each pool [count, pool, values] make its mixture in the end [count, 4]; first the first four.

    A step takes two places of the mixture. One of the two networks there stays, in either place, and any of the pool
    that is in no other place takes the other.
    """
    share, each = OVERWRITING.astype(np.float32), np.arange(len(f))
    chosen = np.tile(np.arange(NETWORKS), (len(f), 1))
    for _ in range(PICKS):
        one, two, *rest = rng.permutation(NETWORKS)
        stays = chosen[each, np.where(rng.random(len(f)) < 0.5, one, two)]
        others = np.einsum("cpv,p->cv", f[each[:, None], chosen[:, rest]], share[rest])
        ways = [(others + share[a] * f[each, stays])[:, None] + share[b] * f for a, b in ((one, two), (two, one))]
        chance = np.stack([power * (np.log(np.maximum(way, SMALL)) @ units) for way in ways], axis=1)
        for taken in (stays, *chosen[:, rest].T):
            chance[each, :, taken] = -np.inf
        best = (chance + rng.gumbel(size=chance.shape)).reshape(len(f), -1).argmax(axis=1)
        way, pick = np.divmod(best, f.shape[1])
        chosen[:, one], chosen[:, two] = np.where(way == 0, stays, pick), np.where(way == 0, pick, stays)
    return chosen


def marginals(seen: Seen, networks: Floats, theta_max: Floats) -> Singles:
    """f(x) at the tally's values under networks [p or 1, k, NUMBERS + 1] that end at theta_max [p]: [p, k, values]."""
    points, weights = quadrature(TRAINING)
    flat = networks.reshape(-1, NUMBERS + 1)
    pushed = push_forward(cast(np.random.Generator, Script(flat)), len(flat), points).reshape(*networks.shape[:2], -1)
    atoms = (theta_max[:, None, None] * pushed).reshape(-1, weights.size)
    f = (seen.weights(atoms, weights) @ seen.likelihood).astype(np.float32)
    return f.reshape(len(theta_max), networks.shape[1], -1)
