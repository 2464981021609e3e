"""What a drift answers for a prior and observations: the present theta given earlier looks, and the next look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebformer import bayes
from ebformer.bayes.marginal import admitted, in_cache, observations
from ebformer.bayes.prediction import ContinuousMixture, WholeMixture, future_known
from ebformer.binning import distinct_rows
from ebformer.channels.base import Channel
from ebformer.distributions import DiscretePosterior, Floats, GridPosterior, Posterior, Predictive
from ebformer.drift.cells import gathered, on_atoms
from ebformer.errors import InputError
from ebformer.levels import first_reaching, tails
from ebformer.prior import AnyPrior, GridPrior, Prior

if TYPE_CHECKING:
    from ebformer.drift.law import Drift

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
    forward = _forward(drift, grid, channel)
    looks = _looks(earlier, at.shape)
    weights = np.empty((at.size, len(grid)))
    for some in in_cache(at.size, len(grid)):
        told = np.ones_like(weights[some])
        for look, then in looks:
            told = forward(_seen(told, grid, look[some], None if then is None else then[some], channel))
        weights[some] = _weighed(told, grid, at.ravel()[some], about.ravel()[some], channel)
    weights = weights.reshape(*at.shape, len(grid))
    if isinstance(grid, GridPrior):
        return GridPosterior(grid.atoms, weights, grid.edges, grid.points)
    return DiscretePosterior(grid.atoms, weights)


def _looks(earlier: Earlier, shape: tuple[int, ...]) -> list[tuple[Floats, Floats | None]]:
    """Earlier looks as one number per unit, in a row."""

    def each(numbers: ArrayLike) -> Floats:
        return np.broadcast_to(np.asarray(numbers, dtype=np.float64), shape).ravel()

    try:
        return [(each(look), None if then is None else each(then)) for look, then in earlier]
    except (TypeError, ValueError) as error:
        raise InputError(
            "earlier is no list of looks: give pairs (observations, what is known), the oldest first, with a number "
            "for every unit, NaN where there was no look"
        ) from error


def _seen(told: Floats, prior: Prior, x: Floats, known: Floats | None, channel: Channel) -> Floats:
    """The weights of units [u, k] after a look at them, from what was `told` before; x is NaN where there was none."""
    there = np.isfinite(x)
    if there.all():
        return _weighed(told, prior, x, known, channel)
    weights = told * prior.weights
    if there.any():
        weights[there] = _weighed(told[there], prior, x[there], None if known is None else known[there], channel)
    return weights


def _weighed(told: Floats, prior: Prior, x: Floats, known: Floats | None, channel: Channel) -> Floats:
    """The weights of units [u, k] that show x, of which was `told` before P(theta | earlier) / P(theta)."""
    first, which = distinct_rows(x, known)
    after = bayes.posterior(prior, x[first], None if known is None else known[first], channel=channel)
    assert isinstance(after, DiscretePosterior)
    weights = after.weights[which] * told
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights


def _forward(drift: Drift, prior: Prior, channel: Channel) -> Callable[[Floats], Floats]:
    """What weights of the present theta [u, k] tell of the next: P(theta | earlier) / P(theta) on the prior's atoms."""
    renewal = drift.renewal
    if drift.spread(prior, channel) == 0.0:
        return lambda weights: np.asarray(renewal + (1.0 - renewal) * (weights / prior.weights))
    jumps = drift.jumps(gathered(DiscretePosterior(prior.atoms, prior.weights), channel).atoms, prior, channel)

    def ahead(weights: Floats) -> Floats:
        return np.asarray(gathered(DiscretePosterior(prior.atoms, weights), channel).weights @ jumps.law)

    everybody = np.maximum(ahead(prior.weights[None]), np.finfo(float).tiny)
    cell = np.clip(np.searchsorted(jumps.edges, prior.atoms, side="right") - 1, 0, jumps.middles.size - 1)
    return lambda weights: renewal + (1.0 - renewal) * (ahead(weights) / everybody)[:, cell]


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
