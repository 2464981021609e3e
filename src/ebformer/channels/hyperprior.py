"""What is believed of a conjugate prior before any unit is seen: nothing of its place, little of its spread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ebformer.distributions import Floats
from ebformer.prior import ConjugatePrior


@dataclass(frozen=True)
class Hyperprior:
    """A law of two numbers that fix a conjugate prior: its place, on a line without ends, and its spread there.

    `prior(place, spread)` makes the priors of vectors [h]. The place is flat: log mean of rates, log-odds of the mean
    of probabilities, mean of effects. From `least` down and from `most` up, which no table can tell apart, its density
    falls off by a factor e per unit. The spread is half-Cauchy with this `scale`: half of its mass lies below it.
    """

    prior: Callable[[Any, Any], ConjugatePrior]
    start: float
    """A place near the data."""
    scale: float = 1.0
    least: float = -np.inf
    most: float = np.inf

    def log_density(self, place: Floats, log_spread: Floats) -> Floats:
        """Up to a constant, over places and log spreads."""
        ends = np.logaddexp(0.0, self.least - place) + np.logaddexp(0.0, place - self.most)
        return np.asarray(log_spread - np.log1p((np.exp(log_spread) / self.scale) ** 2) - ends)
