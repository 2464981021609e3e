"""Counts in the cells of a large table and what its margins let expect; most cells are empty and never written out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ebformer.distributions import Floats

WIDTH = 2.0**-6
"""Expected counts of empty cells are taken together where they differ by less than this factor."""
ENTRIES = 2**22
"""So many cells at a time have their expected counts computed, which bounds the memory."""


def empty_cells(rows: Floats, columns: Floats, totals: Floats, filled: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Expected counts [b] of the cells without an event, in narrow bins, and how many cells are in each.

    `rows` [r, s] and `columns` [c, s] are the margins in every stratum, `totals` [s] their sums, and a cell expects
    sum_s rows[i, s] columns[j, s] / totals[s]. `filled` are the expected counts of the cells that have events. Cells
    are not listed: rows with the same margins are taken together, and so are columns.

    >>> rows, columns = np.array([[6.0], [2.0]]), np.array([[4.0], [4.0]])
    >>> expected, cells = empty_cells(rows, columns, np.array([8.0]), filled=np.array([3.0, 3.0, 1.0]))
    >>> expected.tolist(), cells.tolist()
    ([1.0], [1])
    """
    number, total, first = _binned(_cells(rows, columns, totals))
    seen, seen_total, seen_first = _binned([(filled, np.ones(filled.size))])
    at = seen_first - first
    number[at : at + seen.size] -= seen
    total[at : at + seen.size] -= seen_total
    left = number.round().astype(np.int64)
    some = left > 0
    return total[some] / left[some], left[some]


def _cells(rows: Floats, columns: Floats, totals: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Expected counts of all cells and how many cells have each, some at a time."""
    per_row, rows_alike = np.unique(rows / totals, axis=0, return_counts=True)
    per_column, columns_alike = np.unique(columns, axis=0, return_counts=True)
    block = max(1, ENTRIES // len(per_column))
    for start in range(0, len(per_row), block):
        expected = per_row[start : start + block] @ per_column.T
        cells = np.outer(rows_alike[start : start + block], columns_alike)
        possible = expected > 0
        yield expected[possible], cells[possible].astype(np.float64)


def _binned(parts: Iterator[tuple[Floats, Floats]] | list[tuple[Floats, Floats]]) -> tuple[Floats, Floats, int]:
    """The number of cells and the sum of their expected counts in every bin of log expected, and the first bin."""
    number, total, first = np.zeros(0), np.zeros(0), 0
    for expected, cells in parts:
        bins = np.floor(np.log(expected) / WIDTH).astype(np.int64)
        low, high = int(bins.min()), int(bins.max())
        new_first = low if number.size == 0 else min(low, first)
        before = 0 if number.size == 0 else first - new_first
        size = max(before + number.size, high - new_first + 1)
        grown = [np.zeros(size), np.zeros(size)]
        for into, old, weight in zip(grown, (number, total), (cells, cells * expected), strict=True):
            into[before : before + old.size] = old
            into += np.bincount(bins - new_first, weight, minlength=size)
        (number, total), first = grown, new_first
    return number, total, first
