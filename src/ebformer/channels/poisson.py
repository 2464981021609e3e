"""How an observation arises from a rate: x ~ Poisson(exposure * theta)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, gammaln, xlogy


@dataclass(frozen=True)
class Poisson:
    """The Poisson channel p(x | theta) = exp(-t theta) (t theta)^x / x!, with exposure t.

    Written as log p(x | theta) = log p(x | x) - deviance: the deviance is computed without cancellation, so the answer
    keeps its digits where x and t theta are large and close (Loader 2000, "Fast and accurate computation of binomial
    probabilities").

    >>> Poisson().log_pmf([0, 2], 1.0).round(6)
    array([-1.      , -1.693147])
    >>> Poisson().log_pmf(0, 0.0).item(), Poisson().log_pmf(1, 0.0).item()
    (0.0, -inf)
    """

    def log_pmf(self, x: ArrayLike, theta: ArrayLike, exposure: ArrayLike = 1.0) -> NDArray[np.float64]:
        """log p(x | theta), broadcasting x, theta and exposure."""
        return log_peak(x) - deviance(x, np.multiply(theta, exposure))


def deviance(x: ArrayLike, mean: ArrayLike) -> NDArray[np.float64]:
    """log p(x | x) - log p(x | mean) = x log(x / mean) - x + mean >= 0, broadcasting.

    >>> deviance([0, 3, 3], [2.0, 3.0, 0.0]).tolist()
    [2.0, 0.0, inf]
    >>> round(float(deviance(1, 1e-30)), 6)
    68.077553
    """
    x, mean = np.asarray(x, dtype=np.float64), np.asarray(mean, dtype=np.float64)
    positive = np.where(x > 0, x, 1.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        excess = (mean - x) / positive
        log_ratio = np.asarray(np.log(mean / positive))
        # Near x, log1p keeps the error at eps |mean - x|, not eps x; far below it, excess rounds to -1 and log does.
        np.log1p(excess, out=log_ratio, where=np.abs(excess) < 0.5)
        return np.where(x > 0, x * (excess - log_ratio), mean)


def log_peak(x: ArrayLike) -> NDArray[np.float64]:
    """log p(x | x) = x log x - x - log x!, the largest log-probability that x can have; for real x as well.

    >>> float(log_peak(0)), round(float(log_peak(1)), 12)
    (0.0, -1.0)
    """
    x = np.asarray(x, dtype=np.float64)
    large = x > 16.0
    safe = np.where(large, x, 17.0)
    # Stirling's series: its first omitted term, 691 / 360360 x^-11, is below 1e-16 for x > 16.
    y = 1 / safe**2
    remainder = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / safe
    series = -0.5 * np.log(2.0 * np.pi * safe) - remainder
    small = np.where(large, 1.0, x)
    direct = xlogy(small, small) - small - gammaln(small + 1.0)
    return np.where(large, series, direct)


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
