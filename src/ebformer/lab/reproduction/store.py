"""Results are kept: every experiment is a file, named by what made it, and is read instead of run where it exists."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ebformer.lab.journal import alone
from ebformer.lab.rows import Format, Row

SHOWING = ("cli", "report", "tables", "lab/commands", "lab/figures")
"""Parts of the package that show results or read tables, and make none."""


class Cost(NamedTuple):
    """What one file took, in seconds of processor time."""

    experiment: str
    file: str
    seconds: float


COSTS = Format.of(Cost)


@dataclass(frozen=True)
class Store:
    """A folder of results. `say` is told of every experiment that has to be run."""

    folder: Path
    say: Callable[[str], object] = lambda sentence: None

    def path(self, name: str, made_of: Iterable[object]) -> Path:
        """Where a result belongs: other code, weights, data or counts make another file; nothing stale is ever read."""
        digest = hashlib.sha256("\n".join(map(str, (code(), *made_of))).encode()).hexdigest()[:10]
        return self.folder / f"{name}.{digest}.csv"

    def kept(
        self, name: str, format: Format[Row], made_of: Iterable[object], run: Callable[[], list[Row]]
    ) -> list[Row]:
        """The rows of an experiment, run now unless they are there."""
        path = self.path(name, made_of)
        if not path.exists():
            with self.running(name, path):
                format.write(run(), path)
        return format.read(path)

    @contextmanager
    def running(self, name: str, path: Path) -> Iterator[None]:
        """Say what is run, and note what it cost in `costs.csv`."""
        self.say(name.replace("-", " "))
        self.folder.mkdir(parents=True, exist_ok=True)
        before = _processor_seconds()
        yield
        _end_workers()
        spent = Cost(name.partition("-")[0], path.name, round(_processor_seconds() - before, 2))
        told = self.folder / "costs.csv"
        earlier = [cost for cost in COSTS.read(told) if cost.file != path.name] if told.exists() else []
        COSTS.write([*earlier, spent], told)  # in the order of time: of a file made again the last counts

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One run at a time: a second one on the same folder is refused, until the first process has ended, however."""
        self.folder.mkdir(parents=True, exist_ok=True)
        complaint = f"another `ebformer reproduce` is working in {self.folder}: wait for it, or choose another --output"
        with closing(alone(self.folder / "lock", complaint)):
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


def _processor_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _end_workers() -> None:
    """Processes count among the finished children, and their time with them, only once they have ended."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)
