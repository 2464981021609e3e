"""Where the files are, and their columns. None ships with ebformer: docs/realdata.md says what to download."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

from ebformer.errors import InputError
from ebformer.tables.arrays import FilePath, read_columns

__all__ = ["FilePath", "data_folder", "find", "read_columns", "read_text"]


def data_folder(data_dir: FilePath | None = None) -> Path:
    """The folder with nhl/, mlb/, books/ and classic/: `data_dir`, else $EBFORMER_DATA, else ../shared/data."""
    folder = Path(data_dir or os.environ.get("EBFORMER_DATA") or "../shared/data")
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}: name the folder of the data by --data-dir or EBFORMER_DATA")
    return folder


def find(data_dir: FilePath | None, *patterns: str) -> list[Path]:
    """The files that match the first pattern that has any, in order of name."""
    folder = data_folder(data_dir)
    for pattern in patterns:
        if found := sorted(folder.glob(pattern)):
            return found
    raise InputError(f"{folder} has no {' and no '.join(patterns)}: docs/realdata.md says where to get them")


def read_text(path: FilePath) -> str:
    """A text in UTF-8, also gzipped."""
    raw = Path(path).read_bytes()
    try:
        return (gzip.decompress(raw) if Path(path).suffix == ".gz" else raw).decode("utf-8-sig")
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise InputError(f"{path} is no text in UTF-8: save it as such ({error})") from error
