"""The normal prior, conjugate to effects with normal noise: everything stays normal."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from ebformer.distributions import Floats, Posterior, Predictive, against, check_draws, probabilities, thresholds
from ebformer.errors import InputError
from ebformer.prior import ConjugatePrior


@dataclass(frozen=True)
class NormalPrior(ConjugatePrior):
    """theta ~ Normal(centre, spread^2).

    >>> NormalPrior(1.0, 2.0).posterior(np.array([5.0]), np.array([2.0])).mean.round(12).tolist()
    [3.0]
    """

    name: ClassVar[str] = "normal"

    centre: float
    spread: float

    def __post_init__(self) -> None:
        if not (isinstance(self.centre, Real) and np.isfinite(self.centre)):
            raise InputError(f"the centre of a normal prior is {self.centre!r}: give a finite number")
        if not (isinstance(self.spread, Real) and 0 < self.spread < np.inf):
            raise InputError(f"the spread of a normal prior is {self.spread!r}: give a positive finite number")

    @property
    def mean(self) -> float:
        """E theta."""
        return self.centre

    @property
    def variance(self) -> float:
        """Var theta."""
        return self.spread**2

    def scaled(self, factor: float) -> NormalPrior:
        """The distribution of factor * theta."""
        return NormalPrior(self.centre * factor, self.spread * abs(factor))

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Independent effects from this prior."""
        return rng.normal(self.centre, self.spread, size=size)

    def log_marginal(self, x: Floats, known: Floats) -> Floats:
        return normal_log_density(x, self.centre, np.hypot(self.spread, known))

    def marginal_cdf(self, x: Floats, known: Floats) -> Floats:
        return np.asarray(ndtr((x - self.centre) / np.hypot(self.spread, known)))

    def posterior(self, x: Floats, known: Floats) -> NormalPosterior:
        both = np.hypot(self.spread, known)
        share = (self.spread / both) ** 2
        return NormalPosterior(self.centre + share * (x - self.centre), self.spread * known / both)

    def predictive(self, x: Floats, known: Floats, future: Floats) -> NormalPredictive:
        after = self.posterior(x, known)
        return NormalPredictive(after.mean, np.hypot(after.deviation, future))

    def log_predictive(self, x: Floats, known: Floats, y: Floats, future: Floats) -> Floats:
        ahead = self.predictive(x, known, future)
        return normal_log_density(y, ahead.mean, ahead.deviation)

    def mmse(self, known: float) -> float:
        return float((self.spread * known / np.hypot(self.spread, known)) ** 2)


@dataclass(frozen=True, eq=False, repr=False)
class NormalPosterior(Posterior):
    """theta | x ~ Normal(centre, deviation^2), one pair per observation."""

    centre: Floats
    deviation: Floats

    @property
    def mean(self) -> Floats:
        return self.centre

    @property
    def variance(self) -> Floats:
        return self.deviation**2

    def quantile(self, q: ArrayLike) -> Floats:
        levels = probabilities(q)
        return np.asarray(against(levels, self.centre) + against(levels, self.deviation) * ndtri(levels))

    def exceeds(self, c: ArrayLike) -> Floats:
        levels = thresholds(c)
        return np.asarray(ndtr((against(levels, self.centre) - levels) / against(levels, self.deviation)))

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        check_draws(n, rng)
        return rng.normal(self.centre[..., None], self.deviation[..., None], size=(*self.centre.shape, n))


@dataclass(frozen=True, eq=False, repr=False)
class NormalPredictive(Predictive):
    """y ~ Normal(centre, deviation^2): the posterior and the noise of the next effect together."""

    whole: ClassVar[bool] = False

    centre: Floats
    deviation: Floats

    @property
    def mean(self) -> Floats:
        return self.centre

    @property
    def variance(self) -> Floats:
        return self.deviation**2

    def log_density(self, y: ArrayLike) -> Floats:
        at = np.asarray(y, dtype=np.float64)
        return normal_log_density(at, against(at, self.centre), against(at, self.deviation))

    def cdf(self, y: ArrayLike) -> Floats:
        at = np.asarray(y, dtype=np.float64)
        return np.asarray(ndtr((at - against(at, self.centre)) / against(at, self.deviation)))

    def quantile(self, q: ArrayLike) -> Floats:
        levels = probabilities(q)
        return np.asarray(against(levels, self.centre) + against(levels, self.deviation) * ndtri(levels))


def normal_log_density(x: ArrayLike, centre: ArrayLike, deviation: ArrayLike) -> Floats:
    """log of exp(-((x - centre) / deviation)^2 / 2) / sqrt(2 pi deviation^2).

    >>> normal_log_density(1.0, 0.0, 1.0).round(6).item()
    -1.418939
    """
    z = np.subtract(x, centre) / deviation
    return np.asarray(-0.5 * z * z - np.log(np.sqrt(2.0 * np.pi) * np.asarray(deviation)))
