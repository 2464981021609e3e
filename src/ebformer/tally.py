"""The data, reduced to what matters: which observations occurred and how many units showed each."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebformer.errors import ExposureError, InputError

LARGEST = 2**53
"""The largest count: beyond it a float64 no longer tells neighbouring whole numbers apart."""


@dataclass(frozen=True, eq=False)
class Tally:
    """Distinct observations and how many units showed each: a sufficient statistic, since order is irrelevant.

    `values` int64 [u], `multiplicity` int64 [u] and, where units differ, `exposure` float64 [u], sorted by value and
    then exposure. Equal observations given twice add up; an observation that no unit showed is left out. Exposure 1 for
    everybody is the same as no exposure.

    >>> tally = Tally.of([0, 0, 3, 1, 0])
    >>> tally.values.tolist(), tally.multiplicity.tolist(), tally.n
    ([0, 1, 3], [3, 1, 1], 5)
    >>> tally == Tally([0, 1, 3], [3, 1, 1])
    True
    >>> Tally.of([4, 4], exposure=[1.0, 2.0]).common_exposure is None
    True
    """

    values: NDArray[np.int64]
    multiplicity: NDArray[np.int64]
    exposure: NDArray[np.float64] | None = None

    def __init__(self, values: ArrayLike, multiplicity: ArrayLike, exposure: ArrayLike | None = None) -> None:
        x = whole_numbers(values, "values")
        m = whole_numbers(multiplicity, "multiplicity")
        _same_length(m, "multiplicity", x, "values")
        t = None if exposure is None else _spread(exposures(exposure), x)
        seen = m > 0
        if not seen.any():
            raise InputError("every multiplicity is zero: a tally needs at least one unit")
        if float(m.sum(dtype=np.float64)) > LARGEST:
            raise InputError("the multiplicities add up to more than 2^53 units: tally at most that many")
        x, m, t = _gather(x[seen], m[seen], None if t is None else t[seen])
        for array in (x, m, t):
            if array is not None:
                array.flags.writeable = False
        object.__setattr__(self, "values", x)
        object.__setattr__(self, "multiplicity", m)
        object.__setattr__(self, "exposure", None if t is None or bool(np.all(t == 1.0)) else t)

    @classmethod
    def of(cls, counts: ArrayLike, exposure: ArrayLike | None = None) -> Tally:
        """Tally one count per unit, with one exposure per unit where units differ.

        >>> Tally.of([2, 0, 2]).multiplicity.tolist()
        [1, 2]
        """
        x = whole_numbers(counts, "counts")
        if exposure is not None:
            return cls(x, np.ones_like(x), exposure)
        if int(x.max()) <= 4 * x.size + 65536:
            frequency = np.bincount(x)
            seen = np.flatnonzero(frequency)
            return cls(seen, frequency[seen])
        return cls(*np.unique(x, return_counts=True))

    @property
    def n(self) -> int:
        """The number of units."""
        return int(self.multiplicity.sum())

    @property
    def common_exposure(self) -> float | None:
        """The exposure that all units share, or None where they differ."""
        if self.exposure is None:
            return 1.0
        first = float(self.exposure[0])
        return first if bool(np.all(self.exposure == first)) else None

    @property
    def exposures(self) -> NDArray[np.float64]:
        """The exposure of each observation, ones where none was given."""
        return np.ones(self.values.size) if self.exposure is None else self.exposure

    def unexposed(self) -> Tally:
        """The same values with the common exposure dropped."""
        if self.common_exposure is None:
            raise ExposureError("these units have unequal exposures, which cannot be dropped")
        return Tally(self.values, self.multiplicity)

    def __len__(self) -> int:
        return int(self.values.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return (
            np.array_equal(self.values, other.values)
            and np.array_equal(self.multiplicity, other.multiplicity)
            and np.array_equal(self.exposures, other.exposures)
        )

    def __hash__(self) -> int:
        return hash((self.values.tobytes(), self.multiplicity.tobytes(), self.exposures.tobytes()))

    def __repr__(self) -> str:
        low, high = int(self.values.min()), int(self.values.max())
        seen = (
            f"1 distinct observation, {low}"
            if len(self) == 1
            else f"{len(self)} distinct observations from {low} to {high}"
        )
        return f"Tally(n={self.n:,}, {seen}{'' if self.exposure is None else ', with exposure'})"


def whole_numbers(numbers: ArrayLike, name: str) -> NDArray[np.int64]:
    """A non-empty vector of whole numbers in [0, 2^53], or an `InputError` that names the first offender.

    >>> whole_numbers([3.0, 4], "counts").tolist()
    [3, 4]
    >>> whole_numbers([3, -1], "counts")
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: counts[1] is -1: give whole numbers of at least 0
    """
    array = _vector(numbers, name)
    if array.dtype.kind in "iu":
        bad = (array < 0) | (array > LARGEST)
    else:
        with np.errstate(invalid="ignore"):
            bad = ~((array >= 0) & (array <= LARGEST) & (array == np.floor(array)))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        limit = "of at most 2^53" if array[at] > LARGEST and np.isfinite(array[at]) else "of at least 0"
        given = f"{array[at]}" if array.dtype.kind in "iu" else f"{array[at]:.17g}"
        raise InputError(f"{name}[{at}] is {given}: give whole numbers {limit}")
    return array.astype(np.int64)


def exposures(numbers: ArrayLike) -> NDArray[np.float64]:
    """A non-empty vector of positive finite exposures, or an `InputError` that names the first offender.

    >>> exposures([1, 0.5]).tolist()
    [1.0, 0.5]
    """
    array = _vector(numbers, "exposure").astype(np.float64)
    bad = ~((array > 0) & (array < np.inf))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise InputError(f"exposure[{at}] is {array[at]:g}: give positive finite numbers")
    return array


def _vector(numbers: ArrayLike, name: str) -> NDArray[Any]:
    """One-dimensional and numeric, whatever was given; text and other objects are named and refused."""
    if isinstance(numbers, np.ma.MaskedArray) and np.ma.is_masked(numbers):
        raise InputError(f"{name}[{int(np.flatnonzero(numbers.mask)[0])}] is masked: leave such units out first")
    try:
        array = np.atleast_1d(np.asarray(numbers))
    except ValueError as error:
        raise InputError(f"{name} has entries of several lengths: give one number per unit") from error
    if array.ndim != 1:
        raise InputError(f"{name} has {array.ndim} dimensions: give one number per unit in one dimension")
    if array.size == 0:
        raise InputError(f"{name} is empty: give at least one number")
    if array.dtype.kind == "b":
        return array.astype(np.int64)
    if array.dtype.kind not in "iuf":
        for at, entry in enumerate(numbers if isinstance(numbers, list | tuple) else array.tolist()):
            if not isinstance(entry, Real | Decimal):
                raise InputError(f"{name}[{at}] is {entry!r}, not a number")
        if array.dtype.kind != "O":
            raise InputError(f"{name}[0] is {array[0]!r}, not a number")
    # Half precision ends far below 2^53.
    return array if array.dtype.kind in "iu" else array.astype(np.float64, copy=False)


def _spread(t: NDArray[np.float64], x: NDArray[np.int64]) -> NDArray[np.float64]:
    """One exposure per observation: a single one is shared by all."""
    if t.size == 1:
        return np.full(x.size, t[0])
    _same_length(t, "exposure", x, "counts")
    return t


def _same_length(a: NDArray[Any], a_name: str, b: NDArray[Any], b_name: str) -> None:
    if a.size != b.size:
        raise InputError(f"{a_name} has {a.size} entries but {b_name} has {b.size}: give one per observation")


def _gather(
    x: NDArray[np.int64], m: NDArray[np.int64], t: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64] | None]:
    """Sort by value and exposure and add up the multiplicities of equal observations."""
    order = np.argsort(x, kind="stable") if t is None else np.lexsort((t, x))
    x, m, t = x[order], m[order], None if t is None else t[order]
    first = np.ones(x.size, dtype=bool)
    first[1:] = x[1:] != x[:-1]
    if t is not None:
        first[1:] |= t[1:] != t[:-1]
    starts = np.flatnonzero(first)
    return x[starts], np.add.reduceat(m, starts), None if t is None else t[starts]
