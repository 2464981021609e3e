"""Words are those of CountVectorizer, and the given histograms come out of the raw texts exactly."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebformer.errors import InputError
from ebformer.lab.fielddata import books

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


STORY = "\n".join(["queequeg ishmael " * 100, "", "  pequod"] * 12)
START, END = (f"*** {word} OF THIS PROJECT GUTENBERG EBOOK MOBY DICK; OR\nTHE WHALE ***" for word in ("START", "END"))
SMALL_PRINT = "***START**THE SMALL PRINT!**START***\nlawyers\n*END{}THE SMALL PRINT! FOR ETEXTS*Ver.04.29.93*END*\n"
EDITIONS = {
    "indented": f"Licence whale\n\n  {START}\n{STORY}\n\n{END}\nwhale",
    "without spaces": "Licence\n" + f"{START}\n{STORY}\n{END}\nwhale".replace("*** ", "***").replace(" ***", "***"),
    "produced": f"{START}\n\n\nProduced by A\nand B\n\n\n{STORY}\n\nEnd of the Project Gutenberg EBook\n\n{END}\n",
    "small print": SMALL_PRINT.format("*") + STORY + "\nEnd of Project Gutenberg's Moby Dick\nwhale\n",
    "other small print": SMALL_PRINT.format(" ") + "\n\n" + STORY,
    "small print at the end": f"{START}\n{STORY}\n{END}\n{SMALL_PRINT.format(' ')}\nwhale",
    "never closed": f"*** START OF MOBY\n\n{STORY}\n\n*** END OF MOBY\n",
}


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("edition", EDITIONS)
def test_what_project_gutenberg_put_around_a_book_is_left_out(tmp_path, edition, line_end):
    plain, framed = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    plain.write_text(STORY)
    framed.write_bytes(gzip.compress(EDITIONS[edition].replace("\n", line_end).encode()))
    a, b = books.load([plain, framed])
    assert (a.case, b.case) == ("a", "b")
    assert np.array_equal(a.before, b.before)
    assert np.array_equal(a.after, b.after)
    assert a.ratio == b.ratio


def test_a_book_is_called_by_all_of_its_name(tmp_path):
    names = ["Dr. Jekyll.txt", "Dr. Moreau.TXT", "Mr. Hyde.txt.gz"]
    for name in names:
        (tmp_path / name).write_text(STORY)
    assert [book.case for book in books.load([tmp_path / name for name in names])] == [
        "Dr. Jekyll",
        "Dr. Moreau",
        "Mr. Hyde",
    ]


def test_a_short_text_is_refused():
    with pytest.raises(InputError, match="has 1 words"):
        books.from_lines(["whale"], "tiny")
    with pytest.raises(InputError, match="in its first line: break its lines"):
        books.from_lines(["whale " * 3000], "one line")


def test_short_texts_are_left_out_aloud_unless_there_are_no_others(tmp_path):
    long, short = tmp_path / "long.txt", tmp_path / "short.txt"
    long.write_text(STORY)
    short.write_text("whale")
    with pytest.warns(UserWarning, match="left out: the book 'short' has 1 words"):
        assert [book.case for book in books.load([short, long])] == ["long"]
    with pytest.raises(InputError, match="the book 'short' has 1 words"):
        books.load([short])


def test_texts_are_read_beside_tables_in_the_folder_of_the_data(tmp_path):
    folder = tmp_path / "books"
    folder.mkdir()
    (folder / "books_meta.csv").write_text("book_id,n_lines_x,n_lines_y\npg7,10,30\n")
    (folder / "books_hist.csv").write_text("book_id,x,y,n\npg7,0,2,4\n")
    (folder / "MOBY.TXT").write_text(STORY)
    assert [book.case for book in books.load(data_dir=tmp_path)] == ["pg7", "MOBY"]
    with pytest.raises(InputError, match=r"pg\.zip is an archive: unzip it"):
        books.load([folder / "MOBY.TXT", folder / "pg.zip"])


def test_books_may_be_numbered_and_each_needs_its_lines(tmp_path):
    meta, histograms = tmp_path / "books_meta.csv", tmp_path / "books_hist.csv"
    meta.write_text("book_id,n_lines_x,n_lines_y\n7,10,30\n")
    histograms.write_text("book_id,x,y,n\n7,0,2,4\n7,1,1,1\n")
    (book,) = books.load([meta, histograms])
    assert (book.case, book.ratio, book.n) == ("7", 3.0, 5)
    histograms.write_text("book_id,x,y,n\n7,0,2,4\n8,1,1,1\n")
    with pytest.raises(InputError, match="has the book 8, which"):
        books.load([meta, histograms])


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [("", "utf-8"), ("", "cp1252"), ("ISO-8859-1", "latin-1"), ("KOI8-R", "koi8-r"), ("?", "cp1252")],
)
def test_a_text_is_decoded_as_it_says_or_as_windows_would(tmp_path, declared, encoding):
    word = "ишмаэль" if encoding == "koi8-r" else "café"
    text = f"Character set encoding: {declared}\n{START}\n" + f"{word} queequeg\n" * 2000
    plain, other = tmp_path / "plain.txt", tmp_path / "other.txt"
    plain.write_text(text, encoding="utf-8")
    other.write_bytes(text.encode(encoding))
    a, b = books.load([plain, other])
    assert a.multiplicity.tolist() == [2]  # one word broken in two would be a third
    assert np.array_equal(a.before, b.before)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("utf16.txt", STORY.encode("utf-16"), "is no text in a known encoding: save it in UTF-8"),
        ("cut.txt.gz", gzip.compress(STORY.encode())[:-9], "cannot be unpacked: fetch it again"),
        ("bent.txt.gz", gzip.compress(STORY.encode())[:20] + b"\xff" * 99, "cannot be unpacked: fetch it again"),
    ],
)
def test_a_file_that_is_no_text_is_refused_by_name(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=f"{name} {said}"):
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


@pytest.mark.data
def test_an_original_of_project_gutenberg_gives_the_given_histogram(data_dir, tmp_path):
    (given,) = (book for book in books.load(data_dir=data_dir) if book.case == "pg11")
    raw = gzip.decompress((data_dir / "books" / "raw" / "pg11.txt.gz").read_bytes()).decode()
    original = f"Licence\n\n{START}\n\nProduced by A and B\n\n\n{raw}\n\n\nEnd of Project Gutenberg's Alice\n\n{END}\n"
    path = tmp_path / "pg11.txt"
    path.write_bytes(original.replace("\n", "\r\n").encode())
    ours = books.read_book(path)
    assert ours.ratio == given.ratio
    for name in ("before", "after", "multiplicity"):
        assert np.array_equal(getattr(ours, name), getattr(given, name)), name
