"""Exact Bayes for a prior and the Poisson channel: marginal, Bayes rule, posterior and mmse."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from numbers import Real
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ebformer.channel import deviance, log_peak, negative_binomial_log_pmf
from ebformer.errors import InputError
from ebformer.prior import GammaPrior, GridPrior, Prior

Floats = NDArray[np.float64]
AnyPrior = Prior | GammaPrior

ENTRIES = 2**21
"""Observations are weighed against all atoms in blocks of this many numbers, which bounds the memory."""


class Posterior(Protocol):
    """What is known of theta after seeing x; every answer has the shape of x, unless it says otherwise."""

    @property
    def mean(self) -> Floats:
        """E[theta | x]."""

    @property
    def variance(self) -> Floats:
        """Var[theta | x]."""

    def quantile(self, q: ArrayLike) -> Floats:
        """The smallest t with P(theta <= t | x) >= q; shape x.shape + q.shape."""

    def exceeds(self, c: ArrayLike) -> Floats:
        """P(theta > c | x); shape x.shape + c.shape."""

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Draws from the posterior; shape x.shape + (n,)."""

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """The equal-tailed interval that holds theta with probability `level`."""


def tails(level: float) -> tuple[float, float]:
    """The probabilities below the two ends of an equal-tailed interval.

    >>> tails(0.5)
    (0.25, 0.75)
    """
    if not (isinstance(level, Real) and 0 < level < 1):
        raise InputError(f"the level of an interval is {level!r}: give a probability between 0 and 1")
    return (1 - level) / 2, (1 + level) / 2


def probabilities(q: ArrayLike) -> Floats:
    """Numbers in [0, 1], or an `InputError` that names the first offender.

    >>> probabilities([0.05, 0.95]).tolist()
    [0.05, 0.95]
    """
    levels = _numbers(q, "the level of a quantile")
    bad = ~((levels >= 0) & (levels <= 1))
    if bad.any():
        raise InputError(f"the level of a quantile is {levels[bad].flat[0]:g}: give a probability between 0 and 1")
    return levels


def thresholds(c: ArrayLike) -> Floats:
    """Numbers that rates can be compared with, or an `InputError` where one is NaN.

    >>> thresholds([-1, 0.5]).tolist()
    [-1.0, 0.5]
    """
    levels = _numbers(c, "the rate to exceed")
    if np.isnan(levels).any():
        raise InputError("the rate to exceed is nan: give a number")
    return levels


def _numbers(given: ArrayLike, name: str) -> Floats:
    """An array of numbers, or an `InputError` that says what should have been some."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is {given!r}: give numbers") from error


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
    return _log_marginal(prior, *observations(x, exposure))


def bayes_rule(prior: AnyPrior, x: ArrayLike, exposure: ArrayLike = 1.0) -> Floats:
    """theta_G(x) = E[theta | x], which is (x + 1) f_G(x + 1) / f_G(x) at exposure 1.

    >>> bayes_rule(GammaPrior(2.0, 1.0), [0, 4]).tolist()
    [1.0, 3.0]
    """
    counts, t = observations(x, exposure)
    block = at_once(prior)
    if counts.size <= block or isinstance(prior, GammaPrior):
        return _posterior(prior, counts, t).mean
    parts = np.array_split(np.stack([counts.ravel(), t.ravel()]), -(-counts.size // block), axis=1)
    return np.concatenate([_posterior(prior, *part).mean for part in parts]).reshape(counts.shape)


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
    except (TypeError, ValueError) as error:
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


class Summarised:
    """Prints as its kind and its means: the weights of hundreds of atoms would fill a notebook.

    >>> posterior(Prior([1.0, 3.0], [0.5, 0.5]), [0, 4]), posterior(GammaPrior(2.0, 1.0), 3)
    (DiscretePosterior(2 units, means from 1.238 to 2.833), GammaPosterior(1 unit, mean 2.5))
    """

    def __repr__(self) -> str:
        mean: Floats = np.asarray(self.mean)  # type: ignore[attr-defined]
        if mean.size < 2:
            what = f"1 unit, mean {float(mean.item()):.4g}" if mean.size else "0 units"
        else:
            what = f"{mean.size:,} units, means from {mean.min():.4g} to {mean.max():.4g}"
        return f"{type(self).__name__}({what})"


@dataclass(frozen=True, eq=False, repr=False)
class DiscretePosterior(Summarised):
    """P(theta = atoms[j] | x) = weights[..., j]: atoms [k], weights x.shape + (k,)."""

    atoms: Floats
    weights: Floats

    @property
    def mean(self) -> Floats:
        return np.asarray(self.weights @ self.atoms)

    @property
    def variance(self) -> Floats:
        return np.asarray((self.weights * (self.atoms - self.mean[..., None]) ** 2).sum(axis=-1))

    def quantile(self, q: ArrayLike) -> Floats:
        return np.asarray(self.atoms[self._reached(probabilities(q))])

    def _reached(self, levels: Floats) -> NDArray[np.intp]:
        """Which atom brings P(theta <= atom | x) to each level: x.shape + levels.shape."""
        below = np.cumsum(self.weights, axis=-1)
        below[..., -1] = 1.0
        # A slack of a few ulp keeps a level that the cumulative sum meets up to rounding on the atom that meets it.
        reached = below[..., None, :] >= levels.reshape(-1, 1) * (1 - 1e-14)
        return np.asarray(reached.argmax(axis=-1).reshape(self.weights.shape[:-1] + levels.shape))

    def exceeds(self, c: ArrayLike) -> Floats:
        levels = thresholds(c)
        above = self.atoms > levels.reshape(-1, 1)
        return np.asarray((self.weights @ above.T.astype(np.float64)).reshape(self.weights.shape[:-1] + levels.shape))

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        below = np.cumsum(self.weights, axis=-1)[..., None, :]
        at = (rng.random((*self.weights.shape[:-1], n, 1)) * below[..., -1:] >= below).sum(axis=-1)
        return np.asarray(self.atoms[np.minimum(at, self.atoms.size - 1)])

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        low, high = tails(level)
        return self.quantile(low), self.quantile(high)


@dataclass(frozen=True, eq=False, repr=False)
class GridPosterior(DiscretePosterior):
    """The posterior of a `GridPrior`: what an atom bears is spread evenly over its cell, edges [k + 1].

    Only intervals hold whole cells, so that they are never too short for the grid.

    >>> after = posterior(GridPrior([0.0, 1.0, 4.0], [0.25, 0.5, 0.25]), 1)
    >>> after.interval(0.5), after.exceeds([0.25, 1.25, 2.25]).round(3).tolist()
    ((array(0.25), array(2.25)), [1.0, 0.545, 0.091])
    """

    edges: Floats

    def quantile(self, q: ArrayLike) -> Floats:
        levels = probabilities(q)
        at = self._reached(levels.reshape(-1))
        reached = np.take_along_axis(np.cumsum(self.weights, axis=-1), at, axis=-1)
        held = np.take_along_axis(self.weights, at, axis=-1)
        beyond = np.clip((reached - levels.reshape(-1)) / np.maximum(held, np.finfo(float).tiny), 0.0, 1.0)
        found = self.edges[at + 1] - beyond * (self.edges[at + 1] - self.edges[at])
        return np.asarray(found.reshape(self.weights.shape[:-1] + levels.shape))

    def exceeds(self, c: ArrayLike) -> Floats:
        levels = thresholds(c)
        width = np.diff(self.edges)
        with np.errstate(over="ignore"):  # a cell may be as narrow as numbers get
            above = (self.edges[1:] - levels.reshape(-1, 1)) / np.where(width > 0, width, 1.0)
        above = np.where(width > 0, np.clip(above, 0.0, 1.0), self.atoms > levels.reshape(-1, 1))
        return np.asarray((self.weights @ above.T).reshape(self.weights.shape[:-1] + levels.shape))

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        first, last = (self._reached(np.asarray(tail)) for tail in tails(level))
        return np.asarray(self.edges[first]), np.asarray(self.edges[last + 1])


@dataclass(frozen=True, eq=False, repr=False)
class GammaPosterior(Summarised):
    """theta | x ~ Gamma(shape, rate), one pair per observation."""

    shape: Floats
    rate: Floats

    @property
    def mean(self) -> Floats:
        return self.shape / self.rate

    @property
    def variance(self) -> Floats:
        return self.shape / self.rate**2

    def quantile(self, q: ArrayLike) -> Floats:
        levels = probabilities(q)
        return np.asarray(special.gammaincinv(_against(levels, self.shape), levels) / _against(levels, self.rate))

    def exceeds(self, c: ArrayLike) -> Floats:
        levels = np.maximum(thresholds(c), 0.0)  # every rate exceeds a negative one
        return np.asarray(special.gammaincc(_against(levels, self.shape), levels * _against(levels, self.rate)))

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        return rng.gamma(self.shape[..., None], 1 / self.rate[..., None], size=(*self.shape.shape, n))

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        low, high = tails(level)
        return self.quantile(low), self.quantile(high)


def _against(levels: Floats, parameter: Floats) -> Floats:
    """A parameter per observation, given trailing axes so that it broadcasts against levels: x.shape + (1, ...)."""
    return parameter.reshape(parameter.shape + (1,) * levels.ndim)
