"""A table as text: for a terminal, for Markdown and for the pages of a report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TextTable:
    """A title, column names, cells as text, and sentences to print beneath.

    >>> print(TextTable("Regret", ("world, n", "mle"), (("neural 128", "15.1"),)).markdown())
    **Regret**
    <BLANKLINE>
    | world, n | mle |
    | --- | ---: |
    | neural 128 | 15.1 |
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns, after the first, hold numbers and are set to the right."""
        starts = [[row[i][:1] for row in self.rows] for i in range(len(self.columns))]
        return (False, *(all(first in "-+<>0123456789" for first in column) for column in starts[1:]))

    def markdown(self) -> str:
        lines = [self.columns, tuple("---:" if n else "---" for n in self.numeric), *self.rows]
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return "\n\n".join([f"**{self.title}**", body, *self.notes])
