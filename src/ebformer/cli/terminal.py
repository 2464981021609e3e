"""What a terminal shows while a command works and when it is done: one progress bar, one printer of tables."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import click

from ebformer.errors import one_line
from ebformer.report.cells import cell, is_number

if TYPE_CHECKING:
    from ebformer.report.text_table import TextTable
    from ebformer.tables.files import TableFile

PATIENCE = 2.0
"""Seconds before a progress bar appears."""
WIDTH = 200
"""Columns of a file or pipe: enough for every table."""


def show(table: TextTable) -> None:
    """Draw a table on standard output with its title above and what there is to say beneath."""
    _draw(table.columns, table.rows, table.numeric, table.title, (*table.notes, ""))


def show_rows(
    rows: Sequence[Mapping[str, object]], note: str | None = None, matter: Sequence[str] | None = None
) -> None:
    """Rows of a table by column: drawn on a terminal, tab-separated in a pipe, where a program may read them.

    Where a terminal is too narrow for all columns, those that `matter` are drawn, as many as it holds; if it is not
    said which, the others stand in tables of their own beneath.
    """
    columns = list(rows[0])
    if not sys.stdout.isatty():
        for line in [columns, *([cell(entry) for entry in row.values()] for row in rows)]:
            click.echo("\t".join(line))
        return
    notes, width = [] if note is None else [note], shutil.get_terminal_size().columns
    if matter is None:
        blocks = blocks_that_fit(rows, width)
    else:
        blocks = [columns_that_fit(rows, matter, width)]
        if more := len(columns) - len(blocks[0]):
            notes.append(f"{more} more columns: -o out.csv has all of them")
    for kept in blocks:
        numeric = [all(is_number(row[name]) for row in rows) for name in kept]
        _draw(
            kept, [[cell(row[name]) for name in kept] for row in rows], numeric, "", notes if kept is blocks[-1] else []
        )


def columns_that_fit(rows: Sequence[Mapping[str, object]], matter: Sequence[str], width: int) -> list[str]:
    """All columns if they fit into this width, else those that matter, the first of them at least.

    >>> columns_that_fit([{"about": "a" * 70, "name": "Ann", "estimate": 0.25}], ["name", "estimate"], width=40)
    ['name', 'estimate']
    """
    wide = _widths(rows)
    if 1 + sum(wide.values()) <= width:
        return list(wide)
    kept: list[str] = []
    for name in matter:
        if kept and 1 + sum(wide[each] for each in (*kept, name)) > width:
            break
        kept.append(name)
    return kept


def blocks_that_fit(rows: Sequence[Mapping[str, object]], width: int) -> list[list[str]]:
    """All columns, in as many tables of this width as they need, each with the first column again.

    >>> blocks_that_fit([{"name": "Ann", "count": 3, "about": "a" * 70}], width=40)
    [['name', 'count'], ['name', 'about']]
    """
    wide = _widths(rows)
    first, *others = wide
    blocks = [[first]]
    for name in others:
        if len(blocks[-1]) > 1 and 1 + sum(wide[each] for each in (*blocks[-1], name)) > width:
            blocks.append([first])
        blocks[-1].append(name)
    return blocks


def _widths(rows: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """What each column takes: a space on either side, and one between it and the next; the table takes one more."""
    from rich.cells import cell_len

    return {
        name: 3 + max(cell_len(one_line(text)) for text in (name, *(cell(row[name]) for row in rows)))
        for name in rows[0]
    }


def _draw(
    columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool], title: str, notes: Sequence[str]
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD)
    for name, right in zip(columns, numeric, strict=True):
        drawn.add_column(one_line(name), justify="right" if right else "left")
    for row in rows:
        drawn.add_row(*map(one_line, row))
    # Names in the table are a person's: "Ann [red]" and ":smile:" are no commands to us, nor to the terminal.
    width = None if sys.stdout.isatty() else WIDTH
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    console.print(*([Text(title, style="bold")] if title else []), drawn, *notes, sep="\n")


@contextmanager
def progress(task: str | Callable[[], str], done: Callable[[], float], total: float | None = None) -> Iterator[None]:
    """A progress bar on a terminal's standard error, for work that outlasts the patience of its reader.

    `done` is asked whenever the display refreshes: how much of `total` things, or how many percent. `task` says what is
    under way, or is asked for it too.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    def words() -> str:
        return task if isinstance(task, str) else task()

    class Watched(ProgressColumn):
        """Draws nothing itself: it moves the bar whenever the display refreshes."""

        def render(self, task: Task) -> str:
            bar.update(task.id, completed=max(done(), task.completed), description=words())
            return ""

    times = [TimeElapsedColumn()] if total is None else [MofNCompleteColumn(), TimeRemainingColumn()]
    drawn = SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), *times, Watched()
    console = Console(stderr=True)
    bar = Progress(*drawn, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    bar.add_task(words(), total=100.0 if total is None else total)
    timer = threading.Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # or a bar that starts at this moment would start after it was stopped, and stay
        bar.stop()


def watch(file: TableFile) -> Callable[[str], AbstractContextManager[None]]:
    """What shows a progress bar, as far as DuckDB is with this file, for a task that is named."""
    return lambda task: progress(task, file.connection.query_progress)
