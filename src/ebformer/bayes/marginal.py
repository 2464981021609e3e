"""Exact Bayes for a prior and the Poisson channel: marginal, Bayes rule, posterior and mmse."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, singledispatch

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ebformer.bayes.posterior import DiscretePosterior, GammaPosterior, GridPosterior, Posterior
from ebformer.bayes.posterior import Floats as Floats
from ebformer.channels.gamma import negative_binomial_log_pmf
from ebformer.channels.poisson import deviance, log_peak
from ebformer.errors import InputError
from ebformer.prior import GammaPrior, GridPrior, Prior

AnyPrior = Prior | GammaPrior

ENTRIES = 2**21
"""Observations are weighed against all atoms in blocks of this many numbers, which bounds the memory."""


def at_once(prior: AnyPrior | None) -> int:
    """How many observations to weigh against all atoms of a prior at a time; without atoms, `ENTRIES`.

    >>> at_once(Prior([1.0, 3.0], [0.5, 0.5])) * 2 == at_once(None) == ENTRIES
    True
    """
    return max(1, ENTRIES // len(prior)) if isinstance(prior, Prior) else ENTRIES


def log_marginal(prior: AnyPrior, x: ArrayLike, exposure: ArrayLike = 1.0) -> Floats:
    """log f_G(x) = log E_G[p(x | theta)], broadcasting x and exposure.

    >>> log_marginal(Prior([1.0], [1.0]), [0, 1]).tolist()
    [-1.0, -1.0]
    """
    return in_blocks(partial(_log_marginal, prior), prior, *observations(x, exposure))


def bayes_rule(prior: AnyPrior, x: ArrayLike, exposure: ArrayLike = 1.0) -> Floats:
    """theta_G(x) = E[theta | x], which is (x + 1) f_G(x + 1) / f_G(x) at exposure 1.

    >>> bayes_rule(GammaPrior(2.0, 1.0), [0, 4]).tolist()
    [1.0, 3.0]
    """
    return in_blocks(lambda counts, t: _posterior(prior, counts, t).mean, prior, *observations(x, exposure))


def in_blocks(answer: Callable[[Floats, Floats], Floats], prior: AnyPrior, x: Floats, t: Floats) -> Floats:
    """`answer` to observations of one shape, `at_once` of them at a time."""
    block = at_once(prior)
    if x.size <= block:
        return answer(x, t)
    parts = np.array_split(np.stack([x.ravel(), t.ravel()]), -(-x.size // block), axis=1)
    return np.concatenate([answer(*part) for part in parts]).reshape(x.shape)


def posterior(prior: AnyPrior, x: ArrayLike, exposure: ArrayLike = 1.0) -> Posterior:
    """The distribution of theta given x, for every x.

    >>> posterior(Prior([1.0, 3.0], [0.5, 0.5]), 0).exceeds(2.0).round(4).item()
    0.1192
    """
    return _posterior(prior, *observations(x, exposure))


def mmse(prior: AnyPrior, exposure: float = 1.0) -> float:
    """E (theta - theta_G(x))^2: what even the oracle pays.

    >>> mmse(GammaPrior(2.0, 1.0)), mmse(Prior([3.0], [1.0]))
    (1.0, 0.0)
    """
    observations(0, exposure)
    if isinstance(prior, GammaPrior):
        return prior.shape * (1 + exposure / prior.rate) / (prior.rate + exposure) ** 2
    total = 0.0
    for x in likely_counts(prior, exposure):
        total += float(np.exp(log_marginal(prior, x, exposure)) @ posterior(prior, x, exposure).variance)
    return total


def likely_counts(prior: Prior, exposure: float = 1.0) -> list[NDArray[np.int64]]:
    """The counts that carry all but 1e-15 of the marginal (by Chernoff's bound), in blocks that bound the memory.

    >>> [int(block[-1]) > 5 for block in likely_counts(Prior([1.0], [1.0]))]
    [True]
    """
    low, high = prior.atoms[0] * exposure, prior.atoms[-1] * exposure
    first, last = max(0, int(low - 9 * np.sqrt(low))), int(high + 9 * np.sqrt(high) + 30)
    return np.array_split(np.arange(first, last + 1), 1 + (last - first) // at_once(prior))


def observations(x: ArrayLike, exposure: ArrayLike) -> tuple[Floats, Floats]:
    """Counts and exposures of one shape, checked.

    >>> counts, t = observations([0, 3], 2.0)
    >>> counts.tolist(), t.tolist()
    ([0.0, 3.0], [2.0, 2.0])
    """
    for name, given in (("x", x), ("exposure", exposure)):
        if np.ma.is_masked(given):
            raise InputError(f"{name} has masked entries: leave such units out first")
    try:
        counts, t = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(exposure, dtype=np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"x and exposure must be numbers whose shapes fit: {error}") from error
    bad = ~((counts >= 0) & (counts == np.floor(counts)) & (counts < np.inf))
    if bad.any():
        raise InputError(f"x is {counts[bad].flat[0]:g}: give whole numbers of at least 0")
    bad = ~((t > 0) & (t < np.inf))
    if bad.any():
        raise InputError(f"exposure is {t[bad].flat[0]:g}: give positive finite numbers")
    return counts, t


@singledispatch
def _log_marginal(prior: AnyPrior, x: Floats, t: Floats) -> Floats:
    raise TypeError(f"no marginal for {type(prior).__name__}")


@_log_marginal.register
def _(prior: Prior, x: Floats, t: Floats) -> Floats:
    log_p = -deviance(x[..., None], t[..., None] * prior.atoms)
    return np.asarray(log_peak(x) + special.logsumexp(np.log(prior.weights) + log_p, axis=-1))


@_log_marginal.register
def _(prior: GammaPrior, x: Floats, t: Floats) -> Floats:
    return negative_binomial_log_pmf(x, prior.shape, prior.shape * t / prior.rate)


@singledispatch
def _posterior(prior: AnyPrior, x: Floats, t: Floats) -> Posterior:
    raise TypeError(f"no posterior for {type(prior).__name__}")


@_posterior.register
def _(prior: Prior, x: Floats, t: Floats) -> Posterior:
    log_w = np.log(prior.weights) - deviance(x[..., None], t[..., None] * prior.atoms)
    peak = log_w.max(axis=-1, keepdims=True)
    # A prior whose only atom is 0 gives every x > 0 probability 0; the posterior then stays at the largest atom.
    impossible = np.isneginf(peak)
    log_w = np.where(impossible, np.where(np.arange(len(prior)) == len(prior) - 1, 0.0, -np.inf), log_w)
    w = np.exp(log_w - np.where(impossible, 0.0, peak))
    w /= w.sum(axis=-1, keepdims=True)
    if isinstance(prior, GridPrior):
        return GridPosterior(prior.atoms, w, prior.edges)
    return DiscretePosterior(prior.atoms, w)


@_posterior.register
def _(prior: GammaPrior, x: Floats, t: Floats) -> Posterior:
    return GammaPosterior(prior.shape + x, prior.rate + t)
