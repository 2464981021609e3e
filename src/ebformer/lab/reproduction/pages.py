"""The reproduction as pages: index.html to read in a browser, index.md with figures beside it, and those of docs/."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ebformer import __version__
from ebformer.atomic import replacing, write_text
from ebformer.errors import InputError
from ebformer.lab.reproduction.bench import Bench
from ebformer.lab.reproduction.compare import Entry
from ebformer.lab.reproduction.html import Page, Picture, Rows, Section
from ebformer.lab.reproduction.items import Item
from ebformer.report.style import inline_svg, small_png

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Solving Empirical Bayes via Transformers, reproduced"
LEAD = (
    "Every table, figure and claim of the paper (Teh, Jabbour and Polyanskiy) beside ours. All numbers of ours were "
    "computed by `ebformer reproduce` from the networks that ship with ebformer; the paper's own stand beside them."
)
Made = Sequence[tuple[Item, Entry]]


def make(bench: Bench, items: Sequence[Item], *, strict: bool) -> Made:
    """Make every item; where something it needs is missing, say so in its place, or, if `strict`, at once."""
    made = []
    for item in items:
        try:
            made.append((item, item.make(bench)))
        except InputError as error:
            if strict:
                raise
            bench.store.say(f"{item.key}: {error}")
            made.append((item, Entry(f"Not computed: {error}.")))
    return made


def write_pages(bench: Bench, made: Made, folder: Path) -> None:
    """OUTPUT/index.md with its figures, and OUTPUT/index.html."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "index.md", markdown(bench, made, folder, ""))
    _page(bench, made).write(folder / "index.html")


def markdown(bench: Bench, made: Made, pictures: Path, prefix: str) -> str:
    """The page as Markdown; figures are written to `pictures`, whose path from the page is `prefix`."""
    parts = [f"# {TITLE}", LEAD, _scale(bench)]
    parts.append("\n".join(f"- [{item.title}](#{_anchor(item.title)}) ({item.where})" for item, _ in made))
    for item, entry in made:
        where = item.where if item.where == "not in the paper" else f"the paper's {item.where}"
        parts += [f"## {item.title}", f"`ebformer reproduce --only {item.key}`; {where}.", entry.word]
        for number, (figure, caption) in enumerate(entry.figures, 1):
            name = f"{item.key}{'' if len(entry.figures) == 1 else f'-{number}'}.png"
            with replacing(pictures / name) as partial:
                partial.write_bytes(small_png(figure))
            parts.append(f"![{caption}]({prefix}{name})\n\n*{caption}*")
        parts += [table.markdown() for table in entry.tables]
    return "\n\n".join(parts) + "\n"


def _anchor(title: str) -> str:
    """The name that GitHub gives a heading."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")


def _scale(bench: Bench) -> str:
    scale = bench.scale
    books, seasons = ("all" if count is None else count for count in (scale.books, scale.seasons))
    return (
        f"Scale `{scale.name}`: {scale.priors:,} priors per world, sizes {', '.join(map(str, scale.sizes))}; "
        f"probes on {scale.probe_tallies} tallies with {scale.probe_seeds} seeds; times of {scale.timed} data sets; "
        f"{books} books and {seasons} seasons. Intervals are 95 % intervals over priors, cases, data sets or seeds."
    )


def _is_wide(figure: Figure) -> bool:
    width, height = figure.get_size_inches()
    return bool(width > 2 * height)


def _page(bench: Bench, made: Made) -> Page:
    sections = []
    for item, entry in made:
        where = "Not in the paper." if item.where == "not in the paper" else f"The paper's {item.where}."
        pictures = [
            Picture(inline_svg(figure, f"{item.key} {i}"), caption, wide=_is_wide(figure))
            for i, (figure, caption) in enumerate(entry.figures)
        ]
        sentences = [f"{where} Key: {item.key}.", entry.word]
        sections.append(Section(item.title, sentences, pictures, name=item.key))
        for table in entry.tables:
            rows = Rows(table.columns, table.numeric, table.rows)
            sections.append(Section(table.title, table.notes, rows=rows))
    facts = [("scale", bench.scale.name), ("priors per world", f"{bench.scale.priors:,}"), ("items", str(len(made)))]
    return Page(
        TITLE, LEAD.replace("`", ""), facts, sections, f"{_scale(bench)} ebformer {__version__}.".replace("`", "")
    )
