"""Books: how often a word occurs in the opening predicts how often it occurs in the rest."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ebformer.errors import InputError
from ebformer.lab.fielddata.holdout import Holdout
from ebformer.lab.fielddata.sources import FilePath, given, read_bytes, read_columns

OPENING = 2000
"""The opening is the lines before the running number of tokens reaches this."""
TOKEN = re.compile(r"(?u)\b\w\w+\b")
"""What scikit-learn's CountVectorizer takes for a word, after lower-casing."""
TEXT = re.compile(r"\.txt(\.gz)?$", re.IGNORECASE)
"""How the name of a text ends; what comes before is the name of the book."""
START = re.compile(
    r"^[ \t]*\*\*\* ?START OF(?:.*(?:\n.+){0,3}?\*\*\*)?.*\s*(?:Produced by.*(?:\n.+)*)?"
    r"|^[ \t]*\*END[* ]THE SMALL PRINT.*",
    re.MULTILINE,
)
"""The end of Project Gutenberg's header: a mark, perhaps over some lines, and who produced the text; or small print."""
END = re.compile(r"^[ \t]*(?:\*\*\* ?END OF|End of (?:the |this )?Project Gutenberg)", re.MULTILINE | re.IGNORECASE)
"""Where a footer of Project Gutenberg begins."""


class NoOpening(InputError):
    """A text that cannot be split into an opening and the rest."""


def load(files: Sequence[FilePath] = (), data_dir: FilePath | None = None) -> list[Holdout]:
    """One holdout for every book.

    `files` are plain texts (.txt or .txt.gz), or a table of books (book_id, n_lines_x, n_lines_y) and then a table of
    their histograms (book_id, x, y, n); without any, those in the folder books/ of the data. Texts that are too short
    are left out with a warning.
    """
    meta = "books/books_meta*.csv"
    paths = given(files, data_dir, meta, f"{meta}.gz", "books/*.txt", "books/*.txt.gz")
    texts = [path for path in paths if TEXT.search(path.name)]
    tables = [path for path in paths if path not in texts]
    if not files:
        tables = [path for table in tables for path in (table, _histograms_of(table))]
    if len(tables) % 2:
        raise InputError(f"{tables[-1]} has no histograms: give the table of books and then the table of histograms")
    return [
        *(book for pair in range(0, len(tables), 2) for book in _read_histograms(*tables[pair : pair + 2])),
        *_read_texts(texts),
    ]


def read_book(path: FilePath) -> Holdout:
    """A book in plain text, named by its file; Project Gutenberg's header and footer are left out.

    Tokens are those of CountVectorizer(stop_words="english"). The opening is the lines whose running number of tokens
    stays below 2000; a blank line is a line. The vocabulary is the whole book's, the exposure ratio that of lines.
    """
    return from_lines(_body(_decoded(path)).split("\n"), case=TEXT.sub("", Path(path).name))


def from_lines(lines: Sequence[str], case: str = "all") -> Holdout:
    """Split a book's lines into opening and rest and count its words in each."""
    words = [tokens(line) for line in lines]
    running = np.cumsum([len(line) for line in words]) if words else np.zeros(1)
    opening = int(np.searchsorted(running, OPENING))
    if opening == 0 < len(lines):
        raise NoOpening(f"the book {case!r} has {OPENING:,} words and more in its first line: break its lines")
    if opening == len(lines):
        raise NoOpening(
            f"the book {case!r} has {int(running[-1]):,} words besides stop words: it takes {OPENING:,} and more"
        )
    before, after = (
        Counter(w for line in words[:opening] for w in line),
        Counter(w for line in words[opening:] for w in line),
    )
    vocabulary = sorted(before.keys() | after.keys())
    ratio = (len(lines) - opening) / opening
    return Holdout.of([before[w] for w in vocabulary], [after[w] for w in vocabulary], ratio, "books", case)


def tokens(line: str) -> list[str]:
    """The words of a line that are not among scikit-learn's English stop words.

    >>> tokens("Call me Ishmael. Some years ago--never mind how long")
    ['ishmael', 'years', 'ago', 'mind', 'long']
    """
    stop = _stop_words()
    return [word for word in TOKEN.findall(line.lower()) if word not in stop]


def _stop_words() -> frozenset[str]:
    try:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
    except ImportError as error:
        raise InputError("reading a text needs scikit-learn's stop words: pip install 'ebformer[sklearn]'") from error
    words: frozenset[str] = ENGLISH_STOP_WORDS
    return words


def _read_texts(paths: Sequence[Path]) -> list[Holdout]:
    books, left_out = [], []
    for path in paths:
        try:
            books.append(read_book(path))
        except NoOpening as error:
            left_out.append(error)
    if left_out and not books:
        raise left_out[0]
    for reason in left_out:
        warnings.warn(f"left out: {reason}", stacklevel=3)
    return books


def _decoded(path: FilePath) -> str:
    """A text in UTF-8, else as its line "Character set encoding" says, else in Windows' western European."""
    raw = read_bytes(path)
    said = re.search(rb"Character set encoding: *([\w-]+)", raw)
    for encoding in ("utf-8-sig", said[1].decode() if said else "cp1252", "cp1252"):
        try:
            text = raw.decode(encoding)
        except (UnicodeError, LookupError):
            continue
        if "\0" not in text:  # UTF-16, or no text at all
            return text
    raise InputError(f"{path} is no text in a known encoding: save it in UTF-8")


def _body(text: str) -> str:
    """A book without what Project Gutenberg put before and after it, and without blank lines at either end."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if end := END.search(text):
        text = text[: end.start()]
    return START.split(text)[-1].strip()


def _histograms_of(meta: Path) -> Path:
    histograms = meta.with_name(re.sub("books_meta", "books_hist", meta.name, flags=re.IGNORECASE))
    if not histograms.exists():
        raise InputError(f"{meta} needs its table of histograms, {histograms}, beside it")
    return histograms


def _read_histograms(meta: Path, histograms: Path) -> list[Holdout]:
    books = read_columns([meta], ["book_id", "n_lines_x", "n_lines_y"])
    rows = read_columns([histograms], ["book_id", "x", "y", "n"])
    ratio = dict(
        zip(map(str, books["book_id"].tolist()), (books["n_lines_y"] / books["n_lines_x"]).tolist(), strict=True)
    )
    if unknown := set(map(str, rows["book_id"].tolist())) - ratio.keys():
        raise InputError(f"{histograms} has the book {min(unknown)}, which {meta} has not: add its numbers of lines")
    order = np.argsort(rows["book_id"], kind="stable")
    book, x, y, n = (column[order] for column in rows.values())
    starts = np.flatnonzero(np.r_[True, book[1:] != book[:-1]])
    parts = zip(*(np.split(column, starts[1:]) for column in (book, x, y, n)), strict=True)
    return [Holdout(x, y, n, ratio[str(book[0])], "books", str(book[0])) for book, x, y, n in parts]
