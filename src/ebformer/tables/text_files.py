"""What a text file says of itself: its header, its delimiter, its decimal marks, and the line that is malformed."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from itertools import chain
from pathlib import Path

from ebformer.errors import InputError, one_line
from ebformer.tables.duck import DuckTable
from ebformer.tables.sql import quoted

MOST_COLUMNS = 2000
"""A database plans each of them: with ten times as many it would not come to an end."""
LONGEST_QUOTE = 300
"""Characters of what a library said: it may quote the file."""
AT_ONCE = 20
"""Columns that one question to the database is about."""


def read_header(path: str, name: str, gzipped: bool) -> tuple[list[str], str]:
    """The names in the first line, and the delimiter: the likeliest of comma, tab, semicolon and bar in that line."""
    with open(path, "rb") as packed:
        file: io.BufferedIOBase = gzip.GzipFile(fileobj=packed) if gzipped else packed
        try:
            lines = (line.decode("utf-8-sig" if number == 0 else "utf-8") for number, line in enumerate(file))
            first = next(lines, "")
            if not first.strip() and any(line.strip() for line in lines):
                raise InputError(f"{name} begins with a blank line: the first line must hold the names of the columns")
            if not first.strip():
                raise InputError(f"{name} is empty: give a table with a header and at least one row")
            if "\0" in first:  # ASCII in UTF-16 is UTF-8 of a kind
                raise InputError(f"{name} is not UTF-8 text: convert it, for example with iconv")
            if re.fullmatch(r"sep=.\s*", first):
                raise InputError(f"{name} begins with a line for Excel alone, {first.strip()}: delete that line")
            outside_quotes = "".join(first.split('"')[::2])
            with_tabs = Path(path).name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
            delimiter = "\t" if with_tabs else max(",\t;|", key=outside_quotes.count)
            header = next(csv.reader(chain([first], lines), delimiter=delimiter))
            if len(header) > MOST_COLUMNS:
                have = f"{name} has {len(header):,} columns, more than {MOST_COLUMNS:,}"
                raise InputError(f"{have}: keep those you need, as `cut -d{delimiter!r} -f1-3` does")
            return header, delimiter
        except csv.Error as error:
            raise InputError(_about_line_ends(name)) from error
        except UnicodeDecodeError as error:
            raise InputError(f"{name} is not UTF-8 text: convert it, for example with iconv") from error
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{name} cannot be unpacked: {error}") from error


def distinct_names(header: list[str]) -> list[str]:
    """Names that DuckDB can hold: not empty, and distinct even where case is ignored.

    >>> distinct_names(["", "a", "A"])
    ['column_1', 'a', 'A_3']
    """
    names: dict[str, str] = {}
    for number, name in enumerate(header, start=1):
        name = name or f"column_{number}"
        while name.lower() in names:
            name = f"{name}_{number}"
        names[name.lower()] = name
    return list(names.values())


def decimal_marks(table: DuckTable) -> tuple[tuple[str, ...], dict[str, str]]:
    """The columns with decimal commas and no decimal points; where both occur, nobody knows which is which.

    And those where every mark may separate thousands, as in 1,234 or 1.234 among whole numbers, with such an entry.
    """
    judged = [
        f"coalesce(bool_or({_has_mark(name, ',')}), false) AND NOT bool_or({_has_mark(name, '.')}), "
        f"CASE WHEN NOT bool_or({_has_mark(name, ',.')} AND NOT {_may_have_thousands(name)}) "
        f"THEN min({quoted(name)}) FILTER (WHERE {_may_have_thousands(name)}) END"
        for name in table.names
    ]
    several = [judged[first : first + AT_ONCE] for first in range(0, len(judged), AT_ONCE)]
    asked = [table.ask(f"SELECT {', '.join(each)} FROM ebformer_given") for each in several]
    verdict = [entry for answer in asked for entry in answer.fetchall()[0]]
    unclear = {name: entry for name, entry in zip(table.names, verdict[1::2], strict=True) if entry is not None}
    decimal = zip(table.names, verdict[::2], strict=True)
    return tuple(name for name, commas in decimal if commas and name not in unclear), unclear


def _may_have_thousands(name: str) -> str:
    """SQL for whether an entry may be a number with thousands separators; 0,500 is none."""
    return f"regexp_full_match({quoted(name)}::VARCHAR, '\\s*[-+]?[1-9]\\d{{0,2}}([.,]\\d{{3}})+\\s*')"


def _has_mark(name: str, mark: str) -> str:
    """SQL for whether an entry is a number with this decimal mark."""
    return f"regexp_full_match({quoted(name)}::VARCHAR, '\\s*[-+]?\\d*[{mark}]\\d+(e[-+]?\\d+)?\\s*', 'i')"


def with_mark(name: str, old: str, new: str) -> str:
    """SQL for the entries of a column as text, numbers with another decimal mark."""
    text = f"{quoted(name)}::VARCHAR"
    return f"CASE WHEN {_has_mark(name, old)} THEN replace({text}, '{old}', '{new}') ELSE {text} END"


def about_bad_rows(name: str, message: str) -> str:
    """DuckDB's page about a malformed line, in one sentence."""
    found = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in message.splitlines())}
    line = found.get("Invalid Input Error", "").rpartition(" ")[2]
    if "utf-8" in message:
        return f"{name}, line {line}: not UTF-8 text; convert it, for example with iconv"
    if "Expected Number of Columns" in found:
        expected, _, seen = found["Expected Number of Columns"].partition(" Found:")
        entries = "1 entry" if seen.strip() == "1" else f"{seen.strip()} entries"
        return f"{name}, line {line}: {entries} where the header has {expected}; correct that line"
    if "unterminated quote" in message.lower():
        return f"{name}, line {line}: a quotation mark is never closed; correct that line"
    if "reached an invalid state" in message:
        return _about_line_ends(name)
    return f"{name}: {first_line(message)}"


def first_line(message: object) -> str:
    """What DuckDB says first, without the kind of error."""
    first = next(iter(str(message).splitlines()), "")
    return one_line(first.partition("Error: ")[2] or first or type(message).__name__, LONGEST_QUOTE)


def _about_line_ends(name: str) -> str:
    return f"{name} has lines that end in different ways, or in CR alone: convert it, for example with dos2unix -c mac"
