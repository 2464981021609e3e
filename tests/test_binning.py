"""Rows are told apart by what they hold, in whichever way that is found out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebformer.binning import alike, distinct_rows

WIDE = st.integers(-(2**40), 2**40)
NUMBERS = st.sampled_from([-np.inf, -1.5, 0.0, 3.0, np.inf])


@given(st.lists(st.tuples(st.integers(-2, 2), NUMBERS, st.sampled_from([0, 7]) | WIDE), min_size=1, max_size=20))
def test_distinct_rows_are_those_of_a_sorted_set(rows: list[tuple[int, float, int]]) -> None:
    distinct = sorted(set(rows))
    first, which = distinct_rows(*map(np.array, zip(*rows, strict=True)))
    assert first.tolist() == [rows.index(row) for row in distinct]
    assert which.tolist() == [distinct.index(row) for row in rows]


@pytest.mark.parametrize("column", [np.zeros(0), np.zeros(0, dtype=np.int64)])
def test_no_rows_are_none_distinct(column: np.ndarray) -> None:
    first, which = distinct_rows(column, column)
    assert first.size == which.size == 0


def test_missing_numbers_are_alike() -> None:
    first, which = distinct_rows(np.array([np.nan, 1.0, np.nan]))
    assert (first.tolist(), which.tolist()) == ([1, 0], [1, 0, 1])


@given(st.integers(1, 9).flatmap(lambda k: st.lists(st.tuples(*[st.sampled_from([0, 1, 2**40])] * k), min_size=1)))
def test_rows_of_many_columns_are_alike_where_all_of_them_are(rows: list[tuple[int, ...]]) -> None:
    distinct = sorted(set(rows))
    assert alike(np.array(rows)).tolist() == [distinct.index(row) for row in rows]


def test_very_wide_rows_are_told_apart_by_one_entry() -> None:
    rows = np.zeros((3, 1_000_001), dtype=np.intp)
    rows[1, -1] = 1
    assert alike(rows).tolist() == [0, 1, 0]
