"""Counts over an exposure: x ~ Poisson(exposure * theta)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincc, gammaln, xlogy

from ebformer.channels.base import Channel, Parts, Reduced, Symmetry
from ebformer.channels.bounds import LARGEST_WHOLE, positive, whole_numbers_from
from ebformer.channels.words import Advice, Words
from ebformer.distributions import Floats

SMALL = 64
"""Counts below this one share a width of bins, since their noise is wider than any; larger ones have narrower bins."""


class Poisson(Channel):
    """p(x | theta) = exp(-t theta) (t theta)^x / x!, with exposure t.

    Written as log p(x | theta) = log p(x | x) - deviance: the deviance is computed without cancellation, so the answer
    keeps its digits where x and t theta are large and close (Loader 2000, "Fast and accurate computation of binomial
    probabilities").

    >>> Poisson().log_likelihood([0, 2], 1.0, 1.0).round(6)
    array([-1.      , -1.693147])
    >>> Poisson().log_likelihood(0, 0.0, 1.0).item(), Poisson().log_likelihood(1, 0.0, 1.0).item()
    (0.0, -inf)
    """

    name = "poisson"
    keyword = "exposure"
    words = Words(
        x="count",
        xs="counts",
        known="exposure",
        knowns="exposures",
        theta="rate",
        thetas="rates",
        ask_x="give whole numbers of at least 0",
        ask_known="give positive numbers from 1e-50 to 1e50",
        seen="{x} {name} in {known} {unit}",
        amount="exposure {}",
    )
    advice = Advice(
        fits="Poisson with a mixing distribution fits",
        narrow=(
            "the counts vary less than Poisson counts can: "
            "if each is out of so many tries, use --trials (in Python trials=)"
        ),
        wide=(
            "counts are more spread than their rates explain at small exposure and less at large: "
            "events seem to come in bursts, so count bursts instead of events, or trust the intervals less"
        ),
        misfit=(
            "the counts do not look like a mixture of Poisson counts: "
            "is an exposure column missing, do groups differ (a group column), or are the counts capped?"
        ),
        trend=(
            "units with more exposure have {direction} rates: "
            "the exposure tells about the unit, so make it a covariate (--covariates with its column, in Python "
            "covariates=[...]), or check what it measures"
        ),
        parts=(
            "Thinning makes the parts of a count independent only if counts are Poisson given the rate; "
            "bursty counts flatter the methods that shrink least."
        ),
        no_zeros=(
            "no unit has count 0 though many are expected: if such units were left out, add them, "
            'or say so (--zeros missing, in Python zeros="missing")'
        ),
        tries=(
            "no count is above its exposure, a whole number: if these are successes out of so many tries, use --trials "
            "(in Python trials=); if not, check what the exposure measures"
        ),
    )
    domain = (0.0, np.inf)
    inside = (1e-100, np.inf)
    usual = 1.0
    conjugate = "gamma"
    loss = "poisson"
    deviation = "ratio"
    widths = (2.0**-10, 2.0**-5)

    def possible(self, x: Floats) -> NDArray[np.bool_]:
        return whole_numbers_from(0, x)

    def possible_known(self, known: Floats) -> NDArray[np.bool_]:
        return positive(known)

    def blank(self, x: Floats, known: Floats) -> NDArray[np.bool_]:
        return np.equal(x, 0) & np.equal(known, 0)

    def mle(self, x: Floats, known: Floats) -> Floats:
        with np.errstate(invalid="ignore"):  # of no event in no time there is none
            return np.asarray(x / known)

    def log_peak(self, x: Floats, known: Floats) -> Floats:
        return log_peak(x)

    def deviance(self, x: Floats, theta: Floats, known: Floats) -> Floats:
        return deviance(x, known * theta)

    def fall(self, x: Floats, theta: Floats, known: Floats, best: Floats) -> Floats:
        m = np.minimum(x, known * best)
        fall = deviance(m, known * theta)
        if bool(np.all(m == x)):
            return fall
        # x log(m / mean) - m + mean, written as a sum of positive terms: at x = 10^16 no digit may be lost.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(x > m, (x / m) * fall + (x - m) * ((m - known * theta) / m), fall)

    def derivatives(self, x: Floats, theta: Floats, known: Floats) -> tuple[Floats, Floats]:
        residual = x - known * theta
        return residual / theta, (residual * residual - x) / theta / theta

    def concave(self, x: Floats, known: Floats) -> tuple[Floats, Floats]:
        # p'' has the sign of (x - t theta)^2 - x.
        deviation = np.sqrt(x)
        return (x - deviation) / known, (x + deviation) / known

    def within(self, x: Floats, known: Floats, depth: float) -> tuple[Floats, Floats]:
        # The deviance of x from a mean m is at least (x - m)^2 / (2 max(x, m)) (Chernoff).
        below, above = np.sqrt(2 * depth * x), depth + np.sqrt(depth**2 + 2 * depth * x)
        return (x - below) / known, (x + above) / known

    def coordinate(self, theta: Floats) -> Floats:
        return np.asarray(2.0 * np.sqrt(theta))

    def at_coordinate(self, u: Floats) -> Floats:
        return np.asarray((0.5 * np.maximum(u, 0.0)) ** 2)

    def noise(self, known: Floats) -> Floats:
        with np.errstate(divide="ignore"):  # of no time it is infinite
            return np.asarray(1.0 / np.sqrt(known))

    def natural(self, theta: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(theta))

    def at_natural(self, eta: Floats) -> Floats:
        return np.asarray(np.exp(eta))

    def around(self, mean: Floats, spread: Floats) -> Any:
        from ebformer.channels.gamma_prior import GammaPosterior

        size = 1.0 / np.square(spread)
        return GammaPosterior(*np.broadcast_arrays(mean * size, size))

    def log_around(self, x: Floats, known: Floats, mean: Floats, spread: Floats) -> Floats:
        from ebformer.channels.gamma_prior import negative_binomial_log_pmf

        return negative_binomial_log_pmf(x, mean / np.square(spread), known * mean)

    def mean(self, theta: Floats, known: Floats) -> Floats:
        return np.asarray(theta * known)

    def variance(self, theta: Floats, known: Floats) -> Floats:
        return np.asarray(theta * known)

    def cdf(self, x: Floats, theta: Floats, known: Floats) -> Floats:
        return np.where(x < 0, 0.0, gammaincc(np.maximum(np.floor(x), 0.0) + 1.0, known * theta))

    def nodes(self, low: float, high: float, known: float) -> tuple[Floats, Floats]:
        # By Chernoff's bound.
        low, high = low * known, high * known
        first, last = max(0, int(low - 9 * np.sqrt(low))), int(high + 9 * np.sqrt(high) + 30)
        x = np.arange(first, last + 1, dtype=np.float64)
        return x, np.ones(x.size)

    def draw(self, theta: Floats, known: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(rng.poisson(theta * known), dtype=np.float64)

    def pooled(self, x: Floats, known: Floats, weight: Floats) -> float:
        return float(weight @ x) / float(weight @ known)

    def about(self, common: float | None) -> str:
        return "" if common == 1.0 else ", with exposure"

    def standard(self, x: Floats, known: float) -> tuple[Floats, float, float]:
        return x, 1.0, 1.0 / known

    def reduced(self, x: Floats, known: Floats, units: NDArray[Any]) -> Reduced:
        """Exposures of mean 1."""
        mean = float(known @ units) / float(units.sum())
        return Reduced(x, known / mean, 0.0, 1.0 / mean)

    def split(self, x: Floats, known: Floats, folds: int, rng: np.random.Generator) -> list[Parts]:
        """Each event goes to a part at random (Poisson thinning; Neufeld et al. 2024 call it count splitting)."""
        parts = rng.multinomial(x.astype(np.int64), np.full(folds, 1 / folds)).T.astype(np.float64)
        return [Parts(x - part, known * (1 - 1 / folds), part, known / folds) for part in parts]

    def unbiased_square(self, x: Floats, known: Floats) -> Floats:
        return np.asarray(x * (x - 1) / known**2)

    def merge(self, x: Floats, known: Floats, units: NDArray[Any], width: float) -> tuple[Floats, Floats]:
        """Exposures move to the mean t' of a bin of log t, which keeps their total; x goes along as x t' / t.

        It is rounded to whole numbers and, where its noise is wider than these, to steps of width * sqrt(x).
        """
        _, which = np.unique(np.floor(np.log(known) / width), return_inverse=True)
        many, total = (np.bincount(which, units * each) for each in (1.0, known))
        t = (total / many)[which]
        moved = x * (t / known)
        step = 2.0 ** np.floor(np.log2(np.maximum(width * np.sqrt(moved), 1.0)))
        return np.minimum(np.round(moved / step) * step, LARGEST_WHOLE), t

    def sufficient(self, theta: Floats) -> Floats:
        return np.stack([np.log(theta), theta])

    def bin(self, x: Floats, known: Floats, width: float) -> tuple[Floats, Floats]:
        """Counts stay; log t is binned, more finely where a count is large: x events tell a rate to 1 / sqrt(x)."""
        return x, np.floor(np.log(known) / width * fineness(x))

    def unbin(self, x: Floats, known: Floats, width: float, at: tuple[float, float]) -> tuple[Floats, Floats]:
        return x, np.exp((known + at[1]) * width / fineness(x))

    def conjugate_prior(self, **parameters: Any) -> Any:
        from ebformer.channels.gamma_prior import GammaPrior

        return GammaPrior(**parameters)

    def hyperprior(self, x: Floats, known: Floats, units: Floats) -> Any:
        """The spread is that of log rates, 1 / sqrt(shape); means reach from one event in all to the highest rate."""
        from ebformer.channels.gamma_prior import GammaPrior
        from ebformer.channels.hyperprior import Hyperprior

        def prior(place: Any, spread: Any) -> GammaPrior:
            return GammaPrior(spread**-2.0, spread**-2.0 * np.exp(-place))

        events, time = float(units @ x), float(units @ known)
        highest = float(np.max((x + 1.0) / known))
        return Hyperprior(prior, math.log((events + 0.5) / time), least=-math.log(time), most=math.log(highest))

    def symmetries(self) -> Sequence[Symmetry]:
        return [Symmetry("exposures in other units", lambda x, t: (x, 2.5 * t), lambda theta: theta / 2.5, 1 / 2.5)]


def fineness(counts: Floats) -> Floats:
    """By what power of two the bins of a count are narrower.

    >>> fineness(np.array([0, 64, 256, 6400])).tolist()
    [1.0, 2.0, 4.0, 16.0]
    """
    power: Floats = 2.0 ** np.maximum(np.ceil(np.log2((np.maximum(counts, 0) + 0.5) / SMALL) / 2), 0.0)
    return power


def deviance(x: ArrayLike, mean: ArrayLike) -> NDArray[np.float64]:
    """log p(x | x) - log p(x | mean) = x log(x / mean) - x + mean >= 0, broadcasting.

    >>> deviance([0, 3, 3], [2.0, 3.0, 0.0]).tolist()
    [2.0, 0.0, inf]
    >>> round(float(deviance(1, 1e-30)), 6)
    68.077553
    """
    x, mean = np.asarray(x, dtype=np.float64), np.asarray(mean, dtype=np.float64)
    positive = np.where(x > 0, x, 1.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        excess = (mean - x) / positive
        log_ratio = np.asarray(np.log(mean / positive))
        # Near x, log1p keeps the error at eps |mean - x|, not eps x; far below it, excess rounds to -1 and log does.
        np.log1p(excess, out=log_ratio, where=np.abs(excess) < 0.5)
        return np.where(x > 0, x * (excess - log_ratio), mean)


def log_peak(x: ArrayLike) -> NDArray[np.float64]:
    """log p(x | x) = x log x - x - log x!, the largest log-probability that x can have; for real x as well.

    >>> float(log_peak(0)), round(float(log_peak(1)), 12)
    (0.0, -1.0)
    """
    x = np.asarray(x, dtype=np.float64)
    large = x > 16.0
    safe = np.where(large, x, 17.0)
    # Stirling's series: its first omitted term, 691 / 360360 x^-11, is below 1e-16 for x > 16.
    y = 1 / safe**2
    remainder = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / safe
    series = -0.5 * np.log(2.0 * np.pi * safe) - remainder
    small = np.where(large, 1.0, x)
    direct = xlogy(small, small) - small - gammaln(small + 1.0)
    return np.where(large, series, direct)
