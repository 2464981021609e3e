"""Maxima of a likelihood along one parameter, the others at their best: where the score falls through 0."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from ebformer.distributions import Floats


def maxima(score: Callable[[float], float], ladder: Floats) -> tuple[list[float], bool]:
    """Every maximum between neighbouring rungs whose scores differ in sign, and whether the score still rises at last.

    >>> roots, rising = maxima(lambda z: (1 - z) * (z - 2) * (z - 3), np.array([0.0, 1.5, 2.5, 4.0]))
    >>> np.round(roots, 9).tolist(), rising  # up to 1, down to 2, up to 3, down
    ([1.0, 3.0], False)
    """
    rises = np.array([score(float(rung)) for rung in ladder])
    turns = np.flatnonzero((rises[:-1] > 0) & (rises[1:] <= 0))
    roots = [float(brentq(score, ladder[i], ladder[i + 1], xtol=1e-14, rtol=1e-14)) for i in turns]
    return roots, bool(rises[-1] > 0)
