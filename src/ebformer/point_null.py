"""Effects that are exactly the null: what evidence a table has of them, how many they are, and the sign errors then."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp

from ebformer.bayes.marginal import log_marginal, posterior
from ebformer.binning import coarsened
from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.prior import AnyPrior, Prior
from ebformer.rule import Rule
from ebformer.selection import lfsr
from ebformer.tally import Tally

EVIDENCE, MANY = 1.35, 200
"""A point is believed where it raises the log-likelihood by so much: a likelihood-ratio test at the level of 5 %. With
more units than these it takes more, as by Schwarz's criterion, since points that are there then show more clearly."""
ALLOWED = 3.3
"""The log-likelihood of a learnt prior may fall by so much when a part of it is moved to the null: a level of 1 %."""
LEAST_SPREAD = 0.5
"""The least spread of a smooth law in units of the noise: narrower ones can hardly be told from a point."""
FARTHEST = 10.0
"""Observations at more than so many times the usual distance from the null tell nothing of it, and are moved there."""
DISTINCT = 512
"""The evidence is weighed on so many distinct observations at most."""
SHARES = expit(np.linspace(-6.0, 9.0, 151))
"""Even in the log-odds, as shares near 1 must be told apart."""
Shape = tuple[Floats, Floats]
"""A law as equal parts of normals, their places and deviations."""
# Six equal parts each: scales of a Laplace and a Student t as mixtures of normals, a Gumbel's means and widths.
LAPLACE = np.array([0.30, 0.54, 0.74, 0.94, 1.19, 1.67])
STUDENT = np.array([0.66, 0.86, 1.03, 1.25, 1.59, 3.42])
GUMBEL = np.array([-0.98, -0.33, 0.13, 0.62, 1.26, 2.75]), np.array([0.4, 0.35, 0.35, 0.4, 0.5, 1.1])
BELLS: tuple[Shape, ...] = (
    (np.zeros(1), np.ones(1)),
    (np.zeros(6), LAPLACE),
    (np.zeros(6), STUDENT),
    GUMBEL,
    (-GUMBEL[0], GUMBEL[1]),
)
"""Smooth laws with one hump: normal, Laplace, Student's t with 3 degrees of freedom, Gumbel and its mirror image."""
HUMPS: Shape = (np.array([-2.5, 2.5]), np.ones(2))
"""A law with one hump on either side of its place."""


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


@dataclass(frozen=True, eq=False)
class _Seen:
    """Observations as distances from the null in the stable coordinate, in units of the typical noise: [u]."""

    off: Floats
    noise: Floats
    units: Floats

    @classmethod
    def of(cls, tally: Tally, null: float) -> _Seen:
        some, channel = coarsened(tally, DISTINCT), tally.channel
        units, noise = some.multiplicity.astype(np.float64), channel.noise(some.known)
        off = channel.coordinate(channel.mle(some.x, some.known)) - channel.coordinate(np.asarray(null))
        typical = np.average(noise**-4.0, weights=units) ** -0.25  # as many such units know as much of a small spread
        order = np.argsort(np.abs(off))
        usual = np.abs(off[order[np.searchsorted(np.cumsum(units[order]), units.sum() / 2)]])
        reach = FARTHEST * np.maximum(usual, noise)
        return cls(np.clip(off, -reach, reach) / typical, noise / typical, units)

    def at_null(self) -> Floats:
        """log p(x | theta = null)."""
        return -0.5 * (self.off / self.noise) ** 2 - np.log(self.noise)

    def smooth(self, shape: Shape, place: float, spread: float) -> tuple[Floats, Floats, Floats]:
        """log p(x) where theta has a law of this shape, and its derivatives in the place and in the log spread."""
        places, deviations = spread * shape[0], spread * shape[1]
        variance = self.noise[:, None] ** 2 + deviations**2
        off = self.off[:, None] - place - places
        logs = -0.5 * (off**2 / variance + np.log(variance))
        log_f = np.asarray(logsumexp(logs, axis=1))
        part = np.exp(logs - log_f[:, None])
        pull = off / variance
        by_spread = pull * places + (off * pull - 1.0) * deviations**2 / variance
        return log_f - np.log(len(places)), (part * pull).sum(axis=1), (part * by_spread).sum(axis=1)

    def best(self, shape: Shape, share: float) -> tuple[float, Floats]:
        """The greatest log-likelihood of a law of this shape, and log p(x) under it.

        With a `share` to begin with, other than 0, that much is at the null, and the share is chosen as well.
        """
        at_null = self.at_null()

        def fall(at: Floats) -> tuple[float, Floats]:
            log_f, by_place, by_spread = self.smooth(shape, at[0], np.exp(at[1]))
            if share == 0.0:
                return -float(self.units @ log_f), -np.array([self.units @ by_place, self.units @ by_spread])
            here, elsewhere = -np.logaddexp(0.0, -at[2]) + at_null, -np.logaddexp(0.0, at[2]) + log_f
            both = np.logaddexp(here, elsewhere)
            other = self.units * np.exp(elsewhere - both)
            by_odds = self.units @ np.exp(here - both) - self.units.sum() * expit(at[2])
            return -float(self.units @ both), -np.array([other @ by_place, other @ by_spread, by_odds])

        # The moments of those that are not at the null, if so many are.
        rest = (1.0 - share) * self.units.sum()
        place = float(self.units @ self.off) / rest
        square = float(self.units @ np.maximum(self.off**2 - self.noise**2, 0.0)) / rest
        spread = np.sqrt(max(square - place**2, 1.0))
        start = [place, np.log(spread)] + ([np.log(share / (1.0 - share))] if share else [])
        bounds = [(None, None), (np.log(LEAST_SPREAD), 40.0), (-12.0, 12.0)][: len(start)]
        found = minimize(fall, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60})
        return -float(found.fun), self.smooth(shape, found.x[0], np.exp(found.x[1]))[0]


@lru_cache(maxsize=256)
def evidence(tally: Tally, null: float) -> tuple[float, float]:
    """By how much units that are exactly at the null raise the log-likelihood, and the share of units that are.

    A learnt prior may have a narrow peak at the null because zeros are many or because units are few. So two
    explanations are compared: all thetas come from one smooth law, of one of the `BELLS` and of any place and spread,
    or some of them are exactly the null and the others come from such a law. How many these are is asked of laws with
    two humps, too; they are no evidence, as a point between two humps looks like a bell.

    >>> noise = np.random.default_rng(0).normal(size=500)
    >>> effects = np.where(np.arange(500) < 400, 0.0, 4.0), 2.0 * noise[::-1]
    >>> [round(evidence(Tally.of(theta + noise, se=1.0), 0.0)[1], 1) for theta in effects]
    [0.8, 0.0]
    """
    seen = _Seen.of(tally, null)
    smooth = max(seen.best(shape, 0.0)[0] for shape in BELLS)
    found = [seen.best(shape, share) for shape in (*BELLS, HUMPS) for share in (0.5, 0.9)]
    gain = max(height for height, _ in found[: 2 * len(BELLS)]) - smooth
    _, rest = max(found, key=lambda each: each[0])
    logs = np.logaddexp(np.log(SHARES) + seen.at_null()[:, None], np.log1p(-SHARES) + rest[:, None])
    likelihood = seen.units @ logs
    weights = np.exp(likelihood - likelihood.max()) * SHARES * (1.0 - SHARES)  # a flat prior of the share
    return gain, float(weights @ SHARES / weights.sum())


@lru_cache(maxsize=256)
def point_null(prior: AnyPrior, tally: Tally, channel: Channel, null: float) -> PointNull:
    """A fitted prior of which the part nearest to the null is moved there, if there is `EVIDENCE` of it.

    It is the share of units that are exactly at the null, or less where that would cost the log-likelihood more than is
    `ALLOWED`. A conjugate prior, which has no parts, is that of the others.

    >>> tally = Tally.of(np.repeat([0.0, 0.1, 9.0], [400, 400, 200]), se=1.0)
    >>> found = point_null(Prior([-0.1, 0.2, 9.0], [0.5, 0.3, 0.2]), tally, tally.channel, 0.0)
    >>> round(found.share, 1), found.rest.atoms.tolist()
    (0.8, [0.2, 9.0])
    """
    inside = channel.domain[0] <= null <= channel.domain[1]
    gain, share = evidence(tally, null) if inside else (0.0, 0.0)
    if gain < EVIDENCE + 0.5 * np.log(max(1.0, tally.n / MANY)):
        return PointNull(null, 0.0, prior, channel)
    if not isinstance(prior, Prior):
        return PointNull(null, share, prior, channel)
    away = np.abs(channel.coordinate(prior.atoms) - channel.coordinate(np.asarray(null)))
    nearest = np.argsort(away, kind="stable")
    fall = channel.deviance(tally.x[:, None], np.append(prior.atoms, null), tally.known[:, None])
    likelihood = np.exp(fall.min(axis=1, keepdims=True) - fall)

    def fit(weights: Floats) -> float:
        with np.errstate(divide="ignore"):
            return float(tally.multiplicity @ np.log(likelihood @ weights))

    least = fit(np.append(prior.weights, 0.0)) - ALLOWED
    for some in expit(logit(share) - np.linspace(0.0, 6.0, 41)):
        left = np.empty(len(away))
        left[nearest] = np.clip(np.cumsum(prior.weights[nearest]) - some, 0.0, prior.weights[nearest])
        if fit(np.append(left, some)) >= least:
            return PointNull(null, float(some), prior.reweighted(left / left.sum()), channel)
    return PointNull(null, 0.0, prior, channel)


def sign_error(rule: Rule, x: ArrayLike, known: ArrayLike, null: float) -> Floats:
    """The local false sign rate of observations under a fitted rule, which counts effects of exactly the null."""
    if rule.prior is None or rule.tally is None:
        return lfsr(rule.posterior(x, known), null)
    found = point_null(rule.prior, rule.tally, rule.look, float(null))
    return found.sign_error(np.asarray(x, np.float64), np.asarray(known, np.float64))
