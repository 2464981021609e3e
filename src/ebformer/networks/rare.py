"""Rare events, of which a network cannot have seen enough in training: what the units say together is used instead."""

from __future__ import annotations

import math

import numpy as np

from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.prior import GridPrior
from ebformer.tally import Tally

FEW, RARE = 10.0, 0.02
"""Events in a table, and mean counts, below which training saw little."""
POINTS, NEAREST, FARTHEST = 128, 1e-6, 40.0
"""Atoms of the answer where nothing happened, and how far they reach, in distances at which the deviance is 1."""
SMALL = 1e-8
"""So near to its end the deviance is proportional to the distance."""
ALIKE = 0.5
"""How much of what the units say of one common theta is believed: they need not share it."""


def at_an_end(tally: Tally) -> GridPrior | None:
    """The answer where all units show an end of the domain: no events at all, only failures or only successes.

    The data say only how near to the end theta must be if all units share it. The answer is that likelihood to the
    power ALIKE, a density in the stable coordinate, which is Jeffreys' prior: n units without an event have a rate of
    about 1 / n, and the 95 % quantile is 1.28 times the exact bound of one common rate.

    >>> nothing = at_an_end(Tally([0], [2000]))
    >>> round(2000 * nothing.mean, 2)
    1.0
    """
    channel = tally.channel
    if not channel.whole:
        return None
    mle = channel.mle(tally.x, tally.known)
    ends = [end for end in channel.domain if (mle == end).all()]
    if not ends:
        return None
    side = 1.0 if ends[0] == channel.domain[0] else -1.0

    def deviance(distance: Floats) -> Floats:
        theta = ends[0] + side * distance[:, None]
        return np.asarray(channel.deviance(tally.x, theta, tally.known) @ tally.multiplicity)

    unit = SMALL / float(deviance(np.array([SMALL]))[0])
    distance = unit * np.geomspace(NEAREST, FARTHEST, POINTS)
    distance = distance[distance < channel.domain[1] - channel.domain[0]]
    believed = ALIKE * (tally.n - 1) / tally.n  # a unit's own part comes with its posterior
    theta = ends[0] + side * distance
    weights = np.exp(-believed * deviance(distance)) * np.abs(np.gradient(channel.coordinate(theta)))
    order = slice(None, None, int(side))
    return GridPrior(theta[order], (weights / weights.sum())[order], channel)


def mean_in_agreement(
    theta: Floats, weights: Floats, x: Floats, known: Floats, count: Floats, channel: Channel
) -> Floats:
    """Thetas drawn to an end of the domain, or from it, until the mean count is within one standard error of that seen.

    Where events are few or rare the network was hardly trained: the shape of the prior is then a guess, but its mean is
    not. Where successes are the rule, failures are the events.

    >>> from ebformer.channels import POISSON
    >>> mean_in_agreement(np.array([0.1, 0.5]), np.array([0.5, 0.5]), *np.array([[1.0], [100.0], [1.0]]), POISSON)
    array([0.00666667, 0.03333333])
    """
    low, high = channel.domain
    upper = bool(np.isfinite(high)) and float(count @ (2.0 * x - known)) > 0.0
    distance, events = (high - theta, known - x) if upper else (theta - low, x)
    n, total = float(count.sum()), float(count @ events)
    observed, expected = total / n, float(count @ known) / n * float(weights @ distance)
    if total >= FEW and observed >= RARE:
        return theta
    error = math.sqrt(max(float(count @ (events - observed) ** 2), 1.0)) / n
    factor = min(max(expected, observed - error), observed + error) / expected
    distance = distance * min(factor, (high - low) / float(distance.max()))
    return high - distance if upper else low + distance
