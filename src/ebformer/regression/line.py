"""Lines as arrays: a slope per number and an effect per category, level beyond the ends of what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ebformer.channels.base import Loss
from ebformer.distributions import Floats
from ebformer.saved import finite

STRANGE = 0.02
"""Such a share of numbers at either end may be anything without tilting a line."""
LARGEST = float(np.finfo(np.float64).max)
PENALTY = 5.0
"""So many units' worth: a unit's counts tell less than their loss says, which takes all of their spread for luck."""


@dataclass(frozen=True, eq=False)
class Line:
    """eta(z) = start + a sum over covariates: slope (z - centre), or the effect of its category, or of none.

    Numbers below `low` [p] count as that and those above `high` as that: one strange entry tilts no line.
    `effects[j]` are those of the categories of covariate j, without any where it is a number; `missing` [p] is added
    where the entry is missing or of a new category.
    """

    start: float
    centre: Floats
    slope: Floats
    missing: Floats
    effects: tuple[tuple[float, ...], ...]
    low: Floats
    high: Floats

    def up_to(self, stages: int) -> Line:
        """The line itself: it is fitted in one stage."""
        return self

    def parts(self, z: Floats) -> Floats:
        """What each covariate adds: [n, p] for covariates z [n, p]."""
        found = self.slope * (np.clip(z, self.low, self.high) - self.centre)
        for j, effects in enumerate(self.effects):
            if effects:
                known = np.isfinite(z[:, j]) & (z[:, j] < len(effects))
                found[:, j] = np.array(effects)[np.where(known, z[:, j], 0.0).astype(np.int64)]
                found[~known, j] = np.nan
        return np.where(np.isnan(found), self.missing, found)

    def eta(self, z: Floats) -> Floats:
        """[n], for covariates z [n, p]."""
        return np.asarray(self.start + self.parts(z).sum(axis=1))

    def by_stage(self, z: Floats) -> Floats:
        """eta after its one stage: [n, 1]."""
        return self.eta(z)[:, None]

    @classmethod
    def mean(cls, lines: Sequence[Line]) -> Line:
        """The mean of several with the same ends, which is a line."""
        each = [one.slope for one in lines]
        start = np.mean([one.start - one.slope @ one.centre for one in lines])
        none = np.zeros_like(each[0])
        missing = np.mean([one.missing + one.slope * one.centre for one in lines], axis=0)
        together = zip(*(one.effects for one in lines), strict=True)
        effects = tuple(tuple(np.mean(same, axis=0).tolist()) for same in together)
        return cls(float(start), none, np.mean(each, axis=0), missing, effects, lines[0].low, lines[0].high)

    def record(self) -> dict[str, Any]:
        """As plain JSON values."""
        arrays = {name: getattr(self, name).tolist() for name in ("centre", "slope", "missing", "low", "high")}
        return {"kind": "linear", "start": self.start, "effects": [list(each) for each in self.effects], **arrays}

    @classmethod
    def from_record(cls, found: dict[str, Any]) -> Self:
        """What `record` wrote; a `ValueError` where it could not have."""
        effects = tuple(tuple(finite(effect) for effect in each) for each in found["effects"])
        without = {"low": [-LARGEST] * len(effects), "high": [LARGEST] * len(effects)}  # as in fits of 0.2
        arrays: dict[str, Any] = {
            name: np.array([finite(number) for number in (without | found)[name]])
            for name in ("centre", "slope", "missing", "low", "high")
        }
        if any(each.shape != (len(effects),) for each in arrays.values()):
            raise ValueError("a line with parts missing")
        return cls(start=finite(found["start"]), effects=effects, **arrays)


def ends(z: Floats, units: Floats) -> tuple[Floats, Floats]:
    """Where the numbers of covariates [n, p] end for a line, each of so many units: all but `STRANGE` lie within.

    Where these are alike up to an end, as among flags that are hardly ever set, the end is the farthest number.

    >>> low, high = ends(np.append(np.arange(99.0), 1e9)[:, None], np.ones(100))
    >>> low.tolist(), high.tolist()
    ([1.0], [97.0])
    """
    low, high = np.full(z.shape[1], -LARGEST), np.full(z.shape[1], LARGEST)
    for j, entries in enumerate(z.T):
        seen = np.flatnonzero(np.isfinite(entries))
        if seen.size:
            order = seen[np.argsort(entries[seen], kind="stable")]
            below = np.cumsum(units[order])
            at = np.searchsorted(below, below[-1] * np.array([STRANGE, 0.5, 1.0 - STRANGE]))
            first, middle, last = entries[order][at]
            low[j] = first if first < middle else entries[order[0]]
            high[j] = last if last > middle else entries[order[-1]]
    return low, high


def fit_line(
    loss: Loss,
    y: Floats,
    weight: Floats,
    z: Floats,
    categories: Sequence[int],
    limits: tuple[Floats, Floats],
) -> Line:
    """Fit a line to y [n] with these weights, by this loss.

    A penalty on standardised coefficients keeps categories of few units near the others: it is one unit's worth of
    effects, and `PENALTY` units' worth of counts, whose loss takes all of their spread for luck.
    """
    from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

    number = np.equal(categories, 0)
    low, high = np.where(number, limits[0], -LARGEST), np.where(number, limits[1], LARGEST)
    p, z = z.shape[1], np.clip(z, low, high)
    centre, scale, blocks = np.zeros(p), np.ones(p), []
    for j, many in enumerate(categories):
        seen = np.isfinite(z[:, j])
        if many:
            blocks.append(z[:, j, None] == np.arange(many))
        elif seen.any():
            share = weight[seen] / weight[seen].sum()
            centre[j] = share @ z[seen, j]
            scale[j] = np.sqrt(share @ (z[seen, j] - centre[j]) ** 2) or 1.0
            blocks.append(np.where(seen, (z[:, j] - centre[j]) / scale[j], 0.0)[:, None])
        else:
            blocks.append(np.zeros((z.shape[0], 1)))
        blocks.append(~seen[:, None])
    features = np.concatenate(blocks, axis=1).astype(np.float64)
    model: Any
    if loss == "logistic":
        shares = np.array([weight[y == 1.0].sum(), weight[y == 0.0].sum()]) / weight.sum()
        model = LogisticRegression(C=1.0 / PENALTY, tol=1e-4 * shares.prod(), max_iter=1000)
    elif loss == "poisson":
        model = PoissonRegressor(alpha=PENALTY / weight.sum(), max_iter=1000)
    else:
        model = Ridge(alpha=1.0)
    model.fit(features, y, sample_weight=weight)
    found, slope, missing, effects = np.ravel(model.coef_).tolist(), np.zeros(p), np.zeros(p), []
    for j, many in enumerate(categories):
        own, found = found[: (many or 1)], found[(many or 1) :]
        effects.append(tuple(own) if many else ())
        slope[j] = 0.0 if many else own[0] / scale[j]
        missing[j] = found.pop(0)
    return Line(float(np.ravel(model.intercept_)[0]), centre, slope, missing, tuple(effects), low, high)
