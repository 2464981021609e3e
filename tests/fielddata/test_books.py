"""Words are those of CountVectorizer, and the given histograms come out of the raw texts exactly."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebformer.errors import InputError
from ebformer.fielddata import books

vectorizers = pytest.importorskip("sklearn.feature_extraction.text")
LINE = st.text(st.sampled_from("abcdé ÉIİßΣ'_-12.,\t—ſ"), max_size=40) | st.sampled_from(
    ["It is the whale", "SHE herself"]
)


@settings(max_examples=300)
@given(LINE)
def test_tokens_are_those_of_count_vectorizer(line):
    analyse = vectorizers.CountVectorizer(stop_words="english").build_analyzer()
    assert books.tokens(line) == analyse(line)


def test_the_opening_ends_before_token_2000_and_blank_lines_count():
    line = " ".join(["whale"] * 199 + ["ship"])
    book = books.from_lines(["", line] * 9 + [line] * 3, "moby")
    # Nine lines hold 1800 tokens; the tenth would reach 2000, which is no longer below it.
    assert (book.before.tolist(), book.after.tolist()) == ([9, 9 * 199], [3, 3 * 199])
    assert book.ratio == 3 / 18


def test_the_vocabulary_is_that_of_the_whole_book():
    book = books.from_lines(["whale " * 1999] + ["harpoon harpoon"] * 2)
    assert list(zip(book.before.tolist(), book.after.tolist(), strict=True)) == [(0, 4), (1999, 0)]


def test_headers_of_project_gutenberg_are_left_out(tmp_path):
    story = "\r\n".join(["queequeg ishmael " * 100] * 12)
    start, end = (f"*** {word} OF THE PROJECT GUTENBERG EBOOK X ***" for word in ("START", "END"))
    wrapped = "\r\n".join(["Licence whale", start, story, end, "whale"])
    plain, framed = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    plain.write_bytes(story.encode())
    framed.write_bytes(gzip.compress(wrapped.encode()))
    a, b = books.load([plain, framed])
    assert (a.case, b.case) == ("a", "b")
    assert np.array_equal(a.before, b.before)
    assert np.array_equal(a.after, b.after)
    assert a.ratio == b.ratio


def test_a_short_text_is_refused():
    with pytest.raises(InputError, match="has 1 words"):
        books.from_lines(["whale"], "tiny")


def test_books_may_be_numbered_and_each_needs_its_lines(tmp_path):
    meta, histograms = tmp_path / "books_meta.csv", tmp_path / "books_hist.csv"
    meta.write_text("book_id,n_lines_x,n_lines_y\n7,10,30\n")
    histograms.write_text("book_id,x,y,n\n7,0,2,4\n7,1,1,1\n")
    (book,) = books.load([meta, histograms])
    assert (book.case, book.ratio, book.n) == ("7", 3.0, 5)
    histograms.write_text("book_id,x,y,n\n7,0,2,4\n8,1,1,1\n")
    with pytest.raises(InputError, match="has the book 8, which"):
        books.load([meta, histograms])


@pytest.mark.parametrize("name", ["latin.txt", "broken.txt.gz"])
def test_a_file_that_is_no_text_in_utf_8_is_refused_by_name(tmp_path, name):
    (tmp_path / name).write_bytes("café ".encode("latin-1") * 3000)
    with pytest.raises(InputError, match=f"{name} is no text in UTF-8"):
        books.load([tmp_path / name])


@pytest.mark.data
def test_raw_texts_reproduce_the_given_histograms_exactly(data_dir):
    given = {book.case: book for book in books.load(data_dir=data_dir)}
    texts = sorted((data_dir / "books" / "raw").glob("*.txt.gz"))
    assert len(texts) == 6
    for text in texts:
        ours = books.read_book(text)
        theirs = given[ours.case]
        for name in ("before", "after", "multiplicity"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), (ours.case, name)
        assert ours.ratio == theirs.ratio
