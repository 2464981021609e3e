"""The gamma prior, conjugate to Poisson counts: its marginal is negative binomial."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc

from ebformer.channels.poisson import deviance, log_peak


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
