"""Where the files are, and their columns. None ships with ebformer: docs/realdata.md says what to download."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from ebformer.errors import InputError
from ebformer.tables.arrays import FilePath, read_columns

__all__ = ["FilePath", "data_folder", "find", "given", "read_bytes", "read_columns", "read_text"]


def data_folder(data_dir: FilePath | None = None) -> Path:
    """The folder with nhl/, mlb/, books/ and classic/: `data_dir`, else $EBFORMER_DATA, else ../shared/data."""
    folder = Path(data_dir or os.environ.get("EBFORMER_DATA") or "../shared/data")
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}: name the folder of the data by --data-dir or EBFORMER_DATA")
    return folder


def given(files: Iterable[FilePath], data_dir: FilePath | None, *patterns: str) -> list[Path]:
    """The files that were named or, without any, those that `find` finds; archives are refused."""
    paths = [Path(path) for path in files] or find(data_dir, *patterns)
    for path in paths:
        if path.suffix.lower() == ".zip":
            raise InputError(f"{path} is an archive: unzip it, and give the files that were in it")
    return paths


def find(data_dir: FilePath | None, *patterns: str) -> list[Path]:
    """The files below the folder of the data that match any of the patterns, in either case, in order of name."""
    folder = data_folder(data_dir)
    found = [
        path
        for path in sorted(folder.glob("*/*"))
        if any(fnmatchcase(path.relative_to(folder).as_posix().lower(), pattern.lower()) for pattern in patterns)
    ]
    if not found:
        raise InputError(f"{folder} has no {' and no '.join(patterns)}: docs/realdata.md says where to get them")
    return found


def read_bytes(path: FilePath) -> bytes:
    """What a file holds, unpacked if it is gzipped, whatever its name says: browsers unpack some files on the way."""
    raw = Path(path).read_bytes()
    try:
        return gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be unpacked: fetch it again ({error})") from error


def read_text(path: FilePath) -> str:
    """A text in UTF-8, also gzipped."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no text in UTF-8: save it as such ({error})") from error
