"""Files in and out through DuckDB, out of core: CSV, TSV and Parquet, gzipped or not, standard input and output.

Text files pass through as text: leading zeros, quotes and accents arrive as they left. Between semicolons a comma is a
decimal one: it is read as a point, and written as a comma again where semicolons are, which a .csv of it keeps. Outputs
appear whole or not at all.
"""

from __future__ import annotations

import difflib
import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from ebformer.atomic import SPECIAL, is_special, replacing
from ebformer.errors import EbformerError, InputError
from ebformer.tables.columns import Columns
from ebformer.tables.duck import DuckTable
from ebformer.tables.interrupts import copy_interruptibly, run_interruptibly
from ebformer.tables.sql import literal, quoted
from ebformer.tables.text_files import (
    about_bad_rows,
    check_kind,
    decimal_marks,
    distinct_names,
    first_line,
    read_header,
    with_mark,
)

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".parquet": None, ".pq": None}
MOST_COLUMNS = 10_000
"""A Parquet file with more than this would take minutes; text files may have fewer (`text_files`)."""
MEMORY = "2GB"
"""What DuckDB may hold in memory before it spills to disk."""


@dataclass(frozen=True)
class Format:
    """How a table is written: the delimiter of a text file, None for Parquet, and whether it is gzipped."""

    delimiter: str | None
    gzipped: bool = False

    @staticmethod
    def of(path: str) -> Format:
        """The format that a file's ending asks for.

        >>> Format.of("out.tsv.gz")
        Format(delimiter='\\t', gzipped=True)
        """
        suffixes = [suffix.lower() for suffix in Path(path).suffixes[-2:]]
        gzipped = suffixes[-1:] == [".gz"]
        ending = suffixes[-2 if gzipped else -1] if len(suffixes) > gzipped else ""
        if ending not in DELIMITERS or (gzipped and DELIMITERS[ending] is None):
            raise InputError(f"cannot tell the format of {path}: end it in .csv, .tsv or .parquet (.gz after text)")
        return Format(DELIMITERS[ending], gzipped)


@dataclass(frozen=True, eq=False)
class TableFile:
    """An open file: its rows as a source, its header as written and its format.

    `decimal_commas` are the columns whose numbers have a comma in the file and a point in the table; `folder` is where
    files that nobody sees are written while it is open.
    """

    connection: duckdb.DuckDBPyConnection
    table: DuckTable
    header: list[str]
    format: Format
    folder: str
    decimal_commas: tuple[str, ...] = ()

    def write(self, rows: duckdb.DuckDBPyRelation, path: str, columns: Columns) -> None:
        """Write rows that `table.with_answers` gave, in the order of the file; `-` is standard output, as text."""
        if path != "-":
            to = Format.of(path)
            if (self.format.delimiter, to.delimiter) == (";", ","):  # .csv too, for the programs that write such files
                to = replace(to, delimiter=";")
            with replacing(path) as partial:
                run_interruptibly(self.connection, lambda: self._copy(rows, str(partial), to, columns))
            return
        whole, as_text = Path(self.folder) / "answers", Format(self.format.delimiter or ",")
        run_interruptibly(self.connection, lambda: self._copy(rows, str(whole), as_text, columns))
        with whole.open("rb") as text:
            shutil.copyfileobj(text, sys.stdout.buffer)
        sys.stdout.buffer.flush()

    def titles(self, names: Sequence[str]) -> list[str]:
        """What columns are called in the file, by their names in its table; new ones are called as they are."""
        as_written = dict(zip(self.table.names, self.header, strict=True))
        return [as_written.get(name, name) for name in names]

    def _copy(self, rows: duckdb.DuckDBPyRelation, path: str, to: Format, columns: Columns) -> None:
        # A join on several threads shuffles its rows; one thread streams them through in order.
        self.connection.execute("SET threads = 1")
        names = rows.columns
        if to.delimiter is None:
            if self.format.delimiter is not None:
                numbers = dict.fromkeys([columns.role("known"), columns.future], "DOUBLE")
                numbers[columns.x] = "BIGINT" if columns.channel.whole else "DOUBLE"
                cast = [
                    f"try_cast({quoted(n)} AS {numbers[n]}) AS {quoted(n)}" if n in numbers else quoted(n)
                    for n in names
                ]
                rows = DuckTable(rows).ask(f"SELECT {', '.join(cast)} FROM ebformer_given")
            rows.write_parquet(path, use_tmp_file=False)  # ours takes the target's name, and is removed after a kill
            return
        # The header goes in as the first row, so that names DuckDB cannot hold (empty, repeated) survive.
        titles = ", ".join(literal(title) if title else "NULL::VARCHAR" for title in self.titles(names))
        as_read = self.decimal_commas and to.delimiter == ";"
        with_commas = {*self.decimal_commas, *(set(names) - set(self.table.names))} if as_read else ()
        texts = ", ".join(
            with_mark(name, ".", ",") if name in with_commas else f"{quoted(name)}::VARCHAR" for name in names
        )
        lines = DuckTable(rows).ask(f"SELECT {titles} UNION ALL SELECT {texts} FROM ebformer_given")
        lines.write_csv(
            path, sep=to.delimiter, header=False, compression="gzip" if to.gzipped else "none", use_tmp_file=False
        )


@contextmanager
def open_table(path: str, output: str = "-") -> Iterator[TableFile]:
    """Open a file, a pipe, or standard input for `-`, whatever its format; errors are sentences about this file.

    DuckDB opens this file and what lies in the folders of the `output` and of its own spills, and nothing else.
    """
    if path == "-" and sys.stdin is None:
        raise InputError("standard input is closed: give a file, or a table through a pipe")
    with tempfile.TemporaryDirectory(prefix="ebformer-") as folder:
        name = "standard input" if path == "-" else path
        if path != "-":
            check_input(path)
        if path == "-" or Path(path).is_fifo():  # DuckDB looks at a file more than once, which a pipe does not allow
            with nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as given:
                path = os.path.join(folder, "input")
                with open(path, "wb") as spool:
                    copy_interruptibly(given, spool)
        with duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": folder}) as connection:
            connection.execute("SET async_threads = 0")  # interrupted, they may wait for each other for ever
            connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
            # Rows stay on the streaming side of the join, whatever the optimiser thinks of their number.
            connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
            lock(connection, [path], [folder] if output == "-" else [folder, os.path.dirname(os.path.realpath(output))])
            with complaints_about(name):
                yield _opened(connection, os.path.abspath(path), name, folder)


@contextmanager
def complaints_about(name: str) -> Iterator[None]:
    """What DuckDB raises as it reads a file becomes a sentence that names it."""
    try:
        yield
    except duckdb.IOException as error:
        raise InputError(f"{name}: {first_line(error)}") from error
    except (duckdb.InvalidInputException, duckdb.ConversionException) as error:
        raise InputError(about_bad_rows(name, str(error))) from error
    except EbformerError:
        raise
    except (RuntimeError, duckdb.Error, UnicodeDecodeError) as error:  # by version and by what is damaged
        if "interrupt" in str(error).lower():  # what DuckDB makes of Ctrl-C
            raise KeyboardInterrupt from error
        raise InputError(f"{name} cannot be read, it seems to be damaged: {first_line(error)}") from error


def lock(connection: duckdb.DuckDBPyConnection, files: Sequence[str], folders: Sequence[str] = ()) -> None:
    """Nothing but these is opened from now on, no extension is fetched or loaded, and nothing can undo it."""
    for path in map(os.path.abspath, (*files, *folders)):
        _check_name(path)
    paths = [name for path in map(os.path.abspath, files) for name in (path, glob.escape(path))]
    allowed = (f"[{', '.join(map(literal, names))}]" for names in (paths, folders))
    connection.execute("SET autoinstall_known_extensions = false; SET autoload_known_extensions = false")
    connection.execute("SET allowed_paths = {}; SET allowed_directories = {}".format(*allowed))
    connection.execute("SET enable_external_access = false")


def check_input(path: str) -> None:
    """Complain about a file that cannot be read, and name the nearest where there is none."""
    file = Path(path)
    if file.is_dir():
        raise InputError(
            f"{path} is a folder: give a file, or all its files in Python as "
            f"eb.shrink(duckdb.sql(\"FROM '{path}/**/*.parquet'\"), ...)"
        )
    if file.is_symlink() and not file.exists():
        raise InputError(f"{path} is a link to {os.readlink(path)}, which is no file")
    if not file.exists():
        beside = [other.name for other in file.parent.iterdir()] if file.parent.is_dir() else []
        near = difflib.get_close_matches(file.name, beside, n=1)
        hint = f" (did you mean {file.parent / near[0]}?)" if near else ""
        raise InputError(f"there is no file {path}{hint}")
    if not os.access(path, os.R_OK):
        raise InputError(f"no permission to read {path}")


def check_output(path: str) -> None:
    """Complain now, not after the work, about an output that cannot be written."""
    if path == "-":
        return
    Format.of(path)
    _check_name(path)
    check_folder(path)


def check_apart(outputs: Sequence[str | None], inputs: Sequence[object]) -> None:
    """Complain about an output that would take the place of a file that the command reads, or of another output."""
    taken = {os.path.realpath(path) for path in inputs if isinstance(path, str | os.PathLike)}
    for path in outputs:
        if path is not None and path != "-":
            if os.path.realpath(path) in taken:
                raise InputError(f"cannot write {path}, which is another file of this command: name another output")
            taken.add(os.path.realpath(path))


def _check_name(path: str) -> None:
    """Complain about the name of a file or a folder that is not UTF-8: DuckDB could not be told of it."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{path!r} is not UTF-8 text: give the file, and the folder it is in, another name") from error


def check_folder(path: str) -> None:
    """Complain about a file that cannot be made because of its folder."""
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {folder}")
    if Path(path).is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    if is_special(path):
        raise InputError(f"cannot write {path}: it {SPECIAL}")
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write {path}: no permission to write in {folder}")


def _parquet_header(connection: duckdb.DuckDBPyConnection, path: str) -> list[str]:
    """The names of the columns as the file has them: DuckDB renames those that repeat."""
    schema = f"SELECT name, coalesce(num_children, 0) FROM parquet_schema({literal(glob.escape(path))})"
    header, parts = list[str](), 0
    for name, children in connection.sql(schema).fetchall()[1:]:  # a nested column is followed by its parts
        if parts == 0:
            header.append(name)
        parts += children - (parts > 0)
    return header


def _opened(connection: duckdb.DuckDBPyConnection, path: str, name: str, folder: str) -> TableFile:
    with open(path, "rb") as opened:
        magic = opened.read(4)
    check_kind(magic, name)
    # The columns are those of the file: from a folder like year=2024 DuckDB would add or replace one.
    file = f"{literal(glob.escape(path))}, hive_partitioning = false"
    if magic == b"PAR1":
        header = _parquet_header(connection, path)
        if len(header) > MOST_COLUMNS:
            raise InputError(f"{name} has {len(header):,} columns, more than {MOST_COLUMNS:,}: keep those that matter")
        table = DuckTable(connection.sql(f"SELECT * FROM read_parquet({file})"), connection=connection)
        as_read = len(header) != len(table.names)  # a damaged file
        return TableFile(connection, table, table.names if as_read else header, Format(None), folder)
    gzipped = magic[:2] == b"\x1f\x8b"
    header, delimiter = read_header(path, name, gzipped)
    columns = ", ".join(f"{literal(column)}: 'VARCHAR'" for column in distinct_names(header))
    rows = connection.sql(
        f"SELECT * FROM read_csv({file}, auto_detect = false, header = true, "
        f"delim = {literal(delimiter)}, quote = '\"', escape = '\"', "
        f"compression = '{'gzip' if gzipped else 'none'}', columns = {{{columns}}})"
    )
    if delimiter != ";":
        table = DuckTable(rows, connection=connection)
        return TableFile(connection, table, header, Format(delimiter, gzipped), folder)
    commas, unclear = decimal_marks(DuckTable(rows))
    if commas:
        read = ", ".join(f"{with_mark(column, ',', '.')} AS {quoted(column)}" for column in commas)
        rows = DuckTable(rows).ask(f"SELECT * REPLACE ({read}) FROM ebformer_given")
    table = DuckTable(rows, unclear, connection)
    return TableFile(connection, table, header, Format(delimiter, gzipped), folder, commas)
