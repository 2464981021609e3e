"""The smallest and the largest numbers that anybody may give, and the tests of a number that channels share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ebformer.distributions import Floats

LARGEST_WHOLE = 2**53
"""The largest count: beyond it a float64 no longer tells neighbouring whole numbers apart."""
SMALLEST, LARGEST = 1e-50, 1e50
"""The bound for exposures, standard errors and effects, other than 0: squares and ratios of two stay numbers. Beyond it
no unit of measurement is meant, and floats such as 1e-320 have lost their digits. Counts and trials end at 2^53."""


def whole_numbers_from(least: int, numbers: Floats) -> NDArray[np.bool_]:
    """Which numbers are whole, at least `least` and small enough to be told apart."""
    with np.errstate(invalid="ignore"):
        found: NDArray[np.bool_] = (numbers >= least) & (numbers <= LARGEST_WHOLE) & (numbers == np.floor(numbers))
        return found


def positive(numbers: Floats) -> NDArray[np.bool_]:
    """Which numbers are positive and within the bound."""
    with np.errstate(invalid="ignore"):
        found: NDArray[np.bool_] = (numbers >= SMALLEST) & (numbers <= LARGEST)
        return found
