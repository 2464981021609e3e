"""Ctrl-C in a command whose work is kept: it says how to go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from ebformer.cli.saying import say
from ebformer.cli.termination import exit_code


def goes_on_from(output: Path | None) -> str:
    """What becomes of an interrupted run that keeps its rows beside its output."""
    return "no file was written" if output is None else "the same command again goes on from here"


@contextmanager
def resumable(how: str) -> Iterator[None]:
    """Answer Ctrl-C with this advice and its exit code; elsewhere `ebformer.cli` says that none is left unfinished."""
    try:
        yield
    except KeyboardInterrupt:
        with suppress(OSError):  # the terminal may be what has gone
            say(f"interrupted: {how}")
        click.get_current_context().exit(exit_code())
