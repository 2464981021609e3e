"""Marginal, Bayes rule, posterior and mmse of a prior and a channel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ebformer.channels import POISSON, pick
from ebformer.channels.base import Channel
from ebformer.channels.mixed_prior import MixedPrior
from ebformer.distributions import DiscretePosterior, Floats, GridPosterior, Posterior
from ebformer.errors import InputError
from ebformer.prior import AnyPrior, ConjugatePrior, GridPrior, Prior, UncertainPrior

ENTRIES = 2**21
"""Posteriors on all atoms are kept in blocks of this many numbers, which bounds the memory ..."""
CACHED = 2**17
"""... and computed in blocks of this many, which stay in the cache of a processor from one step to the next."""


def at_once(prior: AnyPrior | None) -> int:
    """How many observations to weigh against all atoms of a prior at a time; without atoms, `ENTRIES`.

    >>> at_once(Prior([1.0, 3.0], [0.5, 0.5])) * 2 == at_once(None) == ENTRIES
    True
    """
    return max(1, ENTRIES // len(prior)) if isinstance(prior, Prior | MixedPrior) else ENTRIES


def log_marginal(
    prior: AnyPrior, x: ArrayLike, known: ArrayLike | None = None, *, channel: Channel | None = None, **words: Any
) -> Floats:
    """log f_G(x) = log E_G[p(x | theta)], broadcasting x and what is known.

    >>> log_marginal(Prior([1.0], [1.0]), [0, 1]).tolist()
    [-1.0, -1.0]
    >>> np.exp(log_marginal(Prior([0.5], [1.0]), 1, trials=2)).round(12).item()
    0.5
    """
    channel, about = pick(known, words, channel)
    at, about = observations(channel, x, about)
    return in_blocks(partial(_log_marginal, admitted(prior, channel), channel), prior, at, about)


def marginal_cdf(prior: AnyPrior, channel: Channel, x: Floats, known: Floats) -> Floats:
    """P(a unit shows at most x), for vectors x and known [u].

    >>> from ebformer.channels import POISSON
    >>> prior = Prior([0.0, 2.0], [0.5, 0.5])
    >>> marginal_cdf(prior, POISSON, np.zeros(1), np.ones(1)).round(4).item()  # (1 + e^-2) / 2
    0.5677
    """
    if isinstance(prior, ConjugatePrior):
        return prior.marginal_cdf(x, known)
    return np.asarray(channel.cdf(x[:, None], prior.atoms, known[:, None]) @ prior.weights)


def bayes_rule(
    prior: AnyPrior, x: ArrayLike, known: ArrayLike | None = None, *, channel: Channel | None = None, **words: Any
) -> Floats:
    """theta_G(x) = E[theta | x], which is (x + 1) f_G(x + 1) / f_G(x) for Poisson counts of exposure 1.

    >>> bayes_rule(Prior([1.0, 3.0], [0.5, 0.5]), [0, 4]).round(3).tolist()
    [1.238, 2.833]
    """
    picked, about = pick(known, words, channel)
    at, about = observations(picked, x, about)
    admitted(prior, picked)
    return in_blocks(lambda x, known: _posterior(prior, picked, x, known).mean, prior, at, about)


def in_blocks(answer: Callable[[Floats, Floats], Floats], prior: AnyPrior, x: Floats, known: Floats) -> Floats:
    """`answer` to observations of one shape, as many of them at a time as stay in the cache."""
    parts = in_cache(x.size, len(prior) if isinstance(prior, Prior | MixedPrior) else 1)
    if len(parts) < 2:
        return answer(x, known)
    at, about = x.ravel(), known.ravel()
    return np.concatenate([answer(at[part], about[part]) for part in parts]).reshape(x.shape)


def in_cache(units: int, atoms: int) -> list[slice]:
    """Blocks of units whose weights on so many atoms stay in the cache of a processor.

    >>> in_cache(300, atoms=1024)
    [slice(0, 128, None), slice(128, 256, None), slice(256, 300, None)]
    """
    block = max(1, CACHED // atoms)
    return [slice(start, min(start + block, units)) for start in range(0, units, block)]


def posterior(
    prior: AnyPrior, x: ArrayLike, known: ArrayLike | None = None, *, channel: Channel | None = None, **words: Any
) -> Posterior:
    """The distribution of theta given x, for every x.

    >>> posterior(Prior([1.0, 3.0], [0.5, 0.5]), 0).exceeds(2.0).round(4).item()
    0.1192
    """
    channel, about = pick(known, words, channel)
    return _posterior(admitted(prior, channel), channel, *observations(channel, x, about))


def mmse(prior: AnyPrior, known: float | None = None, *, channel: Channel | None = None, **words: Any) -> float:
    """E (theta - theta_G(x))^2: what even the oracle pays.

    >>> mmse(Prior([3.0], [1.0])), round(mmse(Prior([0.0, 1.0], [0.5, 0.5]), trials=1), 6)
    (0.0, 0.0)
    """
    channel, about = pick(known, words, channel)
    about = channel.known_or_usual(about)
    if not isinstance(about, Real):
        raise InputError(f"{channel.keyword} is {about!r}: give one number")
    about = float(about)
    check_known(channel, np.asarray(about), channel.keyword)
    admitted(prior, channel)
    if isinstance(prior, ConjugatePrior):
        return prior.mmse(about)
    total = 0.0
    for x, weight in likely(prior, channel, about):
        among = np.full(x.size, about)
        share = weight * np.exp(_log_marginal(prior, channel, x, among))
        total += float(share @ _posterior(prior, channel, x, among).variance)
    return total


def likely(prior: Prior, channel: Channel = POISSON, known: float = 1.0) -> list[tuple[Floats, Floats]]:
    """The channel's `nodes` that carry all but 1e-15 of the marginal, and their weights, in blocks that bound memory.

    >>> [float(x[-1]) > 5 for x, _ in likely(Prior([1.0], [1.0]))]
    [True]
    """
    x, weight = channel.nodes(float(prior.atoms[0]), float(prior.atoms[-1]), known)
    parts = np.array_split(np.arange(x.size), 1 + (x.size - 1) // at_once(prior))
    return [(x[part], weight[part]) for part in parts]


def check_known(channel: Channel, known: Floats, name: str) -> None:
    """An `InputError` that names the first number which cannot be known of a unit."""
    bad = ~np.asarray(channel.possible_known(known))
    if bad.any():
        raise InputError(f"{name} is {known[bad].flat[0]:g}: {channel.words.ask_known}")


def observations(channel: Channel, x: ArrayLike, known: ArrayLike | None) -> tuple[Floats, Floats]:
    """Observations and what is known of them, of one shape, checked; blank ones may be asked about too.

    >>> from ebformer.channels import POISSON
    >>> counts, t = observations(POISSON, [0, 3], 2.0)
    >>> counts.tolist(), t.tolist()
    ([0.0, 3.0], [2.0, 2.0])
    """
    known = channel.known_or_usual(known)
    for name, given in (("x", x), (channel.keyword, known)):
        if np.ma.is_masked(given):
            raise InputError(f"{name} has masked entries: leave such units out first")
    try:
        at, about = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(known, dtype=np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"x and {channel.keyword} must be numbers whose shapes fit: {error}") from error
    bad = ~np.asarray(channel.possible(at))
    if bad.any():
        raise InputError(f"x is {at[bad].flat[0]:g}: {channel.ask(at[bad].flat[0])}")
    check_known(channel, about[~channel.blank(at, about)], channel.keyword)
    bad = ~np.asarray(channel.possible_pair(at, about))
    if bad.any():
        pair = f"{at[bad].flat[0]:g} with {channel.keyword} {about[bad].flat[0]:g}"
        raise InputError(f"x is {pair}: {channel.words.ask_x}")
    return at, about


def admits(channel: Channel, prior: AnyPrior) -> bool:
    """Whether a prior is one of this channel's thetas.

    >>> from ebformer.channels import POISSON
    >>> admits(POISSON, Prior([-1.0], [1.0]))
    False
    """
    if isinstance(prior, ConjugatePrior):
        return prior.name == channel.conjugate
    low, high = channel.domain
    return bool(low <= prior.atoms[0] and prior.atoms[-1] <= high)


def admitted(prior: AnyPrior, channel: Channel) -> AnyPrior:
    """The prior, or an `InputError` where it is not one of this channel's thetas."""
    if not isinstance(prior, AnyPrior) or not admits(channel, prior):
        low, high = channel.domain
        raise InputError(
            f"{prior!r} is no prior of {channel.words.thetas} here: give "
            + (f"a {channel.conjugate} prior or " if channel.conjugate else "")
            + f"atoms from {low:g} to {high:g}"
        )
    return prior


def _log_marginal(prior: AnyPrior, channel: Channel, x: Floats, known: Floats) -> Floats:
    if isinstance(prior, ConjugatePrior):
        return prior.log_marginal(x, known)
    log_p = -channel.deviance(x[..., None], prior.atoms, known[..., None])
    return np.asarray(channel.log_peak(x, known) + special.logsumexp(np.log(prior.weights) + log_p, axis=-1))


def _posterior(prior: AnyPrior, channel: Channel, x: Floats, known: Floats) -> Posterior:
    if isinstance(prior, ConjugatePrior):
        return prior.posterior(x, known)
    w = np.empty((x.size, len(prior)))
    for some in in_cache(x.size, len(prior)):
        w[some] = _weights(prior, channel, x.ravel()[some], known.ravel()[some])
    w = w.reshape(*x.shape, len(prior))
    if isinstance(prior, GridPrior):
        return GridPosterior(prior.atoms, w, prior.edges, prior.points)
    return DiscretePosterior(prior.atoms, w)


def _weights(prior: Prior, channel: Channel, x: Floats, known: Floats) -> Floats:
    """P(theta = atom | x): [u, k]."""
    deviance = channel.deviance(x[..., None], prior.atoms, known[..., None])
    log_w = np.log(prior.weights) - deviance
    peak = log_w.max(axis=-1, keepdims=True)
    impossible = np.isneginf(peak)
    if impossible.any():
        # A prior such as one whose only atom is 0 gives some x probability 0: the posterior stays at the nearest atom.
        nearest = np.abs(prior.atoms - channel.mle(x, known)[..., None])
        nearest = np.arange(len(prior)) == nearest.argmin(axis=-1)[..., None]
        log_w = np.where(impossible, np.where(nearest, 0.0, -np.inf), log_w)
    w = np.exp(log_w - np.where(impossible, 0.0, peak))
    w /= w.sum(axis=-1, keepdims=True)
    return prior.averaged(w) if isinstance(prior, UncertainPrior) else np.asarray(w)
