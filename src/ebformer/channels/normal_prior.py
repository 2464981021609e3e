"""The normal prior, conjugate to effects with normal noise: everything stays normal."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from ebformer.channels.closed_forms import ClosedForm, ClosedFormPosterior, ClosedFormPredictive
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.levels import check_draws, probabilities
from ebformer.prior import LARGEST_PARAMETER, ConjugatePrior, positive_parameter


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
        if not (isinstance(self.centre, Real | np.ndarray) and np.all(np.abs(self.centre) <= LARGEST_PARAMETER)):
            raise InputError(f"the centre of a normal prior is {self.centre!r}: give a number from -1e100 to 1e100")
        if not positive_parameter(self.spread):
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

    @property
    def law(self) -> NormalPosterior:
        """The distribution of theta before anything is seen."""
        return NormalPosterior(np.asarray(self.centre), np.asarray(self.spread))

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
class _NormalLaw(ClosedForm):
    """Normal(centre, deviation^2), one pair per observation."""

    centre: Floats
    deviation: Floats

    @property
    def mean(self) -> Floats:
        return self.centre

    @property
    def variance(self) -> Floats:
        return self.deviation**2

    def inverse(self, q: Floats) -> Floats:
        """Where q of the mass lies below, broadcasting against the parameters."""
        return np.asarray(self.centre + self.deviation * ndtri(q))

    @classmethod
    def matching(cls, mean: Floats, variance: Floats) -> Self:
        """The normal law with these moments."""
        return cls(mean, np.sqrt(variance))

    def quantile(self, q: ArrayLike) -> Floats:
        levels = probabilities(q)
        return self.facing(levels).inverse(levels)


class NormalPosterior(_NormalLaw, ClosedFormPosterior):
    """theta | x ~ Normal(centre, deviation^2)."""

    def below(self, theta: Floats) -> Floats:
        return np.asarray(ndtr((theta - self.centre) / self.deviation))

    def survival(self, theta: Floats) -> Floats:
        return np.asarray(ndtr((self.centre - theta) / self.deviation))

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        check_draws(n, rng)
        return rng.normal(self.centre[..., None], self.deviation[..., None], size=(*self.centre.shape, n))


class NormalPredictive(_NormalLaw, ClosedFormPredictive):
    """y ~ Normal(centre, deviation^2): the posterior and the noise of the next effect together."""

    whole: ClassVar[bool] = False

    def log_p(self, y: Floats) -> Floats:
        return normal_log_density(y, self.centre, self.deviation)

    def below(self, y: Floats) -> Floats:
        return np.asarray(ndtr((y - self.centre) / self.deviation))


def normal_log_density(x: ArrayLike, centre: ArrayLike, deviation: ArrayLike) -> Floats:
    """log of exp(-((x - centre) / deviation)^2 / 2) / sqrt(2 pi deviation^2).

    >>> normal_log_density(1.0, 0.0, 1.0).round(6).item()
    -1.418939
    """
    z = np.subtract(x, centre) / deviation
    return np.asarray(-0.5 * z * z - np.log(np.sqrt(2.0 * np.pi) * np.asarray(deviation)))
