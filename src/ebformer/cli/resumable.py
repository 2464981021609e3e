"""Ctrl-C in a command whose work is kept: it says how to go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def resumable(how: str) -> Iterator[None]:
    """Answer Ctrl-C with this advice and exit code 130; elsewhere `ebformer.cli` says that no file was written."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"ebformer: interrupted: {how}", err=True)
        click.get_current_context().exit(130)
