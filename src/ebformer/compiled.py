"""C libraries that the installation compiled, where it found a compiler; elsewhere numpy does their work.

`hatch_build.py` compiles them. A library bears a hash of its source in its name, so that one built from another version
is never called.
"""

from __future__ import annotations

import ctypes
import hashlib
from pathlib import Path


def library(source: Path) -> ctypes.CDLL | None:
    """The library that belongs to this C file, or None; a bundled application may have neither."""
    try:
        text = source.read_bytes()
    except OSError:
        return None
    return load(source.with_name(f"{source.stem}-{hashlib.sha256(text).hexdigest()[:12]}.so"))


def load(path: Path) -> ctypes.CDLL | None:
    """The library at `path`; None if it is missing or needs another processor."""
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError:
        return None
    return loaded if loaded.runs_here() else None
