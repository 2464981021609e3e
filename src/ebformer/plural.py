"""Numbers of things in words that agree."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """So many of something, in words that agree.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {what}" + ("" if number == 1 else "s")
