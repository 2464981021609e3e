"""Entries of tables as people read them."""

from __future__ import annotations

import re

from ebformer.tables.entries import means_missing

FRACTION = re.compile(r"[-+]?(\d*\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)


def cell(entry: object) -> str:
    """An entry in the cell of a table: four digits of a fraction, whole numbers whole, nothing where it is missing.

    >>> [cell(entry) for entry in (0.123456, 285868.0, 30139.894, 1.5e-7, 1e300, None, "Ann")]
    ['0.1235', '285868', '30140', '1.5e-07', '1e+300', '', 'Ann']
    """
    if entry is None:
        return ""
    if isinstance(entry, float) and 1e4 <= abs(entry) < 1e16:
        return f"{entry:.0f}"
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry)


def to_six_digits(entry: object) -> object:
    """An entry of a text file as it stands, but a fraction to six digits: more say nothing to those who look at it.

    >>> [to_six_digits(entry) for entry in ("0.7342465753424657", "0.250", "1021.123456", "20261118123456", "Ann", 3)]
    ['0.734247', '0.250', '1021.12', '20261118123456', 'Ann', 3]
    """
    if not isinstance(entry, str) or not (found := FRACTION.fullmatch(entry.strip())):
        return entry
    if len(found[1].replace(".", "").lstrip("0")) <= 6:
        return entry
    value = float(entry)
    return cell(value) if abs(value) >= 1e6 else f"{value:.6g}"


def sentence(told: str) -> str:
    """What begins in lower case, after the name of the program or of a group, as a sentence of its own.

    >>> sentence("few rows to learn a prior from")
    'Few rows to learn a prior from.'
    """
    return f"{told[0].upper()}{told[1:]}."


def percent(level: float) -> str:
    """The level of an interval as it was asked for, not rounded to whole percents, on one line.

    >>> percent(0.9), percent(0.975), percent(0.999)
    ('90\\xa0%', '97.5\\xa0%', '99.9\\xa0%')
    """
    return f"{100 * level:.10g}\N{NO-BREAK SPACE}%"


def is_number(entry: object) -> bool:
    """Whether an entry can stand in a column of numbers: it is one, is written like one, or is missing.

    >>> [is_number(entry) for entry in (3, "3.5", "", "NA", None, "Ann")]
    [True, True, True, True, True, False]
    """
    if entry is None or isinstance(entry, int | float):
        return True
    try:
        float(str(entry))
    except ValueError:
        return means_missing(str(entry))
    return True
