"""The next observation of a unit: the posterior carried through the channel once more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ebformer.bayes.marginal import admitted, check_known, in_blocks, observations, posterior
from ebformer.bayes.nodes import Nodes, nodes
from ebformer.binning import distinct_rows
from ebformer.channels import POISSON, pick
from ebformer.channels.base import Channel
from ebformer.distributions import DiscretePosterior, Floats, Predictive
from ebformer.errors import InputError
from ebformer.levels import below_one, next_numbers, on_whole_numbers, probabilities, whole_quantile
from ebformer.prior import AnyPrior, ConjugatePrior
from ebformer.tally import Tally

MANY_ATOMS, FEW_NODES = 64, 8
"""Beyond so many atoms, distribution functions are summed over nodes where these are fewer; no unit has so few."""


def predictive(
    prior: AnyPrior,
    x: ArrayLike,
    known: ArrayLike | None = None,
    future: ArrayLike | None = None,
    *,
    channel: Channel | None = None,
    **words: Any,
) -> Predictive:
    """The distribution of the next observation of the same unit; `future` is what will be known about it.

    >>> from ebformer.prior import Prior
    >>> predictive(Prior([2.0], [1.0]), 5, future=3.0).mean.item()
    6.0
    >>> predictive(Prior([0.5], [1.0]), 5, trials=10, future=4).pmf(4).item()
    0.0625
    """
    channel, about = pick(known, words, channel)
    at, about = observations(channel, x, about)
    f = future_known(channel, future, at.shape)
    at, about = np.broadcast_to(at, f.shape), np.broadcast_to(about, f.shape)
    if isinstance(admitted(prior, channel), ConjugatePrior):
        return prior.predictive(at, about, f)  # type: ignore[union-attr]
    after = posterior(prior, at, about, channel=channel)
    assert isinstance(after, DiscretePosterior)
    ahead = channel.next_look
    return (WholeMixture if ahead.whole else ContinuousMixture)(ahead, after, f)


def future_known(channel: Channel, future: ArrayLike | None, shape: tuple[int, ...]) -> Floats:
    """What will be known of the next observations, checked, and broadcast against the shape of those now.

    >>> future_known(POISSON, None, (2,)).tolist()
    [1.0, 1.0]
    """
    given = channel.usual_future if future is None else future
    if given is None:
        raise InputError(
            f"say how precisely the next {channel.words.x} is measured: give its {channel.keyword} as future"
        )
    if np.ma.is_masked(given):
        raise InputError(f"the future {channel.keyword} has masked entries: leave such units out first")
    try:
        f = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"the future {channel.keyword} must be numbers whose shape fits that of x: {error}") from error
    check_known(channel, f, f"the future {channel.keyword}")
    try:
        return np.broadcast_to(f, np.broadcast_shapes(f.shape, shape))
    except ValueError as error:
        raise InputError(f"the future {channel.keyword} must be numbers whose shape fits that of x: {error}") from error


@dataclass(frozen=True, eq=False, repr=False)
class PredictiveMixture(Predictive):
    """y ~ p(. | theta, future) with theta from a discrete posterior."""

    channel: Channel
    after: DiscretePosterior
    future: Floats

    @cached_property
    def mean(self) -> Floats:
        return np.asarray((self.after.weights * self._by_atom(self.channel.mean)).sum(axis=-1))

    @cached_property
    def variance(self) -> Floats:
        mean = self._by_atom(self.channel.mean)
        within = self._by_atom(self.channel.variance)
        return np.asarray((self.after.weights * (within + (mean - self.mean[..., None]) ** 2)).sum(axis=-1))

    def log_density(self, y: ArrayLike) -> Floats:
        at = next_numbers(y)
        flat = at.reshape(-1, 1)
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.after.weights)[..., None, :]
        mixed = special.logsumexp(log_weights + self._log_likelihood(flat), axis=-1)
        return np.asarray(mixed.reshape(self.future.shape + at.shape))

    def cdf(self, y: ArrayLike) -> Floats:
        at = next_numbers(y)
        return np.asarray(self._cdf(at.reshape(-1)).reshape(self.future.shape + at.shape))

    def _by_atom(self, moment: Callable[[Floats, Floats], Floats]) -> Floats:
        """A moment of y at every atom: x.shape + (k,)."""
        return moment(self.after.atoms, self.future[..., None])

    def _log_likelihood(self, y: Floats) -> Floats:
        """At y [q, 1], for every atom: x.shape + (q, k)."""
        return self.channel.log_likelihood(y, self.after.atoms, self.future[..., None, None])

    def _cdf(self, y: Floats) -> Floats:
        """At y, x.shape + (q,) or (q,): x.shape + (q,)."""
        at, future = np.broadcast_arrays(y, self.future[..., None])
        # Units share counts and what will be known of them: the channel is asked for each pair once.
        first, which = distinct_rows(at.ravel(), future.ravel())
        atoms = self.after.atoms
        asked = first.size * atoms.size
        if atoms.size > MANY_ATOMS and asked > FEW_NODES * at.size and asked > self._nodes.theta.size * at.shape[-1]:
            return self._cdf_on_nodes(at)
        below = self.channel.cdf(at.flat[first][:, None], atoms, future.flat[first][:, None])
        shown = below[which].reshape(*at.shape, below.shape[-1])
        return np.asarray(np.einsum("...qk,...k->...q", shown, self.after.weights))

    def _cdf_on_nodes(self, y: Floats) -> Floats:
        """The same, of every unit by its own nodes."""
        theta, weight, unit, first = self._nodes
        at, future = y.reshape(-1, y.shape[-1])[unit], self.future.reshape(-1)[unit]
        below = self.channel.cdf(at, theta[:, None], future[:, None])
        found = np.add.reduceat(below * weight[:, None], first, axis=0)
        return np.clip(found, 0.0, 1.0).reshape(y.shape)

    @cached_property
    def _nodes(self) -> Nodes:
        return nodes(self.channel, self.after, self.future)


class WholeMixture(PredictiveMixture):
    """Where observations are whole numbers."""

    def _log_likelihood(self, y: Floats) -> Floats:
        known = self.future[..., None, None]

        def inside(whole: Floats) -> Floats:
            possible = self.channel.possible_pair(whole, known)
            log_p = super(WholeMixture, self)._log_likelihood(np.where(possible, whole, 0.0))
            return np.where(possible, log_p, -np.inf)

        return on_whole_numbers(inside, y)

    def quantile(self, q: ArrayLike) -> NDArray[np.int64]:
        return whole_quantile(self._cdf, below_one(q), self)


class ContinuousMixture(PredictiveMixture):
    """Where observations are any numbers."""

    whole = False

    def quantile(self, q: ArrayLike) -> Floats:
        levels = probabilities(q)
        flat = np.broadcast_to(levels.reshape(-1), (*self.future.shape, levels.size))
        # A quantile of a mixture lies between the smallest and the largest of its parts'.
        spread = 40.0 * np.sqrt(self._by_atom(self.channel.variance).max(axis=-1))[..., None]
        below = np.broadcast_to(self.after.atoms[0] - spread, flat.shape)
        above = np.broadcast_to(self.after.atoms[-1] + spread, flat.shape)
        for _ in range(200):
            middle = 0.5 * (below + above)
            reached = self._cdf(middle) >= flat
            below, above = np.where(reached, below, middle), np.where(reached, middle, above)
            if bool(np.all(above - below <= 1e-14 * np.maximum(np.abs(above), spread))):
                break
        found = np.where(flat == 0.0, -np.inf, np.where(flat == 1.0, np.inf, above))
        return np.asarray(found.reshape(self.future.shape + levels.shape))


def log_predictive(
    prior: AnyPrior, x: ArrayLike, known: ArrayLike, y: ArrayLike, future: ArrayLike, channel: Channel = POISSON
) -> Floats:
    """log p(y | x), the log-probability or log-density of a next observation y; all broadcast.

    >>> from ebformer.prior import Prior
    >>> log_predictive(Prior([2.0], [1.0]), 5, 1.0, 0, 1.5).round(6).item()
    -3.0
    """
    numbers = (np.asarray(number, dtype=np.float64) for number in (x, known, y, future))
    at, about, after, ahead = np.broadcast_arrays(*numbers)
    flat = [np.atleast_1d(number).ravel() for number in (at, about, after, ahead)]

    def log_p(_: Floats, rows: Floats) -> Floats:
        a, k, b, f = (number[rows.astype(np.intp)] for number in flat)
        if isinstance(prior, ConjugatePrior):
            return prior.log_predictive(a, k, b, f)
        first = np.log(prior.weights) - channel.deviance(a[:, None], prior.atoms, k[:, None])
        second = channel.next_look.log_likelihood(b[:, None], prior.atoms, f[:, None])
        return np.asarray(special.logsumexp(first + second, axis=-1) - special.logsumexp(first, axis=-1))

    rows = np.arange(len(flat[0]), dtype=np.float64)
    return in_blocks(log_p, prior, rows, rows).reshape(at.shape)


def units_to_come(theta: Floats, tally: Tally, future: float | None = None) -> Floats:
    """How many units that never entered the table there are if all in it have this theta; [k] for theta [k].

    With `future`, those of them that show themselves when that much more becomes known, such as a further exposure.
    """
    channel = tally.channel
    known, at = np.unique(tally.known, return_inverse=True)
    units = np.bincount(at, tally.multiplicity)
    with np.errstate(divide="ignore"):
        missed = channel.missed(theta, known[:, None])
    if future is not None:
        shown = -np.expm1(channel.next_look.log_likelihood(0, theta, future))
        missed = np.where(theta > 0, np.where(np.isfinite(missed), missed, 0.0) * shown, future / known[:, None])
    return np.asarray(units @ missed)
