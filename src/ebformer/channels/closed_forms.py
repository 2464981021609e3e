"""Posteriors and predictives with closed forms: a vector of each parameter, one entry per unit."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebformer.distributions import Floats, Posterior, Predictive
from ebformer.levels import against, below_one, next_numbers, probabilities, thresholds, whole_quantile


class ClosedForm:
    """A dataclass whose fields are parameters, arrays that broadcast against each other."""

    def parameters(self) -> list[Floats]:
        """The parameters, of one shape."""
        return np.broadcast_arrays(*(getattr(self, each.name) for each in fields(self)))  # type: ignore[arg-type,return-value]

    def with_parameters(self, change: Callable[[Floats], Any]) -> Self:
        """The same law, every parameter changed: another shape, or some of the units."""
        return type(self)(*map(change, self.parameters()))

    def facing(self, levels: Floats) -> Self:
        """Parameters with trailing axes, so that every unit meets every level."""
        return self.with_parameters(lambda parameter: against(levels, parameter))


class ClosedFormPosterior(ClosedForm, Posterior):
    """The distribution function of theta, and its inverse, are formulas."""

    @abstractmethod
    def survival(self, theta: Floats) -> Floats:
        """P(theta exceeds this | x), broadcasting against the parameters."""

    @abstractmethod
    def below(self, theta: Floats) -> Floats:
        """P(theta is at most this | x), broadcasting against the parameters."""

    @abstractmethod
    def inverse(self, q: Floats) -> Floats:
        """The theta that q of the mass lies below, broadcasting against the parameters."""

    @classmethod
    @abstractmethod
    def matching(cls, mean: Floats, variance: Floats) -> Self:
        """The law of this family with these moments."""

    def quantile(self, q: ArrayLike) -> Floats:
        levels = probabilities(q)
        return self.facing(levels).inverse(levels)

    def exceeds(self, c: ArrayLike) -> Floats:
        levels = thresholds(c)
        return self.facing(levels).survival(levels)


class ClosedFormPredictive(ClosedForm, Predictive):
    """The distribution function of the next observation is a formula."""

    @abstractmethod
    def below(self, y: Floats) -> Floats:
        """P(next observation <= y | x), broadcasting against the parameters."""

    @abstractmethod
    def log_p(self, y: Floats) -> Floats:
        """Its log-probability or log-density at y, broadcasting against the parameters."""

    def cdf(self, y: ArrayLike) -> Floats:
        at = next_numbers(y)
        return self.facing(at).below(at)

    def log_density(self, y: ArrayLike) -> Floats:
        at = next_numbers(y)
        return self.facing(at).log_p(at)


class WholeClosedForm(ClosedFormPredictive):
    """Where observations are whole numbers."""

    def quantile(self, q: ArrayLike) -> NDArray[np.int64]:
        one = self.facing(np.zeros(1))
        return whole_quantile(one.below, below_one(q), self)
