"""Files appear whole or not at all: write beside the target, then rename over it."""

from __future__ import annotations

import os
import secrets
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
    target = Path(os.path.realpath(path))  # through a link to the file it names: the link stays
    partial = target.with_name(f".{target.name}.{secrets.token_hex(8)}.partial")
    try:
        partial.touch(exist_ok=False)
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
