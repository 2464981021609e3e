"""Continuous exposures do not collapse into a tally: bins of log exposure make them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.tally import Tally

FIT_LIMIT = 4_096
"""More distinct observations than this are fitted in bins of log exposure."""
FINEST = 2.0**-10
"""The narrowest bin of log exposure. Widths are powers of two, so that bins nest exactly in floating point."""


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
    """At most about `limit` distinct observations: exposures within a bin of log exposure become their mean.

    The width doubles until the tally is small enough, so exposures move by a factor of at most exp(width). Total
    exposure is kept. Values are never merged, so a tally of many values can stay above the limit.

    >>> tally = Tally.of([1] * 1000, exposure=np.linspace(1.0, 2.0, 1000))
    >>> small = coarsened(tally, limit=100)
    >>> len(small) <= 100, small.n
    (True, 1000)
    """
    width, small = FINEST, tally
    while tally.exposure is not None and len(small) > limit and width < 16.0:
        first, inverse = distinct_rows(tally.values, np.floor(np.log(tally.exposure) / width))
        units = np.bincount(inverse, weights=tally.multiplicity)
        total = np.bincount(inverse, weights=tally.multiplicity * tally.exposure)
        small = Tally(tally.values[first], units.astype(np.int64), total / units)
        width *= 2.0
    return small
