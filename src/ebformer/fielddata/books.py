"""Books: how often a word occurs in the opening predicts how often it occurs in the rest."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ebformer.errors import InputError
from ebformer.fielddata.holdout import Holdout
from ebformer.fielddata.sources import FilePath, find, read_columns, read_text

OPENING = 2000
"""The opening is the lines before the running number of tokens reaches this."""
TOKEN = re.compile(r"(?u)\b\w\w+\b")
"""What scikit-learn's CountVectorizer takes for a word, after lower-casing."""


def load(files: Sequence[FilePath] = (), data_dir: FilePath | None = None) -> list[Holdout]:
    """One holdout for every book.

    `files` are plain texts (.txt or .txt.gz), or a table of books (book_id, n_lines_x, n_lines_y) and then a table of
    their histograms (book_id, x, y, n); without any, those in the folder books/ of the data.
    """
    if not files:
        found = find(data_dir, "books/books_meta*.csv*", "books/*.txt*")
        is_text = ".txt" in found[0].name
        files = found if is_text else [path for meta in found for path in (meta, _histograms_of(meta))]
    texts = [Path(path) for path in files if ".txt" in Path(path).name]
    tables = [Path(path) for path in files if ".txt" not in Path(path).name]
    if len(tables) % 2:
        raise InputError(f"{tables[-1]} has no histograms: give the table of books and then the table of histograms")
    return [
        *(book for pair in range(0, len(tables), 2) for book in _read_histograms(*tables[pair : pair + 2])),
        *(read_book(path) for path in texts),
    ]


def read_book(path: FilePath) -> Holdout:
    """A book in plain text (UTF-8), named by its file; Project Gutenberg's header and footer are left out.

    Tokens are those of CountVectorizer(stop_words="english"). The opening is the lines whose running number of tokens
    stays below 2000; a blank line is a line. The vocabulary is the whole book's, the exposure ratio that of lines.
    """
    lines = io.StringIO(_body(read_text(path)), newline=None)
    return from_lines(list(lines), case=Path(path).name.split(".")[0])


def from_lines(lines: Sequence[str], case: str = "all") -> Holdout:
    """Split a book's lines into opening and rest and count its words in each."""
    words = [tokens(line) for line in lines]
    running = np.cumsum([len(line) for line in words]) if words else np.zeros(1)
    opening = int(np.searchsorted(running, OPENING))
    if not 0 < opening < len(lines):
        raise InputError(
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


def _body(text: str) -> str:
    """What lies between the lines *** START OF ... *** and *** END OF ... *** of a Project Gutenberg file."""
    start = re.search(r"^\*\*\* ?START OF.*$\n?", text, re.MULTILINE)
    end = re.search(r"^\*\*\* ?END OF.*$", text, re.MULTILINE)
    return text[start.end() if start else 0 : end.start() if end else len(text)]


def _histograms_of(meta: Path) -> Path:
    histograms = meta.with_name(meta.name.replace("books_meta", "books_hist"))
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
