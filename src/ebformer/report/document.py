"""One self-contained page: words, a table and pictures, with a script and a style that its policy names by hash."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

import jinja2
from markupsafe import Markup

from ebformer.atomic import replacing
from ebformer.report.columns import Heading
from ebformer.report.rows import packed

STATIC_ROWS = 30
"""Rows that stand in the page itself, for paper and for browsers that run no scripts."""
FROM_RIGHT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
"""Letters that are written from right to left."""
TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
NAMES_FROM_RIGHT = re.compile(f"[{FROM_RIGHT}](?:[ '’-]*[{FROM_RIGHT}])*")


@dataclass(frozen=True)
class Figure:
    """A picture, what it is called, and the sentence beneath it; a `wide` one has a line to itself."""

    id: str
    heading: str
    svg: Markup
    caption: str
    wide: bool = False


@dataclass(frozen=True)
class Filter:
    """What rows can be narrowed down by: the place of a column among the packed ones, and its entries."""

    title: str
    column: int
    entries: Sequence[str]
    group: bool = False


@dataclass(frozen=True, eq=False)
class Document:
    """What a page says, top to bottom; `fold` and `folded` are for experts, `file` names what is downloaded."""

    title: str
    kicker: str
    headline: str
    sentences: Sequence[str]
    warnings: Sequence[str]
    facts: Sequence[tuple[str, str]]
    headings: Sequence[Heading]
    names: Sequence[str]
    mean: float
    middle: tuple[float, str]
    """What units are told from, and its name."""
    strip: str
    """The scale of the little pictures in the table, for the script."""
    by: tuple[str, bool]
    """The column that puts rows in order at first, and whether its highest entry leads."""
    first: Sequence[int]
    """The rows in that order."""
    standing: bool
    filters: Sequence[Filter]
    note: str
    figures: Sequence[Figure]
    fit: str
    fold: Sequence[str]
    folded: Sequence[Figure]
    footer: str
    file: str

    @cached_property
    def packed(self) -> str:
        """The columns, each with its heading's place."""
        return packed([column for heading in self.headings for column in heading.columns])

    @property
    def rows(self) -> list[list[str]]:
        """The first rows as text, a cell per heading."""
        return [
            [" – ".join(filter(None, (c.texts[i] for c in h.columns))) for h in self.headings]
            for i in self.first[:STATIC_ROWS]
        ]

    @property
    def many(self) -> bool:
        """Whether there are more columns than a sheet of paper holds beside pictures of them."""
        return sum(heading.kind != "other" for heading in self.headings) > 8

    def html(self) -> str:
        """The whole page as one string."""
        environment = jinja2.Environment(
            autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
        )
        files = resources.files("ebformer.report")
        environment.filters["isolated"] = isolated
        template, style, script = (
            files.joinpath(name).read_text(encoding="utf-8") for name in ("report.html.j2", "report.css", "report.js")
        )
        return environment.from_string(template).render(
            page=self,
            style=Markup(style),
            script=Markup(script),
            style_hash=_hash(style),
            script_hash=_hash(script),
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page; an interrupted write leaves no file behind."""
        with replacing(path) as partial:
            partial.write_text(self.html(), encoding="utf-8", errors="replace")


def isolated(text: str) -> str:
    """A sentence in which names written from right to left turn nothing around them, such as the number behind.

    What a name holds to turn the direction of writing by force is left out.

    >>> isolated("that of דוד לוי: 1.08").encode("ascii", "namereplace").count(b"ISOLATE"), isolated("\u202eAnn: 1.08")
    (2, 'Ann: 1.08')
    """
    return NAMES_FROM_RIGHT.sub("\u2068\\g<0>\u2069", TURNING.sub("", text))


def _hash(text: str) -> str:
    """What a content security policy calls an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
