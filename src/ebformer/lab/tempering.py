"""Priors of any world given a table: particles that begin as draws of the world, or as the prior that made the table.

`tempered` knows the table alone. Its particles begin as priors drawn from the world. The likelihood of the table counts
to a power that rises from 0 to 1 as fast as it leaves half of them alive; each time they are drawn again and moved (a
sequential Monte Carlo sampler, Del Moral, Doucet and Jasra 2006).

`followed` knows more: the prior that made the table, which is itself a draw from all priors given the table. Moves keep
that law, so that all its particles are exact draws, however few their moves. They need some to forget where they began.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.optimize import brentq

from ebformer.distributions import Floats
from ebformer.lab.moves import moved
from ebformer.lab.particles import Particles, Seen
from ebformer.lab.uniform_numbers import Integers, dimensions, priors_of
from ebformer.lab.worlds import World
from ebformer.tally import Tally

START = 16
"""Priors that are drawn from the world for every particle."""
ALIVE = 0.5
"""The share of particles that a rise of the power leaves alive, in effect."""


def tempered(
    world: World,
    tally: Tally,
    size: int,
    particles: int,
    powers: Sequence[float],
    looks: int,
    rng: np.random.Generator,
) -> Iterator[tuple[float, Floats]]:
    """Rules [particles, size] of priors drawn given the tally, its likelihood to each power in turn, several times."""
    pool = rng.random((START * particles, dimensions(world)))
    seen = Seen(tally, size, max(top(world), float(tally.values.max())))
    parts = [Particles.of(world, seen, some) for some in np.array_split(pool, START)]
    now, reached = Particles(*(np.concatenate(each) for each in zip(*parts, strict=True))), 0.0
    for power in powers:
        while reached < power:
            rise = largest_rise(now.evidence, power - reached, ALIVE * particles)
            now = now.taken(drawn_again(now.evidence * rise, particles, rng))
            reached = power if rise >= power - reached else reached + rise
            now = moved(world, seen, now, reached, rng)
        for _ in range(looks if power == powers[-1] else 1):
            yield power, seen.rules(now.weights)
            now = moved(world, seen, now, power, rng)


def followed(
    world: World, tally: Tally, size: int, start: Floats, particles: int, looks: int, rng: np.random.Generator
) -> Floats:
    """Rules [particles, looks, size] of priors that move from the one that made the tally, of numbers `start`."""
    seen = Seen(tally, size, float(max(priors_of(world, start).atoms.max(), tally.values.max(), top(world))))
    now, rules = Particles.of(world, seen, np.repeat(start, particles, axis=0)), []
    for _ in range(looks):
        now = moved(world, seen, now, 1.0, rng)
        rules.append(seen.rules(now.weights))
    return np.stack(rules, axis=1)


def top(world: World) -> float:
    """About the largest rate of the world's priors."""
    return float(world.draw_many(np.random.default_rng(0), 200).atoms.max())


def effective(log_weight: Floats) -> float:
    """How many of weighted draws are left, in effect: (sum w)^2 / sum w^2.

    >>> effective(np.zeros(5)), effective(np.array([0.0, -1000.0]))
    (5.0, 1.0)
    """
    weight = np.exp(log_weight - log_weight.max())
    return float(weight.sum() ** 2 / (weight @ weight))


def largest_rise(evidence: Floats, most: float, alive: float) -> float:
    """By how much the power may rise so that so many priors stay alive, in effect."""
    if effective(most * evidence) >= alive:
        return most
    return float(np.exp(brentq(lambda t: effective(np.exp(t) * evidence) - alive, np.log(most) - 40.0, np.log(most))))


def drawn_again(log_weight: Floats, count: int, rng: np.random.Generator) -> Integers:
    """So many indices, each as often as its weight says, to within one."""
    weight = np.exp(log_weight - log_weight.max())
    at = np.searchsorted(np.cumsum(weight), (np.arange(count) + rng.random()) / count * weight.sum())
    return np.asarray(np.minimum(at, weight.size - 1))
