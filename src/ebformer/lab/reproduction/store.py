"""Results are kept: every experiment is a file, named by what made it, and is read instead of run where it exists."""

from __future__ import annotations

import csv
import functools
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_type_hints

from ebformer.atomic import replacing
from ebformer.errors import InputError

Row = TypeVar("Row", bound=NamedTuple)
SHOWING = ("cli", "report", "tables", "lab/commands", "lab/figures")
"""Parts of the package that show results or read tables, and make none."""


class Cost(NamedTuple):
    """What one file took, in seconds of processor time."""

    experiment: str
    file: str
    seconds: float


@dataclass(frozen=True)
class Store:
    """A folder of results. `say` is told of every experiment that has to be run."""

    folder: Path
    say: Callable[[str], object] = lambda sentence: None

    def path(self, name: str, made_of: Iterable[object]) -> Path:
        """Where a result belongs: other code, weights, data or counts make another file; nothing stale is ever read."""
        digest = hashlib.sha256("\n".join(map(str, (code(), *made_of))).encode()).hexdigest()[:10]
        return self.folder / f"{name}.{digest}.csv"

    def kept(self, name: str, kind: type[Row], made_of: Iterable[object], run: Callable[[], list[Row]]) -> list[Row]:
        """The rows of an experiment, run now unless they are there."""
        path = self.path(name, made_of)
        if not path.exists():
            with self.running(name, path):
                write_rows(run(), kind, path)
        return read_rows(path, kind)

    @contextmanager
    def running(self, name: str, path: Path) -> Iterator[None]:
        """Say what is run, and note what it cost in `costs.csv`."""
        self.say(name.replace("-", " "))
        self.folder.mkdir(parents=True, exist_ok=True)
        before = _processor_seconds()
        yield
        _end_workers()
        costs = read_rows(self.folder / "costs.csv", Cost) if (self.folder / "costs.csv").exists() else []
        spent = Cost(name.partition("-")[0], path.name, round(_processor_seconds() - before, 2))
        write_rows([*(cost for cost in costs if cost.file != path.name), spent], Cost, self.folder / "costs.csv")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One run at a time: a second one on the same folder is refused, until the first process has ended, however."""
        try:
            import fcntl
        except ImportError:  # Windows: two runs only do the same work twice, since files appear whole
            yield
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise InputError(
                    f"another `ebformer reproduce` is working in {self.folder}: wait for it, or choose another --output"
                ) from error
            yield


@functools.cache
def code() -> str:
    """SHA-256 of every source file that can change a number; what draws, prints and reads tables cannot."""
    package = Path(__file__).parents[2]
    showing = {package / part for part in SHOWING}
    sources = [path for pattern in ("**/*.py", "**/*.c") for path in package.glob(pattern)]
    return digest(sorted(path for path in sources if showing.isdisjoint(path.parents)))


def digest(paths: Iterable[Path]) -> str:
    """SHA-256 of the contents of files, in this order."""
    found = hashlib.sha256()
    for path in paths:
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def write_rows(rows: Iterable[Row], kind: type[Row], path: Path) -> None:
    """Named tuples as CSV; floats keep every bit."""
    with replacing(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(kind._fields)
        writer.writerows(rows)


def read_rows(path: Path, kind: type[Row]) -> list[Row]:
    """What `write_rows` wrote."""
    types: list[Any] = [get_type_hints(kind)[field] for field in kind._fields]
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        if next(rows, None) != list(kind._fields):
            raise InputError(f"{path} has not the columns {', '.join(kind._fields)}: delete it and run again")
        return [kind._make(as_type(cell) for as_type, cell in zip(types, row, strict=True)) for row in rows]


def _processor_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _end_workers() -> None:
    """Processes count among the finished children, and their time with them, only once they have ended."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)
