"""Rows as they come in, kept beside the table they will become: a killed run loses only what was in flight."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Generic, Self, TextIO

from ebformer.errors import InputError
from ebformer.lab.rows import FilePath, Format, Row, is_parquet


class Journal(Generic[Row]):
    """A table in the making: `append` adds rows, `finish` writes the table and removes the journal beside it.

    `rows` holds what the table and the journal of an earlier run already had; of rows with the same identity the last
    one counts. A journal that is closed before it is finished stays for the next run. While it is open no other run can
    open it. Without a path everything stays in memory.
    """

    def __init__(self, path: FilePath | None, format: Format[Row]) -> None:
        self.path, self.format = None if path is None else Path(path), format
        self.rows: list[Row] = []
        if self.path is None:
            return
        is_parquet(self.path)  # a suffix that cannot be written is refused now, not after the last row
        if not self.path.parent.is_dir():
            raise InputError(f"there is no folder {self.path.parent}: make it, or choose another output")
        self.beside = self.path.with_name(self.path.name + ".journal")
        self.file = alone(self.beside, f"another run is writing {self.path}: wait for it, or choose another output")
        try:
            text = self.file.read()
            whole = text[: text.rfind("\n") + 1]
            # The line that was being written when the run was killed must not run into the next one.
            self.file.truncate(len(whole.encode("utf-8")))
            stored = (format.read(self.path) if self.path.exists() else []) + format.parse(whole, self.beside)
        except Exception:
            self.close()
            raise
        # A run that was killed between writing the table and removing the journal left its rows in both.
        self.rows = list({format.identity(row): row for row in stored}.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, rows: list[Row]) -> None:
        self.rows += rows
        if self.path is not None:
            self.file.write(self.format.lines(rows))
            self.file.flush()

    def finish(self) -> list[Row]:
        """The whole table, sorted, which is written before the journal is removed."""
        last = {self.format.identity(row): row for row in self.rows}
        table = [last[identity] for identity in sorted(last)]
        if self.path is not None:
            self.format.write(table, self.path)
            self.file.truncate(0)
        self.close()
        return table

    def close(self) -> None:
        if self.path is not None and not self.file.closed:
            empty = os.fstat(self.file.fileno()).st_size == 0
            if empty and os.name != "nt":  # while it is locked, or it could be the journal of the next run already
                self.beside.unlink(missing_ok=True)
            self.file.close()
            if empty and os.name == "nt":  # Windows removes no file that is open
                self.beside.unlink(missing_ok=True)


def alone(path: Path, complaint: str) -> TextIO:
    """A file to read and append to, for this run alone; the system lifts the lock with the process, however that ends.

    A second run gets the complaint. Windows has no such lock: there two runs at once are the user's to avoid.
    """
    while True:
        file = path.open("a+", encoding="utf-8")
        file.seek(0)
        try:
            import fcntl
        except ImportError:
            return file
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise InputError(complaint) from error
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # a run that ended in this moment removed the file: make another
