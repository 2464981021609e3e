"""The step of the walk that covariates add: a table with a column of what they let expect of each row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.covariates import cross_fit
from ebformer.expectation import Expectation
from ebformer.tables.columns import Columns, Missing
from ebformer.tables.entries import means_missing
from ebformer.tables.observations import observe
from ebformer.tables.source import Contents, Source

COLUMN, UNSEEN = "ebformer_expected", "ebformer_unseen"
"""What the columns are called while answers are found; they become answers and notes then, and leave the table."""


def with_expected(
    source: Source, columns: Columns, missing: Missing, learnt: Expectation | None = None
) -> tuple[Source, Columns, Expectation | None]:
    """The table and its columns with what is expected of every row, and what was learnt about that.

    What was `learnt` before answers again; without it, regressions are cross-fitted to the rows. Where no covariates
    are named, or they tell nothing, the table stays as it is.
    """
    covariates = columns.covariates
    if covariates is None or (learnt is not None and not learnt.moves):
        return source, columns, learnt
    columns = replace(columns, expected=None, unseen=None)
    observe(source, columns, missing)  # a row that cannot be used is named as it stands
    said = source.contents(columns)
    read = _read(said)
    if learnt is None:
        x, known = (np.where(np.isfinite(each), each, np.nan) for each in (said.x, said.known))
        expected, learnt = cross_fit(columns.channel, x, known, said.rows, read, covariates.regression)
        if not learnt.moves:
            return source, columns, learnt
        told = {COLUMN: expected}
    else:
        told, unseen = {COLUMN: learnt.of(columns.channel, read)}, learnt.encoding.unseen(read)
        if unseen.any():
            told[UNSEEN] = unseen
    source = source.with_told(columns, said, told)
    return source, replace(columns, expected=COLUMN, unseen=UNSEEN if UNSEEN in told else None), learnt


def _read(said: Contents) -> dict[str, NDArray[Any]]:
    """The covariates, text that says nothing but numbers as numbers."""
    return {name: _parsed(each) if each.dtype == object else each for name, each in said.covariates.items()}


def _parsed(texts: NDArray[np.object_]) -> NDArray[Any]:
    """Numbers (NaN where missing) if all entries are some, else text as it stands (None where missing).

    >>> _parsed(np.array(["20", None, "NA"], dtype=object)).tolist()
    [20.0, nan, nan]
    >>> _parsed(np.array(["20", "b", ""], dtype=object)).tolist()
    ['20', 'b', None]
    """
    known: dict[str | None, str | None] = {}
    for text in set(texts.tolist()):
        known[text] = None if text is None or means_missing(text) else text.strip()
    try:
        numbers = {text: np.nan if entry is None else float(entry) for text, entry in known.items()}
    except ValueError:
        return np.array([known[text] for text in texts.tolist()], dtype=object)
    return np.array([numbers[text] for text in texts.tolist()])
