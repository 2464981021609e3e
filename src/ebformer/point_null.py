"""Effects that are exactly the null: how many there are to expect in a table, and a prior that has them there.

A learnt prior puts such effects next to the null, on one side of it or the other. It may have a narrow peak there
because zeros are many or because units are few, and the likelihood of the prior itself cannot tell. So the share of
effects at the null is learnt from simple laws, which can: averaged over all of them, with some at the null or none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp

from ebformer.binning import coarsened
from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.prior import GridPrior, Prior, UncertainPrior
from ebformer.rule import BayesRule, Rule
from ebformer.tally import Tally

ALLOWED = 3.3
"""The log-likelihood of a learnt prior may fall by so much when a part of it is moved to the null: a level of 1 %."""
LEAST_SPREAD, MANY = 0.5, 200
"""The least spread of a smooth law in units of the noise, as narrower ones can hardly be told from a point.

Of n units, if they are this many or more, it falls by the fourth root of n: their variance is known to within
sqrt(2 / n) of that of the noise.
"""
FARTHEST = 10.0
"""Observations at more than so many times the usual distance from the null tell nothing of it, and are moved there."""
NEVER = 1e12
"""So many times the noise from the null an observation is as little at it as from any further."""
DISTINCT = 512
"""The evidence is weighed on so many distinct observations at most."""
SHARES = expit(np.linspace(-6.0, 9.0, 151))
"""Even in the log-odds, as shares near 1 must be told apart."""
SHARE_WEIGHTS = 0.1 * SHARES * (1.0 - SHARES)
"""Of integrals over shares."""
STARTS = 0.5, 0.9
"""From which shares the likeliest law of the others is searched for."""
Shape = tuple[Floats, Floats]
"""A law as equal parts of normals, their places and deviations."""
# Six equal parts each: scales of a Laplace and a Student t as mixtures of normals, a Gumbel's means and widths.
LAPLACE = np.array([0.30, 0.54, 0.74, 0.94, 1.19, 1.67])
STUDENT = np.array([0.66, 0.86, 1.03, 1.25, 1.59, 3.42])
GUMBEL = np.array([-0.98, -0.33, 0.13, 0.62, 1.26, 2.75]), np.array([0.4, 0.35, 0.35, 0.4, 0.5, 1.1])
SHAPES: tuple[Shape, ...] = (
    (np.zeros(1), np.ones(1)),
    (np.zeros(6), LAPLACE),
    (np.zeros(6), STUDENT),
    GUMBEL,
    (-GUMBEL[0], GUMBEL[1]),
    (np.linspace(-1.45, 1.45, 6), np.full(6, 0.35)),
)
"""Normal, Laplace, Student's t with 3 degrees of freedom, Gumbel and its mirror image, and nearly uniform.

None has two humps: with a point between them such a law would look like a bell, which is no evidence of a point."""


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
        reach = FARTHEST * np.clip(usual, noise, NEVER * noise)
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

    def log_likelihoods(self, rest: Floats) -> Floats:
        """That of every one of the `SHARES`, where log p(x) of the others is `rest`."""
        here, elsewhere = np.log(SHARES) + self.at_null()[:, None], np.log1p(-SHARES) + rest[:, None]
        return np.asarray(self.units @ np.logaddexp(here, elsewhere))

    def likeliest(self, shape: Shape) -> Floats:
        """log p(x) of those that are not at the null, where some are, under the likeliest law of this shape."""
        return max((self.best(shape, share) for share in STARTS), key=lambda found: found[0])[1]

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
        least = np.log(LEAST_SPREAD) - 0.25 * np.log(max(1.0, self.units.sum() / MANY))
        bounds = [(None, None), (least, 40.0), (-12.0, 12.0)][: len(start)]
        found = minimize(fall, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60})
        return -float(found.fun), self.smooth(shape, found.x[0], np.exp(found.x[1]))[0]


@lru_cache(maxsize=256)
def evidence(tally: Tally, null: float) -> tuple[float, float]:
    """P(some units are exactly at the null | all observations), and the share of units to expect there if so.

    Before these, it is as likely that none is as that some are, any share alike; the others have a smooth law of one of
    the `SHAPES`, all alike, at the likeliest place and spread.

    >>> noise = np.random.default_rng(0).normal(size=500)
    >>> some, none = np.where(np.arange(500) < 400, 0.0, 4.0), 2.0 * noise[::-1]
    >>> [np.round(evidence(Tally.of(theta + noise, se=1.0), 0.0), 1).tolist() for theta in (some, none)]
    [[1.0, 0.8], [0.0, 0.0]]
    """
    seen = _Seen.of(tally, null)
    none = np.array([seen.best(shape, 0.0)[0] for shape in SHAPES])
    some = np.array([seen.log_likelihoods(seen.likeliest(s)) for s in SHAPES])
    # Either may be less likely than the other by more digits than a number has.
    mass = np.exp(some - some.max()).sum(axis=0) * SHARE_WEIGHTS
    odds = some.max() + np.log(mass.sum()) - logsumexp(none)
    return float(expit(odds)), float(mass @ SHARES / mass.sum())


@lru_cache(maxsize=256)
def with_point(prior: Prior, tally: Tally, channel: Channel, null: float) -> Prior:
    """What to expect of a fitted prior: itself, or with its part nearest to the null moved there, by their `evidence`.

    Less is moved where that would cost the log-likelihood more than is `ALLOWED`.

    >>> tally = Tally.of(np.repeat([0.0, 0.1, 9.0], [400, 400, 200]), se=1.0)
    >>> found = with_point(Prior([-0.1, 0.2, 9.0], [0.5, 0.3, 0.2]), tally, tally.channel, 0.0)
    >>> found.atoms.tolist(), found.weights.round(1).tolist()
    ([0.0, 0.2, 9.0], [0.8, 0.0, 0.2])
    """
    chance, share = evidence(tally, null)
    atoms, versions = _beside(prior, null)
    weights = versions.mean(axis=0)
    likelihood = channel.likelihood_matrix(tally.x, np.append(atoms, null), tally.known)
    nearest = np.argsort(np.abs(channel.coordinate(atoms) - channel.coordinate(np.asarray(null))), kind="stable")

    def fit(weights: Floats) -> float:
        with np.errstate(divide="ignore"):
            return float(tally.multiplicity @ np.log(likelihood @ weights))

    least = fit(np.append(weights, 0.0)) - ALLOWED
    for moved in expit(logit(share) - np.linspace(0.0, 6.0, 41)):
        left = np.empty(weights.size)
        left[nearest] = np.clip(np.cumsum(weights[nearest]) - moved, 0.0, weights[nearest])
        if fit(np.append(left, moved)) >= least:
            left = chance * left + (1.0 - chance) * weights
            kept = left > 0
            rest = (versions * (left / weights))[:, kept]
            each = np.column_stack([rest, 1.0 - rest.sum(axis=1)])
            return _of_kind(prior, np.append(atoms[kept], null), each, null)
    return prior


def _beside(prior: Prior, null: float) -> tuple[Floats, Floats]:
    """The atoms of a prior [k] and its versions [h, k]; an atom that stands for a cell around the null becomes two."""
    versions = prior.versions if isinstance(prior, UncertainPrior) else prior.weights[None]
    at = np.flatnonzero(prior.atoms == null)
    if not isinstance(prior, GridPrior) or at.size == 0 or bool(prior.points[at[0]]):
        return prior.atoms, versions
    halves = (prior.edges[at[0] : at[0] + 2] + null) / 2.0
    atoms = np.concatenate([np.delete(prior.atoms, at), halves])
    return atoms, np.column_stack([np.delete(versions, at, axis=1), versions[:, [at[0], at[0]]] / 2.0])


def _of_kind(prior: Prior, atoms: Floats, versions: Floats, point: float) -> Prior:
    """A prior of the kind of another, with other atoms in any order, of which one is a point."""
    order = np.argsort(atoms, kind="stable")
    atoms, versions = atoms[order], versions[:, order]
    if isinstance(prior, UncertainPrior):
        return UncertainPrior(atoms, versions, prior.channel, point)
    if isinstance(prior, GridPrior):
        return GridPrior(atoms, versions[0], prior.channel, point)
    return Prior(atoms, versions[0])


def pointed(rule: Rule, null: float) -> Rule:
    """The rule with a point of its prior at the null, for all that is asked of it where a null is stated.

    A conjugate prior is a smooth law by assumption and stays as it is, as do a prior without its tally, and one of
    thetas that cannot be the null.
    """
    low, high = rule.look.domain
    if not (isinstance(rule, BayesRule) and isinstance(rule.mixing, Prior) and rule.tally and low <= null <= high):
        return rule
    return replace(rule, mixing=with_point(rule.mixing, rule.tally, rule.look, float(null)))
