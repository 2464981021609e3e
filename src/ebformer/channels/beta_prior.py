"""The beta prior, conjugate to binomial successes: its marginal is beta-binomial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv, ndtr, ndtri

from ebformer.channels.binomial import Binomial, beta_above, beta_deviation
from ebformer.channels.closed_forms import ClosedFormPosterior, WholeClosedForm
from ebformer.channels.poisson import deviance, log_peak
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.levels import check_draws, on_whole_numbers
from ebformer.prior import LARGEST_SHAPE, ConjugatePrior, positive_parameter

NEGLIGIBLE = 1e-18
"""Terms of a sum end where they are this small beside the sum."""
MOST_TERMS = 2**16
"""So many terms of all sums are computed at a time."""
ENOUGH = 2**14
"""After so many terms a sum that has no end in sight is taken from the other side."""
LONG = 200
"""Sums of more terms than this on either side are integrals instead."""
LEAST_QUANTILE = 1e-300
"""Quantiles below it are 0: the search for them ends at the smallest number that has all its digits."""
WIDE = 1e15
"""Parameters, beyond which nothing but a normal law is left of a beta."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(128)


@dataclass(frozen=True)
class BetaPrior(ConjugatePrior):
    """theta ~ Beta(a, b), with density proportional to theta^(a - 1) (1 - theta)^(b - 1).

    >>> BetaPrior(80.0, 240.0).mean
    0.25
    """

    name: ClassVar[str] = "beta"

    a: float
    b: float

    def __post_init__(self) -> None:
        for name, number in (("a", self.a), ("b", self.b)):
            if not positive_parameter(number, LARGEST_SHAPE):
                raise InputError(
                    f"the parameter {name} of a beta prior is {number!r}: "
                    f"give a positive finite number of at most {LARGEST_SHAPE:g}"
                )

    @property
    def mean(self) -> float:
        """E theta."""
        return self.a / (self.a + self.b)

    @property
    def variance(self) -> float:
        """Var theta."""
        return self.mean * (self.b / (self.a + self.b)) / (self.a + self.b + 1.0)

    def scaled(self, factor: float) -> BetaPrior:
        """Probabilities have no other units: only a factor of 1 makes sense."""
        if factor != 1.0:
            raise InputError(f"a beta prior is scaled by {factor!r}, and probabilities have no other units: give 1")
        return self

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Independent probabilities from this prior."""
        return rng.beta(self.a, self.b, size=size)

    @property
    def law(self) -> BetaPosterior:
        """The distribution of theta before anything is seen."""
        return BetaPosterior(np.asarray(self.a), np.asarray(self.b))

    def log_marginal(self, x: Floats, known: Floats) -> Floats:
        return beta_binomial_log_pmf(x, self.a, self.b, known)

    def marginal_cdf(self, x: Floats, known: Floats) -> Floats:
        return beta_binomial_cdf(x, self.a, self.b, known)

    def posterior(self, x: Floats, known: Floats) -> BetaPosterior:
        return BetaPosterior(self.a + x, self.b + (known - x))

    def predictive(self, x: Floats, known: Floats, future: Floats) -> BetaBinomial:
        return BetaBinomial(self.a + x, self.b + (known - x), future)

    def log_predictive(self, x: Floats, known: Floats, y: Floats, future: Floats) -> Floats:
        return beta_binomial_log_pmf(y, self.a + x, self.b + (known - x), future)

    def mmse(self, known: float) -> float:
        """Var theta, less the part (m / (m + a + b)) of it that m trials explain."""
        total = self.a + self.b
        return self.variance * total / (total + known)


@dataclass(frozen=True, eq=False, repr=False)
class BetaPosterior(ClosedFormPosterior):
    """theta | x ~ Beta(a, b), one pair per observation."""

    a: Floats
    b: Floats

    @property
    def mean(self) -> Floats:
        return self.a / (self.a + self.b)

    @property
    def variance(self) -> Floats:
        return self.mean * (self.b / (self.a + self.b)) / (self.a + self.b + 1.0)

    def below(self, theta: Floats) -> Floats:
        inside = np.clip(theta, 0.0, 1.0)
        found = np.asarray(betainc(self.a, self.b, inside))
        lost = np.isnan(found)
        normal = ndtr(beta_deviation(inside, self.a, self.b)) if lost.any() else found
        return np.asarray(np.where(lost, normal, found), dtype=np.float64)

    def inverse(self, q: Floats) -> Floats:
        found = betaincinv(self.a, self.b, q)
        found = np.where(found < LEAST_QUANTILE, 0.0, found)
        lost = np.isnan(found) & (self.a + self.b > WIDE) | (np.minimum(self.a, self.b) > WIDE)
        normal = self.mean + np.sqrt(self.variance) * ndtri(q) if lost.any() else found
        return np.asarray(np.where(lost, normal, found), dtype=np.float64)

    @classmethod
    def matching(cls, mean: Floats, variance: Floats) -> BetaPosterior:
        size = mean * (1.0 - mean) / variance - 1.0
        return cls(size * mean, size * (1.0 - mean))

    def survival(self, theta: Floats) -> Floats:
        return beta_above(self.a, self.b, np.clip(theta, 0.0, 1.0))

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        check_draws(n, rng)
        return rng.beta(self.a[..., None], self.b[..., None], size=(*self.a.shape, n))


@dataclass(frozen=True, eq=False, repr=False)
class BetaBinomial(WholeClosedForm):
    """y ~ Binomial(future, theta) with theta ~ Beta(a, b)."""

    a: Floats
    b: Floats
    future: Floats

    @property
    def mean(self) -> Floats:
        return self.future * self.a / (self.a + self.b)

    @property
    def variance(self) -> Floats:
        total = self.a + self.b
        return self.mean * (self.b / total) * ((total + self.future) / (total + 1.0))

    def log_p(self, y: Floats) -> Floats:
        def log_pmf(whole: Floats) -> Floats:
            inside = np.minimum(whole, self.future)
            return np.where(whole <= self.future, beta_binomial_log_pmf(inside, self.a, self.b, self.future), -np.inf)

        return on_whole_numbers(log_pmf, y)

    def below(self, y: Floats) -> Floats:
        return beta_binomial_cdf(y, self.a, self.b, self.future)


def beta_binomial_log_pmf(x: ArrayLike, a: ArrayLike, b: ArrayLike, m: ArrayLike) -> Floats:
    """log of C(m, x) B(x + a, m - x + b) / B(a, b), for x from 0 to m.

    Written by deviances: x of m and a of a + b are compared with the share of both together, so that it keeps its
    digits where a and b are large, and m - x and b with theirs, so that it does where one of a and b is small.

    >>> np.exp(beta_binomial_log_pmf([0, 1, 2], 1.0, 1.0, 2)).round(12).tolist()
    [0.333333333333, 0.333333333333, 0.333333333333]
    """
    x, a, b, m = (np.asarray(number, dtype=np.float64) for number in (x, a, b, m))
    size, total, hits, misses = a + b, m + a + b, x + a, m - x + b
    log_ratio = np.log(total / size * (a / hits) * (b / misses))
    of_wholes = log_peak(total) - log_peak(m) - log_peak(size)
    of_hits, of_misses = (
        log_peak(seen) + log_peak(before) - log_peak(both)
        - deviance(seen, m * (both / total)) - deviance(before, size * (both / total))
        for seen, before, both in ((x, a, hits), (m - x, b, misses))
    )  # fmt: skip
    return np.asarray(of_wholes + (of_hits + of_misses) + log_ratio)


def beta_binomial_cdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, m: ArrayLike) -> Floats:
    """P(at most x), for any real x: the sum of the shorter tail, term by term from its largest, or an integral.

    >>> beta_binomial_cdf([-1, 0, 1.5, 7], 1.0, 1.0, 2).round(12).tolist()
    [0.0, 0.333333333333, 0.666666666667, 1.0]
    """
    arrays = (np.asarray(number, dtype=np.float64) for number in (np.floor(x), a, b, m))
    x, a, b, m = np.broadcast_arrays(*arrays)
    at = np.clip(x, 0.0, m - 1.0)
    upper = at + 0.5 > m * a / (a + b)
    # From above, failures change places with successes: P(X > x) = P(m - X <= m - x - 1).
    start, a, b = np.where(upper, m - at - 1.0, at), np.where(upper, b, a), np.where(upper, a, b)
    long = np.minimum(start + 1.0, m - start) > LONG
    short = np.where(long, 0.0, start)
    tail = np.exp(beta_binomial_log_pmf(short, a, b, m)) * _relative_tail(short, a, b, m)
    if long.any():
        tail = np.array(tail)
        tail[long] = beta_exceeds(start[long] + 1.0, m[long] - start[long], a[long], b[long])
    if (slow := np.isnan(tail)).any():  # the other side has few terms, and leaves enough to keep the digits of 1
        rest, c, d, n = (number[slow] for number in (m - start - 1.0, b, a, m))
        tail = np.array(tail)
        tail[slow] = 1.0 - np.exp(beta_binomial_log_pmf(rest, c, d, n)) * _relative_tail(rest, c, d, n)
    below = np.where(upper, 1.0 - tail, tail)
    return np.where(x < 0, 0.0, np.where(x >= m, 1.0, np.clip(below, 0.0, 1.0)))


def _relative_tail(x: Floats, a: Floats, b: Floats, m: Floats) -> Floats:
    """sum of f(j) / f(x) over j <= x, f beta-binomial: products of f(j - 1) / f(j), many at a time.

    NaN where terms fall so slowly that ENOUGH of them are no end of it.
    """
    shape, k, a, b, m = x.shape, x.flatten(), a.ravel(), b.ravel(), m.ravel()
    term, total = np.ones(k.size), np.ones(k.size)
    active, summed = np.flatnonzero(k > 0), 0
    while active.size and summed < ENOUGH:
        width = max(16, min(MOST_TERMS // active.size, int(k[active].max())))
        down, ka, kb, km = k[active, None] - np.arange(width), a[active, None], b[active, None], m[active, None]
        j = np.maximum(down, 1.0)
        ratio = np.where(down > 0, j / (km - j + 1.0) * (km - j + kb) / (j - 1.0 + ka), 0.0)
        terms = term[active, None] * np.cumprod(ratio, axis=1)
        total[active] += terms.sum(axis=1)
        term[active], k[active] = terms[:, -1], k[active] - width
        active, summed = active[(k[active] > 0) & (term[active] > NEGLIGIBLE * total[active])], summed + width
    total[active] = np.nan
    return total.reshape(shape)


def beta_exceeds(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """P(B > T) for independent B ~ Beta(a, b) and T ~ Beta(c, d), vectors [u], where none has a corner at 0 or 1.

    With a = x + 1 and b = m - x it is P(X <= x) of the beta-binomial X of m trials. The narrower of the two is
    integrated over, in the stable coordinate, where the distribution function of the other is smooth.

    >>> one = np.ones(1)
    >>> beta_exceeds(300.0 * one, 100.0 * one, 300.0 * one, 100.0 * one).round(12).tolist()
    [0.5]
    """
    swap = (a + b < c + d)[:, None]
    a, b, c, d = (number[:, None] for number in (a, b, c, d))
    p, q, r, s = (np.where(swap, two, one) for one, two in ((a, c), (b, d), (c, a), (d, b)))
    channel = Binomial()
    u = channel.coordinate(p / (p + q)) + 10.0 * NODES / np.sqrt(p + q)
    inside = (u > 0.0) & (u < np.pi)
    theta = channel.at_coordinate(np.where(inside, u, 1.0))
    # The density in u, up to a factor: theta^p (1 - theta)^q over sqrt(theta (1 - theta)).
    log_density = (p - 0.5) * np.log(theta) + (q - 0.5) * np.log1p(-theta)
    density = np.where(inside, WEIGHTS * np.exp(log_density - np.max(log_density, axis=1, keepdims=True)), 0.0)
    below, first = np.empty_like(theta), swap[:, 0]
    below[first] = beta_above(r[first], s[first], theta[first])
    below[~first] = betainc(r[~first], s[~first], theta[~first])
    return np.asarray((density * below).sum(axis=1) / density.sum(axis=1))
