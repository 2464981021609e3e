"""Maxima of a likelihood along one parameter, the others at their best: where the score falls through 0."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from ebformer.bayes import log_marginal
from ebformer.distributions import Floats
from ebformer.prior import AnyPrior
from ebformer.rule import Convergence
from ebformer.tally import Tally


def likeliest(fits: list[tuple[AnyPrior, Convergence]], tally: Tally) -> tuple[AnyPrior, Convergence]:
    """The fit whose prior makes the tally likeliest."""

    def log_likelihood(fit: tuple[AnyPrior, Convergence]) -> float:
        return float(tally.multiplicity / tally.n @ log_marginal(fit[0], tally.x, tally.known, channel=tally.channel))

    return max(fits, key=log_likelihood) if len(fits) > 1 else fits[0]


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
