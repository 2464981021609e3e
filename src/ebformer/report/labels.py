"""Which column names the units of a table, for those who look at it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ebformer.report.cells import is_number


def label_column(rows: Sequence[Mapping[str, Any]], taken: Collection[str | None]) -> str | None:
    """The first column that plays no other part and tells the rows apart, text before whole numbers; else the first
    text, a region perhaps.

    >>> rows = [{"no": 7, "team": "a", "name": "Ann", "goals": 3}, {"no": 9, "team": "a", "name": "Bo", "goals": 3}]
    >>> label_column(rows, {"goals"}), label_column(rows, {"goals", "name"})
    ('name', 'no')
    """
    free = {
        name: ["" if row[name] is None else str(row[name]) for row in rows] for name in rows[0] if name not in taken
    }
    texts = [name for name, entries in free.items() if not all(map(is_number, entries))]
    numbers = [name for name, entries in free.items() if all(map(str.isdecimal, entries))]
    for name in (*texts, *numbers):
        if len(set(free[name])) == len(rows):
            return name
    return texts[0] if texts else None
