"""Files pass through: every column as it was, in order, whatever the format; malformed ones get one sentence."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow
import pytest

import ebformer as eb
from ebformer.errors import InputError
from ebformer.tables.columns import Columns
from ebformer.tables.files import Format, check_output, open_table
from ebformer.tables.observations import observe
from ebformer.tables.shrink import shrink_table
from ebformer.tables.wanted import Wanted

TRICKY = '''\
,id,player,player,goals,note
1,007,"O'Brien, ""Pat""",Zoë,3,
2,0080,"two
lines", padded ,0,NULL
3,1e5,渡辺,x;y,12,"  "
'''


def shrunken(source: Path, target: Path, columns: Columns) -> None:
    with open_table(str(source), str(target)) as file:
        file.write(shrink_table(file.table, columns, eb.CATALOGUE["npmle"], Wanted()).rows, str(target), columns)


def test_a_csv_file_passes_through_as_it_is(tmp_path: Path) -> None:
    """Leading zeros, quotes, line breaks, accents, repeated and empty names: only new columns at the end."""
    (tmp_path / "in.csv").write_text(TRICKY, encoding="utf-8")
    shrunken(tmp_path / "in.csv", tmp_path / "out.csv", Columns("goals"))
    with (
        (tmp_path / "in.csv").open(encoding="utf-8", newline="") as given,
        (tmp_path / "out.csv").open(encoding="utf-8", newline="") as written,
    ):
        before, after = list(csv.reader(given)), list(csv.reader(written))
    assert [row[:6] for row in after] == before
    assert after[0][6:] == ["estimate", "lower", "upper"]


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_delimiters_line_ends_and_byte_order_marks_are_recognised(
    tmp_path: Path, delimiter: str, newline: str, mark: str
) -> None:
    lines = ["team,goals", "a,1", "b,0", "c,4"]
    (tmp_path / "in.txt").write_bytes((mark + newline.join(lines).replace(",", delimiter) + newline).encode())
    with open_table(str(tmp_path / "in.txt")) as file:
        assert file.header == ["team", "goals"]
        assert observe(file.table, Columns("goals")).tallies()[None] == eb.Tally.of([1, 0, 4])


EUROPEAN = "id;price;note;goals;games\na;3,20;n.a.;3;1,5\nb;4,00;a.b,c;2;2,25\nc;;x;0;10\n"


def test_between_semicolons_a_comma_is_a_decimal_one(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(EUROPEAN)
    (tmp_path / "plain.csv").write_text(EUROPEAN.replace(",", "."))
    tallies = []
    for name in ("in.csv", "plain.csv"):
        with open_table(str(tmp_path / name)) as file:
            tallies.append(observe(file.table, Columns("goals", "games")).tallies()[None])
            assert file.decimal_commas == (("price", "games") if name == "in.csv" else ())
    assert tallies == [eb.Tally.of([3, 2, 0], [1.5, 2.25, 10.0])] * 2


@pytest.mark.parametrize("target", ["out.tsv", "out.parquet"])
def test_decimal_commas_are_points_in_other_formats(tmp_path: Path, target: str) -> None:
    (tmp_path / "in.csv").write_text(EUROPEAN)
    shrunken(tmp_path / "in.csv", tmp_path / target, Columns("goals", "games"))
    found = (
        pl.read_parquet(tmp_path / target) if ".parquet" in target else pl.read_csv(tmp_path / target, separator="\t")
    )
    assert found["games"].to_list() == [1.5, 2.25, 10.0]
    assert found["note"].to_list() == ["n.a.", "a.b,c", "x"]
    assert found["price"].cast(float).to_list() == [3.2, 4.0, None]


def test_between_semicolons_decimal_commas_stay_and_the_answers_have_them_too(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """So that the program that wrote the file can read the answers, and so can we."""
    (tmp_path / "in.csv").write_text(EUROPEAN)
    shrunken(tmp_path / "in.csv", Path("-"), Columns("goals", "games"))
    shrunken(tmp_path / "in.csv", tmp_path / "out.csv", Columns("goals", "games"))
    assert capsysbinary.readouterr().out == (tmp_path / "out.csv").read_bytes()
    shrunken(tmp_path / "in.csv", tmp_path / "out.tsv", Columns("goals", "games"))
    before, after = ((tmp_path / name).read_text().splitlines() for name in ("in.csv", "out.csv"))
    assert [line.split(";")[:5] for line in after] == [line.split(";") for line in before]
    with open_table(str(tmp_path / "out.csv")) as again, open_table(str(tmp_path / "out.tsv")) as out:
        assert again.table.rows.fetchall() == out.table.rows.fetchall()
    assert "." not in after[1].partition("1,5")[2]


@pytest.mark.parametrize(
    ("games", "sentence"),
    [
        (["1,5", "2.5"], r"row 1: games is '1,5': write numbers with a decimal point, or between semicolons all with"),
        (["1,5", "1.234,5"], r"row 2: games is '1\.234,5': write numbers .* no thousands separators"),
        (["1,5", "two"], "row 2: games is 'two', not a number"),
        (["1,5", ""], "row 2: games is missing"),
    ],
)
def test_a_mix_of_marks_is_refused(tmp_path: Path, games: list[str], sentence: str) -> None:
    (tmp_path / "in.csv").write_text("goals;games\n" + "".join(f"1;{entry}\n" for entry in games))
    with pytest.raises(InputError, match=sentence), open_table(str(tmp_path / "in.csv")) as file:
        observe(file.table, Columns("goals", "games"))


@pytest.mark.parametrize(
    ("entries", "unclear"),
    [
        (["850", "1,234", "2,100"], True),
        (["850", "1.234", "NA"], True),
        (["850", "1,234", "1.234"], True),
        (["850", "1,234", "2,1"], False),
        (["0,500", "1,234", "7"], False),
        (["1,2340", "2,1000"], False),
    ],
)
@pytest.mark.parametrize("role", ["count", "exposure"])
def test_between_semicolons_what_may_be_thousands_is_refused(
    tmp_path: Path, role: str, entries: list[str], unclear: bool
) -> None:
    """1,234 among whole numbers was read as 1.234 operations; where another entry shows decimals it is one too."""
    (tmp_path / "in.csv").write_text("n;other;price\n" + "".join(f"{entry};1;2,50\n" for entry in entries))
    columns = Columns("n") if role == "count" else Columns("other", "n")
    with open_table(str(tmp_path / "in.csv")) as file:
        assert ("n" in file.table.whole_number_columns()) is unclear
        observe(file.table, Columns("other"))
        if unclear:
            with pytest.raises(InputError, match=r"n has entries like '1.234', which may mean thousands: remove"):
                observe(file.table, columns)
        elif role == "exposure":
            assert sorted(observe(file.table, columns).known) == sorted(
                float(entry.replace(",", ".")) for entry in entries
            )
    if unclear:  # where it plays no part it passes through as it is
        shrunken(tmp_path / "in.csv", tmp_path / "out.tsv", Columns("other"))
        written = (tmp_path / "out.tsv").read_text().splitlines()[1:]
        assert [line.split("\t")[0] for line in written] == entries


@pytest.mark.parametrize(
    ("origin", "target"),
    [
        ("in.csv", "out.csv"),
        ("in.csv", "out.parquet"),
        ("in.tsv.gz", "out.csv.gz"),
        ("in.tsv.gz", "out.parquet"),
        ("in.parquet", "out.tsv"),
        ("in.parquet", "out.parquet"),
    ],
)
def test_rows_keep_their_order_from_every_format_and_to_every_format(tmp_path: Path, origin: str, target: str) -> None:
    """300,000 rows, several batches for DuckDB: a join on two threads would shuffle them."""
    rng = np.random.default_rng(0)
    n = 300_000
    table = pl.DataFrame({"id": np.arange(n), "goals": rng.poisson(3.0, n), "games": rng.integers(1, 9, n)})
    if origin == "in.parquet":
        table.write_parquet(tmp_path / origin, row_group_size=20_000)
    else:
        text = table.write_csv(separator="\t" if ".tsv" in origin else ",").encode()
        (tmp_path / origin).write_bytes(gzip.compress(text, 1) if origin.endswith(".gz") else text)
    shrunken(tmp_path / origin, tmp_path / target, Columns("goals", "games"))
    read = f"read_parquet('{tmp_path / target}')" if target == "out.parquet" else f"read_csv('{tmp_path / target}')"
    found = duckdb.sql(f"SELECT * FROM {read}").fetchnumpy()
    np.testing.assert_array_equal(found["id"].astype(int), table["id"])
    np.testing.assert_array_equal(found["goals"].astype(int), table["goals"])
    rule = eb.CATALOGUE["npmle"](eb.Tally.of(table["goals"], table["games"]))
    np.testing.assert_allclose(found["estimate"][:1000], rule(table["goals"][:1000], table["games"][:1000]), rtol=1e-9)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([origin, target])


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    table = pl.DataFrame({"day": ["2020-01-01"], "goals": [3], "ok": [True]}).with_columns(pl.col("day").str.to_date())
    table.write_parquet(tmp_path / "in.parquet")
    shrunken(tmp_path / "in.parquet", tmp_path / "out.parquet", Columns("goals"))
    assert pl.read_parquet(tmp_path / "out.parquet").select(table.columns).equals(table)


def test_counts_from_text_become_numbers_in_parquet_and_codes_stay_text(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,goals\n007,3\n008,1\n")
    shrunken(tmp_path / "in.csv", tmp_path / "out.parquet", Columns("goals"))
    found = pl.read_parquet(tmp_path / "out.parquet")
    assert found["id"].to_list() == ["007", "008"]
    assert found["goals"].to_list() == [3, 1]


@pytest.mark.parametrize(
    ("header", "rows", "candidates"),
    [
        ("player,goals", ["a,1", "b,0"], ["goals"]),
        ("code,goals", ["01,1", "02,0"], ["goals"]),
        ("rate,goals", ["0.5,1", "1,0"], ["goals"]),
        ("games,goals", ["3,1", "4,0"], ["games", "goals"]),
        ("player,diff", ["a,1", "b,-1"], []),
        ("player,goals", ["a,1", "b,"], ["goals"]),
        ("player,goals", ["a,1", "b,NA"], ["goals"]),
    ],
)
def test_columns_that_could_hold_counts(tmp_path: Path, header: str, rows: list[str], candidates: list[str]) -> None:
    (tmp_path / "in.csv").write_text("\n".join([header, *rows]) + "\n")
    with open_table(str(tmp_path / "in.csv")) as file:
        assert file.table.whole_number_columns() == candidates


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"\n\na,b\n1,2\n", "begins with a blank line: the first line must hold the names of the columns"),
        ("a,b\n1,\xa02\n".encode(), "b is .*, with a stray NO-BREAK SPACE: remove it"),
        (b"a,b\n", "the table has no rows"),
        (b"a,b\n1,2\n3\n", "line 3: 1 entry where the header has 2"),
        (b"a,b\n1,2\n3,4,5\n", "line 3: 3 entries where the header has 2"),
        ("a,b\nZoë,2\n".encode("latin-1"), "line 2: not UTF-8"),
        ("ä,b\n1,2\n".encode("latin-1"), "is not UTF-8"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-12], "."),
        (b"PAR1 and no more", "."),
        (b"PK\x03\x04 begins every .xlsx", "is a workbook or an archive, not a table: save the sheet as CSV"),
        (b'[{"a": 1, "b": 2}]', "is JSON: write the table as CSV or Parquet"),
        (bz2.compress(b"a,b\n1,2\n"), "is packed: unpack it first, as `bzip2 -dc FILE | ebformer ... -` does"),
        (lzma.compress(b"a,b\n1,2\n"), "is packed: unpack it first, as `xz -dc FILE"),
        (pyarrow.compress(b"a,b\n1,2\n", codec="zstd", asbytes=True), "is packed: unpack it first, as `zstd -dc FILE"),
        (b"sep=;\na;b\n1;2\n", "begins with a line for Excel alone, sep=;: delete that line"),
        ("a,b\n1,2\n".encode("utf-16-le"), "is not UTF-8 text"),
        (b"a,b\r1,2\r3,4\r", "has lines that end in different ways, or in CR alone"),
        (b"a,b\r\n1,2\n3,4\r\n", "has lines that end in different ways, or in CR alone"),
        (b"a,b\n1,2,utf-8\n", "line 2: 3 entries where the header has 2"),
        (b'a,b\n"1\nInvalid unicode",2\n3\n', "1 entry where the header has 2"),
        (b"a,b\n" + b"1" * 3_000_000 + b",2\n", "line 2: a line of more than 2,000,000 bytes"),
    ],
)
def test_malformed_files_get_one_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "in.csv").write_bytes(content)
    with pytest.raises(InputError, match=sentence) as complaint:
        shrunken(tmp_path / "in.csv", tmp_path / "out.csv", Columns("b"))
    assert "\n" not in str(complaint.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_the_name_of_a_file_is_no_part_of_what_is_wrong_with_it(tmp_path: Path) -> None:
    (tmp_path / "utf-8, unterminated quote.csv").write_bytes(b"a,b\n1,2,3\n")
    with pytest.raises(InputError, match="line 2: 3 entries where the header has 2"):
        shrunken(tmp_path / "utf-8, unterminated quote.csv", tmp_path / "out.csv", Columns("b"))


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    (tmp_path / "goals.csv").write_text("goals\n1\n")
    with (
        pytest.raises(InputError, match=r"there is no file .*goal\.csv \(did you mean .*goals\.csv\?\)"),
        open_table(str(tmp_path / "goal.csv")),
    ):
        pass
    with pytest.raises(InputError, match="is a folder"), open_table(str(tmp_path)):
        pass
    with pytest.raises(InputError, match="there is no folder"):
        check_output(str(tmp_path / "nowhere" / "out.csv"))
    with pytest.raises(InputError, match="end it in"):
        Format.of("out.xlsx")


def test_names_that_look_like_patterns_are_files(tmp_path: Path) -> None:
    (tmp_path / "a[1]*.csv").write_text("goals\n1\n2\n")
    with open_table(str(tmp_path / "a[1]*.csv")) as file:
        assert observe(file.table, Columns("goals")).tallies()[None].n == 2


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_folder_called_like_a_column_neither_adds_nor_replaces_one(tmp_path: Path, ending: str) -> None:
    folder = tmp_path / "region=north" / "goals=9"
    folder.mkdir(parents=True)
    table = pl.DataFrame({"goals": [1, 2]})
    (table.write_csv if ending == "csv" else table.write_parquet)(folder / f"in.{ending}")
    with open_table(str(folder / f"in.{ending}")) as file:
        assert file.table.names == ["goals"]
        assert observe(file.table, Columns("goals")).x.tolist() == [1, 2]


def test_lists_and_durations_are_no_candidates_for_counts(tmp_path: Path) -> None:
    strange = "[1, 2] AS list, {'a': 1} AS record, INTERVAL 3 DAY AS duration, 'PINT'::ENUM('PINT') AS measure"
    duckdb.sql(f"SELECT 3 AS goals, {strange}").write_parquet(str(tmp_path / "in.parquet"))
    with open_table(str(tmp_path / "in.parquet")) as file:
        assert file.table.whole_number_columns() == ["goals"]
        with pytest.raises(InputError, match=r"column 'list' holds INTEGER\[\], not numbers: name another column"):
            observe(file.table, Columns("list"))


def test_an_output_through_a_link_is_written_to_the_file_it_names(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("goals\n1\n2\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "latest.csv").symlink_to(tmp_path / "elsewhere" / "today.csv")
    shrunken(tmp_path / "in.csv", tmp_path / "latest.csv", Columns("goals"))
    assert (tmp_path / "latest.csv").is_symlink()
    assert (tmp_path / "elsewhere" / "today.csv").read_text().startswith("goals,estimate")


def test_a_failed_write_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("goals\n1\n2\n")
    (tmp_path / "out.csv").write_text("precious\n")
    with open_table(str(tmp_path / "in.csv"), str(tmp_path / "out.csv")) as file:
        broken = file.table.ask("SELECT goals, error('disk on fire') AS estimate FROM ebformer_given")
        with pytest.raises(duckdb.Error, match="disk on fire"):
            file.write(broken, str(tmp_path / "out.csv"), Columns("goals"))
    assert (tmp_path / "out.csv").read_text() == "precious\n"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    "sql",
    [
        "FROM read_csv('{beside}')",
        "FROM '{beside}'",
        "FROM read_text('/etc/hostname')",
        "FROM glob('{folder}/*')",
        "FROM read_csv('{folder}/*.csv')",
        "FROM 'https://example.com/table.csv'",
        "FROM 's3://bucket/table.parquet'",
        "ATTACH '{folder}/other.db'",
        "COPY (SELECT 1) TO '{folder}/written.csv'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET allowed_paths = ['{beside}']",
    ],
)
def test_an_open_table_opens_no_other_file(tmp_path: Path, sql: str) -> None:
    """Whatever a query said, were one to slip through: no other file, address, folder, database or extension."""
    (tmp_path / "in.csv").write_text("goals\n3\n0\n")
    (tmp_path / "beside.csv").write_text("secret\n1\n")
    with open_table(str(tmp_path / "in.csv")) as file:
        with pytest.raises((duckdb.PermissionException, duckdb.InvalidInputException)):
            file.connection.execute(sql.format(beside=tmp_path / "beside.csv", folder=tmp_path)).fetchall()
        assert file.table.rows.fetchall() == [("3",), ("0",)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["beside.csv", "in.csv"]
