"""Control variates: a mean over few costly tables made surer by a cheap number that follows it.

Where Y is costly and C is cheap, mean(Y) + slope (E C - mean(C)) has the mean of Y and less noise, the more they are
alike; E C is the mean over many further tables. The floor is costly. The regret of a network that knows the world
follows it, and so does, for worlds of few numbers, what the delta method says of the prior that made the table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ebformer.distributions import Floats
from ebformer.lab.particles import Seen
from ebformer.lab.uniform_numbers import priors_of
from ebformer.lab.worlds import World
from ebformer.tally import Tally

STEP = 1e-3
"""By how much numbers change in a difference quotient."""
PRECISION = 12.0
"""1 over the variance of a uniform number: what is known of it before the data."""
LIKELY = 1e-9
"""Counts of less chance are left out."""


class Mean(NamedTuple):
    """A mean and its standard error."""

    mean: float
    error: float


def controlled(values: Floats, controls: Floats | None = None, further: Floats | None = None) -> Mean:
    """The mean of values [k], given controls [k] of the same tables and those of further tables [m].

    Without controls it is the plain mean.

    >>> controlled(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 4.0]), np.array([3.0, 3.0, 3.0])).mean
    3.0
    """
    if controls is None or further is None:
        return Mean(float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)))
    apart = controls - controls.mean()
    slope = float(apart @ values / max(float(apart @ apart), 1e-300))
    left = values - values.mean() - slope * apart
    variance = left @ left / (values.size - 2) / values.size + slope**2 * further.var(ddof=1) / further.size
    return Mean(float(values.mean() + slope * (further.mean() - controls.mean())), float(np.sqrt(variance)))


def by_delta_method(world: World, numbers: Floats, n: int, size: int = 128) -> float:
    """About the floor at the prior of numbers [1, d]: the variance of its rule if its numbers were learnt from n units.

    sum_x f(x) g(x)' (n I + 12)^-1 g(x) with the gradient g of theta_G(x) and Fisher's information I about the numbers.
    """
    step = np.where(numbers[0] < 0.5, STEP, -STEP)
    priors = priors_of(world, np.concatenate([numbers, numbers + np.diag(step)]))
    seen = Seen(Tally([0], [1]), size, float(priors.atoms.max()))
    weights = seen.weights(priors.atoms, priors.weights)
    f = weights @ seen.kernel.T
    likely = f.min(axis=0) > LIKELY
    f, rules = f[:, likely], seen.rules(weights)[:, likely]
    score, gradient = ((each[1:] - each[0]) / step[:, None] for each in (np.log(f), rules))
    information = (f[0] * score) @ score.T
    spread = np.linalg.solve(n * information + PRECISION * np.eye(step.size), gradient)
    return float(f[0] @ (gradient * spread).sum(axis=0))
