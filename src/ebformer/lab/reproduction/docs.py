"""The two pages of the documentation that a run writes: reproduction.md as a whole, probes.md between its marks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ebformer.atomic import write_text
from ebformer.errors import InputError
from ebformer.lab.probes.blocks import BlockFinding
from ebformer.lab.probes.experiment import Finding
from ebformer.lab.reproduction.bench import Bench
from ebformer.lab.reproduction.compare import comparison_table
from ebformer.lab.reproduction.insight import (
    HOW_TO_READ,
    block_table,
    block_word,
    distinct,
    probe_comparisons,
    probe_table,
    probe_word,
)
from ebformer.lab.reproduction.pages import Made, markdown

BEGIN, END = "<!-- computed: begin -->", "<!-- computed: end -->"


def write_docs(bench: Bench, made: Made, docs: Path) -> None:
    """reproduction.md and its figures, and the computed part of probes.md."""
    pictures = docs / "reproduction"
    pictures.mkdir(parents=True, exist_ok=True)
    write_text(docs / "reproduction.md", markdown(bench, made, pictures, "reproduction/"))
    page = docs / "probes.md"
    write_text(page, filled(page.read_text(encoding="utf-8"), computed(bench.findings, bench.blocks)))


def computed(findings: Sequence[Finding], blocks: Sequence[BlockFinding]) -> str:
    """What probes.md says between its marks, from the two tables alone."""
    parts = [probe_word(findings)]
    for number, world in enumerate(distinct(f.world for f in findings), 1):
        parts += [f"![R² after every layer, {world} world](reproduction/fig-probe-{number}.png)"]
        parts += [probe_table(findings, world).markdown()]
    parts += [comparison_table("The paper's statements", probe_comparisons(findings), [HOW_TO_READ]).markdown()]
    parts += ["### priorformer, block by block", block_word(blocks)]
    parts += ["![The prior after every block](reproduction/priorformer-blocks.png)", block_table(blocks).markdown()]
    return "\n\n".join(parts)


def filled(page: str, text: str) -> str:
    """The page with what stands between its marks replaced.

    >>> filled(f"a {BEGIN} b {END} c", "B").split()
    ['a', '<!--', 'computed:', 'begin', '-->', 'B', '<!--', 'computed:', 'end', '-->', 'c']
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"probes.md has no {BEGIN} and {END}: put them where the tables belong")
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"
