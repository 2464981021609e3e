"""What an entry of a table says: a number, a name or nothing, and the sentence for one that cannot be used."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from ebformer.channels.base import LARGEST_WHOLE
from ebformer.errors import InputError
from ebformer.tables.columns import Columns, Role

MISSING_NUMBERS = ("", ".", "na", "n/a", "#n/a", "<na>", "nan", "null", "none")
"""What a text file writes where a number is missing, in lower case: a point is SAS's, #N/A a spreadsheet's."""
MISSING_GROUPS = tuple(text for text in MISSING_NUMBERS if text not in ("null", "none"))
"""The same among groups, where none may be a treatment and Null a name."""


def means_missing(text: str, texts: tuple[str, ...] = MISSING_NUMBERS) -> bool:
    """Whether this is one of the texts that mean a missing entry, in capitals or between spaces too.

    >>> means_missing(" N/A "), means_missing("none"), means_missing("none", MISSING_GROUPS)
    (True, True, False)
    """
    return text.strip().lower() in texts


class Offender(NamedTuple):
    """The first entry that cannot be used, its row (from 1) where rows have an order, and how many rows cannot be."""

    value: object
    row: int | None = None
    rows: int = 1


def complaint(columns: Columns, role: Role, offender: Offender) -> InputError:
    """One sentence about an entry that cannot be used; rows count from 1, the header is not one.

    >>> print(complaint(Columns("goals"), "x", Offender("seven", 3)))
    row 3: goals is 'seven', not a number
    >>> print(complaint(Columns("x"), "x", Offender("1,234")))
    x is '1,234': write numbers with a decimal point, or between semicolons all with a comma, no thousands separators
    >>> print(complaint(Columns("goals", "games"), "known", Offender(0, 7, 42)))
    row 7: games is 0: exposures must be positive and finite, so correct or drop that row (and 41 more rows)
    """
    where = "" if offender.row is None else f"row {offender.row}: "
    others = offender.rows - 1
    more = f" (and {others:,} more row{'s' if others > 1 else ''})" if others else ""
    return InputError(f"{where}{columns.role(role)} is {_trouble(columns.word(role), offender.value)}{more}")


def _trouble(word: str, value: object) -> str:
    """What is wrong with an entry, and what to do."""
    if value is None or means_missing(str(value)):
        # Named, for those who meant Namibia by NA.
        called = f"{value!r}, which means " if isinstance(value, str) and value.strip() else ""
        return (
            f"{called}missing: fill it in, drop the row, or keep such rows unanswered "
            '(--missing keep, in Python missing="keep")'
        )
    try:
        number = float(str(value))
    except ValueError:
        if re.fullmatch(r"\s*[-+]?\d+([.,'\s]\d+)+\s*", str(value)):
            return (
                f"{value!r}: write numbers with a decimal point, "
                "or between semicolons all with a comma, no thousands separators"
            )
        return f"{value!r}, not a number"
    # Python reads across a space that DuckDB does not know.
    if isinstance(value, str) and (stray := re.search(r"[^\x00-\x7f]", value)):
        return f"{value!r}, with a stray {unicodedata.name(stray[0], 'character')}: remove it"
    if word == "exposure":
        return f"{value}: exposures must be positive and finite, so correct or drop that row"
    if 0 <= number <= LARGEST_WHOLE:
        return f"{value}: counts are whole numbers; a rate needs its count in this column and its exposure in another"
    return f"{value}: counts are whole numbers of {'at least 0' if number < 0 else 'at most 2^53'}"
