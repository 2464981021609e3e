"""The next count of a unit: the posterior carried through the channel once more."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ebformer.bayes.marginal import AnyPrior, Floats, log_marginal, observations, posterior
from ebformer.bayes.posterior import DiscretePosterior, Distribution, GammaPosterior, probabilities
from ebformer.channels.gamma import negative_binomial_cdf, negative_binomial_log_pmf
from ebformer.channels.poisson import Poisson, log_peak
from ebformer.errors import InputError

Ints = NDArray[np.int64]


class Predictive(Distribution[np.int64]):
    """The next count of the same unit."""

    @abstractmethod
    def pmf(self, y: ArrayLike) -> Floats:
        """P(next count = y | x); shape x.shape + y.shape."""

    @abstractmethod
    def cdf(self, y: ArrayLike) -> Floats:
        """P(next count <= y | x); shape x.shape + y.shape."""


def predictive(prior: AnyPrior, x: ArrayLike, exposure: ArrayLike = 1.0, future: ArrayLike = 1.0) -> Predictive:
    """The distribution of the next count of the same unit, over exposure `future`.

    >>> from ebformer.prior import Prior
    >>> predictive(Prior([2.0], [1.0]), 5, future=3.0).mean.item()
    6.0
    """
    counts, t = observations(x, exposure)
    try:
        f = np.asarray(future, dtype=np.float64)
        shape = np.broadcast_shapes(counts.shape, f.shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"the future exposure must be numbers whose shape fits that of x: {error}") from error
    bad = ~((f > 0) & (f < np.inf))
    if bad.any():
        raise InputError(f"the future exposure is {f[bad].flat[0]:g}: give positive finite numbers")
    after = posterior(prior, np.broadcast_to(counts, shape), np.broadcast_to(t, shape))
    if isinstance(after, GammaPosterior):
        return NegativeBinomial(after.shape, after.rate, np.broadcast_to(f, after.shape.shape))
    assert isinstance(after, DiscretePosterior)
    return PoissonMixture(after, np.broadcast_to(f, after.weights.shape[:-1]))


@dataclass(frozen=True, eq=False, repr=False)
class PoissonMixture(Predictive):
    """y ~ Poisson(future * theta) with theta from a discrete posterior."""

    after: DiscretePosterior
    future: Floats

    @property
    def mean(self) -> Floats:
        return self.future * self.after.mean

    @property
    def variance(self) -> Floats:
        return self.mean + self.future**2 * self.after.variance

    def pmf(self, y: ArrayLike) -> Floats:
        return self._mixed(_poisson_pmf, y)

    def cdf(self, y: ArrayLike) -> Floats:
        return self._mixed(_poisson_cdf, y)

    def quantile(self, q: ArrayLike) -> Ints:
        weights, rates = self.after.weights[..., None, :], (self.future[..., None] * self.after.atoms)[..., None, :]
        return _integer_quantile(
            lambda y: (_poisson_cdf(y[..., None], rates) * weights).sum(axis=-1), _below_one(q), self.future.shape
        )

    def _mixed(self, of: Callable[[Floats, Floats], Floats], y: ArrayLike) -> Floats:
        """Average of(y, rate) over the posterior."""
        counts = np.asarray(y, dtype=np.float64)
        rates = (self.future[..., None] * self.after.atoms)[..., None, :]  # x.shape + (1, k)
        mixed = (of(counts.reshape(-1, 1), rates) * self.after.weights[..., None, :]).sum(axis=-1)
        return np.asarray(mixed.reshape(self.future.shape + counts.shape))


@dataclass(frozen=True, eq=False, repr=False)
class NegativeBinomial(Predictive):
    """y ~ Poisson(future * theta) with theta ~ Gamma(shape, rate): a negative binomial."""

    shape: Floats
    rate: Floats
    future: Floats

    @property
    def mean(self) -> Floats:
        return self.future * self.shape / self.rate

    @property
    def variance(self) -> Floats:
        return self.mean * (1 + self.future / self.rate)

    def pmf(self, y: ArrayLike) -> Floats:
        counts, shape, mean = self._against(y)
        return _on_counts(lambda whole: np.exp(negative_binomial_log_pmf(whole, shape, mean)), counts)

    def cdf(self, y: ArrayLike) -> Floats:
        return negative_binomial_cdf(*self._against(y))

    def quantile(self, q: ArrayLike) -> Ints:
        _, shape, mean = self._against(np.zeros(1))
        return _integer_quantile(lambda y: negative_binomial_cdf(y, shape, mean), _below_one(q), self.shape.shape)

    def _against(self, y: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """y, and shape and mean with trailing axes that broadcast against it."""
        counts = np.asarray(y, dtype=np.float64)
        trailing = self.shape.shape + (1,) * counts.ndim
        return counts, self.shape.reshape(trailing), self.mean.reshape(trailing)


def _below_one(q: ArrayLike) -> Floats:
    levels = probabilities(q)
    if bool(np.any(levels == 1)):
        raise InputError("the level of a quantile is 1, and no count is certain to be enough: give a number below 1")
    return levels


def _poisson_pmf(y: Floats, rate: Floats) -> Floats:
    return _on_counts(lambda whole: np.exp(Poisson().log_likelihood(whole, rate)), y)


def _on_counts(pmf: Callable[[Floats], Floats], y: Floats) -> Floats:
    """A probability mass function, and 0 where y is no count."""
    possible = (y >= 0) & (y == np.floor(y))
    return np.where(possible, pmf(np.where(possible, y, 0.0)), 0.0)


def _poisson_cdf(y: Floats, rate: Floats) -> Floats:
    return np.asarray(np.where(y < 0, 0.0, special.gammaincc(np.maximum(np.floor(y), 0) + 1.0, rate)))


def _integer_quantile(cdf: Callable[[Floats], Floats], levels: Floats, shape: tuple[int, ...]) -> Ints:
    """The smallest y >= 0 with cdf(y) >= level, by doubling and bisection; cdf keeps the shape, shape + (levels,)."""
    flat = np.broadcast_to(levels.reshape(-1), (*shape, levels.size)) * (1 - 1e-14)
    below, above = np.full(flat.shape, -1.0), np.ones(flat.shape)
    while bool(np.any(short := cdf(above) < flat)):
        below, above = np.where(short, above, below), np.where(short, 2 * above, above)
    # Beyond 2^53 neighbouring floats are further apart than counts, so that what ends the search is no count between.
    while bool(np.any((below < (middle := np.maximum(np.floor((below + above) / 2), 0.0))) & (middle < above))):
        reached = cdf(middle) >= flat
        below, above = np.where(reached, below, middle), np.where(reached, middle, above)
    if bool(np.any(above >= 2.0**63)):
        raise InputError(f"a next count may reach {above.max():.0e}, more than can be written: ask for less exposure")
    return above.astype(np.int64).reshape(shape + levels.shape)


def log_predictive(prior: AnyPrior, x: ArrayLike, t: ArrayLike, y: ArrayLike, s: ArrayLike) -> Floats:
    """log P(y at exposure s | x at exposure t) = log Binomial(y; x + y, s / (s + t)) + log f(x + y) - log f(x).

    Two marginals suffice, at exposures s + t and t; the binomial is a ratio of Poisson probabilities. All broadcast.

    >>> from ebformer.prior import Prior
    >>> log_predictive(Prior([2.0], [1.0]), 5, 1.0, 0, 1.5).round(6).item()
    -3.0
    """
    both, share = np.add(x, y), np.divide(s, np.add(s, t))
    split = Poisson().log_likelihood(x, both * (1 - share)) + Poisson().log_likelihood(y, both * share) - log_peak(both)
    return np.asarray(split + log_marginal(prior, both, np.add(t, s)) - log_marginal(prior, x, t))
