"""The data, reduced to what matters: which observations occurred and how many units showed each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebformer.channels import POISSON, pick
from ebformer.channels.base import Channel
from ebformer.channels.bounds import LARGEST_WHOLE
from ebformer.errors import InputError


@dataclass(frozen=True, eq=False)
class Tally:
    """The data and their channel: distinct observations and how many units showed each; order is irrelevant.

    `values` [u] (int64, or float64 where observations are continuous), `multiplicity` int64 [u] and `known` float64
    [u], sorted by value and then by what is known. Equal observations given twice add up. An observation that no unit
    showed is left out, and so is a blank one, such as no event in no time, which says nothing. One keyword says what is
    known and so picks the channel: exposure= (Poisson counts; 1 for all where nothing is said), trials= (binomial
    successes) or se= (effects with normal noise).

    >>> tally = Tally.of([0, 0, 3, 1, 0])
    >>> tally.values.tolist(), tally.multiplicity.tolist(), tally.n
    ([0, 1, 3], [3, 1, 1], 5)
    >>> tally == Tally([0, 1, 3], [3, 1, 1])
    True
    >>> Tally.of([4, 4], exposure=[1.0, 2.0]).common is None
    True
    >>> Tally.of([18, 17, 16], trials=45)
    Tally(n=3, 3 distinct successes from 16 to 18, out of 45 trials)
    """

    values: NDArray[Any]
    multiplicity: NDArray[np.int64]
    known: NDArray[np.float64]
    channel: Channel

    def __init__(
        self,
        values: ArrayLike,
        multiplicity: ArrayLike,
        known: ArrayLike | None = None,
        *,
        channel: Channel | None = None,
        **words: ArrayLike | str | None,
    ) -> None:
        channel, about = pick(known, words, channel)
        x = observed(channel, values, "values")
        m = whole_numbers(multiplicity, "multiplicity")
        _same_length(m, "multiplicity", x, "values")
        k = _known_of(channel, about, x)
        seen = m > 0
        if not seen.any():
            raise InputError("every multiplicity is zero: a tally needs at least one unit")
        seen &= ~channel.blank(x.astype(np.float64), k)
        if not seen.any():
            raise InputError(f"every {channel.words.known} is 0, so that nothing was seen: give at least one above 0")
        if float(m.sum(dtype=np.float64)) > LARGEST_WHOLE:
            raise InputError("the multiplicities add up to more than 2^53 units: tally at most that many")
        x, m, k = _gather(x[seen], m[seen], k[seen])
        for array in (x, m, k):
            array.flags.writeable = False
        for name, value in (("values", x), ("multiplicity", m), ("known", k), ("channel", channel)):
            object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls,
        x: ArrayLike,
        known: ArrayLike | None = None,
        *,
        channel: Channel | None = None,
        **words: ArrayLike | str | None,
    ) -> Tally:
        """Tally one observation per unit, with what is known of each where units differ.

        >>> Tally.of([2, 0, 2]).multiplicity.tolist()
        [1, 2]
        >>> Tally.of([0.3, -1.2], se=[0.5, 0.1]).channel
        Normal()
        """
        channel, about = pick(known, words, channel)
        values = observed(channel, x, channel.words.xs)
        if about is None and channel.whole and int(values.max()) <= 4 * values.size + 65536:
            frequency = np.bincount(values)
            seen = np.flatnonzero(frequency)
            return cls(seen, frequency[seen], channel=channel)
        return cls(values, np.ones(values.size, dtype=np.int64), about, channel=channel)

    @property
    def n(self) -> int:
        """The number of units."""
        return int(self.multiplicity.sum())

    @property
    def x(self) -> NDArray[np.float64]:
        """The values as float64 [u]."""
        return self.values.astype(np.float64)

    @property
    def common(self) -> float | None:
        """What is known of all units alike, such as their exposure, or None where they differ."""
        first = float(self.known[0])
        return first if bool(np.all(self.known == first)) else None

    @property
    def exposure(self) -> NDArray[np.float64] | None:
        """What is known, or None where it is the usual: exposure 1 for everybody."""
        return None if self.common is not None and self.common == self.channel.usual else self.known

    @property
    def mean(self) -> float:
        """The mean of all thetas, as far as their observations tell: sum x / sum known, or the mean effect."""
        return float(self.channel.pooled(self.x, self.known, self.multiplicity / self.n))

    def __len__(self) -> int:
        return int(self.values.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return (
            self.channel == other.channel
            and np.array_equal(self.values, other.values)
            and np.array_equal(self.multiplicity, other.multiplicity)
            and np.array_equal(self.known, other.known)
        )

    def __hash__(self) -> int:
        return hash((self.channel, self.values.tobytes(), self.multiplicity.tobytes(), self.known.tobytes()))

    def __repr__(self) -> str:
        low, high = self.values.min(), self.values.max()
        words = self.channel.words
        seen = (
            f"1 distinct {words.x}, {low:.6g}"
            if len(self) == 1
            else f"{len(self):,} distinct {words.xs} from {low:.6g} to {high:.6g}"
        )
        return f"Tally(n={self.n:,}, {seen}{self.channel.about(self.common)})"


def added_up(tallies: Sequence[tuple[Tally, int]]) -> Tally:
    """All units of several tallies of one channel, each so many times.

    >>> added_up([(Tally.of([0, 3]), 2), (Tally.of([3]), 1)]).multiplicity.tolist()
    [2, 3]
    """
    x, known = (np.concatenate([getattr(tally, name) for tally, _ in tallies]) for name in ("values", "known"))
    units = np.concatenate([tally.multiplicity * times for tally, times in tallies])
    return Tally(x, units, known, channel=tallies[0][0].channel)


def observed(channel: Channel, numbers: ArrayLike, name: str) -> NDArray[Any]:
    """A non-empty vector of numbers that the channel can have produced, or an `InputError` that names the offender.

    >>> observed(POISSON, [3.0, 4], "counts").tolist()
    [3, 4]
    >>> observed(POISSON, [3, -1], "counts")
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: counts[1] is -1: give whole numbers of at least 0
    """
    array = _vector(numbers, name)
    bad = ~channel.possible(array)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        given = f"{array[at]}" if array.dtype.kind in "iu" else f"{array[at]:.17g}"
        raise InputError(f"{name}[{at}] is {given}: {channel.ask(array[at])}")
    return array.astype(np.int64 if channel.whole else np.float64)


def known_numbers(channel: Channel, numbers: ArrayLike, x: ArrayLike | None = None) -> NDArray[np.float64]:
    """A non-empty vector of what can be known of units, or an `InputError` that names the first offender.

    What is only possible of a blank observation, such as exposure 0, is admitted where x is given and is blank.

    >>> known_numbers(POISSON, [1, 0.5]).tolist(), known_numbers(POISSON, [1, 0], x=[3, 0]).tolist()
    ([1.0, 0.5], [1.0, 0.0])
    """
    array = _vector(numbers, channel.keyword).astype(np.float64)
    bad = ~channel.possible_known(array)
    if bad.any() and x is not None and array.size in (1, np.size(x)):
        bad = bad & ~np.asarray(channel.blank(np.asarray(x, dtype=np.float64), array))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"{channel.keyword}[{at}] is {np.broadcast_to(array, bad.shape)[at]:g}: {channel.words.ask_known}"
        )
    return array


def whole_numbers(numbers: ArrayLike, name: str) -> NDArray[np.int64]:
    """A non-empty vector of whole numbers in [0, 2^53], or an `InputError` that names the first offender."""
    return observed(POISSON, numbers, name)


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
    try:
        return array if array.dtype.kind in "iu" else array.astype(np.float64, copy=False)
    except OverflowError as error:
        raise InputError(f"{name} has a number too large to compute with: give numbers below 1e308") from error


def _known_of(channel: Channel, known: ArrayLike | None, x: NDArray[Any]) -> NDArray[np.float64]:
    """What is known of each observation: a single number is shared by all."""
    if known is None:
        return np.full(x.size, channel.known_or_usual(None))
    k = known_numbers(channel, known, x)
    if k.size == 1:
        k = np.full(x.size, k[0])
    _same_length(k, channel.keyword, x, channel.words.xs)
    bad = np.flatnonzero(~channel.possible_pair(x.astype(np.float64), k))
    if bad.size:
        raise InputError(
            f"{channel.words.xs}[{bad[0]}] is {x[bad[0]]:g} with {channel.keyword} {k[bad[0]]:g}: {channel.words.ask_x}"
        )
    return k


def _same_length(a: NDArray[Any], a_name: str, b: NDArray[Any], b_name: str) -> None:
    if a.size != b.size:
        raise InputError(f"{a_name} has {a.size} entries but {b_name} has {b.size}: give one per observation")


def _gather(
    x: NDArray[Any], m: NDArray[np.int64], known: NDArray[np.float64]
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.float64]]:
    """Sort by value and what is known and add up the multiplicities of equal observations."""
    order = np.argsort(x, kind="stable") if bool(np.all(known == known[0])) else np.lexsort((known, x))
    x, m, known = x[order], m[order], known[order]
    first = np.ones(x.size, dtype=bool)
    first[1:] = (x[1:] != x[:-1]) | (known[1:] != known[:-1])
    starts = np.flatnonzero(first)
    return x[starts], np.add.reduceat(m, starts), known[starts]
