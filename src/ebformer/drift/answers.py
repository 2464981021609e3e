"""What a drift answers for a prior and observations: the present theta given earlier looks, and the next look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebformer import bayes
from ebformer.bayes.marginal import admitted, observations
from ebformer.bayes.prediction import ContinuousMixture, WholeMixture, future_known
from ebformer.channels.base import Channel
from ebformer.distributions import DiscretePosterior, Floats, GridPosterior, Posterior, Predictive
from ebformer.drift.cells import gathered, on_atoms
from ebformer.levels import first_reaching, tails
from ebformer.prior import AnyPrior, Prior

if TYPE_CHECKING:
    from ebformer.drift.law import Drift, Jumps

Earlier = Sequence[tuple[ArrayLike, ArrayLike | None]]
"""Earlier looks at the same units, the oldest first: observations, NaN where there was none, and what is known."""


def posterior(
    drift: Drift,
    prior: AnyPrior,
    x: ArrayLike,
    known: ArrayLike | None,
    channel: Channel,
    earlier: Earlier,
) -> Posterior:
    """The distribution of the present theta given x and what was seen earlier.

    Earlier looks change how likely each theta of the present prior is for a unit, by P(theta | earlier) / P(theta).
    """
    if not earlier:
        return bayes.posterior(prior, x, known, channel=channel)
    at, about = observations(channel, x, known)
    grid = on_atoms(admitted(prior, channel), channel, float(channel.noise(about).min(initial=np.inf)))
    weights = np.broadcast_to(grid.weights, (*at.shape, len(grid)))
    jumps = _jumps(drift, grid, channel)
    for look, then in earlier:
        weights = _forward(drift, jumps, _seen(weights, grid, look, then, channel, at.shape), grid, channel)
    after = bayes.posterior(grid, at, about, channel=channel)
    assert isinstance(after, DiscretePosterior)
    weights = after.weights * weights / grid.weights
    weights = weights / weights.sum(axis=-1, keepdims=True)
    if isinstance(after, GridPosterior):
        return GridPosterior(after.atoms, weights, after.edges, after.points)
    return DiscretePosterior(after.atoms, weights)


def _seen(
    weights: Floats, prior: Prior, x: ArrayLike, known: ArrayLike | None, channel: Channel, shape: tuple[int, ...]
) -> Floats:
    """The weights of units after a look at them; those that were not seen, NaN, keep theirs."""
    numbers = np.broadcast_to(np.asarray(x, dtype=np.float64), shape)
    there = np.isfinite(numbers)
    if not there.any():
        return weights
    about = None if known is None else np.broadcast_to(np.asarray(known, dtype=np.float64), shape)[there]
    after = bayes.posterior(prior, numbers[there], about, channel=channel)
    assert isinstance(after, DiscretePosterior)
    updated = np.array(weights)
    raw = after.weights * updated[there] / prior.weights
    updated[there] = raw / raw.sum(axis=-1, keepdims=True)
    return updated


def _jumps(drift: Drift, prior: Prior, channel: Channel) -> Jumps | None:
    """Where the thetas of a prior jump to between two looks, if they do."""
    if drift.spread(prior, channel) == 0.0:
        return None
    return drift.jumps(gathered(DiscretePosterior(prior.atoms, prior.weights), channel).atoms, prior, channel)


def _forward(drift: Drift, jumps: Jumps | None, weights: Floats, prior: Prior, channel: Channel) -> Floats:
    """The prior of the next look for units whose present theta has these weights [..., k] on the prior's atoms."""
    everybody = prior.weights
    if jumps is not None:
        units = np.concatenate([weights.reshape(-1, everybody.size), everybody[None]])
        ahead = jumps.of(gathered(DiscretePosterior(prior.atoms, units), channel).weights)
        cell = np.clip(np.searchsorted(ahead.edges, prior.atoms, side="right") - 1, 0, ahead.atoms.size - 1)
        ratio = ahead.weights[:-1] / np.maximum(ahead.weights[-1], np.finfo(float).tiny)
        weights = everybody * ratio[:, cell].reshape(weights.shape)
    return np.asarray(drift.renewal * everybody + (1.0 - drift.renewal) * weights)


def predictive(
    drift: Drift,
    prior: AnyPrior,
    x: ArrayLike,
    known: ArrayLike | None,
    future: ArrayLike | None,
    channel: Channel,
    earlier: Earlier,
) -> Predictive:
    """The distribution of the next observation given x and what was seen earlier."""
    at, about = observations(channel, x, known)
    f = future_known(channel, future, at.shape)
    at, about = np.broadcast_to(at, f.shape), np.broadcast_to(about, f.shape)
    now = posterior(drift, prior, at, about, channel, earlier)
    ahead = channel.next_look
    moved = drift.moved(now, prior, channel, float(ahead.noise(f).min()))
    return (NextCount if ahead.whole else ContinuousMixture)(ahead, moved, f)


class NextCount(WholeMixture):
    """Whole numbers, whose intervals begin like equal-tailed ones and end where they hold what they should.

    Where a count of 0 is likely nothing can be left out below it: equal tails would hold 95 % or more instead of 90 %.
    """

    def interval(self, level: float = 0.9) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The interval from the lower tail's quantile to the first count with which it holds `level`."""
        low = self.quantile(tails(level)[0])
        left_out = self._cdf(low[..., None].astype(np.float64) - 1.0)
        return low, first_reaching(self._cdf, left_out + level, self)[..., 0]
