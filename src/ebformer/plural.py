"""Numbers in sentences, and words that agree with them."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """So many of something, in words that agree.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def plain(number: float) -> str:
    """A number as it was given, with its thousands apart.

    >>> plain(0.5), plain(82), plain(1e6), plain(1e50)
    ('0.5', '82', '1,000,000', '1e+50')
    """
    return f"{number:,.10g}"
