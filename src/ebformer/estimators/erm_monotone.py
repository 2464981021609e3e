"""Empirical risk minimisation over non-decreasing rules (Jana, Polyanskiy, Teh and Wu 2023, lemma 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ebformer.channels.bounds import LARGEST
from ebformer.distributions import Floats
from ebformer.estimators.base import Estimator
from ebformer.rule import CurveRule
from ebformer.saved import vector
from ebformer.tally import Tally


@dataclass(frozen=True)
class ErmMonotone(Estimator):
    """The non-decreasing g that minimises sum_x N(x) g(x)^2 - 2 (x+1) N(x+1) g(x).

    Its expectation is n E (g(x) - theta)^2 up to a constant. The sum runs over the x with N(x) > 0 or N(x+1) > 0: one
    with N(x) = 0 < N(x+1) pulls g upwards, and its neighbours with it. Elsewhere every non-decreasing continuation is
    as good; this one is flat: between two such x and beyond the last as at the one below, before the first as there.

    >>> rule = ErmMonotone()(Tally([0, 1, 2, 7], [6, 3, 1, 1]))
    >>> rule([0, 1, 2, 5, 7, 100])
    array([0.5, 0.5, 0.5, 0.5, 7. , 7. ])
    """

    name: ClassVar[str] = "erm"
    monotone: ClassVar[bool] = True
    answers_unseen: ClassVar[bool] = True
    unequal_known: ClassVar[bool] = False

    def fit(self, tally: Tally) -> StepRule:
        """Pool the pairs (N(x), (x+1) N(x+1))."""
        knots = np.union1d(tally.values, np.maximum(tally.values - 1, 0))
        squares, pulls = np.zeros(knots.size), np.zeros(knots.size)
        squares[np.searchsorted(knots, tally.values)] = tally.multiplicity
        above = tally.values > 0
        pulls[np.searchsorted(knots, tally.values[above] - 1)] = (
            tally.values[above] * squares[np.searchsorted(knots, tally.values[above])]
        )
        return StepRule(self.name, knots, pool_adjacent_violators(squares, pulls))


def pool_adjacent_violators(weight: ArrayLike, total: ArrayLike) -> Floats:
    """The non-decreasing g that minimises sum_i weight[i] g[i]^2 - 2 total[i] g[i]: block sums total / weight.

    A weight may be 0 where a later one is not: that entry asks for g as large as its successors allow.

    >>> pool_adjacent_violators([1, 1, 1, 0, 1], [1, 3, 1, 9, 0])
    array([1., 2., 2., 9., 9.])
    """
    blocks: list[tuple[float, float, int]] = []
    for w, t in zip(np.asarray(weight, float).tolist(), np.asarray(total, float).tolist(), strict=True):
        size = 1
        # The previous mean is at least this one; written with products, since a weight may be 0.
        while blocks and blocks[-1][1] * w >= t * blocks[-1][0]:
            previous = blocks.pop()
            w, t, size = w + previous[0], t + previous[1], size + previous[2]
        blocks.append((w, t, size))
    return np.repeat([t / w if w > 0 else np.inf for w, t, _ in blocks], [size for _, _, size in blocks])


@dataclass(frozen=True, eq=False)
class StepRule(CurveRule):
    """A step function: at x the level of the last knot that is at most x, or of the first knot."""

    kind: ClassVar[str] = "step"

    knots: np.ndarray
    levels: Floats

    def curve(self, x: Floats) -> Floats:
        """The estimate of exposure * theta at every x."""
        return self.levels[np.maximum(np.searchsorted(self.knots, x, side="right") - 1, 0)]

    def _content(self) -> dict[str, Any]:
        return {"knots": self.knots.tolist(), "levels": self.levels.tolist()}

    @classmethod
    def _from_content(cls, content: dict[str, Any], **common: Any) -> StepRule:
        knots, levels = vector(content["knots"], 0.0, 2.0**53), vector(content["levels"], 0.0, LARGEST)
        if knots.size != levels.size or np.any(np.diff(knots) <= 0) or np.any(knots != np.floor(knots)):
            raise ValueError("its knots")
        return cls(knots=knots.astype(np.int64), levels=levels, **common)
