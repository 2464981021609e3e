"""Successes out of trials: x ~ Binomial(trials, theta)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, expit, logit, ndtr

from ebformer.channels import poisson
from ebformer.channels.base import Channel, Parts, Reduced, Symmetry, longer_tail
from ebformer.channels.bounds import whole_numbers_from
from ebformer.channels.words import Advice, Words
from ebformer.distributions import Floats
from ebformer.errors import InputError

MOST_TRIALS = 10**9
"""More trials than this cannot be dealt out at random, one by one."""


class Binomial(Channel):
    """p(x | theta) = C(m, x) theta^x (1 - theta)^(m - x), with m trials.

    Its deviance is that of two Poisson counts, the successes from m theta and the failures from m (1 - theta).

    >>> np.exp(Binomial().log_likelihood([0, 1, 2], 0.5, 2)).round(6)
    array([0.25, 0.5 , 0.25])
    >>> Binomial().log_likelihood(2, 1.0, 2).item(), Binomial().log_likelihood(1, 1.0, 2).item()
    (0.0, -inf)
    """

    name = "binomial"
    keyword = "trials"
    words = Words(
        x="number of successes",
        xs="successes",
        known="trials",
        knowns="trials",
        theta="probability",
        thetas="probabilities",
        ask_x="give whole numbers from 0 to the number of trials",
        ask_known="give whole numbers of at least 1",
        seen="{x} {name} out of {known} {unit}",
        amount="{} trials",
    )
    advice = Advice(
        fits="binomial with a mixing distribution fits",
        narrow="the successes vary less than binomial ones can: are trials shared, or are they capped or balanced?",
        wide=(
            "successes are more spread than their probabilities explain at few trials and less at many: "
            "trials of a unit seem to go together, so count independent ones, or trust the intervals less"
        ),
        misfit=(
            "the successes do not look like a mixture of binomial ones: "
            "are the trials counted right, or do groups differ (a group column)?"
        ),
        trend=(
            "units with more trials have {direction} probabilities: "
            "the number of trials tells about the unit, so make it a covariate (--covariates with its column, in "
            "Python covariates=[...]); without, estimates of units with few trials lean the wrong way"
        ),
        parts=(
            "Trials dealt out at random make independent parts only if the trials of a unit do not go together; "
            "where they do, methods that shrink least are flattered."
        ),
    )
    whole_known = True
    domain = (0.0, 1.0)
    inside = (1e-100, 1.0 - 2.0**-53)
    conjugate = "beta"
    loss = "logistic"
    widths = (2.0**-6, 2.0**-3)

    def possible(self, x: Floats) -> NDArray[np.bool_]:
        return whole_numbers_from(0, x)

    def possible_known(self, known: Floats) -> NDArray[np.bool_]:
        return whole_numbers_from(1, known)

    def possible_pair(self, x: Floats, known: Floats) -> NDArray[np.bool_]:
        return x <= known

    def moments_seen(self, known: Floats) -> int | None:
        return int(known.max())

    def blank(self, x: Floats, known: Floats) -> NDArray[np.bool_]:
        return np.equal(x, 0) & np.equal(known, 0)

    def mle(self, x: Floats, known: Floats) -> Floats:
        with np.errstate(invalid="ignore"):  # of no trials there is none
            return np.asarray(x / known)

    def log_peak(self, x: Floats, known: Floats) -> Floats:
        return poisson.log_peak(x) + poisson.log_peak(known - x) - poisson.log_peak(known)

    def deviance(self, x: Floats, theta: Floats, known: Floats) -> Floats:
        return poisson.deviance(x, known * theta) + poisson.deviance(known - x, known * (1.0 - theta))

    def derivatives(self, x: Floats, theta: Floats, known: Floats) -> tuple[Floats, Floats]:
        residual, other = x - known * theta, 1.0 - theta
        bend = residual * residual - x * other * other - (known - x) * theta * theta
        return residual / theta / other, bend / theta / theta / other / other

    def concave(self, x: Floats, known: Floats) -> tuple[Floats, Floats]:
        # p'' has the sign of (x / m - theta)^2 - x (m - x) / (m^2 (m - 1)); one trial has a straight line for p.
        deviation = np.where(known > 1, np.sqrt(x * (known - x) / np.maximum(known - 1.0, 1.0)) / known, 1.0)
        return np.maximum(x / known - deviation, 0.0), np.minimum(x / known + deviation, 1.0)

    def coordinate(self, theta: Floats) -> Floats:
        return np.asarray(2.0 * np.arcsin(np.sqrt(theta)))

    def at_coordinate(self, u: Floats) -> Floats:
        return np.asarray(np.sin(0.5 * np.clip(u, 0.0, np.pi)) ** 2)

    def noise(self, known: Floats) -> Floats:
        with np.errstate(divide="ignore"):  # of no trials it is infinite
            return np.asarray(1.0 / np.sqrt(known))

    def natural(self, theta: Floats) -> Floats:
        return np.asarray(logit(theta))

    def at_natural(self, eta: Floats) -> Floats:
        return np.asarray(expit(eta))

    def around(self, mean: Floats, spread: Floats) -> Any:
        from ebformer.channels.beta_prior import BetaPosterior

        size = _size(spread)
        return BetaPosterior(*np.broadcast_arrays(mean * size, (1.0 - mean) * size))

    def log_around(self, x: Floats, known: Floats, mean: Floats, spread: Floats) -> Floats:
        from ebformer.channels.beta_prior import beta_binomial_log_pmf

        return beta_binomial_log_pmf(x, mean * _size(spread), (1.0 - mean) * _size(spread), known)

    def mean(self, theta: Floats, known: Floats) -> Floats:
        return np.asarray(known * theta)

    def variance(self, theta: Floats, known: Floats) -> Floats:
        return np.asarray(known * theta * (1.0 - theta))

    def cdf(self, x: Floats, theta: Floats, known: Floats) -> Floats:
        floor = np.floor(x)
        inside = np.clip(floor, 0.0, np.maximum(known - 1.0, 0.0))
        below = beta_above(inside + 1.0, np.maximum(known - inside, 1.0), theta)
        return np.where(floor < 0, 0.0, np.where(floor >= known, 1.0, below))

    def nodes(self, low: float, high: float, known: float) -> tuple[Floats, Floats]:
        least, most = known * low, known * high
        first, last = int(least - 9 * np.sqrt(least * (1 - low)) - 30), int(most + 9 * np.sqrt(most * (1 - high)) + 30)
        x = np.arange(max(first, 0), min(last, int(known)) + 1, dtype=np.float64)
        return x, np.ones(x.size)

    def draw(self, theta: Floats, known: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(rng.binomial(np.asarray(known).astype(np.int64), theta), dtype=np.float64)

    def pooled(self, x: Floats, known: Floats, weight: Floats) -> float:
        return float(weight @ x) / float(weight @ known)

    def about(self, common: float | None) -> str:
        return f", out of {'unequal' if common is None else format(common, ',.0f')} trials"

    def split(self, x: Floats, known: Floats, folds: int, rng: np.random.Generator) -> list[Parts]:
        """Trials are dealt out to the parts as evenly as they can be, at random: successes are hypergeometric."""
        if known.max() > MOST_TRIALS:
            raise InputError(f"a unit has {known.max():,.0f} trials: methods are compared on at most 10^9 of a unit")
        trials, successes, parts = known.astype(np.int64), x.astype(np.int64), []
        for left in range(folds, 0, -1):
            # The remainder of an even share goes to this part with the chance that keeps all parts alike.
            size = trials // left + (rng.random(trials.size) * left < trials % left)
            hit = rng.hypergeometric(successes, trials - successes, size)
            trials, successes = trials - size, successes - hit
            held, held_known = hit.astype(np.float64), size.astype(np.float64)
            kept, kept_known = x - held, known - held_known
            parts.append(Parts(kept, _none_as_nan(kept_known), held, _none_as_nan(held_known)))
        return parts

    def unbiased_square(self, x: Floats, known: Floats) -> Floats:
        return np.where(known > 1, x * (x - 1) / (known * np.maximum(known - 1, 1)), np.nan)

    def merge(self, x: Floats, known: Floats, units: NDArray[Any], width: float) -> tuple[Floats, Floats]:
        """Trials move to the whole number m' nearest the mean of a bin of log m; x goes along as x m' / m.

        It is rounded to whole numbers and, where its noise is wider than these, to steps of width * sqrt(m p (1 - p)).
        """
        _, which = np.unique(np.floor(np.log(known) / width), return_inverse=True)
        many, total = (np.bincount(which, units * each) for each in (1.0, known))
        m = np.round(total / many)[which]
        moved = x * (m / known)
        step = 2.0 ** np.floor(np.log2(np.maximum(width * np.sqrt(moved * (1.0 - x / known)), 1.0)))
        return np.clip(np.round(moved / step) * step, 0.0, m), m

    def reduced(self, x: Floats, known: Floats, units: NDArray[Any]) -> Reduced:
        """Successes, or failures where these are fewer; of as many, those that fewer units have most of."""
        failures = known - x
        more = float(units @ (x - failures)) or -longer_tail(units, x - failures)
        return Reduced(x, known, 0.0, 1.0) if more <= 0 else Reduced(failures, known, 1.0, -1.0)

    def sufficient(self, theta: Floats) -> Floats:
        return np.stack([np.log(theta), np.log1p(-theta)])

    def bin(self, x: Floats, known: Floats, width: float) -> tuple[Floats, Floats]:
        """Twice the roots of successes and of failures are binned: each has noise 1, and small numbers stay exact."""
        return np.floor(2.0 * np.sqrt(x) / width), np.floor(2.0 * np.sqrt(known - x) / width)

    def unbin(self, x: Floats, known: Floats, width: float, at: tuple[float, float]) -> tuple[Floats, Floats]:
        successes, failures = (_whole_within(cell, width, share) for cell, share in zip((x, known), at, strict=True))
        return successes, successes + failures

    def conjugate_prior(self, **parameters: Any) -> Any:
        from ebformer.channels.beta_prior import BetaPrior

        return BetaPrior(**parameters)

    def hyperprior(self, x: Floats, known: Floats, units: Floats) -> Any:
        """The spread is that of log-odds, sqrt(1 / a + 1 / b); means reach from one success in all to one failure."""
        from ebformer.channels.beta_prior import BetaPrior
        from ebformer.channels.hyperprior import Hyperprior

        def prior(place: Any, spread: Any) -> BetaPrior:
            return BetaPrior(spread**-2.0 / expit(-place), spread**-2.0 / expit(place))

        hits, misses = float(units @ x), float(units @ (known - x))
        most = math.log(hits + misses)
        return Hyperprior(prior, math.log((hits + 0.5) / (misses + 0.5)), least=-most, most=most)

    def symmetries(self) -> Sequence[Symmetry]:
        return [Symmetry("successes and failures change places", lambda x, m: (m - x, m), lambda theta: 1.0 - theta)]


def beta_above(a: ArrayLike, b: ArrayLike, theta: ArrayLike) -> Floats:
    """P(a beta variable with parameters a, b exceeds theta), to all digits; broadcasts.

    The smaller of the two tails is asked for. betaincc takes ten times as long as betainc, so it is asked only where
    1 - theta has not all digits of theta.

    >>> beta_above(1.0, 2.0, 0.5).item()
    0.25
    """
    a, b, theta = np.broadcast_arrays(*(np.asarray(number, dtype=np.float64) for number in (a, b, theta)))
    tail, near_zero = theta * (a + b) > a, theta < 0.1
    above = np.asarray(1.0 - betainc(a, b, theta, out=np.zeros(theta.shape), where=~tail))
    betainc(b, a, 1.0 - theta, out=above, where=tail & ~near_zero)
    betaincc(a, b, theta, out=above, where=tail & near_zero)
    lost = np.isnan(above)  # of parameters so large that nothing but a normal law is left
    return np.where(lost, ndtr(-beta_deviation(theta, a, b)), above) if lost.any() else above


def beta_deviation(theta: Floats, a: Floats, b: Floats) -> Floats:
    """By how many standard deviations theta is above the mean of a beta variable.

    >>> beta_deviation(np.array([0.5]), 1.0, 1.0).tolist()
    [0.0]
    """
    return (theta - a / (a + b)) * (a + b) * np.sqrt((a + b + 1.0) / a / b)


def _size(spread: Floats) -> Floats:
    """a + b of the beta law of variance spread^2 theta (1 - theta), which is at most that of a coin."""
    return np.maximum(1.0 / np.square(spread) - 1.0, 1e-3)


def _none_as_nan(trials: Floats) -> Floats:
    return np.where(trials > 0, trials, np.nan)


def _whole_within(cell: Floats, width: float, share: float) -> Floats:
    """The whole number at this share of those whose double root falls into a bin."""
    first, end = (np.ceil((0.5 * width * edge) ** 2) for edge in (cell, cell + 1.0))
    return np.asarray(first + np.floor(share * np.maximum(end - 1.0 - first, 0.0)))
