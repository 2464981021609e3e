"""Continuous exposures do not collapse into a tally: bins of log exposure make them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.tally import LARGEST, Tally

FIT_LIMIT = 4_096
"""More distinct observations than this are fitted in bins of log exposure."""
FINEST, WIDEST = 2.0**-10, 2.0**-5
"""Bins of log exposure begin at this width, and those of answers end at that one. Widths are powers of two, so that
bins nest exactly in floating point."""
SMALL = 64
"""Counts below this one share a width, since their noise is wider than any bin; larger ones have narrower bins."""


def fineness(counts: NDArray[Any]) -> NDArray[np.float64]:
    """By what power of two the bins of a count are narrower: x events tell a rate to within 1 / sqrt(x) of itself.

    >>> fineness(np.array([0, 64, 256, 6400])).tolist()
    [1.0, 2.0, 4.0, 16.0]
    """
    return np.asarray(2.0 ** np.maximum(np.ceil(np.log2((np.maximum(counts, 0) + 0.5) / SMALL) / 2), 0.0))


def distinct_rows(*arrays: NDArray[Any] | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each distinct row of several columns first stands, and which distinct row each row is.

    >>> first, which = distinct_rows(np.array([3, 3, 1]), np.array([0.5, 0.5, 0.5]))
    >>> first.tolist(), which.tolist()
    ([2, 0], [1, 1, 0])
    """
    code: NDArray[np.int64] | None = None
    for array in arrays:
        if array is not None:
            values, at = np.unique(array, return_inverse=True)
            # Renumbering after each column keeps the products below the square of the number of rows.
            code = at if code is None else np.unique(code * values.size + at, return_inverse=True)[1]
    assert code is not None
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    return first, inverse


def coarsened(tally: Tally, limit: int = FIT_LIMIT) -> Tally:
    """At most about `limit` distinct observations: units of a bin of log exposure move to its mean exposure t'.

    A count x goes along as x t' / t, which keeps its rate, rounded to whole numbers and, where its noise is wider than
    these, to steps of width * sqrt(x). The width of the bins doubles until the tally is small enough. Total exposure is
    kept.

    >>> tally = Tally.of([1] * 1000, exposure=np.linspace(1.0, 2.0, 1000))
    >>> small = coarsened(tally, limit=100)
    >>> len(small) <= 100, small.n
    (True, 1000)
    """
    width, small = FINEST, tally
    while tally.exposure is not None and len(small) > limit and width <= 1.0:
        _, which = np.unique(np.floor(np.log(tally.exposure) / width), return_inverse=True)
        units, total = (np.bincount(which, tally.multiplicity * each) for each in (1.0, tally.exposure))
        t = (total / units)[which]
        x = tally.values * (t / tally.exposure)
        step = 2.0 ** np.floor(np.log2(np.maximum(width * np.sqrt(x), 1.0)))
        small = Tally(np.minimum(np.round(x / step) * step, LARGEST), tally.multiplicity, t)
        width *= 2.0
    return small
