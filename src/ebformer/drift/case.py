"""Units seen twice, seen through a drift: how well it foretells the second look from the posteriors of the first."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ebformer.bayes.marginal import posterior
from ebformer.binning import coarsened, distinct_rows
from ebformer.channels.base import Channel
from ebformer.distributions import DiscretePosterior, Floats
from ebformer.drift.cells import coordinate_variance, on_atoms
from ebformer.drift.law import Drift
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.looks import Looks
from ebformer.networks.estimates import OutsideTrainingRange
from ebformer.prior import Prior

Moments = tuple[Floats, Floats, Floats]
"""Of the next theta of every pair, whatever the jump: what `Case.moments` gives."""


@dataclass(frozen=True, eq=False)
class Case:
    """Pairs, and the posteriors of their first look: weights [d, k] of distinct (x, known) on atoms [k]."""

    looks: Looks
    channel: Channel
    prior: Prior
    variance: float
    weights: Floats
    which: NDArray[np.intp]
    atoms: Floats

    @classmethod
    def of(cls, looks: Looks, estimator: Estimator) -> Case:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutsideTrainingRange)
            rule = estimator(coarsened(looks.tally))
        if rule.prior is None:
            raise InputError(f"{rule.method} estimates without a prior, so it cannot say how thetas move: use another")
        prior = on_atoms(rule.prior, looks.channel)
        first, which = distinct_rows(looks.x, looks.known)
        after = posterior(prior, looks.x[first], looks.known[first], channel=looks.channel)
        assert isinstance(after, DiscretePosterior)
        return cls(
            looks,
            looks.channel.next_look,
            prior,
            coordinate_variance(prior, looks.channel),
            after.weights,
            which,
            after.atoms,
        )

    @property
    def natural_spread(self) -> float:
        """The deviation of the natural parameter between units, as far as it is finite."""
        eta = self.channel.natural(self.prior.atoms)
        finite = np.isfinite(eta)
        if not finite.any():
            return 1.0
        weights = self.prior.weights[finite] / self.prior.weights[finite].sum()
        return max(float(np.sqrt(weights @ (eta[finite] - weights @ eta[finite]) ** 2)), 1e-9)

    def means(self, drift: Drift) -> Floats:
        """Of the next theta given each pair's first look, whatever the jump."""
        kept = self.weights @ drift.kept(self.atoms, self.prior.mean, self.channel)
        new = self.prior.weights @ drift.shifted(self.prior.atoms, self.channel)
        mean = np.clip((1.0 - drift.renewal) * kept + drift.renewal * new, *self.channel.inside)
        return np.asarray(mean[self.which])

    def moments(self, drift: Drift) -> Moments:
        """Of the next theta given each pair's first look: its mean, its variance without jumps, and where they add.

        The last is the chance of a jump times the variance that one unit of it in the stable coordinate is worth.
        """
        to = drift.kept(self.atoms, self.prior.mean, self.channel)
        kept = self.weights @ to
        afresh = drift.shifted(self.prior.atoms, self.channel)
        new = self.prior.weights @ afresh
        r = drift.renewal
        within = (1.0 - r) * (self.weights @ to**2 - kept**2) + r * (self.prior.weights @ (afresh - new) ** 2)
        between = r * (1.0 - r) * (kept - new) ** 2
        worth = (1.0 - r) * self.channel.variance(np.clip(kept, *self.channel.inside), np.asarray(1.0))
        return self.means(drift), np.maximum(within + between, 0.0)[self.which], worth[self.which]

    def offset(self, drift: Drift) -> float:
        """How much further the natural parameter of all units moved in this look, in its deviations between units."""
        mean, m = self.means(drift), self.looks.multiplicity
        worth = self.channel.variance(mean, np.asarray(1.0))
        slope = worth * self.channel.derivatives(self.looks.y, mean, self.looks.future)[0]
        return float(m @ slope) / float(m @ (worth / self.channel.noise(self.looks.future) ** 2)) / self.natural_spread

    def misfit_of_mean(self, drift: Drift) -> Floats:
        """-log p(y | mean of the next theta), for every pair."""
        return self.channel.deviance(self.looks.y, self.means(drift), self.looks.future)

    def squared_error(self, drift: Drift) -> Floats:
        """Squared errors over what the channel makes of them."""
        mean = self.means(drift)
        error = self.looks.y - self.channel.mean(mean, self.looks.future)
        return np.asarray(error**2 / self.channel.variance(mean, self.looks.future))

    def variance_ahead(self, moments: Moments, jump: float) -> Floats:
        """The variance of the next theta given each pair's first look, in the stable coordinate."""
        mean, variance, worth = moments
        variance = variance + worth * jump * self.variance
        return np.asarray(variance / self.channel.variance(mean, np.asarray(1.0)))

    def misfit_of_jump(self, moments: Moments, jump: float) -> Floats:
        """-log p(y | x) for every pair, if the next theta has the conjugate law of its mean and variance."""
        spread = np.sqrt(self.variance_ahead(moments, jump))
        return -self.channel.log_around(self.looks.y, self.looks.future, moments[0], np.maximum(spread, 1e-9))

    def misfit_if_normal(self, moments: Moments, jump: float) -> Floats:
        """-log p(y | x) for every pair, if y were normal with its mean and variance."""
        mean = moments[0]
        spread = self.variance_ahead(moments, jump) + self.channel.noise(self.looks.future) ** 2
        variance = self.channel.variance(mean, np.asarray(1.0)) * spread
        error = self.channel.mle(self.looks.y, self.looks.future) - mean
        return np.asarray(0.5 * (np.log(variance) + error**2 / variance))
