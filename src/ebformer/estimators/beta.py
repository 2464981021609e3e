"""Parametric empirical Bayes: theta ~ Beta(a, b) by maximum likelihood of its beta-binomial marginal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import polygamma

from ebformer.channels.beta_prior import BetaPrior
from ebformer.estimators.base import Estimator
from ebformer.estimators.gamma import digamma_minus_log
from ebformer.estimators.profile import likeliest, maxima
from ebformer.prior import AnyPrior, Prior
from ebformer.rule import BayesRule, Convergence
from ebformer.tally import Tally

LARGEST_SIZE = 1e7
"""A beta prior of so many pseudo-trials, and of 1000 times the trials of any unit, is a point mass to every purpose."""
SMALLEST_LOG_SIZE, STEP = -12.0, 0.75
"""From where on, at the latest, and in which steps, logarithms of a + b are searched for maxima."""
NEWTON_STEPS = 60


@dataclass(frozen=True)
class Beta(Estimator):
    """The maximum likelihood beta prior: theta(x) = (a + x) / (a + b + trials), linear in x.

    Successes that spread no more than those of one probability have their likeliest beta at infinite a + b; then the
    prior is a point mass at sum x / sum trials. Units that show nothing but all or none have it at a + b = 0: atoms at
    0 and at 1. Units of one trial each cannot tell: they get the point mass.

    >>> rule = Beta()(Tally.of([18, 17, 16, 15, 14, 14, 13, 12, 11, 11, 10, 10, 10, 10, 10, 9, 8, 7], trials=45))
    >>> rule([18, 7]).round(3)
    array([0.273, 0.26 ])
    """

    name: ClassVar[str] = "beta"
    channels: ClassVar[tuple[str, ...]] = ("binomial",)
    monotone: ClassVar[bool] = True
    answers_unseen: ClassVar[bool] = True
    unequal_known: ClassVar[bool] = True
    parameters: ClassVar[int | None] = 2

    def fit(self, tally: Tally) -> BayesRule:
        """Find the a + b at which the profile likelihood is highest."""
        prior, convergence = maximum_likelihood(tally)
        return BayesRule(self.name, prior, channel=tally.channel, convergence=convergence)


def maximum_likelihood(tally: Tally) -> tuple[AnyPrior, Convergence]:
    """The beta prior (or its limit, a point mass or atoms at 0 and 1) under which the tally is likeliest.

    With mean mu and size c = a + b, and up to terms without either, log f(x) is
    log Gamma(x + c mu) - log Gamma(c mu) + log Gamma(m - x + c nu) - log Gamma(c nu) + log Gamma(c) - log Gamma(m + c)
    with nu = 1 - mu. For given c it is concave in mu.

    >>> prior, convergence = maximum_likelihood(Tally.of([0, 1, 5, 9, 10], trials=10))
    >>> round(prior.mean, 6), convergence.reached
    (0.5, True)
    """
    x, trials, weight = tally.x, tally.known, tally.multiplicity / tally.n
    failures = trials - x
    pooled = float(weight @ x) / float(weight @ trials)
    steps, mean_at = 0, pooled

    def mean(size: float) -> float:
        """The root in mu of the score, by Newton's method from the last one, kept inside a shrinking bracket."""
        nonlocal mean_at
        low, high, mu = 0.0, 1.0, mean_at
        for _ in range(NEWTON_STEPS):
            a, b = size * mu, size * (1.0 - mu)
            slope = float(weight @ (_rise(x, a) - _rise(failures, b)))
            low, high = (mu, high) if slope > 0 else (low, mu)
            bend = -size * float(weight @ (_fall(x, a) + _fall(failures, b)))
            step = mu - slope / bend if bend < 0 else 0.5 * (low + high)
            step = step if low < step < high else 0.5 * (low + high)
            if abs(step - mu) <= 1e-15 * mu:
                break
            mu = step
        mean_at = mu
        return mu

    def score(log_size: float) -> float:
        """The derivative of the mean log-likelihood in log(a + b), along the best means."""
        nonlocal steps
        steps += 1
        size = float(np.exp(log_size))
        mu = mean(size)
        a, b = size * mu, size * (1.0 - mu)
        terms = a * _rise(x, a) + b * _rise(failures, b) - size * _rise(trials, size)
        return float(weight @ terms)

    found = list[tuple[AnyPrior, Convergence]]()
    rising = True
    if 0 < pooled < 1 and trials.max() > 1:
        all_or_none = bool(np.all((x == 0) | (failures == 0)))
        least, most = SMALLEST_LOG_SIZE, np.log(max(LARGEST_SIZE, 1e3 * float(trials.max())))
        # One unit that shows some but not all, among n, puts the maximum at about 1 / n; no tally has more than 2^53.
        while not all_or_none and least > -40.0 and score(least) <= 0:
            least -= 2.0
        ladder = np.linspace(least, most, 2 + int((most - least) / STEP))
        roots, rising = maxima(score, ladder)
        for root in roots:
            gap, size = abs(score(root)), float(np.exp(root))
            mu = mean(size)
            meaning = "derivative of the mean log-likelihood in log(a + b)"
            found.append((BetaPrior(size * mu, size * (1.0 - mu)), Convergence(gap, steps, gap < 1e-9, meaning)))
        if all_or_none:
            share = float(weight @ (x > 0))
            meaning = "what the likelihood gains from probabilities other than 0 and 1"
            found.append((Prior([0.0, 1.0], [1.0 - share, share]), Convergence(0.0, steps, True, meaning)))
    if not found or rising:
        meaning = "what the likelihood gains from unequal probabilities"
        found.append((Prior([pooled], [1.0]), Convergence(0.0, steps, True, meaning)))
    return likeliest(found, tally)


def _rise(count: np.ndarray, a: float) -> np.ndarray:
    """psi(count + a) - psi(a), without cancellation where a is large."""
    return np.asarray(np.log1p(count / a) + digamma_minus_log(count + a) - digamma_minus_log(a))


def _fall(count: np.ndarray, a: float) -> np.ndarray:
    """psi'(a) - psi'(count + a) >= 0."""
    return np.asarray(polygamma(1, a) - polygamma(1, count + a))
