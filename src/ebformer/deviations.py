"""What covariates leave over: priors of deviations from what is expected of units, and how they move with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from ebformer.channels.base import Channel
from ebformer.channels.beta_prior import BetaPrior
from ebformer.channels.hyperprior import Hyperprior
from ebformer.channels.mixed_prior import ConjugateMixture, MixedPrior
from ebformer.channels.normal_prior import NormalPrior
from ebformer.distributions import Floats
from ebformer.errors import NoPriorError
from ebformer.estimators.full_bayes import Rows
from ebformer.estimators.npmle_em import MEANING, NpmleEm, expectation_maximisation
from ebformer.prior import AnyPrior, ConjugatePrior, Prior
from ebformer.rule import BayesRule, Convergence, Rule
from ebformer.tally import Tally

SPREADS = 2.0 ** np.arange(1.0, -7.0, -1.0)
"""The deviations of log-odds that betas around an expectation may have: from 2 to 1 / 64."""
OTHERS = 2.0
"""As many units are taken to have a spread that is anywhere (half-Cauchy) as none of those that were seen has."""
RARE = 1e-3
"""Betas of less weight are left out."""
NARROW = 1.0 / 64.0
"""Doubt about the deviation that all units share counts for nothing where it is less."""
MOST_TELLING = 10_000
"""So many distinct observations are enough to learn these weights from, if they are those that tell most."""


def deviations(channel: Channel, x: Floats, known: Floats, expected: Floats) -> tuple[Floats, Floats]:
    """Observations as those of a deviation from what is expected, of which units share a prior.

    That of a count is the ratio to its expected rate, whose exposure is the expected count; that of an effect is the
    difference. Of successes there is none, and they stay (`around_expectations`).
    """
    if channel.deviation == "ratio":
        return x, known * expected
    return (x - expected, known) if channel.deviation == "difference" else (x, known)


def shifted(rule: Rule, expected: float) -> BayesRule:
    """The rule of units of which this is expected, from that of deviations.

    >>> from ebformer.channels.normal import Normal
    >>> shifted(BayesRule("oracle", Prior([0.5, 2.0], [0.5, 0.5])), 10.0).mixing.atoms.tolist()
    [5.0, 20.0]
    >>> shifted(BayesRule("oracle", Prior([-1.0, 1.0], [0.5, 0.5]), channel=Normal()), 10.0).mixing.atoms.tolist()
    [9.0, 11.0]
    """
    if rule.prior is None:
        raise NoPriorError(
            f"covariates move a prior, and {rule.method} has none; use a method that has one, such as npmle or "
            f"{rule.channel.conjugate or 'npmle-em'}"
        )
    assert isinstance(rule, BayesRule)
    moved = rule.prior.scaled(expected) if rule.channel.deviation == "ratio" else _moved(rule.prior, expected)
    return replace(rule, mixing=moved, known=None)


def _moved(prior: AnyPrior, expected: float) -> AnyPrior:
    """The prior of effects moved by what is expected, or that of probabilities by its log-odds.

    >>> print(_moved(BetaPrior(2.0, 2.0), 0.2))
    BetaPrior(a 1.25, b 5)
    """
    if isinstance(prior, MixedPrior):
        parts = _moved(prior.parts, expected)
        assert isinstance(parts, ConjugatePrior)
        return replace(prior, parts=parts)
    if isinstance(prior, BetaPrior):
        events, log_odds = prior.a * (prior.b / (prior.a + prior.b)), np.log(prior.a / prior.b) + logit(expected)
        return BetaPrior(events / expit(-log_odds), events / expit(log_odds))
    if isinstance(prior, NormalPrior):
        return replace(prior, centre=prior.centre + expected)
    assert isinstance(prior, Prior)
    return prior._with_atoms(prior.atoms + expected)


def around_expectations(x: Floats, known: Floats, expected: Floats, rows: NDArray[np.int64], tally: Tally) -> BayesRule:
    """The rule of probabilities around what is expected, of units of which even odds are; `shifted` moves it."""
    prior, evidence = prior_around(tally.channel, x, known, expected, rows.astype(np.float64))
    return BayesRule("beta-mixture", prior, channel=tally.channel, known=None, tally=tally, convergence=evidence)


def prior_around(
    channel: Channel, x: Floats, known: Floats, expected: Floats, units: Floats
) -> tuple[ConjugateMixture, Convergence]:
    """sum_j w_j C(d, s_j): conjugate priors at d + natural(expected), s wide there; given for natural(expected) = 0.

    A spread s stands for s^-2 expected events, so that rare successes have the prior of counts. The weights w of
    spreads are found by EM that stops early, and a few units that were not seen leave room for more than they show.
    The deviation d that all units share is left in doubt where hardly anything happened: the prior holds several, by
    their posterior given w, where the mean of all units is flat before the data. So the upper end of what never
    happened is that of a common rate, 1 - 0.05^(1 / trials), or above.
    """
    at, units = _telling(channel, x, known, expected, units)
    x, known, offset = x[at], known[at], channel.natural(expected[at])
    level = float(channel.natural(np.asarray(channel.pooled(channel.mean(expected[at], known), known, units))))
    hyper: Hyperprior = channel.hyperprior(x, known, units)
    hyper = replace(hyper, start=hyper.start - level)

    def log_likelihood(place: Floats, spreads: Floats) -> Floats:  # [u, places, spreads]
        prior = hyper.prior(place[:, None] + offset[:, None, None], spreads)
        return prior.log_marginal(x[:, None, None], known[:, None, None])

    def rows(spreads: Floats, shape: Floats) -> Rows:
        def log_posterior(place: Floats, _: float) -> Floats:
            logs = log_likelihood(place, spreads)
            top = logs.max(axis=2, keepdims=True)
            mixed = top[..., 0] + np.log(np.exp(logs - top) @ shape)
            # d theta / d natural(theta) is the variance of one observation, in every channel.
            return np.asarray(units @ mixed + np.log(channel.variance(channel.at_natural(place + level), np.ones(()))))

        return Rows(log_posterior, hyper)

    before, method = SPREADS / (1.0 + SPREADS**2), NpmleEm()
    before /= before.sum()
    first = rows(SPREADS, before)
    first.climb(0.0)
    log_f = log_likelihood(np.array([first.place]), SPREADS)[:, 0]
    kernel = np.exp(log_f - log_f.max(axis=1, keepdims=True))
    shape, moved, steps = expectation_maximisation(kernel, units / units.sum(), before, method.tolerance, method.steps)
    shape = (units.sum() * shape + OTHERS * before) / (units.sum() + OTHERS)
    spreads, shape = SPREADS[shape > RARE], shape[shape > RARE]
    found = rows(spreads, shape)
    row = found.row(0.0, 0.0)
    likely = np.exp(row.log_weights - row.log_weights.max())
    kept = likely == 1.0 if found.width < NARROW else likely > RARE
    weights = np.outer(likely[kept] / likely[kept].sum(), shape / shape.sum())
    priors = hyper.prior(*(each.ravel() for each in np.broadcast_arrays(row.places[kept, None], spreads)))
    prior = ConjugateMixture(priors, weights.ravel(), in_doubt=len(weights))
    return prior, Convergence(moved, steps, moved < method.tolerance, MEANING)


def _telling(
    channel: Channel, x: Floats, known: Floats, expected: Floats, units: Floats
) -> tuple[NDArray[np.intp], Floats]:
    """Which observations to learn from, at most `MOST_TELLING` or so, and how many units each of them stands for.

    The chance of an observation grows with what its units tell, which is next to nothing where nothing was expected and
    nothing seen.
    """
    if x.size <= MOST_TELLING:
        return np.arange(x.size), units
    mean = channel.mean(expected, known)
    told = units * (channel.variance(expected, known) + np.abs(x - mean))
    chance = np.minimum(told * (MOST_TELLING / told.sum()), 1.0)
    at = np.flatnonzero(np.random.default_rng(0).random(x.size) < chance)
    return at, units[at] / chance[at]
