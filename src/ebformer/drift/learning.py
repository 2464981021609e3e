"""How a `Drift` is learnt from units that were seen twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from ebformer.distributions import Floats
from ebformer.drift.case import Case, Moments
from ebformer.drift.law import Drift
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import method_for
from ebformer.looks import Looks

BOUNDS: list[tuple[float | None, float | None]] = [(0.0, 0.98), (0.3, 1.0), (None, None)]
"""Of pull, fade and trend."""
LOG_JUMP = (-9.0, 3.0)
LOOK = 0.08
"""What all units of a season share, beyond the trend: its typical deviation, in deviations of the natural parameter."""


def learn(looks: Looks | Sequence[Looks], method: str | Estimator | None = None) -> Drift:
    """The drift of units seen twice, from one table or several seasons of one kind.

    Every first look is fitted by `method`, the channel's default unless named. Then pull, fade and trend are those
    under which the means of the second looks are likeliest: this finds the mean of the next look right however thetas
    jump. Since observations vary more than the channel says, this likelihood is divided by their dispersion. The jump
    is the one under which the second looks themselves are likeliest. Every parameter has a normal prior, of
    `Drift.typical` and its spread, which counts for little where pairs are many. What all units of one look share is
    no trend: the more it differs between looks, the nearer the trend is to 0. Standard errors are sandwiches.
    """
    several = [looks] if isinstance(looks, Looks) else list(looks) if isinstance(looks, Iterable) else [looks]
    if not several:
        raise InputError("there is nothing to learn from: give at least one table of units that were seen twice")
    for each in several:
        if not isinstance(each, Looks):
            raise InputError(f"a drift is learnt from units seen twice, not from a {type(each).__name__}: give Looks")
    if len({each.channel for each in several}) > 1:
        raise InputError("these looks are of several channels: learn one drift from each")
    estimator = method_for(several[0].channel, method)
    cases = [Case.of(each, estimator) for each in several]
    units = np.concatenate([case.looks.multiplicity for case in cases])

    typical = Drift.typical(any(each.exposed for each in several))
    assert typical.errors is not None
    start, width = np.array([[getattr(typical, name), typical.errors[name]] for name in ("pull", "fade", "trend")]).T
    unit = float(np.mean([case.natural_spread for case in cases]))
    width[2] *= unit
    dispersion = _dispersion(cases, typical)

    def of_means(at: Floats) -> Floats:
        return np.concatenate([case.misfit_of_mean(_with_means(at)) for case in cases]) / dispersion

    total = _penalised(of_means, units, start, width)
    means = np.asarray(minimize(total, start, method="L-BFGS-B", bounds=BOUNDS, options={"ftol": 1e-12}).x)
    errors = _standard_errors(of_means, units, _look(cases), means, start, width, BOUNDS)
    between = _between(np.array([case.offset(_with_means(means)) for case in cases])) * unit**2 / len(cases)
    share = width[2] ** 2 / (width[2] ** 2 + between)
    means[2], errors[2] = means[2] * share, np.hypot(errors[2], np.sqrt(between)) * np.sqrt(share)
    drift = _with_means(means)

    pull_error, fade_error, trend_error = errors.tolist()
    jump, jump_error = _likeliest_jump(cases, drift, pull_error, typical)
    found = {"pull": pull_error, "fade": fade_error, "jump": jump_error, "trend": trend_error}
    about = replace(drift, pairs=int(units.sum()), channel=cases[0].channel.name, exposures=typical.exposures)
    return replace(about, jump=jump, errors=found)


def _likeliest_jump(cases: Sequence[Case], drift: Drift, pull_error: float, usual: Drift) -> tuple[float, float]:
    """The jump and its standard error, given the means.

    The next theta is taken to have the conjugate law of its mean and variance. That is not quite its law, where some
    units start afresh; as if all were normal, the variance would be right whatever the law, but at the mercy of a few
    units far out. The standard error is made of three: the sandwich, by how much these two readings differ, and what
    the error of the pull does.
    """
    units = np.concatenate([case.looks.multiplicity for case in cases])
    assert usual.errors is not None
    typical, width = np.array([usual.jump]), np.array([usual.errors["jump"]])

    def likeliest(misfit: Callable[[Floats], Floats]) -> float:
        total = _penalised(misfit, units, typical, width)
        best = minimize_scalar(
            lambda at: total(np.exp([at])), bounds=LOG_JUMP, method="bounded", options={"xatol": 1e-3}
        )
        return float(np.exp(best.x))

    found = [case.moments(drift) for case in cases]
    further = [case.moments(replace(drift, pull=min(drift.pull + pull_error, 1.0))) for case in cases]

    def conjugate(at: Floats, moments: Sequence[Moments] = found) -> Floats:
        told = zip(cases, moments, strict=True)
        return np.concatenate([case.misfit_of_jump(each, float(at[0])) for case, each in told])

    def normal(at: Floats) -> Floats:
        told = zip(cases, found, strict=True)
        return np.concatenate([case.misfit_if_normal(each, float(at[0])) for case, each in told])

    jump = likeliest(conjugate)
    (error,) = _standard_errors(conjugate, units, _look(cases), np.array([jump]), typical, width, [(0.0, None)])
    others = likeliest(normal) - jump, likeliest(lambda at: conjugate(at, further)) - jump
    return jump, float(np.hypot(error, np.hypot(*others)))


def _with_means(at: Floats) -> Drift:
    pull, fade, trend = at.tolist()
    return Drift(pull=pull, fade=fade, trend=trend)


def _look(cases: Sequence[Case]) -> NDArray[np.intp]:
    """Which look each pair is of."""
    return np.repeat(np.arange(len(cases)), [case.looks.x.size for case in cases])


def _dispersion(cases: Sequence[Case], drift: Drift) -> Floats:
    """By how much each second look varies more than the channel says: more, the more is known about it."""
    units = np.concatenate([case.looks.multiplicity for case in cases])
    ahead = np.concatenate([case.variance_ahead(case.moments(drift), drift.jump) for case in cases])
    jumps = float(units @ ahead) / float(units.sum())
    expected = np.concatenate([1.0 + jumps / case.channel.noise(case.looks.future) ** 2 for case in cases])
    found = np.concatenate([case.squared_error(drift) for case in cases])
    return np.asarray(expected * max(1.0, float(units @ (found / expected)) / float(units.sum())))


def _between(offsets: Floats) -> float:
    """The variance of what is common to all units of a look, from the offset of each look and one typical look."""
    return float((LOOK**2 + ((offsets - offsets.mean()) ** 2).sum()) / offsets.size)


def _penalised(
    misfit: Callable[[Floats], Floats], units: Floats, typical: Floats, spread: Floats
) -> Callable[[Floats], float]:
    """The misfit of all units, and how far the parameters are from typical ones."""
    return lambda at: float(units @ misfit(at)) + 0.5 * float((((at - typical) / spread) ** 2).sum())


def _standard_errors(
    misfit: Callable[[Floats], Floats],
    units: Floats,
    look: NDArray[np.intp],
    at: Floats,
    typical: Floats,
    spread: Floats,
    bounds: Sequence[tuple[float | None, float | None]],
) -> Floats:
    """Sandwiches: H^-1 (sum of g g' + 1 + l l') H^-1, slopes g of each pair and bend H of all, in units of the spread.

    The 1 is what typical values tell, and H^-1 l, with l = found - typical, is how far these draw what is found. Slopes
    are summed over looks first, where this gives more: units of one look share the prior that was fitted to it.
    """
    step = 1e-3
    low = np.array([-np.inf if end is None else end for end, _ in bounds])
    high = np.array([np.inf if end is None else end for _, end in bounds])
    moves = np.diag(step * spread)
    at = np.clip(at, low + 2 * step * spread, high - 2 * step * spread)
    slopes = np.stack([misfit(at + one) - misfit(at - one) for one in moves]) / (2 * step)
    bend = np.array(
        [
            units @ (misfit(at + a + b) - misfit(at + a - b) - misfit(at - a + b) + misfit(at - a - b))
            for a in moves
            for b in moves
        ]
    ).reshape(at.size, at.size) / (4 * step**2)
    lean = (at - typical) / spread
    inverse, told = np.linalg.pinv(bend + np.eye(at.size)), np.eye(at.size) + np.outer(lean, lean)
    by_look = np.stack([np.bincount(look, units * slope) for slope in slopes])
    by_look -= by_look.mean(axis=1, keepdims=True)
    of_units = (slopes * units) @ slopes.T
    of_looks = by_look @ by_look.T * by_look.shape[1] / max(by_look.shape[1] - 1, 1)
    variances = [np.diag(inverse @ (meat + told) @ inverse) for meat in (of_units, of_looks)]
    return np.asarray(spread * np.sqrt(np.maximum(*variances)))
