"""Tables on the terminal: one printer for every command that shows a `TextTable`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ebformer.lab.figures.arena_tables import TextTable


def show(table: TextTable) -> None:
    """Print a table, and what there is to say beneath it; into a file or pipe at its full width."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD)
    for position, column in enumerate(table.columns):
        drawn.add_column(column, justify="right" if position else "left")
    for row in table.rows:
        drawn.add_row(*row)
    # Names in the table are a person's: brackets and colons in them are no commands to us.
    console = Console(width=None if sys.stdout.isatty() else 200, highlight=False, markup=False, emoji=False)
    console.print(Text(table.title, style="bold"), drawn, *table.notes, "", sep="\n")
