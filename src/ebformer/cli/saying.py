"""What commands say and ask on standard error: sentences, each on one line of bounded length."""

from __future__ import annotations

import sys

import click

from ebformer.errors import one_line
from ebformer.plural import counted


def say(sentence: object) -> None:
    """A remark on standard error, so that standard output holds nothing but the table; on a line of its own."""
    click.echo(one_line(f"ebformer: {sentence}"), err=True)


def say_missing(rows: int, fate: str) -> None:
    """What became of rows with a missing entry, where there are any."""
    if rows:
        say(f"{fate}: {counted(rows, 'row')} with a missing entry")


def ask(plan: str) -> None:
    """Tell what will take its time; on a terminal, stop unless it is meant."""
    if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm(f"ebformer: {one_line(plan)}: go on?", abort=True, err=True)
    else:
        say(plan)


def refuse(error: click.ClickException) -> None:
    """What is wrong with how a command was called, after its usage: click quotes what was typed, however long."""
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        error.show()
        return
    context = getattr(error, "ctx", None)
    if context is not None:
        click.echo(f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n", err=True)
    click.echo(one_line(f"Error: {error.format_message()}"), err=True)
