"""theta ~ a mixture of gammas by maximum likelihood: with two of them DuMouchel's prior for observed over expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from ebformer.channels.gamma_prior import GammaPrior, negative_binomial_log_pmf
from ebformer.channels.mixed_prior import ConjugateMixture
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.estimators.gamma import digamma_minus_log
from ebformer.estimators.unseen_zeros import CompletedRule
from ebformer.prior import AnyPrior, Prior
from ebformer.rule import BayesRule, Convergence
from ebformer.tally import Tally

SHAPES = (1e-4, 1e6)
"""Where shapes are sought: at the ends a gamma is nearly a point, at 0 or elsewhere."""
SPREADS = (1.0, 3.0, 10.0)
"""The starts: component means so many times apart, around the mean of all units ..."""
FIRST_SHAPES = (0.5, 3.0)
"""... with these shapes."""
SMALLEST_WEIGHT, SMALLEST_MEAN = 1e-12, 1e-13
LEAST_SEEN = 1e-2
"""Of units that enter a table only with an event, no component is sought whose mean is so much below the raw one."""
NEWTON_STEPS, DIFFERENCE = 8, 1e-4
"""Steps from there on, by slopes between points so far apart."""
OPTIONS = {"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-8, "maxcor": 30}


@dataclass(frozen=True)
class GammaMixture(Estimator):
    """The maximum likelihood mixture of `components` gammas; every marginal is a mixture of negative binomials.

    Two components are the prior of the multi-item gamma Poisson shrinker (DuMouchel 1999), with expected counts for
    exposures. The likelihood has several maxima; the highest found from several starts is taken.

    >>> rule = GammaMixture()(Tally([0, 1, 2, 3, 4, 5, 6, 7], [7840, 1317, 239, 42, 14, 4, 4, 1]))
    >>> rule([0, 1, 2]).round(2)
    array([0.17, 0.36, 0.57])
    """

    name: ClassVar[str] = "gamma-mixture"
    monotone: ClassVar[bool] = True
    answers_unseen: ClassVar[bool] = True
    unequal_known: ClassVar[bool] = True

    components: int = 2

    def __post_init__(self) -> None:
        if not (isinstance(self.components, int) and self.components >= 1):
            raise InputError(f"gamma-mixture has {self.components!r} components: give a whole number of at least 1")

    def fit(self, tally: Tally) -> BayesRule:
        """Climb from every start, and keep the highest."""
        prior, convergence = maximum_likelihood(tally, self.components)
        return BayesRule(self.name, prior, channel=tally.channel, convergence=convergence)

    def fit_without_zeros(self, tally: Tally) -> CompletedRule:
        """The same climb, by what is likeliest given that there was an event."""
        prior, convergence = maximum_likelihood(tally, self.components)
        return CompletedRule(self.name, prior, channel=tally.channel, known=None, convergence=convergence, tally=tally)


def maximum_likelihood(tally: Tally, components: int) -> tuple[AnyPrior, Convergence]:
    """The likeliest mixture, components by rising mean; a point where all units have the same raw rate.

    Units that enter the table only with an event have likelihood f(x) / (1 - f(0)).
    """
    x, t, units = tally.x, tally.known, tally.multiplicity / tally.n
    pooled = float(units @ x) / float(units @ t)
    if float((x / t).min()) == float((x / t).max()):
        return Prior([pooled], [1.0]), Convergence(0.0, 0, True, MEANING)
    complete = tally.channel.complete

    def parts(place: Floats) -> tuple[Floats, Floats, Floats]:
        """log weights, shapes and means [h]; places are relative to the mean of all units."""
        log_weight, log_shape, log_mean = place.reshape(3, components)
        return log_weight - logsumexp(log_weight), np.exp(log_shape), pooled * np.exp(log_mean)

    def loss(place: Floats) -> tuple[float, Floats]:
        """Minus the mean log-likelihood, and its gradient."""
        log_weight, a, mean = parts(place)
        mu = mean * t[:, None]
        logs = log_weight + negative_binomial_log_pmf(x[:, None], a, mu)
        log_f = logsumexp(logs, axis=1)
        chance = units[:, None] * np.exp(logs - log_f[:, None])
        off = x[:, None] - mu
        # psi(x + a) - psi(a) + log(a / (a + mu)), whose terms nearly cancel where shapes are large
        log_ratio = np.sign(off) * np.log1p(np.abs(off) / (a + np.minimum(x[:, None], mu)))  # finite where counts are 0
        slope = digamma_minus_log(x[:, None] + a) - digamma_minus_log(a) + log_ratio - off / (a + mu)
        gradient = [
            chance.sum(axis=0) - np.exp(log_weight),
            (chance * a * slope).sum(axis=0),
            (chance * a * off / (a + mu)).sum(axis=0),
        ]
        entering, by_place = (0.0, 0.0) if complete else log_entering(log_weight, a, mu, units)
        return entering - float(units @ log_f), by_place - np.concatenate(gradient)

    log_shapes = float(np.log(SHAPES[0])), float(np.log(SHAPES[1]))
    least = float(np.log(SMALLEST_MEAN if complete else LEAST_SEEN))
    ranges = (float(np.log(SMALLEST_WEIGHT)), 0.0), log_shapes, (least, 30.0)
    bounds = [each for each in ranges for _ in range(components)]
    climb: Any = minimize
    found = [
        climb(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=OPTIONS) for start in _starts(components)
    ]
    best = min(found, key=lambda one: float(one.fun))
    low, high = np.array(bounds).T
    gradient = loss(best.x)[1]
    free = ~(((best.x <= low) & (gradient > 0)) | ((best.x >= high) & (gradient < 0)))
    place = polished(lambda at: loss(at)[1], best.x, free, low, high)
    log_weight, a, mean = parts(place)
    order = np.argsort(mean, kind="stable")
    gap = float(np.abs(loss(place)[1][free]).max(initial=0.0))
    family: Any = GammaPrior
    prior = ConjugateMixture(family(a[order], a[order] / mean[order]), np.exp(log_weight)[order])
    return prior, Convergence(gap, sum(int(one.nit) for one in found), gap < 1e-5, MEANING)


def log_entering(log_weight: Floats, a: Floats, mu: Floats, units: Floats) -> tuple[float, Floats]:
    """The mean log chance to enter the table, 1 - f(0), and its gradient; `mu` [x, h] are expected counts.

    1 - f(0) is a sum of what each component adds: as a difference it would be 0 where next to nothing is expected.
    """
    weight, log_none = np.exp(log_weight), -a * np.log1p(mu / a)
    entered = weight * -np.expm1(log_none)
    told = units[:, None] / entered.sum(axis=1, keepdims=True)
    none = told * weight * np.exp(log_none)
    gradient = [
        (told * entered).sum(axis=0) - weight,
        (none * a * (np.log1p(mu / a) - mu / (a + mu))).sum(axis=0),
        (none * a * mu / (a + mu)).sum(axis=0),
    ]
    return float(units @ np.log(entered.sum(axis=1))), np.concatenate(gradient)


def polished(
    gradient: Callable[[Floats], Floats], place: Floats, free: NDArray[np.bool_], low: Floats, high: Floats
) -> Floats:
    """Newton's steps in the free places, while they bring the gradient down: a climb stops digits short of the top.

    The gradient's slopes are differences; along the sum of the log-weights, which changes nothing, there is no step.
    """
    size = np.abs(gradient(place)[free]).max(initial=0.0)
    for _ in range(NEWTON_STEPS):
        moves = DIFFERENCE * np.eye(place.size)[free]
        slopes = np.array([(gradient(place + move) - gradient(place - move))[free] for move in moves]) / (
            2 * DIFFERENCE
        )
        step = np.zeros(place.size)
        step[free] = np.linalg.lstsq(slopes, gradient(place)[free], rcond=1e-9)[0]
        further = np.clip(place - step, low, high)
        reached = np.abs(gradient(further)[free]).max(initial=0.0)
        if not reached < size:
            break
        place, size = further, reached
    return place


MEANING = "largest derivative of the mean log-likelihood"


def _starts(components: int) -> list[Floats]:
    """Places to start from: even weights, means around that of all units."""
    rank = np.arange(components) - (components - 1) / 2
    return [
        np.concatenate(
            [np.full(components, -np.log(components)), np.full(components, np.log(shape)), rank * np.log(spread)]
        )
        for shape in FIRST_SHAPES
        for spread in (SPREADS if components > 1 else SPREADS[:1])
    ]
