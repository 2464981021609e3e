"""Files and folders appear whole or not at all: write beside the target, then rename over it."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ebformer.errors import EbformerError

SPECIAL = "is a pipe or a device, no file: give the name of a file"
"""Why nothing is written to a target that `is_special`."""


State = tuple[int, int, int]
"""Which file has a name, and when it was last written."""


def state(path: str | os.PathLike[str]) -> State:
    """What changes whenever another command replaces a file."""
    now = os.stat(path)
    return now.st_ino, now.st_size, now.st_mtime_ns


@contextmanager
def replacing(path: str | os.PathLike[str], over: State | None = None) -> Iterator[Path]:
    """Give a temporary path in the target's folder; on success it takes the target's name, on failure it vanishes.

    What is written may rest on what the target held when it was read, in the state `over`: one that was replaced since
    then is left as it is.

    >>> import tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "answer.txt"
    >>> with replacing(target) as partial:
    ...     _ = partial.write_text("42")
    >>> target.read_text()
    '42'
    """
    target = Path(os.path.realpath(path))  # through a link to the file it names: the link stays
    if is_special(target):
        raise OSError(errno.EINVAL, SPECIAL, os.fspath(path))
    remove_litter(target)
    partial = _beside(target)
    try:
        partial.touch(exist_ok=False)
        yield partial
        if over is not None and over != state(target):
            raise EbformerError(
                f"another command has changed {path} in the meantime, and it stays so: run this one again"
            )
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str, over: State | None = None) -> None:
    """Write a text in UTF-8, all of it or nothing."""
    with replacing(path, over) as partial:
        partial.write_text(text, encoding="utf-8")


@contextmanager
def replacing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The same for a folder: a kill between the two renames at the end leaves none of that name, never half of one."""
    target = Path(os.path.realpath(path))
    remove_litter(target)
    partial, old = _beside(target), _beside(target)
    try:
        partial.mkdir()
        yield partial
        if target.exists():
            os.rename(target, old)
        os.rename(partial, target)
    finally:
        for left in (partial, old):
            shutil.rmtree(left, ignore_errors=True)


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether this is a pipe or a device, such as /dev/null: a file that took its name would be in its place."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _beside(target: Path) -> Path:
    """A name in the target's folder that says whose it is."""
    return target.with_name(f"{_start(target)}{os.getpid()}-{secrets.token_hex(4)}.partial")


def _start(target: Path) -> str:
    """How the names of unfinished files for a target begin; file systems allow 255 bytes in all."""
    name = target.name if len(os.fsencode(target.name)) <= 200 else hashlib.sha256(target.name.encode()).hexdigest()
    return f".{name}.{_here()}-"


def remove_litter(target: Path) -> None:
    """Remove what processes of this machine that are no more, killed as they wrote the target, left beside it."""
    start = _start(target)
    with suppress(OSError):
        for name in os.listdir(target.parent):  # nothing stays open where a signal ends it
            if not (name.startswith(start) and name.endswith(".partial")):
                continue
            path, process = target.parent / name, name.removeprefix(start).partition("-")[0]
            if process.isdigit() and not _alive(int(process)):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _here() -> str:
    """This machine, in a few letters: a folder may be shared by several."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _alive(process: int) -> bool:
    """Whether there is such a process; where that cannot be asked without harm, there may be."""
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
