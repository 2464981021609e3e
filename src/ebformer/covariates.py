"""Regressions of units on their covariates, cross-fitted: each unit is expected by one that has not seen it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.binning import distinct_rows
from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.encoding import Encoding
from ebformer.errors import InputError
from ebformer.expectation import Expectation, rounded
from ebformer.regression import LEAST_LEAF, Blend, Forest, Kind, Line, ends, train

JUDGES = 20_000
"""So many units of each fold decide about the number of trees and the importance of covariates."""
MOST_ENTRIES = 50_000
"""More units than this of few distinct contents are learnt from as so many entries, with weights."""
FEW = 10 * LEAST_LEAF
"""Fewer units than this cannot tell what trees would."""
SHARES = {
    0: [],
    1: [np.array([a]) for a in (0.25, 0.5, 0.75, 1.0)],
    2: [np.array([a, b]) / 4 for a in range(5) for b in range(5 - a) if a + b],
}
"""What one regression or two may have of the whole; a constant has the rest."""
SURE = 2.0
"""So many standard errors of its gain a blend has to gain: of fourteen, the best one gains by chance alone."""
SLIGHT = 0.01
"""No gain in log-likelihood: rounding gives as much."""
STEPS = 64
"""Expectations are rounded to steps of the natural parameter finer than any regression can tell: 1 / 64 of a rate or of
the odds, or of the deviation of an effect. So units by the million share some hundred priors."""


def cross_fit(
    channel: Channel,
    x: Floats,
    known: Floats,
    rows: NDArray[np.int64],
    columns: Mapping[str, NDArray[Any]],
    kind: Kind = "trees",
) -> tuple[Floats, Expectation]:
    """What the covariates of units let expect of each, by regressions that have not seen it; and how much they tell.

    x, known [u] are observations that `rows` [u] units each showed, NaN or blank where nothing was seen; `columns` are
    their covariates. Units are dealt out to folds at random, in an order that their content fixes, and each is expected
    by the regression of the units of the other folds: the blend of a line, trees and a constant that predicts these
    units best, with as many trees as do so, or the mean of all units alone where no blend beats a constant by more than
    two standard errors of the gain. Few units have a line and no trees.

    A unit weighs 1 / (noise^2 + spread^2), in the stable coordinate: one that was seen a thousand times as long does
    not tell a thousand times as much about the rates of others.

    >>> from ebformer.channels import POISSON
    >>> age = np.repeat([20.0, 30.0], 100)
    >>> counts = np.random.default_rng(0).poisson(np.where(age > 25, 8.0, 2.0))
    >>> one = np.ones(200)
    >>> expected, told = cross_fit(POISSON, counts, one, one.astype(np.int64), {"age": age})
    >>> expected[:100].mean().round().item(), expected[100:].mean().round().item(), told.explained > 0.9
    (2.0, 8.0, True)
    """
    encoding = Encoding.of(columns, rows)
    z_all = encoding.numbers(columns)
    with np.errstate(invalid="ignore"):
        seen = channel.usable(x, known) & ~channel.blank(x, known) & (rows > 0)
    if not seen.any():
        raise InputError("no unit was seen, so there is nothing to learn from: give at least one with an observation")
    # One entry per distinct content, in the order of the content: rows may come in any order.
    first, which = distinct_rows(x[seen], known[seen], *z_all[seen].T)
    x, known, z = x[seen][first], known[seen][first], z_all[seen][first]
    units = np.bincount(which, rows[seen]).astype(np.int64)
    if units.sum() < 2:
        raise InputError("one unit cannot tell what covariates let expect of others: give more, or leave them out")
    weight, before = weighed(channel, x, known, units)
    rng = np.random.default_rng(0)
    folds = dealt(units, fold_number(int(units.sum())), rng)
    regressions, importance = _fitted(channel, x, known, z, units, weight, folds, encoding, kind, rng)
    typical = np.sqrt(before + np.median(known) ** 2) if channel.domain[0] == -np.inf else 1.0
    step = float(2.0 ** np.round(np.log2(typical / STEPS)))
    eta = np.zeros(units.size)
    for fold, regression in zip(folds, regressions, strict=True):
        eta[fold > 0] += (fold * (1.0 / units))[fold > 0] * regression.eta(z[fold > 0])
    expected = rounded(channel, eta, step)
    after = spread(channel, x, known, expected, units * weight**2)
    explained = float(np.clip(1.0 - after / before, 0.0, 1.0)) if before > 0 and importance else None
    of_all = Blend.mean(regressions)
    mean = channel.pooled(x, known, units.astype(np.float64))
    learnt = Expectation(encoding, of_all, step, mean, explained, importance, moves=bool(importance))
    answer = np.empty(seen.size)
    answer[seen] = expected[which]
    answer[~seen] = rounded(channel, of_all.eta(z_all[~seen]), step)
    return answer, learnt


def kinds_of(kind: Kind, n: int) -> tuple[Kind, ...]:
    """The regressions that are blended for so many units.

    >>> kinds_of("trees", 50), kinds_of("trees", 5000)
    (('linear',), ('linear', 'trees'))
    """
    return ("linear",) if kind == "linear" or n < FEW else ("linear", "trees")


def fold_number(n: int) -> int:
    """Ten folds, but fewer of units by the thousands: so many tell as much without a half as without a tenth.

    >>> [fold_number(n) for n in (5, 1000, 30_000, 1_000_000)]
    [5, 10, 5, 2]
    """
    return max(2, min(n, 10 if n <= 10_000 else 5 if n <= 100_000 else 2))


def dealt(units: NDArray[np.int64], folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """How many of the units [u] of each kind every fold holds, [folds, u]: dealt out one by one, kinds in random order.

    >>> dealt(np.array([5, 1]), 2, np.random.default_rng(0)).sum(axis=0).tolist()
    [5, 1]
    """
    order = rng.permutation(units.size)
    end = np.empty(units.size, dtype=np.int64)
    end[order] = np.cumsum(units[order])
    fold = np.arange(folds)[:, None]
    return np.asarray((end - 1 - fold) // folds - (end - units - 1 - fold) // folds)


def spread(channel: Channel, x: Floats, known: Floats, around: Floats | float, weight: Floats) -> float:
    """The variance of theta around expectations, from that of the raw thetas less their noise; it may be below 0."""
    per = channel.mean(np.ones(()), known)
    noise = channel.variance(np.asarray(around), known) / per**2
    return float(weight @ ((channel.mle(x, known) - around) ** 2 - noise) / weight.sum())


def weighed(channel: Channel, x: Floats, known: Floats, units: NDArray[np.int64]) -> tuple[Floats, float]:
    """What each unit tells about the mean, 1 / (noise^2 + spread^2) in the stable coordinate, and the spread of theta.

    >>> from ebformer.channels.normal import Normal
    >>> x, se = np.array([-1.0, 1.0, 3.0, -3.0]), np.array([1.0, 1.0, 1.0, 100.0])
    >>> weighed(Normal(), x, se, np.ones(4, dtype=np.int64))[0].round(4).tolist()
    [0.375, 0.375, 0.375, 0.0001]
    """
    variance, weight = 0.0, channel.noise(known) ** -2.0
    for _ in range(20):
        mean = float((units * weight) @ channel.mle(x, known) / (units @ weight))
        variance = spread(channel, x, known, mean, units * weight**2)
        unit = float(channel.variance(np.asarray(mean), np.ones(())))  # of a theta whose coordinate has variance 1
        weight = 1.0 / (channel.noise(known) ** 2 + (max(variance, 0.0) / unit if unit > 0 else 0.0))
    return weight, variance


def _fitted(
    channel: Channel,
    x: Floats,
    known: Floats,
    z: Floats,
    units: NDArray[np.int64],
    weight: Floats,
    folds: NDArray[np.int64],
    encoding: Encoding,
    kind: Kind,
    rng: np.random.Generator,
) -> tuple[list[Blend], dict[str, float]]:
    """One regression per fold, of the units of the others, and the importance of covariates, empty where none tells."""
    y, taught, constants = channel.mle(x, known), [], []

    def constant(some: NDArray[np.int64]) -> float:
        left = weight * some
        mean = _within_half_an_event(channel, float(left @ y / left.sum()), float(units @ known))
        return float(channel.natural(np.asarray(mean)))

    for fold in folds:
        others = units - fold
        left = weight * others
        constants.append(constant(others))
        # Regressions tell few units from many by the number of entries, so that units of one content are many.
        times = np.ceil(others * min(1.0, MOST_ENTRIES / others.sum())).astype(np.int64)
        entry = np.repeat(np.arange(units.size), times)
        least = max(2, LEAST_LEAF * entry.size // int(others.sum()))
        taught.append((entry, (left / np.maximum(times, 1))[entry], least))
    judges = [np.flatnonzero(fold) for fold in folds]
    judges = [at if at.size <= JUDGES else np.sort(rng.choice(at, JUDGES, replace=False)) for at in judges]
    size = [folds[i][at] for i, at in enumerate(judges)]

    def loss(fold: int, eta: Floats) -> Floats:
        at = judges[fold]
        off = channel.deviance(x[at], channel.at_natural(eta.T), known[at])
        return np.asarray((weight * channel.noise(known) ** 2)[at] * off)  # [..., units]

    of_constant = [loss(i, np.full(at.size, constants[i])) for i, at in enumerate(judges)]
    blends, highest = [Blend(eta) for eta in constants], 0.0
    limits = ends(z, units.astype(np.float64))
    parts: list[list[Forest | Line]] = []  # [kinds][folds]
    apart: list[list[Floats]] = []  # from the constant, for the judges of each fold
    for each_kind in kinds_of(kind, int(units.sum())):
        found = [
            train(each_kind, channel.loss, y[at], some, z[at], encoding.sizes, least, limits)
            for at, some, least in taught
        ]
        trained = [regression for regression in found if regression is not None]
        if len(trained) < len(found):
            break
        stages = [one.by_stage(z[at]) for one, at in zip(trained, judges, strict=True)]
        best = int(np.argmin(sum(loss(i, eta) @ size[i] for i, eta in enumerate(stages))))
        parts.append([one.up_to(best + 1) for one in trained])
        apart.append([eta[:, best] - constants[i] for i, eta in enumerate(stages)])
    for shares in SHARES[len(parts)]:
        eta = [constants[i] + shares @ np.array([each[i] for each in apart]) for i in range(len(folds))]
        gains = [before - loss(i, each) for i, (before, each) in enumerate(zip(of_constant, eta, strict=True))]
        gain = sum(float(each @ many) for each, many in zip(gains, size, strict=True))
        deviation = np.sqrt(sum(float(each**2 @ many) for each, many in zip(gains, size, strict=True)))
        if gain > max(SURE * deviation, highest, SLIGHT):
            used = np.flatnonzero(shares)
            rest, highest = 1.0 - float(shares.sum()), gain
            blends = [
                Blend(rest * constants[i], tuple(shares[used].tolist()), tuple(parts[k][i] for k in used))
                for i in range(len(folds))
            ]
    if not highest:  # then all units tell what is expected of each, as without covariates
        return [Blend(constant(units))] * len(folds), {}
    worse = np.zeros(z.shape[1])
    for i, at in enumerate(judges):
        here = loss(i, blends[i].eta(z[at]))
        for j in range(z.shape[1]):
            other = z[at].copy()
            other[:, j] = rng.permutation(other[:, j])
            worse[j] += size[i] @ (loss(i, blends[i].eta(other)) - here)
    worse = np.maximum(worse, 0.0)
    order = np.argsort(-worse, kind="stable")
    return blends, {encoding.names[j]: float(worse[j] / (worse.sum() or 1.0)) for j in order}


def _within_half_an_event(channel: Channel, theta: float, known: float) -> float:
    """theta, but no nearer to an end of its domain than half an event in all that was seen can tell.

    >>> from ebformer.channels import POISSON
    >>> _within_half_an_event(POISSON, 0.0, 50.0), _within_half_an_event(POISSON, 3.0, 50.0)
    (0.01, 3.0)
    """
    low, high = channel.domain
    if low == -np.inf:
        return theta
    return float(np.clip(theta, low + 0.5 / known, high - 0.5 / known))
