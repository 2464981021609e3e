"""Which code is running: what the weights of a network say about the code that trained it."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import torch

from ebformer import __version__


@cache
def code_version() -> dict[str, str | None]:
    """The versions of ebformer and torch, and the commit where this file is part of a git repository.

    A commit that ends in -dirty was not all that ran.

    >>> sorted(code_version())
    ['commit', 'ebformer', 'torch']
    """
    return {"ebformer": __version__, "commit": commit(Path(__file__)), "torch": str(torch.__version__)}


def commit(file: Path) -> str | None:
    """The commit of the repository that holds a file; None where there is none."""

    def git(*arguments: str) -> str:
        asked = ("git", "-C", str(file.parent), *arguments)
        return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", file.name)  # or an environment within another repository would name that one
        return git("describe", "--always", "--abbrev=40", "--exclude=*", "--dirty")
    except (OSError, subprocess.SubprocessError):
        return None
