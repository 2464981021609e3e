"""Parametric empirical Bayes: theta ~ Gamma(shape, rate) by maximum likelihood of its negative binomial marginal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import digamma

from ebformer.channels.gamma_prior import GammaPrior
from ebformer.distributions import Floats
from ebformer.estimators.base import Estimator
from ebformer.estimators.profile import likeliest, maxima
from ebformer.prior import AnyPrior, Prior
from ebformer.rule import BayesRule, Convergence
from ebformer.tally import Tally

LARGEST_SHAPE = 1e7
"""A gamma of this shape, and of 1000 times the largest count, is a point mass to every purpose: its spread is 0.03
percent of its mean and 3 percent of the noise of a count."""
SMALLEST_LOG_SHAPE, STEP = -10.0, 0.5
"""From where on, and in which steps, log shapes are searched for maxima where exposures differ."""


@dataclass(frozen=True)
class Gamma(Estimator):
    """The maximum likelihood gamma prior: theta(x) = (shape + x) / (rate + exposure), linear in x.

    Counts that spread no more than Poisson counts have their likeliest gamma at infinite shape; then the prior is a
    point mass at sum x / sum exposure, which is also the answer when all counts are 0. Such a prior says that nothing
    tells the units apart, not that their rate is known: its intervals have no width and are not to be reported.

    >>> rule = Gamma()(Tally([0, 1, 2, 3, 4, 5, 6, 7], [7840, 1317, 239, 42, 14, 4, 4, 1]))
    >>> rule([0, 1, 2]).round(3)
    array([0.164, 0.398, 0.632])
    >>> Gamma()(Tally.of([2, 2, 2])).prior
    Prior(1 atom at 2, mean 2)
    """

    name: ClassVar[str] = "gamma"
    monotone: ClassVar[bool] = True
    answers_unseen: ClassVar[bool] = True
    unequal_known: ClassVar[bool] = True
    parameters: ClassVar[int | None] = 2

    def fit(self, tally: Tally) -> BayesRule:
        """Find the shape at which the profile likelihood is highest."""
        prior, convergence = maximum_likelihood(tally)
        return BayesRule(self.name, prior, convergence=convergence)


def maximum_likelihood(tally: Tally) -> tuple[AnyPrior, Convergence]:
    """The gamma prior (or its limit, a point mass) under which the tally is likeliest.

    With mean mu and shape a, and up to terms without either,
    log f(x) = log Gamma(x + a) - log Gamma(a) + a log a + x log mu - (x + a) log(a + mu t).

    >>> prior, convergence = maximum_likelihood(Tally.of([0, 0, 0, 5]))
    >>> round(prior.mean, 6), convergence.reached
    (1.25, True)
    """
    x, m, t = tally.x, tally.multiplicity.astype(np.float64), tally.known
    m = m / m.sum()
    pooled = float(m @ x) / float(m @ t)
    steps = 0

    def mean(shape: float) -> float:
        """The root in mu of sum m (x - mu t) / (1 + mu t / shape), between the extremes of x / t."""
        if tally.common is not None:
            return pooled
        low, high = float((x / t).min()), float((x / t).max())
        return float(brentq(lambda mu: m @ ((x - mu * t) / (1 + mu * t / shape)), low, high, xtol=1e-15 * high))

    def score(log_shape: float) -> float:
        """The derivative of the mean log-likelihood in log(shape), along the best means."""
        nonlocal steps
        steps += 1
        a = np.exp(log_shape)
        mu_t = mean(a) * t
        off = x - mu_t
        # log((x + a) / (a + mu t)), which is small where shapes are large and finite where counts are 0.
        log_ratio = np.sign(off) * np.log1p(np.abs(off) / (a + np.minimum(x, mu_t)))
        return float(a * (m @ (digamma_minus_log(x + a) - digamma_minus_log(a) + log_ratio - off / (a + mu_t))))

    spread, most = float(m @ ((x - pooled * t) ** 2 - x)), np.log(max(LARGEST_SHAPE, 1e3 * float(x.max())))
    equal, found, rising = tally.common is not None, list[tuple[AnyPrior, Convergence]](), True
    if (x / t).min() < (x / t).max() and not (equal and spread <= 0):
        # Units of one exposure have one maximum at most; others may have several, and an infinite shape may be one.
        low = 0.0 if equal else SMALLEST_LOG_SHAPE
        while score(low) <= 0:
            low -= 2.0
        ladder = np.linspace(low, most, 2 if equal else 1 + int((most - low) / STEP))
        roots, rising = maxima(score, ladder)
        for root in roots:
            gap, shape = abs(score(root)), float(np.exp(root))
            meaning = "derivative of the mean log-likelihood in log(shape)"
            found.append((GammaPrior(shape, shape / mean(shape)), Convergence(gap, steps, gap < 1e-9, meaning)))
    if not found or rising:
        meaning = "what the likelihood gains from unequal rates"
        found.append((Prior([pooled], [1.0]), Convergence(0.0, steps, True, meaning)))
    return likeliest(found, tally)


def digamma_minus_log(z: ArrayLike) -> Floats:
    """psi(z) - log(z) = -1 / (2 z) - 1 / (12 z^2) + ...: what is left of psi at large z, where the two nearly cancel.

    >>> digamma_minus_log([1.0, 1e6]).round(9)
    array([-5.77215665e-01, -5.00000000e-07])
    """
    z = np.asarray(z, dtype=np.float64)
    w = 1.0 / np.maximum(z, 20.0) ** 2
    tail = -0.5 / z - w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w / 132))))
    return np.asarray(np.where(z < 20.0, digamma(z) - np.log(z), tail))
