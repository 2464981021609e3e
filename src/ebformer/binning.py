"""Continuous exposures, errors and effects do not collapse into a tally: bins finer than their noise make them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.tally import Tally

FIT_LIMIT = 4_096
"""More distinct observations than this are fitted in bins."""
FINEST = 2.0**-10
"""The share of its noise by which an observation may move at first; it doubles until there are few enough."""


def distinct_rows(*arrays: NDArray[Any] | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each distinct row of several columns first stands, and which distinct row each row is.

    >>> first, which = distinct_rows(np.array([3, 3, 1]), np.array([0.5, 0.5, 0.5]))
    >>> first.tolist(), which.tolist()
    ([2, 0], [1, 1, 0])
    """
    code, kinds = np.zeros(0, dtype=np.intp), 0
    for array in arrays:
        if array is not None and (not kinds or kinds < code.size):  # rows that all differ already can differ no more
            at, more = _numbered(array)
            if not kinds:
                code, kinds = at, more
            elif more > 1:
                # Renumbering after each column keeps the products below the square of the number of rows.
                code, kinds = _numbered(code * more + at)
    first = np.empty(kinds, dtype=np.intp)
    first[code[::-1]] = np.arange(code.size)[::-1]  # of equal ones the last written stays, which is the first row
    return first, code


def alike(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Which distinct row of a table of numbers [n, k] each row is, however many columns it has.

    Columns are taken two by two, a pair of numbers as one, until one is left.

    >>> alike(np.array([[3, 1, 4], [1, 5, 9], [3, 1, 4]])).tolist()
    [1, 0, 1]
    """
    while rows.shape[1] > 1:
        code, kinds = _numbered(rows.ravel())
        code, even = code.reshape(rows.shape), rows.shape[1] // 2 * 2
        rows = np.concatenate([code[:, :even:2] * kinds + code[:, 1:even:2], code[:, even:]], axis=1)
    return _numbered(rows[:, 0])[0]


def _numbered(array: NDArray[Any]) -> tuple[NDArray[np.intp], int]:
    """The rank of every entry among the distinct ones, and how many these are.

    Numbers of groups and the like lie close together, and are counted rather than sorted.
    """
    if array.dtype.kind == "i" and array.size:
        least, most = int(array.min()), int(array.max())
        if most - least < 4 * array.size:
            there = np.zeros(most - least + 1, dtype=np.bool_)
            there[array - least] = True
            rank = np.cumsum(there) - 1
            return rank[array - least], int(rank[-1]) + 1
    values, at = np.unique(array, return_inverse=True)
    return at, values.size


def coarsened(tally: Tally, limit: int = FIT_LIMIT, finest: float = FINEST) -> Tally:
    """At most about `limit` distinct observations: those nearer to each other than their noise are taken together.

    The share of its noise by which an observation may move begins at `finest` and doubles until the tally is small
    enough; how observations move is the channel's to say (`Channel.merge`). Whole numbers about which the same is known
    are as few as they can be.

    >>> tally = Tally.of([1] * 1000, exposure=np.linspace(1.0, 2.0, 1000))
    >>> small = coarsened(tally, limit=100)
    >>> len(small) <= 100, small.n
    (True, 1000)
    """
    if len(tally) <= limit or (tally.channel.whole and tally.common is not None):
        return tally
    x, known = merged(tally.channel, tally.x, tally.known, tally.multiplicity, limit, finest)
    return Tally(x, tally.multiplicity, known, channel=tally.channel)


def merged(
    channel: Channel, x: Floats, known: Floats, units: NDArray[np.int64], limit: int = FIT_LIMIT, finest: float = FINEST
) -> tuple[Floats, Floats]:
    """Where observations [u] move to, so that at most about `limit` of them are distinct: `coarsened`, entry by entry.

    >>> from ebformer.channels import POISSON
    >>> x, known = merged(POISSON, np.ones(3), np.array([1.0, 1.001, 2.0]), np.ones(3, dtype=int), limit=2)
    >>> known.tolist()
    [1.0005, 1.0005, 2.0]
    """
    width, moved = finest, (x, known)
    if channel.whole and bool(np.all(known == known[0])):
        return moved
    while distinct_rows(*moved)[0].size > limit and width <= 1.0:
        moved = channel.merge(x, known, units, width)
        width *= 2.0
    return moved
