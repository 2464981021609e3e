"""The reproduction as pages: index.html to read in a browser, index.md with figures beside it to commit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ebformer import __version__
from ebformer.atomic import replacing
from ebformer.report.page import Page, Picture, Rows, Section
from ebformer.report.style import inline_svg
from ebformer.reproduction.bench import Bench
from ebformer.reproduction.items import Entry, Item


def write_pages(bench: Bench, items: Sequence[Item], folder: Path) -> None:
    """Make every item and write both pages."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for item in items:
        bench.say(item.title)
        entries.append((item, item.make(bench)))
    lead = (
        "Every number of ours on this page was computed by `ebformer reproduce` from the shipped models; the "
        "paper's own stand beside them."
    )
    with replacing(folder / "index.md") as partial:
        partial.write_text(_markdown(bench, entries, lead, folder), encoding="utf-8")
    _page(bench, entries, lead).write(folder / "index.html")


def _markdown(bench: Bench, entries: Sequence[tuple[Item, Entry]], lead: str, folder: Path) -> str:
    parts = ["# The paper, reproduced", lead, f"Scale `{bench.scale.name}`: {bench.scale.priors} priors per world."]
    for item, entry in entries:
        parts += [
            f"## {item.title}",
            f"The paper's {item.where}; `ebformer reproduce --only {item.key}`.",
            *entry.sentences,
        ]
        for number, (figure, caption) in enumerate(entry.figures):
            name = f"{item.key}{'' if len(entry.figures) == 1 else f'-{number + 1}'}.png"
            figure.savefig(folder / name)
            parts.append(f"![{caption or item.title}]({name})")
        parts += [table.markdown() for table in entry.tables]
    return "\n\n".join(parts) + "\n"


def _page(bench: Bench, entries: Sequence[tuple[Item, Entry]], lead: str) -> Page:
    sections = []
    for item, entry in entries:
        sentences = [f"The paper's {item.where}.", *entry.sentences]
        pictures = [Picture(inline_svg(f, f"{item.key} {i}"), caption) for i, (f, caption) in enumerate(entry.figures)]
        sections.append(Section(item.title, sentences, pictures))
        for table in entry.tables:
            numeric = [False] * len(table.columns)
            sections.append(Section(table.title, table.notes, rows=Rows(table.columns, numeric, table.rows)))
    facts = [("scale", bench.scale.name), ("priors per world", f"{bench.scale.priors:,}"), ("items", str(len(entries)))]
    return Page(
        "Solving Empirical Bayes via Transformers, reproduced", lead, facts, sections, f"ebformer {__version__}"
    )
