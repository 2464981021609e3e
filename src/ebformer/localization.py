"""How uncertain a Bayes rule is: bounds of a posterior mean over all priors that the observations do not speak against.

The distribution function of the observations lies in the band of Dvoretzky, Kiefer and Wolfowitz, with the probability
that is asked for. Every prior whose marginal lies in the band is possible, and the largest and the smallest posterior
mean among these are linear programmes: the F-localization of Ignatiadis and Wager (2022, JASA 117, 1149-1166).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from ebformer.bayes.marginal import observations
from ebformer.binning import coarsened
from ebformer.channels import pick
from ebformer.distributions import Floats
from ebformer.errors import InputError, KnownError
from ebformer.levels import tails
from ebformer.tally import Tally

STEP = 0.1
"""Spacing of the grid of thetas around an observation, in its noise."""
REACH = 8.0
"""How far from an observation, in its noise, a theta may lie and still matter to its posterior mean."""
NODES = 400
"""Further points of the grid, from one end of what was seen to the other."""
THRESHOLDS = 200
"""Points at which the band is kept: more distinct observations are not all asked."""
KNOWN = 256
"""Distinct observations where what is known differs: more are moved together within their noise."""
UNLIKELY = 1e-12
"""A theta under which x is so much less likely than at best has no part in a mean: solvers keep no more digits."""
SLACK = 1e-9
"""Relative to it, a threshold that is an observation itself is not missed by rounding."""


class Bounds(NamedTuple):
    """The smallest and the largest posterior mean, in the shape of x."""

    lower: Floats
    upper: Floats


class Band(NamedTuple):
    """Priors g >= 0 on a grid theta [k] are possible if rows [r, k] times g are at most 0."""

    theta: Floats
    rows: Floats


def posterior_mean_bounds(
    tally: Tally,
    x: ArrayLike,
    known: ArrayLike | None = None,
    *,
    level: float = 0.95,
    **words: ArrayLike | None,
) -> Bounds:
    """An interval for E[theta | x] under the unknown prior, at all x together, with a probability of at least `level`.

    It states what no single fitted prior can: how far the Bayes rule itself may be off. Where units differ in what is
    known, the band is that of the raw rates, by Bretagnolle's inequality.

    >>> tally = Tally([0, 1, 2, 3, 4, 5, 6, 7], [7840, 1317, 239, 42, 14, 4, 4, 1])
    >>> bounds = posterior_mean_bounds(tally, [0, 1])
    >>> bounds.lower.round(2).tolist(), bounds.upper.round(2).tolist()
    ([0.13, 0.16], [0.2, 0.66])
    """
    tails(level)
    if not isinstance(tally, Tally):
        raise InputError(f"bounds come from a Tally, not from a {type(tally).__name__}: give Tally.of(counts)")
    channel = tally.channel
    about = pick(known, words, channel)[1]
    if about is None and tally.common is None:
        raise KnownError(f"units have unequal {channel.words.knowns}: give those of the units you ask about, too")
    at, asked = observations(channel, x, tally.common if about is None else about)
    at, asked = np.broadcast_arrays(at, asked)
    found = [_bounds(tally, float(one), float(each), level) for one, each in zip(at.flat, asked.flat, strict=True)]
    lower, upper = np.array(found, dtype=np.float64).reshape(-1, 2).T
    return Bounds(lower.reshape(at.shape), upper.reshape(at.shape))


def _bounds(tally: Tally, x: float, known: float, level: float) -> tuple[float, float]:
    """The two linear programmes for one x (Charnes and Cooper): y = g / f(x), so that sum_j p(x | theta_j) y_j = 1."""
    channel, (theta, rows) = tally.channel, band(tally, x, known, level)
    fall = channel.deviance(np.asarray(x), theta, np.asarray(known))
    p = np.exp(fall.min() - fall)
    p[p < UNLIKELY] = 0.0
    size = np.sqrt(np.maximum(p, UNLIKELY))  # of y, which p alone would spread too far
    centre = float(channel.mle(np.asarray(x), np.asarray(known)))
    low, high = float(theta[p > 0].min()), float(theta[p > 0].max())
    scale = max(high - centre, centre - low, 1e-300)
    ends = []
    for sign in (1.0, -1.0):
        done = linprog(
            sign * p / size * (np.where(p > 0, theta - centre, 0.0) / scale),
            A_ub=rows / size,
            b_ub=np.zeros(len(rows)),
            A_eq=(p / size)[None],
            b_eq=np.ones(1),
            method="highs",
        )
        if done.status != 0 and not _explained(rows):
            raise InputError(
                f"no prior explains these {channel.words.xs}: their distribution lies outside of the band of level "
                f"{level:g}; is the channel the right one?"
            )
        if done.status != 0:
            raise InputError(f"the bounds at x = {x:g} were not found: {done.message}")
        ends.append(float(np.clip(centre + sign * scale * float(done.fun or 0.0), low, high)))
    return ends[0], ends[1]


def _explained(rows: Floats) -> bool:
    """Whether there is a prior in the band."""
    r, k = rows.shape
    done = linprog(np.zeros(k), A_ub=rows, b_ub=np.zeros(r), A_eq=np.ones((1, k)), b_eq=np.ones(1), method="highs")
    return bool(done.status == 0)


def band(tally: Tally, x: float, known: float, level: float) -> Band:
    """|F_G - F_n| <= sqrt(log(2 / (1 - level)) / (2 n)) as rows, on a grid that is finest around x."""
    equal = tally.common is not None
    few = tally if equal else coarsened(tally, KNOWN)
    order = np.argsort(few.channel.mle(few.x, few.known), kind="stable")
    raw, share = few.channel.mle(few.x, few.known)[order], (few.multiplicity / few.n)[order]
    last = np.append(np.flatnonzero(np.diff(raw) > 0), raw.size - 1)
    below = np.cumsum(share)[last]
    chosen = np.unique(np.linspace(0, last.size - 1, min(last.size, THRESHOLDS)).round().astype(np.intp))
    theta = grid(few, x, known)
    # Bretagnolle (1981): where observations are independent but not alike, the bound is e times as large.
    half = np.sqrt((np.log(2.0 / (1.0 - level)) + (0.0 if equal else 1.0)) / (2.0 * tally.n))
    at, before = (distribution(few, raw[last[chosen]], theta, strictly) for strictly in (False, True))
    lower, upper = below[chosen] - half, np.append(0.0, below)[chosen] + half
    keep, cap = lower > 0, upper < 1
    return Band(theta, np.concatenate([lower[keep, None] - at[keep], before[cap] - upper[cap, None]]))


def grid(tally: Tally, x: float, known: float) -> Floats:
    """Thetas that can have to do with what was seen, and close together those that can have shown x."""
    channel = tally.channel
    noise, around = channel.noise(tally.known), float(channel.noise(np.asarray(known)))
    u, centre = channel.coordinate(channel.mle(tally.x, tally.known)), channel.mle(np.asarray(x), np.asarray(known))
    coarse = np.linspace(float((u - REACH * noise).min()), float((u + REACH * noise).max()), NODES)
    fine = float(channel.coordinate(centre)) + around * np.arange(-REACH, REACH + STEP / 2, STEP)
    (least, most), theta = channel.domain, channel.at_coordinate(np.concatenate([coarse, fine]))
    ends = [end for end in (least, most) if np.isfinite(end)]
    return np.unique(np.clip(np.concatenate([theta, ends]), least, most))


def distribution(tally: Tally, raw: Floats, theta: Floats, strictly: bool) -> Floats:
    """P(a unit's raw rate is at most, or less than, each of `raw` [r] | theta) [r, k], over what is known of all."""
    channel, total = tally.channel, np.zeros((raw.size, theta.size))
    knowns, which = np.unique(tally.known, return_inverse=True)
    for known, share in zip(knowns, np.bincount(which, tally.multiplicity) / tally.n, strict=True):
        x = channel.mean(raw, np.asarray(known))
        if channel.whole:
            x = np.ceil(x - SLACK * (1 + x)) - 1.0 if strictly else np.floor(x + SLACK * (1 + x))
        total += share * channel.cdf(x[:, None], theta, np.asarray(known))
    return total
