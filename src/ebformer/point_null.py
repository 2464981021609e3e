"""Effects that are exactly the null: how much of a prior may lie at that one point, and the sign errors that follow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from ebformer.bayes.marginal import log_marginal, posterior
from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.prior import AnyPrior, Prior
from ebformer.rule import Rule
from ebformer.selection import lfsr
from ebformer.tally import Tally

PEAK = 4.0
"""A prior has a peak at the null where it is so many times as dense there as beside it."""
ALLOWED = 2.0
"""By how much the log-likelihood may fall when a peak becomes a point."""
WIDTHS = 40
"""So many widths of the peak are tried, from a quarter of the finest noise to four times the coarsest."""


@dataclass(frozen=True)
class PointNull:
    """A prior of which `share` lies exactly at `null`, while the `rest` of theta is spread as before."""

    null: float
    share: float
    rest: AnyPrior
    channel: Channel

    def probability(self, x: Floats, known: Floats) -> Floats:
        """P(theta = null | x)."""
        if self.share == 0.0:
            return np.zeros(x.shape)
        here = np.log(self.share) + self.channel.log_likelihood(x, self.null, known)
        elsewhere = np.log1p(-self.share) + log_marginal(self.rest, x, known, channel=self.channel)
        possible = here > -np.inf
        return np.where(possible, expit(np.where(possible, here, 0.0) - np.where(possible, elsewhere, 0.0)), 0.0)

    def sign_error(self, x: Floats, known: Floats) -> Floats:
        """The local false sign rate: theta is exactly the null, or on the other side of it than it seems to be."""
        at_null = self.probability(x, known)
        return at_null + (1.0 - at_null) * lfsr(posterior(self.rest, x, known, channel=self.channel), self.null)


@lru_cache(maxsize=16)
def point_null(prior: AnyPrior, tally: Tally, channel: Channel, null: float) -> PointNull:
    """What of a fitted prior may be units that are exactly at the null.

    Data cannot tell an effect of 0 from one far below its noise, and a prior that was learnt puts both next to 0, where
    they would have a sign. So a peak is searched at the null: a width r (in the channel's stable coordinate) within
    which the prior has more than `PEAK` times the mass that it has between r and 2 r. What it has in excess of the
    latter goes to the null itself, for the largest excess that costs the log-likelihood `ALLOWED` at most. A prior
    without such a peak stays as it is, and so does one that has no atoms.

    >>> from ebformer.estimators.catalogue import estimator
    >>> noise = np.random.default_rng(0).normal(size=500)
    >>> effects = np.where(np.arange(500) < 400, 0.0, 4.0) + noise
    >>> rule = estimator("priorformer")(Tally.of(effects, se=1.0))
    >>> found = point_null(rule.prior, rule.tally, rule.channel, 0.0)
    >>> bool(0.75 < found.share < 0.85)
    True
    """
    best = PointNull(null, 0.0, prior, channel)
    if not isinstance(prior, Prior) or not channel.domain[0] <= null <= channel.domain[1]:
        return best
    away = np.abs(channel.coordinate(prior.atoms) - channel.coordinate(np.asarray(null)))
    x, known = tally.x[:, None], tally.known[:, None]
    fall = channel.deviance(x, np.append(prior.atoms, null), known)
    likelihood = np.exp(fall.min(axis=1, keepdims=True) - fall)

    def fit(weights: Floats) -> float:
        with np.errstate(divide="ignore"):
            return float(tally.multiplicity @ np.log(likelihood @ weights))

    least = fit(np.append(prior.weights, 0.0)) - ALLOWED
    noise = channel.noise(tally.known)
    for width in np.geomspace(noise.min() / 4, noise.max() * 4, WIDTHS):
        inside = away < width
        peak = float(prior.weights[inside].sum())
        beside = float(prior.weights[(away >= width) & (away < 2 * width)].sum())
        beside = max(beside, peak / (tally.n + 1))  # the next unit may differ, even if none did
        if peak - beside > best.share and peak > PEAK * beside:
            left = np.where(inside, prior.weights * beside / peak, prior.weights)
            if fit(np.append(left, peak - beside)) >= least:
                best = PointNull(null, peak - beside, prior.reweighted(left / left.sum()), channel)
    return best


def sign_error(rule: Rule, x: ArrayLike, known: ArrayLike, null: float) -> Floats:
    """The local false sign rate of observations under a fitted rule, which counts effects of exactly the null."""
    if rule.prior is None or rule.tally is None:
        return lfsr(rule.posterior(x, known), null)
    found = point_null(rule.prior, rule.tally, rule.look, float(null))
    return found.sign_error(np.asarray(x, np.float64), np.asarray(known, np.float64))
