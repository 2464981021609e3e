"""The smooth NPMLE: the likeliest mixture of gammas, betas or normals of a common width, whose intervals cover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from ebformer.binning import coarsened
from ebformer.channels.beta_prior import BetaPrior
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.channels.mixed_prior import ConjugateMixture
from ebformer.channels.normal_prior import NormalPrior
from ebformer.estimators.base import Estimator
from ebformer.estimators.npmle.estimator import Npmle
from ebformer.estimators.npmle.smooth import Observed, likeliest
from ebformer.prior import AnyPrior, Prior
from ebformer.rule import BayesRule, Convergence
from ebformer.tally import Tally

FAMILIES = {"gamma": GammaPrior, "beta": BetaPrior, "normal": NormalPrior}
WIDEST = 0.5
"""How far below its highest the log-likelihood of a single component lies at the widest width: the upper end of the
68 % likelihood interval of the width."""
WIDTHS = 2.0 ** (-0.5 * np.arange(9))
"""The widths that are tried, relative to the widest."""
AS_GOOD = 2.7
"""By how much Akaike's criterion of a width may exceed the lowest: not more than chance explains nine times in ten."""
FEW, MANY = 128, 4096
"""Distinct observations that suffice to choose a width, and to fit: more are moved together within their noise."""


@dataclass(frozen=True)
class NpmleSmooth(Estimator):
    """theta ~ sum_j w_j K(. | c_j, width), weights and centres by maximum likelihood: the NPMLE made smooth.

    K is a gamma, beta or normal law of mean c and a deviation of `width` in the stable coordinate, one width for all
    (for gammas Kim 2026, arXiv 2605.03594; for normals arXiv 2603.27843). Given the width the problem is convex and the
    answer certified: gap = max D - 1 over all centres, as `npmle` has it. The likelihood alone would choose a width
    of 0, which is the NPMLE. Of widths half an octave apart, the widest is taken whose Akaike criterion, with two
    parameters per component, is within 2.7 of the lowest (a likelihood-ratio test at level 0.1).

    >>> rule = NpmleSmooth()(Tally.of([0, 0, 3, 1, 12, 0, 2, 5, 1, 0, 4, 2]))
    >>> low, high = rule.posterior(3).interval(0.9)
    >>> print(rule(3).round(1), low.round(1), high.round(1))
    3.0 0.9 6.0
    """

    name: ClassVar[str] = "npmle-smooth"
    channels: ClassVar[tuple[str, ...]] = ("poisson", "binomial", "normal")
    monotone: ClassVar[bool] = True
    answers_unseen: ClassVar[bool] = True
    unequal_known: ClassVar[bool] = True

    def fit(self, tally: Tally) -> BayesRule:
        """Choose the width, maximise and certify."""
        prior, convergence = smooth_npmle(tally)
        return BayesRule(self.name, prior, channel=tally.channel, convergence=convergence)


def smooth_npmle(tally: Tally) -> tuple[AnyPrior, Convergence]:
    """The mixture and its certificate; a point where all units showed an end of the domain, as no event at all."""
    channel = tally.channel
    if tally.mean in channel.domain:
        return Prior([tally.mean], [1.0]), Convergence(0.0, 0, True, MEANING)
    width, tolerance = chosen_width(tally), min(1e-6, 0.01 / tally.n)
    found = likeliest(Observed.of(coarsened(tally, MANY)), width, tolerance)
    family: Any = FAMILIES[channel.conjugate or ""]
    parts = family(*channel.around(found.centres, np.full(found.centres.size, width)).parameters())
    evidence = Convergence(found.gap, found.rounds, found.gap <= tolerance, MEANING)
    return ConjugateMixture(parts, found.weights), evidence


MEANING = "max D - 1 over all centres"


def chosen_width(tally: Tally) -> float:
    """The widest width that is as good as any, in the stable coordinate.

    The search ends where no narrower width can be the best: its components are as many or more, and no mixture at all
    is likelier than the NPMLE.
    """
    few = coarsened(tally, FEW)
    observed, highest = Observed.of(few), Npmle()(few).log_likelihood
    assert highest is not None
    widths, criterion = widest(few) * WIDTHS, list[float]()
    for width in widths:
        fit = likeliest(observed, float(width), 0.1 / tally.n)
        parameters = 2 * fit.weights.size - 1
        criterion.append(2.0 * (parameters - tally.n * fit.log_likelihood))
        if 2.0 * (parameters - highest) > min(criterion):
            break
    return float(widths[np.flatnonzero(np.array(criterion) <= min(criterion) + AS_GOOD)[0]])


def widest(tally: Tally) -> float:
    """The largest width at which one component around the mean of all units explains them nearly as well as any."""
    channel, share = tally.channel, tally.multiplicity / tally.n
    u = channel.coordinate(channel.mle(tally.x, tally.known))
    scale = float(np.sqrt(share @ (u - share @ u) ** 2 + share @ channel.noise(tally.known) ** 2))
    ends = np.log(scale) - 5.0, np.log(scale) + 2.0

    def loss(log_width: float) -> float:
        width, centre = np.asarray(np.exp(log_width)), np.asarray(tally.mean)
        return -float(tally.multiplicity @ channel.log_around(tally.x, tally.known, centre, width))

    best = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-8})
    least = min(best.fun, loss(ends[0]))  # which the search comes near to, and never to

    def below(log_width: float) -> float:
        return loss(log_width) - least - WIDEST

    return float(np.exp(ends[1] if below(ends[1]) <= 0 else brentq(below, best.x, ends[1], xtol=1e-12)))
