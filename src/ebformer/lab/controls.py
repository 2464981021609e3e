"""Control variates: a mean over few costly tables made surer by a cheap number that follows it.

Where Y is costly and C is cheap, mean(Y) + slope (E C - mean(C)) has the mean of Y and less noise, the more they are
alike; E C is the mean over many further tables. The floor is costly. The regret of a network that knows the world
follows it, and so does, for worlds of few numbers, what many priors say that are drawn once and weighed by every table.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ebformer.distributions import Floats
from ebformer.lab.particles import Seen
from ebformer.lab.tempering import top
from ebformer.lab.uniform_numbers import dimensions, priors_of
from ebformer.lab.worlds import World
from ebformer.tally import Tally

MANY = 20_000
"""Priors of a world that are weighed for every table."""
SIZE = 128
"""Counts from here on are taken for the one below."""


class Mean(NamedTuple):
    """A mean and its standard error."""

    mean: float
    error: float


def controlled(values: Floats, controls: Floats | None = None, further: Floats | None = None) -> Mean:
    """The mean of values [k], given controls [k] of the same tables and those of further tables [m].

    Without controls, or with fewer than three tables to learn the slope from, it is the plain mean.

    >>> controlled(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 4.0]), np.array([3.0, 3.0, 3.0])).mean
    3.0
    """
    if controls is None or further is None or values.size < 3:
        return Mean(float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)))
    apart = controls - controls.mean()
    slope = float(apart @ values / max(float(apart @ apart), 1e-300))
    left = values - values.mean() - slope * apart
    variance = left @ left / (values.size - 2) / values.size + slope**2 * further.var(ddof=1) / further.size
    return Mean(float(values.mean() + slope * (further.mean() - controls.mean())), float(np.sqrt(variance)))


@lru_cache(maxsize=4)
def many_priors(world: World) -> tuple[Floats, Floats]:
    """log f(x) and theta_G(x) [priors, SIZE] of many priors of a world, the same for every table."""
    seen, rng, count = Seen(Tally([0], [1]), SIZE, top(world)), np.random.default_rng(0), MANY // 20
    log_f, rules = np.empty((MANY, SIZE)), np.empty((MANY, SIZE))
    for start in range(0, MANY, count):
        priors = priors_of(world, rng.random((count, dimensions(world))))
        weights = seen.weights(priors.atoms, priors.weights)
        log_f[start : start + count] = np.log(np.maximum(weights @ seen.kernel.T, 1e-300))
        rules[start : start + count] = seen.rules(weights)
    return log_f, rules


def by_weighing(world: World, tally: Tally) -> float:
    """About the floor given a table: how far the rules of many priors differ, each weighed by its likelihood.

    Too few are alive for this to be the floor itself, where units are many or a world has more than a few numbers.
    """
    log_f, rules = many_priors(world)
    units = np.bincount(np.minimum(tally.values, SIZE - 1), tally.multiplicity, SIZE)
    evidence = log_f @ units
    weight = np.exp(evidence - evidence.max())
    alive = weight > 1e-9
    weight, rules = weight[alive] / weight[alive].sum(), rules[alive]
    return float(weight @ (rules - weight @ rules) ** 2 @ units / tally.n)
