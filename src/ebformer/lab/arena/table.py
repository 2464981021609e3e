"""The table of losses on disk: CSV or Parquet, complete or resumable, never half written."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from math import nan
from pathlib import Path
from typing import Self, TextIO

from ebformer.atomic import replacing
from ebformer.errors import InputError
from ebformer.lab.arena.losses import Loss

COLUMNS = Loss._fields
TYPES = (str, int, int, int, str, float, float, float, float)


def write(losses: Iterable[Loss], path: str | os.PathLike[str]) -> None:
    """Write a sorted table, CSV or Parquet by its suffix; the file appears whole or not at all."""
    rows = sorted(losses, key=lambda loss: (*loss.key, loss.estimator))
    with replacing(path) as partial:
        if _is_parquet(path):
            import pyarrow as pa
            import pyarrow.parquet as pq

            columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in COLUMNS]
            arrow = {str: pa.string(), int: pa.int64(), float: pa.float64()}
            arrays = [pa.array(column, arrow[kind]) for column, kind in zip(columns, TYPES, strict=True)]
            pq.write_table(pa.table(arrays, names=list(COLUMNS)), partial)
        else:
            partial.write_text(",".join(COLUMNS) + "\n" + _lines(rows), encoding="utf-8")


def read(path: str | os.PathLike[str]) -> list[Loss]:
    """Read a table that `write` wrote; floats come back bit for bit."""
    if _is_parquet(path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(path)
        except pa.ArrowInvalid as error:
            raise InputError(f"{path} is no Parquet file: name another, or delete it") from error
        if tuple(table.column_names) != COLUMNS:
            found = ", ".join(table.column_names)
            raise InputError(f"{path} has columns {found}, not those of a table of losses: name another, or delete it")
        return [Loss(*row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]
    header, _, body = Path(path).read_text(encoding="utf-8").partition("\n")
    if tuple(header.strip().split(",")) != COLUMNS:
        raise InputError(
            f"{path} begins with {header[:60]!r}, not with the columns of a table of losses: name another, or delete it"
        )
    return _parse(body, path)


class Journal:
    """Losses as they come in, appended to a file beside the table, so that a killed run loses only what was in flight.

    `losses` holds what the table and the journal of an earlier run already had. `finish` writes the table and removes
    the journal; a journal that is closed before stays for the next run. While it is open no other run can open it.
    Without a path everything stays in memory.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self.losses: list[Loss] = []
        if self.path is None:
            return
        _is_parquet(self.path)  # a suffix that cannot be written is refused now, not after the last trial
        if not self.path.parent.is_dir():
            raise InputError(f"there is no folder {self.path.parent}: make it, or choose another output")
        self.beside = self.path.with_name(self.path.name + ".journal")
        self.file = _locked(self.beside, self.path)
        try:
            text = self.file.read()
            whole = text[: text.rfind("\n") + 1]
            # The line that was being written when the run was killed must not run into the next one.
            self.file.truncate(len(whole.encode("utf-8")))
            stored = (read(self.path) if self.path.exists() else []) + _parse(whole, self.beside)
        except Exception:
            self.close()
            raise
        # A run that was killed between writing the table and removing the journal left its rows in both.
        self.losses = list({(loss.key, loss.estimator): loss for loss in stored}.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, losses: list[Loss]) -> None:
        self.losses += losses
        if self.path is not None:
            self.file.write(_lines(losses))
            self.file.flush()

    def finish(self) -> list[Loss]:
        if self.path is not None:
            write(self.losses, self.path)
            self.file.truncate(0)
        self.close()
        return sorted(self.losses, key=lambda loss: (*loss.key, loss.estimator))

    def close(self) -> None:
        if self.path is not None and not self.file.closed:
            empty = os.fstat(self.file.fileno()).st_size == 0
            if empty and os.name != "nt":  # while it is locked, or it could be the journal of the next run already
                self.beside.unlink(missing_ok=True)
            self.file.close()
            if empty and os.name == "nt":  # Windows removes no file that is open
                self.beside.unlink(missing_ok=True)


def _locked(journal: Path, path: Path) -> TextIO:
    """The journal, for this run alone; the system lifts the lock with the process, however that ends."""
    while True:
        file = journal.open("a+", encoding="utf-8")
        file.seek(0)
        try:
            import fcntl
        except ImportError:  # Windows has no such lock: there two runs at once are the user's to avoid
            return file
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise InputError(f"another run is writing {path}: wait for it, or choose another output") from error
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # a run that ended in this moment removed the journal: make another


def _is_parquet(path: str | os.PathLike[str]) -> bool:
    suffix = Path(path).suffix
    if suffix not in (".csv", ".parquet"):
        raise InputError(f"{path} ends in {suffix or 'no suffix'}: name a .csv or .parquet file")
    return suffix == ".parquet"


def _lines(losses: Iterable[Loss]) -> str:
    text = io.StringIO()
    # repr keeps every bit of a float; an unknown number is an empty cell, which every reader takes for missing.
    csv.writer(text, lineterminator="\n").writerows(
        ["" if cell != cell else repr(cell) if isinstance(cell, float) else cell for cell in loss] for loss in losses
    )
    return text.getvalue()


def _parse(body: str, path: str | os.PathLike[str]) -> list[Loss]:
    losses = []
    for row, cells in enumerate(csv.reader(io.StringIO(body)), 1):
        try:
            losses.append(Loss._make(kind(cell) if cell else nan for kind, cell in zip(TYPES, cells, strict=True)))
        except ValueError as error:
            raise InputError(f"{path} is damaged in row {row}, {','.join(cells)[:60]!r}: mend or delete it") from error
    return losses
