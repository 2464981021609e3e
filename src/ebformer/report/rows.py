"""The rows of a table as a page holds them: real numbers of real units, as text, packed."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.distributions import Floats
from ebformer.report.cells import cell, is_number
from ebformer.report.labels import label_column
from ebformer.tables.columns import Columns
from ebformer.tables.duck import DuckTable
from ebformer.tables.shrink import Shrunken
from ebformer.tables.sql import quoted

MOST_ROWS = 100_000
"""Rows of a page: the highest estimates of a longer table, and the lowest few."""
LOWEST = 25
MOST_OTHERS = 8
"""Columns that play no part and are shown all the same."""
SAMPLE = 1_000
"""Rows by which it is judged what a column holds."""


@dataclass(frozen=True, eq=False)
class Units:
    """Rows of a table, the highest estimate first: names, observations and answers, arrays [n]."""

    names: list[str]
    x: Floats
    known: Floats
    raw: Floats
    answers: dict[str, Floats]
    texts: dict[str, list[str]]
    """The group, the key of a map and columns that play no part, by their names."""

    @property
    def estimate(self) -> Floats:
        return self.answers["estimate"]

    def __len__(self) -> int:
        return len(self.names)

    def sorted(self) -> Units:
        """The same, the highest estimate first and those without one last."""
        rank = {name: i for i, name in enumerate(sorted(set(self.names)))}
        order = np.lexsort(np.stack([[rank[name] for name in self.names], -self.known, -self.estimate]))
        return self.at(order)

    def at(self, which: NDArray[np.intp]) -> Units:
        """Some of them, by position."""
        return Units(
            [self.names[i] for i in which],
            self.x[which],
            self.known[which],
            self.raw[which],
            {name: values[which] for name, values in self.answers.items()},
            {name: [texts[i] for i in which] for name, texts in self.texts.items()},
        )

    def and_then(self, other: Units) -> Units:
        """These, followed by others."""
        return Units(
            self.names + other.names,
            np.append(self.x, other.x),
            np.append(self.known, other.known),
            np.append(self.raw, other.raw),
            {name: np.append(values, other.answers[name]) for name, values in self.answers.items()},
            {name: texts + other.texts[name] for name, texts in self.texts.items()},
        )


@dataclass(frozen=True, eq=False)
class Reader:
    """What reads units from a table with answers: which column names them, and which others are shown."""

    table: Shrunken
    label: str | None
    others: list[str]
    key: str | None = None
    source: DuckTable = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", DuckTable(self.table.rows))

    @classmethod
    def of(cls, table: Shrunken, label: str | None = None, key: str | None = None) -> Reader:
        """One that finds the label, where none is given, and the other columns by a look at some rows."""
        columns = table.observations.columns
        found = DuckTable(table.rows).ask(f"SELECT * FROM ebformer_given LIMIT {SAMPLE}")
        rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
        taken = {columns.x, columns.role("known"), columns.group, *table.answers}
        called = label or label_column(rows, taken)
        others = [name for name in found.columns if name not in {*taken, called, key}]
        return cls(table, called, others[:MOST_OTHERS], key)

    def read(self, *wanted: tuple[str, int]) -> tuple[list[Units], float]:
        """For each order, so many rows in it; and the sum of what is known of all rows.

        An order may name `x`, `known` and `estimate`, of rows with an answer. All are read in one pass over the table.
        """
        columns, texts = self.table.observations.columns, self._texts
        known, names = columns.role("known"), list(self.table.answers)
        estimate = f"answer_{names.index('estimate')}"
        chosen = {
            "label": "NULL::VARCHAR" if self.label is None else f"given.{quoted(self.label)}::VARCHAR",
            "x": self.source.number(columns.x),
            "known": f"{columns.constant!r}::DOUBLE" if known is None else self.source.number(known),
            **{f"text_{i}": f"given.{quoted(name)}::VARCHAR" for i, name in enumerate(texts)},
            **{f"answer_{i}": f"given.{quoted(name)}::DOUBLE" for i, name in enumerate(names)},
        }
        named = ", ".join(f"{sql} AS {name}" for name, sql in chosen.items())
        # Rows without an answer come last: a WHERE would make DuckDB compare every row with every observation.
        parts = " UNION ALL ".join(
            f"(SELECT {i} AS part, *, NULL::DOUBLE AS total FROM ebformer_named "
            f"ORDER BY CASE WHEN {estimate} IS NULL THEN NULL ELSE {by.replace('estimate', estimate)} END DESC "
            f"NULLS LAST, label LIMIT {limit})"
            for i, (by, limit) in enumerate(wanted)
        )
        total = f"SELECT -1, {', '.join('NULL' for _ in chosen)}, sum(known) FROM ebformer_named"
        found = self.source.ask(
            f"WITH ebformer_named AS MATERIALIZED (SELECT {named} FROM ebformer_given AS given) "
            f"{parts} UNION ALL {total}"
        ).fetchnumpy()
        part = np.ma.getdata(found["part"])
        known_of_all = float(np.ma.filled(found["total"], np.nan)[part < 0][0])
        return [
            self._units({name: column[part == i] for name, column in found.items()}, names).sorted()
            for i in range(len(wanted))
        ], known_of_all

    def _units(self, found: dict[str, NDArray[Any]], answers: list[str]) -> Units:
        x, known = (np.ma.filled(np.ma.asarray(found[name], np.float64), np.nan) for name in ("x", "known"))
        with np.errstate(all="ignore"):
            raw = np.where(
                np.isfinite(x) & np.isfinite(known), self.table.observations.columns.channel.mle(x, known), np.nan
            )
        texts = {name: _entries(found[f"text_{i}"]) for i, name in enumerate(self._texts)}
        numbers = {
            name: np.ma.filled(np.ma.asarray(found[f"answer_{i}"], np.float64), np.nan)
            for i, name in enumerate(answers)
        }
        names = self._names(_entries(found["label"]), x, known, texts)
        return Units(names, x, known, raw * (self.table.wanted.per or 1.0), numbers, texts)

    @property
    def _texts(self) -> list[str]:
        group = self.table.observations.columns.group
        return list(dict.fromkeys(name for name in (group, self.key, *self.others) if name is not None))

    def _names(self, labels: list[str], x: Floats, known: Floats, texts: dict[str, list[str]]) -> list[str]:
        """What to call units: by their label or, without one, by what was seen of them, with their group."""
        if self.label is not None:
            numbered = bool(labels) and all(map(str.isdecimal, labels[:SAMPLE]))
            return [f"{self.label} {entry}" if numbered else entry or "(no name)" for entry in labels]
        columns = self.table.observations.columns
        groups = [""] * x.size if columns.group is None else [f"{text}: " for text in texts[columns.group]]
        return [group + seen(columns, a, b) for group, a, b in zip(groups, x, known, strict=True)]


def _entries(column: NDArray[Any]) -> list[str]:
    """Texts on one line each; a missing one is empty."""
    missing = np.ma.getmaskarray(np.ma.asarray(column))
    texts = np.ma.getdata(column)
    return [
        "" if gone or text is None else " ".join(str(text).split()) for text, gone in zip(texts, missing, strict=True)
    ]


def number(value: float) -> str:
    """A number that was given, to six digits; whole ones whole.

    >>> number(12345678.0), number(0.73424657), number(float("nan"))
    ('12345678', '0.734247', '')
    """
    if not np.isfinite(value):
        return ""
    return f"{value:.0f}" if value == np.floor(value) and abs(value) < 1e16 else f"{value:.6g}"


def said(value: float) -> str:
    """The same in a sentence, the thousands of whole numbers apart.

    >>> said(12345678.0), said(0.73424657)
    ('12,345,678', '0.734247')
    """
    return f"{value:,.0f}" if value == np.floor(value) and 1e3 <= abs(value) < 1e16 else number(value)


def seen(columns: Columns, x: float, known: float) -> str:
    """One observation in words, by the names of its columns.

    >>> seen(Columns("goals", "games"), 7.0, 5.0), seen(Columns("claims"), 7.0, 1.0)
    ('7 goals in 5 games', '7 claims')
    """
    if columns.known is None:
        return f"{said(x)} {columns.x}"
    unit = columns.role("known") or columns.channel.words.known
    name = columns.x if columns.channel.whole else ""
    words = columns.channel.words.seen.format(x=said(x), name=name, known=said(known), unit=unit)
    return " ".join(words.split())


@dataclass(frozen=True)
class Column:
    """A column of the packed rows, as text; `name` is what a downloaded file calls it."""

    name: str
    texts: Sequence[str]
    numeric: bool = True


def of_numbers(name: str, values: Floats, how: Any = cell) -> Column:
    """Numbers as text; each distinct one is worded once."""
    distinct, which = np.unique(values, return_inverse=True)
    words = ["" if np.isnan(value) else how(float(value)) for value in distinct]
    return Column(name, [words[i] for i in which])


def of_texts(name: str, texts: Sequence[str]) -> Column:
    """Text, or numbers that are written as text."""
    return Column(name, texts, all(map(is_number, texts)))


def packed(columns: Sequence[Column]) -> str:
    """Columns as base64 of deflated JSON: lines of text, and in columns of numbers nothing where a number repeats.

    The highest estimates come first, so that units with one observation stand together and repeat their answers.
    """
    lines = [
        {
            "name": column.name,
            "numeric": column.numeric,
            "text": "\n".join(_without_repeats(column.texts) if column.numeric else column.texts),
        }
        for column in columns
    ]
    text = json.dumps(lines, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode("ascii")


def _without_repeats(texts: Sequence[str]) -> list[str]:
    marked = [text or "." for text in texts]
    return marked[:1] + ["" if b == a else b for a, b in pairwise(marked)]
