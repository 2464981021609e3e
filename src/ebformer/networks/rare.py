"""Rare events, of which a network cannot have seen enough in training: what the units say together is used instead."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.prior import GridPrior
from ebformer.tally import Tally

Floats = NDArray[np.float64]

RARE = 0.02
"""Mean counts below this were hardly seen in training."""
POINTS, NEAREST, FARTHEST = 96, 1e-4, 40.0
"""Atoms of the answer where nothing happened, and how far they reach, in distances at which the deviance is 1."""
SMALL = 1e-8
"""So near to its end the deviance is proportional to the distance."""
ALIKE = 0.5
"""How much of what the units say of one common theta is believed: they need not share it."""


def at_an_end(tally: Tally) -> GridPrior | None:
    """The answer where all units show an end of the domain: no events at all, only failures or only successes.

    The data say only how near to the end theta must be if all units share it. The answer is that likelihood to the
    power ALIKE, a density in theta: its 95 % quantile is 1 / ALIKE times the exact bound of one common rate.

    >>> nothing = at_an_end(Tally([0], [2000]))
    >>> round(2000 * nothing.mean, 2)
    2.0
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
    weights = np.exp(-believed * deviance(distance)) * np.gradient(distance)
    order = slice(None, None, int(side))
    return GridPrior((ends[0] + side * distance)[order], (weights / weights.sum())[order], channel)


def mean_in_agreement(mean: float, x: NDArray[Any], count: NDArray[Any]) -> float:
    """The factor that brings the mean of a prior within one standard error of the mean count, where events are rare.

    Below RARE the network was hardly trained: the shape of the prior is then a guess, but its mean is not.

    >>> mean_in_agreement(5.0, np.array([4]), np.array([9])), mean_in_agreement(1e-3, np.array([0]), np.array([10**9]))
    (1.0, 1e-06)
    """
    n = int(count.sum())
    observed = float(count @ x) / n
    if observed >= RARE:
        return 1.0
    variance = max(float(count @ (x - observed) ** 2) / n, 1.0 / n)
    error = math.sqrt(variance / n)
    return min(max(mean, observed - error), observed + error) / mean
