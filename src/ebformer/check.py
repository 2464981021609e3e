"""Does the channel with a mixing distribution fit? The randomised PIT, and what changes with what is known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ebformer.bayes.marginal import in_blocks, log_marginal, marginal_cdf
from ebformer.binning import coarsened
from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.prior import AnyPrior
from ebformer.tally import Tally

BINS, FEWEST_BINS, PER_BIN = 20, 4, 10
"""The PIT is counted in 20 bins, or in fewer where they would hold less than 10 units each, but in no less than 4."""
ENOUGH = FEWEST_BINS * PER_BIN
"""With fewer units than this nothing but a gross departure would show, so that none is no sign of a fit."""
HANDFUL = 7
"""Fewer units than this are not checked, since hardly any departure could show: a map has thousands of such groups."""
SIGNIFICANT = 1e-3
"""A departure is reported when chance alone would show it less often than this ..."""
RELEVANT = 0.02
"""... and when it moves more than this share of the units: with 10^8 rows everything is significant."""


AT_ONCE = 2**14
"""Log-probabilities, of all priors of a grid and all observations, that are held at once."""
SMALL_RATE = 0.05
"""Below this rate per unit of exposure, successes out of tries and counts are nearly the same."""


class ModelWarning(UserWarning):
    """The answers need a caveat: few rows, intervals too narrow, or a model that does not describe the counts.

    >>> import warnings
    >>> warnings.simplefilter("ignore", ModelWarning)  # for those who have read it
    """


@dataclass(frozen=True, eq=False)
class ModelCheck:
    """`pit`: the share of units in each of 20 bins (or fewer) of the randomised PIT, equal where the model fits.

    `p_value` tests that they are equal (chi-square), `distance` is their total variation from it, `fits` the verdict
    (no departure was found) and `sentence` what to do about it. `spread` is the z-score of how far the PIT is from 1/2:
    below 0 where observations vary less than the model says.
    """

    pit: Floats
    p_value: float
    distance: float
    fits: bool
    sentence: str
    spread: float = 0.0


def model_check(prior: AnyPrior, tally: Tally, rng: np.random.Generator) -> ModelCheck:
    """Compare the counts with the marginal of a fitted prior.

    A unit's PIT is u = F(x - 1) + v f(x) with v ~ U(0, 1) and F, f the fitted marginal at its exposure: uniform where
    the model holds (Smith 1985; Czado, Gneiting and Held 2009). On a tally, units that showed the same observation
    spread over the bins of u as one multinomial draw. The prior was fitted to the same counts, which makes the test
    conservative. A want of zeros is looked for by itself, since it shows in fewer units than the PIT needs. One count
    per unit cannot tell bursty counts from varied rates; unequal exposures can, since varied rates spread counts in
    proportion to exposure squared and bursts in proportion to exposure.

    >>> from ebformer.prior import Prior
    >>> rng = np.random.default_rng(0)
    >>> model_check(Prior([4.0], [1.0]), Tally.of(rng.poisson(4.0, 1000)), rng).fits
    True
    >>> print(model_check(Prior([4.0], [1.0]), Tally.of(rng.binomial(5, 0.8, 1000)), rng).sentence)
    the counts vary less than Poisson counts can: if each is out of so many tries, use --trials (in Python trials=)
    """
    if tally.n < HANDFUL:
        return ModelCheck(np.full(FEWEST_BINS, 1 / FEWEST_BINS), 1.0, 0.0, True, too_few(tally.channel))
    tried, tally = like_tries(tally), coarsened(tally)
    low, high = pit_interval(prior, tally)
    bins = int(np.clip(tally.n // PER_BIN, FEWEST_BINS, BINS))
    width = np.maximum(high - low, 1e-12)[:, None]  # where f(x) is nearly 0, the PIT is a point and its bin is certain
    share = np.diff(np.clip((np.linspace(0.0, 1.0, bins + 1) - low[:, None]) / width, 0.0, 1.0), axis=1)
    share[:, -1] = np.maximum(1.0 - share[:, :-1].sum(axis=1), 0.0)
    counts = rng.multinomial(tally.multiplicity, share / share.sum(axis=1, keepdims=True)).sum(axis=0)
    pit = counts / tally.n
    distance = float(np.abs(pit - 1 / bins).sum() / 2)
    p_value = float(special.chdtrc(bins - 1, ((counts - tally.n / bins) ** 2).sum() * bins / tally.n))
    departure = zeros_left_out(tally) or _trend(low, high, tally)
    if departure is None and p_value < SIGNIFICANT and distance > RELEVANT:
        departure = _diagnosis(low, high, tally)
    if tried:
        departure = _tries(prior, tally, departure) or departure
    sentence = departure or (too_few(tally.channel) if tally.n < ENOUGH else _praise(tally.channel, p_value, distance))
    spread = _moments(low, high, tally.multiplicity)[1]
    return ModelCheck(pit, p_value, distance, departure is None, sentence, spread)


def too_few(channel: Channel) -> str:
    """What is said of units too few to tell."""
    return f"too few rows to tell whether {channel.advice.fits}"


def _praise(channel: Channel, p_value: float, distance: float) -> str:
    evidence = f"PIT p = {p_value:.2g}"
    if p_value < SIGNIFICANT:
        evidence = f"so many units show a departure, but it moves only {100 * distance:.1f} % of them"
    return f"{channel.advice.fits} ({evidence})"


def pit_interval(prior: AnyPrior, tally: Tally) -> tuple[Floats, Floats]:
    """F(x-) and F(x) of the fitted marginal for each observation: the PIT of its units is uniform between them."""
    channel, x, known = tally.channel, tally.x, tally.known
    if not channel.complete and tally.common is None:  # then a prior is of all units, and those seen were selected
        look = channel.next_look
        zero = np.exp(log_marginal(prior, np.zeros_like(x), known, channel=look))
        high = in_blocks(partial(marginal_cdf, prior, look), prior, x, known)
        low = high - np.exp(log_marginal(prior, x, known, channel=look))
        return np.clip((low - zero) / (1 - zero), 0.0, 1.0), np.clip((high - zero) / (1 - zero), 0.0, 1.0)
    high = in_blocks(partial(marginal_cdf, prior, channel), prior, x, known)
    jump = np.exp(log_marginal(prior, x, known, channel=channel)) if channel.whole else 0.0
    return np.clip(high - jump, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def _moments(low: Floats, high: Floats, weight: NDArray[np.int64]) -> tuple[float, float]:
    """z-scores of the mean of the PIT and of its spread around 1/2, whose variances are 1/12 and 1/180 per unit."""
    n = float(weight.sum())
    a, b = low - 0.5, high - 0.5
    square = (a * a + a * b + b * b) / 3.0  # E (u - 1/2)^2 for u uniform between low and high
    mean = float(weight @ (a + b)) / (2 * n)
    spread = float(weight @ square) / n - 1 / 12
    return mean * np.sqrt(12 * n), spread * np.sqrt(180 * n)


def _trend(low: Floats, high: Floats, tally: Tally) -> str | None:
    """What changes from the half of the units about which less is known to the other, if anything does."""
    if tally.common is not None:
        return None
    # The border runs between unlike exposures: equal ones would come to either side in the order of their counts.
    _, exposure = np.unique(-tally.channel.noise(tally.known), return_inverse=True)
    units = np.cumsum(np.bincount(exposure, tally.multiplicity))
    border = int(np.argmin(np.abs(units[:-1] - tally.n / 2)))
    n, m = units[border], tally.n - units[border]
    few, many = (_moments(low[at], high[at], tally.multiplicity[at]) for at in (exposure <= border, exposure > border))
    critical = -special.ndtri(SIGNIFICANT / 4)
    shift, spread = (
        (after * np.sqrt(n) - before * np.sqrt(m)) / np.sqrt(n + m) for before, after in zip(few, many, strict=True)
    )
    scale = np.sqrt(n * m / (n + m))  # a z-score over this is a difference in units of the per-unit standard deviation
    # Rates that fall with exposure narrow the spread at large exposure, too, but by less than they shift it.
    if spread < -critical and -spread > max(0.1 * scale, abs(shift)):
        return tally.channel.advice.wide
    if abs(shift) > critical and abs(shift) > 0.1 * scale:
        return tally.channel.advice.trend.format(direction="higher" if shift > 0 else "lower")
    return None


def zeros_left_out(tally: Tally) -> str | None:
    """What is said where no unit has count 0 and that is a thousand times likelier if such units are left out.

    Both cases are judged by the conjugate prior that suits them best, on a grid: with f(0) its marginal at 0, what is
    left out divides the likelihood of every unit by 1 - f(0). Counts out of so many tries lack zeros too, but then ones
    are as scarce.

    >>> counts = np.random.default_rng(0).poisson(1.0, 500)
    >>> zeros_left_out(Tally.of(counts)) is None, zeros_left_out(Tally.of(counts[counts > 0])) is None
    (True, False)
    """
    x, units, advice = tally.x, tally.multiplicity, tally.channel.advice
    if advice.no_zeros is None or x.min() == 0 or tally.n < HANDFUL:
        return None
    means, shapes = np.meshgrid(tally.mean * 2.0 ** np.arange(-10.0, 2.0), 2.0 ** np.arange(-4.0, 7.0))
    whole, without, best = -np.inf, -np.inf, (0.0, np.inf)
    for some in np.array_split(np.arange(means.size), min(means.size, 1 + means.size * x.size // AT_ONCE)):
        shape, mean = shapes.flat[some][:, None], means.flat[some][:, None]
        prior = tally.channel.conjugate_prior(shape=shape, rate=shape / mean)
        log_zero = prior.log_marginal(np.zeros_like(x), tally.known)  # [some, u]
        seen = -np.expm1(log_zero)
        likelihood = prior.log_marginal(x, tally.known) @ units
        left = likelihood - np.log(seen) @ units
        whole, top = max(whole, float(likelihood.max())), int(left.argmax())
        if left[top] > without:
            ones = np.exp(prior.log_marginal(np.ones_like(x), tally.known)[top])
            per_unit = units / seen[top]
            without, best = float(left[top]), (float(per_unit @ np.exp(log_zero[top])), float(per_unit @ ones))
    zeros, ones_expected = best
    told = without - whole > -np.log(SIGNIFICANT) and zeros > max(-np.log(SIGNIFICANT), RELEVANT * tally.n)
    return advice.no_zeros if told and units[x == 1].sum() > ones_expected / 2 else None


def like_tries(tally: Tally) -> bool:
    """Whether counts can be successes out of tries: none is above its exposure, a whole number.

    Rates that are small look the same either way. To be asked of the observations themselves: bins of exposures are no
    whole numbers.

    >>> like_tries(Tally.of([1, 2, 3], [4, 4, 5])), like_tries(Tally.of([1, 2, 3], [4, 4, 5.5]))
    (True, False)
    """
    x, known = tally.x, tally.known
    told = tally.channel.advice.tries is not None and tally.mean >= SMALL_RATE
    return told and not bool(np.any((x > known) | (known != np.floor(known))))


def _tries(prior: AnyPrior, tally: Tally, departure: str | None) -> str | None:
    """What is said of counts that look like successes out of tries, where chance is no excuse.

    That is where the prior expects many counts above their exposures, and where something is wrong that tries explain.
    """
    advice, known = tally.channel.advice, tally.known
    explained = [advice.narrow, *(advice.trend.format(direction=direction) for direction in ("higher", "lower"))]
    if departure in explained:
        return advice.tries
    above = 1.0 - in_blocks(partial(marginal_cdf, prior, tally.channel), prior, known, known)
    return advice.tries if float(tally.multiplicity @ above) > -np.log(SIGNIFICANT) else None


def _diagnosis(low: Floats, high: Floats, tally: Tally) -> str:
    """The likeliest reason for an uneven PIT."""
    x, units = tally.values, tally.multiplicity
    if tally.channel.whole:
        for step in (10, 5):
            round_numbers = int(units[(x % step == 0) & (x > 0)].sum())
            if x.max() > step and round_numbers > 0.5 * units[x > 0].sum():
                return f"most {tally.channel.words.xs} are multiples of {step}: use the exact ones, not rounded ones"
    advice = tally.channel.advice
    return advice.narrow if _moments(low, high, units)[1] < -3 else advice.misfit
