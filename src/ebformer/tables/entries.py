"""What an entry of a table says: a number, a name or nothing, and the sentence for one that cannot be used."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from ebformer.channels.base import Channel
from ebformer.channels.bounds import LARGEST_WHOLE
from ebformer.errors import InputError
from ebformer.plural import counted
from ebformer.tables.columns import Columns, Missing, Role

MISSING_NUMBERS = ("", ".", "na", "n/a", "#n/a", "<na>", "nan", "null", "none")
"""What a text file writes where a number is missing, in lower case: a point is SAS's, #N/A a spreadsheet's."""
MISSING_GROUPS = tuple(text for text in MISSING_NUMBERS if text not in ("null", "none"))
"""The same among groups, where none may be a treatment and Null a name."""

TO_DO_ABOUT_MISSING: dict[Missing, str] = {
    "error": 'fill it in, drop the row, or keep such rows unanswered (--missing keep, in Python missing="keep")',
    "strict": "fill it in, drop the row, or keep such rows unanswered (without --strict, in Python strict=False)",
    "whole": "fill it in, or drop the row",
}
"""What is advised where a missing entry is an error."""


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


def complaint(columns: Columns, role: Role, offender: Offender, missing: Missing = "error") -> InputError:
    """One sentence about an entry that cannot be used; rows count from 1, the header is not one.

    What can be done about an entry that is not there hangs on what becomes of such rows.

    >>> print(complaint(Columns("goals"), "x", Offender("seven", 3)))
    row 3: goals is 'seven', not a number
    >>> print(complaint(Columns("x"), "x", Offender("1,234")))
    x is '1,234': write numbers with a decimal point, or between semicolons all with a comma, no thousands separators
    >>> print(complaint(Columns("goals", "games"), "known", Offender(-1, 7, 42)))
    row 7: games is -1: give positive numbers from 1e-50 to 1e50, so correct or drop that row (and 41 more rows)
    """
    where = "" if offender.row is None else f"row {offender.row}: "
    others = offender.rows - 1
    more = f" (and {counted(others, 'more row')})" if others else ""
    trouble = _trouble(columns.channel, role, offender.value, missing)
    return InputError(f"{where}{columns.role(role)} is {trouble}{more}")


def about_thousands(name: str, entry: str) -> str:
    """A column whose numbers may all have thousands separators."""
    return (
        f"{name} has entries like {entry!r}, which may mean thousands: "
        "remove the thousands separators, or end decimals in one more 0"
    )


def reason(columns: Columns, role: Role, missing: bool) -> str:
    """Why rows with such an entry have no answer, in a few words; units that were added up have no sum then.

    >>> reason(Columns("goals"), "x", missing=False), reason(Columns("goals", group="team"), "group", missing=True)
    ('goals cannot be used: give whole numbers of at least 0', 'team is missing')
    """
    words, known = columns.channel.words, columns.role("known")
    asked = words.ask_x if role == "x" else words.ask_known
    if missing and columns.added_up is not None and role in ("x", "known"):
        either = columns.x if known is None else f"{columns.x} or {known}"
        return f"in a row of this {columns.added_up}, {either} is missing or cannot be used: {asked}"
    return f"{columns.role(role)} is missing" if missing else f"{columns.role(role)} cannot be used: {asked}"


def _trouble(channel: Channel, role: Role, value: object, missing: Missing) -> str:
    """What is wrong with an entry, and what to do."""
    if value is None or role == "group" or means_missing(str(value)):
        # Named, for those who meant Namibia by NA.
        called = f"{value!r}, which means " if isinstance(value, str) and value.strip() else ""
        alike = " or not the same in all rows of a unit" if role == "future" else ""
        return f"{called}missing{alike}: {TO_DO_ABOUT_MISSING.get(missing, TO_DO_ABOUT_MISSING['error'])}"
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
    words = channel.words
    if role in ("known", "future"):
        return f"{value}: {words.ask_known}, so correct or drop that row"
    if channel.whole and number != number // 1 and abs(number) <= LARGEST_WHOLE:
        needs = f"a rate needs its count in this column and its {words.known} in another"
        return f"{value}: {words.xs} are whole numbers; {needs}"
    return f"{value}: {channel.ask(number)}"
