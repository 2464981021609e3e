"""Units that never entered the table: how many there are, and how many will show themselves, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri

from ebformer.bayes.prediction import units_to_come
from ebformer.distributions import Floats
from ebformer.errors import InputError, KnownError
from ebformer.estimators.npmle.columns import Columns
from ebformer.estimators.npmle.sample import Sample
from ebformer.estimators.npmle.solver import EM_STEPS, sparse_start
from ebformer.estimators.npmle.weights import em_steps, reweigh
from ebformer.levels import tails
from ebformer.prior import Prior
from ebformer.rule import Rule
from ebformer.tally import Tally

STEEPEST = 1e6
"""The heaviest tilt of the likelihood that is tried."""
MOST_POINTS = 2**14
"""Thetas a twentieth of the noise apart that the interval is sought on."""
BEYOND = 12.0
"""How far beyond the largest raw rate a theta may lie, in its noise."""


@dataclass(frozen=True)
class Unseen:
    """An estimated number of units, and the interval of those that the data do not speak against.

    >>> print(Unseen(26.0, 17.0, np.inf, 0.975))
    26 units (97.5 % interval: at least 17, no upper end)
    """

    estimate: float
    lower: float
    upper: float
    level: float

    def __str__(self) -> str:
        upper = "no upper end" if np.isinf(self.upper) else f"at most {self.upper:,.0f}"
        estimate = "more units than can be told" if np.isinf(self.estimate) else f"{self.estimate:,.0f} units"
        return f"{estimate} ({100 * self.level:.10g} % interval: at least {self.lower:,.0f}, {upper})"


def unseen(rule: Rule, future: float | None = None, level: float = 0.9) -> Unseen:
    """How many units never entered the table; with `future`, how many show themselves in so much further exposure.

    The estimate is that of the rule's prior. The interval holds all numbers for which some prior is nearly as likely as
    the likeliest (the profile likelihood): twice the difference of their log-likelihoods is at most the quantile of
    chi-square with two degrees of freedom, one for the number and one for the chance by which it comes out. (With one,
    intervals of level 0.9 held 72 to 86 percent of simulated outcomes, with two 83 to 96.) Units that are hardly ever
    seen leave no trace, so that nothing bounds the number of all units from above, and the estimate of some priors is
    infinite; what is to come is bounded.

    >>> from ebformer.estimators.catalogue import estimator
    >>> words = Tally([1, 2, 3, 4, 5], [60, 22, 9, 6, 3], zeros="missing")  # 60 words occur once, ...
    >>> print(unseen(estimator("npmle")(words), future=0.5))
    26 units (90 % interval: at least 19, at most 32)
    """
    tails(level)
    if not isinstance(rule, Rule):
        raise InputError(f"unseen units are asked of a fitted rule, not of a {type(rule).__name__}")
    tally = rule.tally
    if rule.channel.complete:
        raise InputError(f"all units of these {rule.channel.words.xs} are in the table, so that none is unseen")
    if rule.known is None:
        raise KnownError("of units with unequal exposures, nobody knows those of the ones that were never seen")
    if not isinstance(rule.prior, Prior):
        raise InputError(f"{rule.method} has no prior on atoms here: fit with npmle or npmle-em, and ask again")
    if tally is None:
        raise InputError("a rule that was read from a file no longer has its units: fit them again, and ask then")
    if future is not None and not (isinstance(future, Real) and 0 < future < np.inf):
        raise InputError(f"the future {rule.channel.keyword} is {future!r}: give one positive number")
    per_atom = units_to_come(rule.prior.atoms, tally, future)
    estimate = float(rule.prior.weights @ per_atom)
    lower, upper = _profile_interval(tally, future, 0.5 * float(chdtri(2, 1.0 - level)))
    return Unseen(estimate, min(lower, estimate), max(upper, estimate), level)


def _profile_interval(tally: Tally, future: float | None, drop: float) -> tuple[float, float]:
    """The least and the largest number under priors whose log-likelihood is within `drop` of the largest.

    Priors w on a lattice that maximise the log-likelihood l(w) less log(1 - tilt * number / scale) run through the best
    ones for every number as the tilt does, and each is a nonparametric maximum likelihood estimate with columns divided
    by 1 - tilt * number / scale.
    """
    sample, points = Sample.of(tally), _points(tally)
    columns, number = Columns.of(sample, points), units_to_come(points, tally, future)
    lower = _end(columns, sample.q, number, tally.n, -1.0, drop)
    bounded = bool(np.isfinite(units_to_come(points[:1] * 0.0, tally, future)).all())
    return lower, _end(columns, sample.q, number, tally.n, 1.0, drop) if bounded else np.inf


def _points(tally: Tally) -> Floats:
    """Thetas from next to none to well beyond all that were seen, a twentieth of the noise apart.

    Units of thetas higher than the first `MOST_POINTS` are all seen, so that their raw rates are enough.
    """
    channel, known = tally.channel, tally.known
    noise = channel.noise(known)
    highest = float((channel.coordinate(channel.mle(tally.x, known)) + BEYOND * noise).max())
    step = 0.05 * float(noise.min())
    u = np.arange(0.0, min(highest, MOST_POINTS * step), step)
    raw = channel.mle(tally.x, known)
    points = np.maximum(channel.at_coordinate(u), channel.inside[0])
    return np.concatenate([points, raw[raw > points[-1]]])


def _end(columns: Columns, q: Floats, number: Floats, n: int, side: float, drop: float) -> float:
    """The number at one end: below (side -1) or above (1)."""
    # Downwards any scale will do; upwards no column may have a price below 0.
    scale = n if side < 0 else float(number.max())

    def tilted(log_tilt: float) -> Floats:
        """The prior of this tilt."""
        tilt = np.exp(log_tilt)
        price = 1.0 + tilt * number / scale if side < 0 else 1.0 - number / scale * (tilt / (1.0 + tilt))
        priced = columns.divided(price)
        dense = em_steps(priced, q, np.full(number.size, 1.0 / number.size), EM_STEPS)
        w = reweigh(priced, q, dense, sparse_start(dense), 1e-9, steps=60)[0] / price
        return np.asarray(w / w.sum())

    def level(w: Floats) -> float:
        return n * float(q @ np.log(columns.mix(w)))

    low, high = -20.0, float(np.log(STEEPEST))
    within, beyond = tilted(low), tilted(high)
    best = level(within)
    if best - level(beyond) < drop:
        within, beyond = beyond, (np.arange(number.size) == (number * side).argmax()).astype(np.float64)
        high = low
    if best - level(beyond) < drop:
        return float(number @ beyond)
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        found = tilted(middle)
        if best - level(found) < drop:
            low, within = middle, found
        else:
            high, beyond = middle, found
    # Between two priors of one tilt all mixtures of them are as good.
    share = brentq(lambda part: best - level((1.0 - part) * within + part * beyond) - drop, 0.0, 1.0)
    return float(number @ ((1.0 - share) * within + share * beyond))
