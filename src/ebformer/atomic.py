"""Files appear whole or not at all: write beside the target, then rename over it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path in the target's folder; on success it takes the target's name, on failure it vanishes.

    >>> import tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "answer.txt"
    >>> with replacing(target) as partial:
    ...     _ = partial.write_text("42")
    >>> target.read_text()
    '42'
    """
    target = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
    os.close(handle)
    partial = Path(name)
    try:
        # mkstemp makes files private; the finished file gets the permissions an ordinary one would have.
        mask = os.umask(0)
        os.umask(mask)
        partial.chmod(0o666 & ~mask)
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
