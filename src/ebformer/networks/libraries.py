"""C libraries that the installation compiled, where it found a compiler; elsewhere numpy does their work.

A library bears a hash of its source and of the numbers of constants.py in its name, so that one built from another
version is never called.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

from ebformer.networks.constants import library_name


def compiled_from(source: Path) -> Path:
    """Where the library of this C file lies, if there is one."""
    try:
        return source.with_name(library_name(source.stem, source.read_bytes()))
    except OSError:  # a bundled application may have neither
        return source.with_suffix(".so")


def load(path: Path) -> ctypes.CDLL | None:
    """The library at `path`; None if it is missing or needs another processor."""
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError:
        return None
    return loaded if loaded.runs_here() else None
