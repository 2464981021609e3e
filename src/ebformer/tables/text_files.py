"""What a text file says of itself: its header, its delimiter, its decimal marks, and the line that is malformed."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from ebformer.errors import InputError, one_line
from ebformer.tables.duck import DuckTable
from ebformer.tables.sql import quoted

MOST_COLUMNS = 2000
"""A database plans each of them: with ten times as many it would not come to an end."""
LONGEST_LINE = 2**22
"""Bytes of a line of a header. A few bytes of gzip may unpack to gigabytes without an end of line."""
LONGEST_QUOTE = 300
"""Characters of what a library said: it may quote the file."""
AT_ONCE = 20
"""Columns that one question to the database is about."""
PACKED = {b"(\xb5/\xfd": "zstd", b"\xfd7zX": "xz", b"BZh": "bzip2"}
"""The first bytes of what is read only after `zstd -dc` and the like."""
THOUSANDS = r"\s*[-+]?[1-9]\d{0,2}([.,]\d{3})+\s*"
"""A number that may have thousands separators; 0,500 is none."""
DECIMALS = r"\s*[-+]?\d*[{mark}]\d+(e[-+]?\d+)?\s*"
"""A number with this decimal mark, in small letters."""


def check_kind(magic: bytes, name: str) -> None:
    """Refuse what is no table of text, by its first four bytes.

    >>> check_kind(b"PK\\x03\\x04", "sheet.xlsx")
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: sheet.xlsx is a workbook or an archive, not a table: save the sheet as CSV
    """
    if not magic:
        raise InputError(about_nothing(name))
    if magic in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):  # the first bytes of .xlsx and .ods, and of .xls
        raise InputError(f"{name} is a workbook or an archive, not a table: save the sheet as CSV")
    if magic[:1] == b"{" or magic[:2] == b"[{":
        raise InputError(f"{name} is JSON: write the table as CSV or Parquet")
    for first_bytes, program in PACKED.items():
        if magic.startswith(first_bytes):
            raise InputError(f"{name} is packed: unpack it first, as `{program} -dc FILE | ebformer ... -` does")


def check_first_line(first: str, others: Iterable[str], name: str) -> None:
    """Refuse a first line that does not hold the names of the columns."""
    if not first.strip() and any(line.strip() for line in others):
        raise InputError(f"{name} begins with a blank line: the first line must hold the names of the columns")
    if not first.strip():
        raise InputError(about_nothing(name))
    if "\0" in first:  # ASCII in UTF-16 is UTF-8 of a kind
        raise InputError(about_encoding(name))
    if re.fullmatch(r"sep=.\s*", first):
        raise InputError(f"{name} begins with a line for Excel alone, {first.strip()}: delete that line")


def delimiter_of(first: str, file: str) -> str:
    """The delimiter of a file of this name: a tab, or the likeliest of comma, tab, semicolon and bar in its first line.

    >>> delimiter_of('name;"goals, all"', "league.csv")
    ';'
    """
    if file.lower().removesuffix(".gz").endswith((".tsv", ".tab")):
        return "\t"
    outside_quotes = "".join(first.split('"')[::2])
    return max(",\t;|", key=outside_quotes.count)


def read_header(path: str, name: str, gzipped: bool) -> tuple[list[str], str]:
    """The names in the first line, and the delimiter: the likeliest of comma, tab, semicolon and bar in that line."""
    with open(path, "rb") as packed:
        file: io.BufferedIOBase = gzip.GzipFile(fileobj=packed) if gzipped else packed
        try:
            read = enumerate(_lines(file, name))
            lines = (line.decode("utf-8-sig" if number == 0 else "utf-8") for number, line in read)
            first = next(lines, "")
            check_first_line(first, lines, name)
            delimiter = delimiter_of(first, Path(path).name)
            header = next(csv.reader(chain([first], lines), delimiter=delimiter))
            if len(header) > MOST_COLUMNS:
                have = f"{name} has {len(header):,} columns, more than {MOST_COLUMNS:,}"
                raise InputError(f"{have}: keep those you need, as `cut -d{delimiter!r} -f1-3` does")
            return header, delimiter
        except csv.Error as error:
            raise InputError(_about_line_ends(name)) from error
        except UnicodeDecodeError as error:
            raise InputError(about_encoding(name)) from error
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{name} cannot be unpacked: {error}") from error


def _lines(file: io.BufferedIOBase, name: str) -> Iterator[bytes]:
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            many = f"{name} has a line of more than {LONGEST_LINE:,} bytes where the names of its columns should be"
            raise InputError(_about_line_ends(name) if b"\r" in line else many)
        yield line


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
    return f"regexp_full_match({quoted(name)}::VARCHAR, '{THOUSANDS}')"


def _has_mark(name: str, mark: str) -> str:
    """SQL for whether an entry is a number with this decimal mark."""
    return f"regexp_full_match({quoted(name)}::VARCHAR, '{DECIMALS.format(mark=mark)}', 'i')"


def with_mark(name: str, old: str, new: str) -> str:
    """SQL for the entries of a column as text, numbers with another decimal mark."""
    text = f"{quoted(name)}::VARCHAR"
    return f"CASE WHEN {_has_mark(name, old)} THEN replace({text}, '{old}', '{new}') ELSE {text} END"


def about_bad_rows(name: str, message: str) -> str:
    """DuckDB's page about a malformed line, in one sentence.

    The page quotes the line and names the file, both of which may say anything: it is read by how its lines begin.
    """
    page = [line.strip() for line in message.splitlines()]
    found = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in page)}
    line = found.get("Invalid Input Error", "").rpartition(" ")[2]
    if "Expected Number of Columns" in found:
        expected, _, seen = found["Expected Number of Columns"].partition(" Found:")
        return about_entries(name, line, seen.strip(), expected)
    for begins, sentence in (
        ("Invalid unicode", about_encoding(name, line)),
        ("Value with unterminated quote", about_open_quote(name, line)),
        ("Invalid Input Error: The CSV Parser state machine", _about_line_ends(name)),
        ("Maximum line size", f"{name}, line {line}: a line of more than 2,000,000 bytes; shorten it"),
    ):
        if any(said.startswith(begins) for said in page):
            return sentence
    return f"{name}: {first_line(message)}"


def about_nothing(name: str) -> str:
    return f"{name} is empty: give a table with a header and at least one row"


def about_encoding(name: str, line: str | None = None) -> str:
    """What is said of a header, or of a later line, that is not UTF-8."""
    how = "convert it, for example with iconv"
    return f"{name} is not UTF-8 text: {how}" if line is None else f"{name}, line {line}: not UTF-8 text; {how}"


def about_entries(name: str, line: str, seen: str, expected: str) -> str:
    """A line that has not as many entries as the header.

    >>> print(about_entries("league.csv", "3", "1", "2"))
    league.csv, line 3: 1 entry where the header has 2; correct that line
    """
    entries = "1 entry" if seen == "1" else f"{seen} entries"
    return f"{name}, line {line}: {entries} where the header has {expected}; correct that line"


def about_open_quote(name: str, line: str) -> str:
    return f"{name}, line {line}: a quotation mark is never closed; correct that line"


def first_line(message: object) -> str:
    """What DuckDB says first, without the kind of error."""
    first = next(iter(str(message).splitlines()), "")
    return one_line(first.partition("Error: ")[2] or first or type(message).__name__, LONGEST_QUOTE)


def _about_line_ends(name: str) -> str:
    return f"{name} has lines that end in different ways, or in CR alone: convert it, for example with dos2unix -c mac"
