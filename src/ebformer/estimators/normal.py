"""Parametric empirical Bayes: theta ~ Normal(centre, spread^2) by maximum likelihood, errors equal or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ebformer.channels.normal_prior import NormalPrior
from ebformer.estimators.base import Estimator
from ebformer.estimators.profile import likeliest, maxima
from ebformer.prior import AnyPrior, Prior
from ebformer.rule import BayesRule, Convergence
from ebformer.tally import Tally

STEP = 0.5
"""In which steps log variances are searched for maxima where errors differ."""
SMALLEST = 1e-10
"""The least variance of the prior, in squared errors of the most precise unit, that is told from none."""


@dataclass(frozen=True)
class NormalMeans(Estimator):
    """The maximum likelihood normal prior: theta(x) = (s^2 centre + spread^2 x) / (s^2 + spread^2), linear in x.

    Effects that spread no more than their errors do have their likeliest normal prior at spread 0; then it is a point
    mass at the mean weighted by precision.

    >>> rule = NormalMeans()(Tally.of([-3.0, 0.0, 1.0, 6.0], se=1.0))
    >>> rule.prior
    NormalPrior(centre=1.0, spread=3.082207001484488)
    """

    name: ClassVar[str] = "normal"
    channels: ClassVar[tuple[str, ...]] = ("normal",)
    monotone: ClassVar[bool] = True
    answers_unseen: ClassVar[bool] = True
    unequal_known: ClassVar[bool] = True
    parameters: ClassVar[int | None] = 2

    def fit(self, tally: Tally) -> BayesRule:
        """Find the spread at which the profile likelihood is highest."""
        scale = float(tally.known.min())  # squares of errors in other units may be too small for numbers
        small = Tally(tally.x / scale, tally.multiplicity, tally.known / scale, channel=tally.channel)
        prior, convergence = maximum_likelihood(small)
        prior = prior.scaled(scale)
        return BayesRule(self.name, prior, channel=tally.channel, convergence=convergence)


def maximum_likelihood(tally: Tally) -> tuple[AnyPrior, Convergence]:
    """The normal prior (or its limit, a point mass) under which the tally is likeliest.

    x ~ Normal(centre, v) with v = spread^2 + s^2: for a given spread the best centre is the mean weighted by 1 / v, and
    the derivative of the mean log-likelihood in spread^2 is the mean of ((x - centre)^2 / v - 1) / (2 v).

    >>> maximum_likelihood(Tally.of([0.5, -0.5], se=1.0))[0]
    Prior(1 atom at 0, mean 0)
    """
    x, s, weight = tally.x, tally.known, tally.multiplicity / tally.n
    steps = 0

    def centre(variance: float) -> float:
        precision = weight / (variance + s**2)
        return float(precision @ x / precision.sum())

    def score(log_variance: float) -> float:
        """The derivative of the mean log-likelihood in log(spread^2)."""
        nonlocal steps
        steps += 1
        variance = float(np.exp(log_variance))
        v = variance + s**2
        return 0.5 * variance * float(weight @ (((x - centre(variance)) ** 2 / v - 1.0) / v))

    found = list[tuple[AnyPrior, Convergence]]()
    precise = float(s.min())
    spread = float(weight @ (x - float(weight @ x)) ** 2)
    if tally.common is not None:
        if spread > precise**2:
            prior = NormalPrior(float(weight @ x), float(np.sqrt(spread - precise**2)))
            return prior, Convergence(0.0, 0, True, "derivative of the mean log-likelihood in log(spread^2)")
    elif np.ptp(x) > 0:
        # At the square of the range of the effects the score has turned for good.
        low, high = np.log(SMALLEST * precise**2), 2.0 * np.log(float(np.ptp(x)))
        ladder = np.linspace(low, max(low, high), 2 + max(0, int((high - low) / STEP)))
        for root in maxima(score, ladder)[0]:
            gap, variance = abs(score(root)), float(np.exp(root))
            meaning = "derivative of the mean log-likelihood in log(spread^2)"
            evidence = Convergence(gap, steps, gap < 1e-9, meaning)
            found.append((NormalPrior(centre(variance), float(np.sqrt(variance))), evidence))
    meaning = "what the likelihood gains from unequal effects"
    found.append((Prior([centre(0.0)], [1.0]), Convergence(0.0, steps, True, meaning)))
    return likeliest(found, tally)
