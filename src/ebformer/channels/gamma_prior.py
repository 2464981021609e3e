"""The gamma prior, conjugate to Poisson counts: its marginal is negative binomial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, digamma, gammainc, gammaincc, gammaincinv

from ebformer.channels.closed_forms import ClosedFormPosterior, WholeClosedForm
from ebformer.channels.poisson import deviance, log_peak
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.levels import check_draws, on_whole_numbers
from ebformer.prior import LARGEST_PARAMETER, LARGEST_SHAPE, ConjugatePrior, positive_parameter


@dataclass(frozen=True)
class GammaPrior(ConjugatePrior):
    """theta ~ Gamma(shape, rate), with density proportional to theta^(shape - 1) exp(-rate theta).

    >>> GammaPrior(2.0, 4.0).mean, GammaPrior(2.0, 4.0).variance
    (0.5, 0.125)
    """

    name: ClassVar[str] = "gamma"

    shape: float
    rate: float

    def __post_init__(self) -> None:
        for name, number, largest in (
            ("shape", self.shape, LARGEST_SHAPE),
            ("rate", self.rate, LARGEST_PARAMETER),
        ):
            if not positive_parameter(number, largest):
                raise InputError(
                    f"the {name} of a gamma prior is {number!r}: give a positive finite number of at most {largest:g}"
                )

    @property
    def mean(self) -> float:
        """E theta."""
        return self.shape / self.rate

    @property
    def variance(self) -> float:
        """Var theta."""
        return self.shape / self.rate**2

    def scaled(self, factor: float) -> GammaPrior:
        """The distribution of factor * theta."""
        if not factor > 0:
            raise InputError(f"a gamma prior is scaled by {factor!r}: give a positive number")
        return GammaPrior(self.shape, self.rate / factor)

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Independent rates from this prior."""
        return rng.gamma(self.shape, 1.0 / self.rate, size=size)

    @property
    def law(self) -> GammaPosterior:
        """The distribution of theta before anything is seen."""
        return GammaPosterior(np.asarray(self.shape), np.asarray(self.rate))

    def log_marginal(self, x: Floats, known: Floats) -> Floats:
        return negative_binomial_log_pmf(x, self.shape, self.shape * known / self.rate)

    def marginal_cdf(self, x: Floats, known: Floats) -> Floats:
        return negative_binomial_cdf(x, self.shape, self.shape * known / self.rate)

    def posterior(self, x: Floats, known: Floats) -> GammaPosterior:
        return GammaPosterior(self.shape + x, self.rate + known)

    def predictive(self, x: Floats, known: Floats, future: Floats) -> NegativeBinomial:
        return NegativeBinomial(self.shape + x, self.rate + known, future)

    def log_predictive(self, x: Floats, known: Floats, y: Floats, future: Floats) -> Floats:
        shape = self.shape + x
        return negative_binomial_log_pmf(y, shape, future * shape / (self.rate + known))

    def mmse(self, known: float) -> float:
        return self.shape * (1 + known / self.rate) / (self.rate + known) ** 2


@dataclass(frozen=True, eq=False, repr=False)
class GammaPosterior(ClosedFormPosterior):
    """theta | x ~ Gamma(shape, rate), one pair per observation."""

    shape: Floats
    rate: Floats

    @property
    def mean(self) -> Floats:
        return self.shape / self.rate

    @property
    def variance(self) -> Floats:
        return self.shape / self.rate**2

    @property
    def mean_log(self) -> Floats:
        return np.asarray(digamma(self.shape) - np.log(self.rate))

    def below(self, theta: Floats) -> Floats:
        return np.asarray(gammainc(self.shape, np.maximum(theta, 0.0) * self.rate))

    def inverse(self, q: Floats) -> Floats:
        return np.asarray(gammaincinv(self.shape, q) / self.rate)

    @classmethod
    def matching(cls, mean: Floats, variance: Floats) -> GammaPosterior:
        return cls(mean**2 / variance, mean / variance)

    def survival(self, theta: Floats) -> Floats:
        return np.asarray(gammaincc(self.shape, np.maximum(theta, 0.0) * self.rate))  # rates exceed negative numbers

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        check_draws(n, rng)
        return rng.gamma(self.shape[..., None], 1 / self.rate[..., None], size=(*self.shape.shape, n))


@dataclass(frozen=True, eq=False, repr=False)
class NegativeBinomial(WholeClosedForm):
    """y ~ Poisson(future * theta) with theta ~ Gamma(shape, rate): a negative binomial."""

    shape: Floats
    rate: Floats
    future: Floats

    @property
    def mean(self) -> Floats:
        return self.future * self.shape / self.rate

    @property
    def variance(self) -> Floats:
        return self.mean * (1 + self.future / self.rate)

    def log_p(self, y: Floats) -> Floats:
        return on_whole_numbers(lambda whole: negative_binomial_log_pmf(whole, self.shape, self.mean), y)

    def below(self, y: Floats) -> Floats:
        return negative_binomial_cdf(y, self.shape, self.mean)


def negative_binomial_log_pmf(x: ArrayLike, shape: ArrayLike, mean: ArrayLike) -> NDArray[np.float64]:
    """log of Gamma(x + shape) / (Gamma(shape) x!) p^shape (1 - p)^x, p = shape / (shape + mean): Poisson, gamma mixed.

    Written by deviances, as a binomial of real size x + shape, so that it keeps its digits where the shape is large.

    >>> negative_binomial_log_pmf([0, 1], 2.0, 2.0).round(6)
    array([-1.386294, -1.386294])
    """
    x, shape, mean = (np.asarray(number, dtype=np.float64) for number in (x, shape, mean))
    size = x + shape
    peak = log_peak(shape) + log_peak(x) - log_peak(size) + np.log(shape / size)
    ratio = size / (shape + mean)
    return np.asarray(peak - deviance(shape, ratio * shape) - deviance(x, ratio * mean))


def negative_binomial_cdf(x: ArrayLike, shape: ArrayLike, mean: ArrayLike) -> NDArray[np.float64]:
    """P(a negative binomial count is at most x), for any real x.

    >>> negative_binomial_cdf([-1, 0, 1.5], 2.0, 2.0)
    array([0.  , 0.25, 0.5 ])
    """
    x, shape, mean = (np.asarray(number, dtype=np.float64) for number in (x, shape, mean))
    above = np.maximum(np.floor(x), 0) + 1.0
    below = np.asarray(betainc(shape, above, shape / (shape + mean)))
    # The larger of the two chances, p and 1 - p, has lost the digits of the other.
    betaincc(above, shape, mean / (shape + mean), out=below, where=mean < shape)
    return np.where(x < 0, 0.0, below)
