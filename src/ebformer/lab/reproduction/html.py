"""One self-contained HTML page: figures inside, no script from elsewhere, readable on a phone and in the dark."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import jinja2

from ebformer.atomic import write_text


@dataclass(frozen=True)
class Picture:
    """An inline SVG and the sentence beneath it that says what to see; a `wide` one has a line to itself."""

    svg: str
    caption: str
    wide: bool = False


@dataclass(frozen=True)
class Rows:
    """A table that readers can sort and search: column names, which of them are numeric, and the cells as text."""

    columns: Sequence[str]
    numeric: Sequence[bool]
    cells: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class Section:
    """A heading, sentences, pictures and perhaps rows; one with a `name` is listed at the top, others are its parts."""

    heading: str
    sentences: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    rows: Rows | None = None
    name: str = ""


@dataclass(frozen=True)
class Page:
    """What a page says, top to bottom; `facts` are the few numbers shown large, `footer` says how it was made."""

    title: str
    lead: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    footer: str

    def html(self) -> str:
        """The whole page as one string."""
        environment = jinja2.Environment(
            autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
        )
        template = resources.files("ebformer.lab.reproduction").joinpath("page.html.j2").read_text(encoding="utf-8")
        return environment.from_string(template).render(page=self)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page; an interrupted write leaves no file behind."""
        write_text(path, self.html())
