"""Counts of units that enter the table only with at least one event: x ~ Poisson(exposure * theta), given x >= 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from ebformer.channels import poisson
from ebformer.channels.base import Channel, Parts, Symmetry
from ebformer.channels.bounds import positive, whole_numbers_from
from ebformer.channels.words import Advice, Words
from ebformer.distributions import Floats

SMALL = 1e-2
"""Below this mean, functions of it that are differences of large numbers are summed by their series."""


class ZeroTruncated(Channel):
    """p(x | theta) = (t theta)^x / (x! (exp(t theta) - 1)) for x >= 1, with exposure t.

    Priors are of the units in the table, so that they hold for one exposure: at another, others would have entered. At
    theta = 0 every count is 1: such a unit is hardly ever seen, and once then.

    >>> np.exp(ZeroTruncated().log_likelihood([1, 2], 1.0, 1.0)).round(6)  # 1 / (e - 1) and half of it
    array([0.581977, 0.290988])
    >>> ZeroTruncated().mle(np.array([1.0, 2.0]), np.ones(2)).round(6)
    array([0.      , 1.593624])
    """

    name = "zero-truncated"
    keyword = "exposure"
    sign = ("zeros", "missing")
    words = Words(
        x="count",
        xs="counts without zeros",
        known="exposure",
        knowns="exposures",
        theta="rate",
        thetas="rates",
        ask_x="give whole numbers of at least 1",
        ask_known="give positive numbers from 1e-50 to 1e50",
        seen=poisson.Poisson.words.seen,
        amount=poisson.Poisson.words.amount,
    )
    advice = Advice(
        fits="zero-truncated Poisson with a mixing distribution fits",
        narrow="the counts vary less than zero-truncated Poisson counts can: are they capped, or out of so many tries?",
        wide=poisson.Poisson.advice.wide,
        misfit=(
            "the counts do not look like a mixture of zero-truncated Poisson counts: "
            "is an exposure column missing, do groups differ (a group column), or are the counts capped?"
        ),
        trend=poisson.Poisson.advice.trend,
        parts="Counts without zeros cannot be split in parts that are independent.",
    )
    domain = (0.0, np.inf)
    inside = (1e-100, np.inf)
    usual = 1.0
    widths = poisson.Poisson.widths

    def possible(self, x: Floats) -> NDArray[np.bool_]:
        return whole_numbers_from(1, x)

    def possible_known(self, known: Floats) -> NDArray[np.bool_]:
        return positive(known)

    def mle(self, x: Floats, known: Floats) -> Floats:
        return np.asarray(_likeliest_mean(x) / known)

    def log_peak(self, x: Floats, known: Floats) -> Floats:
        m = _likeliest_mean(x)
        seen = np.where(x > 1, -np.expm1(-np.where(x > 1, m, 1.0)), 1.0)
        return np.where(x > 1, poisson.log_peak(x) - poisson.deviance(x, np.where(x > 1, m, x)) - np.log(seen), 0.0)

    def deviance(self, x: Floats, theta: Floats, known: Floats) -> Floats:
        """(x - 1) log(m / mu) + g(mu) - g(m) with mu = t theta, m its likeliest value and g(mu) = log((e^mu - 1) / mu).

        Written as Poisson's deviance, x (r - log(1 + r)) with r = mu / m - 1, and what zeros make of it: where counts
        are large and close, no digit is lost. For x = 1, where m = 0, r = mu - 1 leads to g(mu) as well.
        """
        mu, m, one = known * theta, _likeliest_mean(x), x <= 1.0
        safe = np.where(one, 1.0, m)
        constant = np.where(one, 1.0, -np.log(-np.expm1(-safe)))
        with np.errstate(divide="ignore", invalid="ignore"):
            r = (mu - safe) / safe
            log_ratio = np.asarray(np.log(mu / safe))
            np.log1p(r, out=log_ratio, where=np.abs(r) < 0.5)
            fall = x * (r - log_ratio) + np.log(-np.expm1(-mu)) + constant - np.where(one, 0.0, x * np.exp(-safe)) * r
        return np.where(
            one & (mu <= SMALL), _log_growth(np.minimum(mu, SMALL)), np.where(mu > 0, np.maximum(fall, 0.0), np.inf)
        )

    def derivatives(self, x: Floats, theta: Floats, known: Floats) -> tuple[Floats, Floats]:
        h, slope = _excess(known * theta)
        residual = (x - 1.0) - known * theta * h
        return residual / theta, (residual * residual - (x - 1.0)) / theta / theta - known * known * slope

    def concave(self, x: Floats, known: Floats) -> tuple[Floats, Floats]:
        # p'' <= 0 asks for |(x - 1) - mu h| <= sqrt(x), and mu - 1 <= mu h <= mu.
        deviation = np.sqrt(x)
        return np.maximum(x - 1.0 - deviation, 0.0) / known, (x + deviation) / known

    def coordinate(self, theta: Floats) -> Floats:
        return np.asarray(2.0 * np.sqrt(theta))

    def at_coordinate(self, u: Floats) -> Floats:
        return np.asarray((0.5 * np.maximum(u, 0.0)) ** 2)

    def noise(self, known: Floats) -> Floats:
        return np.asarray(1.0 / np.sqrt(known))

    def natural(self, theta: Floats) -> Floats:
        return poisson.Poisson().natural(theta)

    def at_natural(self, eta: Floats) -> Floats:
        return poisson.Poisson().at_natural(eta)

    def around(self, mean: Floats, spread: Floats) -> Any:
        return poisson.Poisson().around(mean, spread)

    def log_around(self, x: Floats, known: Floats, mean: Floats, spread: Floats) -> Floats:
        """Units that were not in the table before are no longer left out."""
        return poisson.Poisson().log_around(x, known, mean, spread)

    def mean(self, theta: Floats, known: Floats) -> Floats:
        mu = known * theta
        return np.asarray(1.0 + mu * _excess(mu)[0])

    def variance(self, theta: Floats, known: Floats) -> Floats:
        # In mu, the derivative of the mean 1 + mu h, times mu.
        mu = known * theta
        h, slope = _excess(mu)
        return np.asarray(mu * (h + mu * slope))

    def cdf(self, x: Floats, theta: Floats, known: Floats) -> Floats:
        mu = np.asarray(known * theta)
        at = np.where(mu > 0, mu, 1.0)
        above = gammainc(np.maximum(np.floor(x), 0.0) + 1.0, at) / -np.expm1(-at)
        return np.where(x < 1, 0.0, np.where(mu > 0, 1.0 - above, 1.0))

    def nodes(self, low: float, high: float, known: float) -> tuple[Floats, Floats]:
        x, weight = poisson.Poisson().nodes(low, high, known)
        return x[x >= 1], weight[x >= 1]

    def draw(self, theta: Floats, known: Floats, rng: np.random.Generator) -> Floats:
        """The first event comes at a time that is exponential, given that it comes; Poisson many follow it."""
        mu = np.asarray(known * theta, dtype=np.float64)
        first = -np.log1p(rng.random(mu.shape) * np.expm1(-mu))
        return np.asarray(1.0 + rng.poisson(np.maximum(mu - first, 0.0)), dtype=np.float64)

    def pooled(self, x: Floats, known: Floats, weight: Floats) -> float:
        mean = float(weight @ x)
        if mean <= 1.0:
            return 0.0
        from scipy.optimize import brentq

        highest = mean / float(weight @ known) * (1.0 + 1e-9)  # at which the mean is too large, whatever the rounding
        excess = lambda theta: float(weight @ self.mean(theta, known)) - mean  # noqa: E731
        return float(brentq(excess, 0.0, highest, xtol=1e-15 * highest))

    def about(self, common: float | None) -> str:
        return "" if common == 1.0 else ", with exposure"

    def standard(self, x: Floats, known: float) -> tuple[Floats, float, float]:
        return x, 1.0, 1.0 / known

    def split(self, x: Floats, known: Floats, folds: int, rng: np.random.Generator) -> list[Parts]:
        """Parts of a count of at least 1 tell of each other, so that nothing can be held out."""
        nothing = np.full(x.size, np.nan)
        return [Parts(x, nothing, x, nothing)] * folds

    def unbiased_square(self, x: Floats, known: Floats) -> Floats:
        return np.full(np.shape(x), np.nan)

    def merge(self, x: Floats, known: Floats, units: NDArray[Any], width: float) -> tuple[Floats, Floats]:
        moved, t = poisson.Poisson().merge(x, known, units, width)
        return np.maximum(moved, 1.0), t

    def bin(self, x: Floats, known: Floats, width: float) -> tuple[Floats, Floats]:
        return poisson.Poisson().bin(x, known, width)

    def unbin(self, x: Floats, known: Floats, width: float, at: tuple[float, float]) -> tuple[Floats, Floats]:
        return poisson.Poisson().unbin(x, known, width, at)

    def missed(self, theta: Floats, known: Floats) -> Floats:
        return np.asarray(1.0 / np.expm1(np.minimum(known * theta, 700.0)))

    @property
    def next_look(self) -> Channel:
        return poisson.Poisson()

    def symmetries(self) -> Sequence[Symmetry]:
        return poisson.Poisson().symmetries()


def _likeliest_mean(x: Floats) -> Floats:
    """The mu with mu / (1 - exp(-mu)) = x, by Newton's method from above: mu is at most x and at most 2 (x - 1)."""
    several = np.where(x > 1.0, x, 2.0)
    mu = np.minimum(several, 2.0 * (several - 1.0))
    for _ in range(8):
        mu = mu - (mu + several * np.expm1(-mu)) / (1.0 - several * np.exp(-mu))
    return np.where(x > 1.0, mu, 0.0)


def _log_growth(mu: Floats) -> Floats:
    """log((exp(mu) - 1) / mu) for mu up to SMALL: mu / 2 + mu^2 / 24 - mu^4 / 2880 + ..."""
    return np.asarray(mu * (0.5 + mu * (1 / 24 - mu * mu / 2880)))


def _excess(mu: Floats) -> tuple[Floats, Floats]:
    """h(mu) = 1 / (1 - exp(-mu)) - 1 / mu, from 1/2 to 1, and its derivative, from 1/12 to 0."""
    large = np.where(mu > SMALL, mu, 1.0)
    small = np.minimum(mu, SMALL)
    seen = -np.expm1(-large)
    h = np.where(mu > SMALL, 1.0 / seen - 1.0 / large, 0.5 + small * (1 / 12 - small * small / 720))
    slope = np.where(mu > SMALL, 1.0 / large**2 - np.exp(-large) / seen**2, 1 / 12 - small * small / 240)
    return h, slope
