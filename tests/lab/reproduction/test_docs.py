"""The pages that `ebformer reproduce --docs` writes: what they show, and that they are whole."""

from pathlib import Path

import numpy as np
import pytest

from ebformer.errors import InputError
from ebformer.lab.figures.probe_figures import LABELS
from ebformer.lab.probes.blocks import NPMLE, BlockFinding
from ebformer.lab.probes.experiment import Finding
from ebformer.lab.reproduction.bench import CONTROL, PROBED
from ebformer.lab.reproduction.docs import BEGIN, END, computed, filled
from ebformer.networks import zoo

DOCS = Path(__file__).parents[3] / "docs"


def made_up() -> tuple[list[Finding], list[BlockFinding]]:
    """Findings of the shape that a run has, with numbers from nowhere."""
    rng, blocks = np.random.default_rng(0), zoo.load("priorformer").config.blocks
    layers = range(zoo.load(PROBED[0]).config.layers + 1)
    findings = [
        Finding(model, world, seed, layer, target, *rng.random(2), 1.0)
        for world in ("neural", "multinomial")
        for model in (*PROBED, CONTROL)
        for seed in range(3)
        for layer in layers
        for target in ("frequency", "robbins", "marginal", "bayes", "correction", "value", "atom weight")
        if target != "atom weight" or world == "multinomial"
    ]
    stages = [*map(str, range(1, blocks + 1)), NPMLE]
    watched = [
        BlockFinding(world, 512, prior, stage, *rng.random(4))
        for world in ("neural", "multinomial", "least-favourable")
        for prior in range(4)
        for stage in stages
    ]
    return findings, watched


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]


def test_the_page_has_a_row_for_everything_that_a_run_finds():
    page = (DOCS / "probes.md").read_text(encoding="utf-8")
    written = page.partition(BEGIN)[2].partition(END)[0]
    assert [row[:2] for row in rows(written)] == [row[:2] for row in rows(computed(*made_up()))]


def test_the_page_shows_means_over_seeds():
    findings, blocks = made_up()
    table = {(row[0], row[1]): row[2:] for row in rows(computed(findings, blocks)) if row[1] in PROBED}
    last = max(finding.layer for finding in findings)
    for target in ("bayes", "frequency"):
        own = [f.r2 for f in findings if (f.world, f.model, f.target, f.layer) == ("multinomial", "T24r", target, last)]
        assert table[LABELS[target], "T24r"][-2] == f"{np.mean(own):.3f}"


@pytest.mark.parametrize("page", ["probes.md", "reproduction.md"])
def test_every_picture_of_the_page_is_there(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    pictures = [part.partition(")")[0] for part in text.split("](")[1:] if part.partition(")")[0].endswith(".png")]
    assert len(pictures) >= 3
    for picture in pictures:
        assert (DOCS / picture).stat().st_size < 200_000


def test_what_stands_outside_the_marks_is_left_alone():
    assert filled(f"before {BEGIN}old{END} after", "new") == f"before {BEGIN}\n\nnew\n\n{END} after"
    with pytest.raises(InputError, match="put them where the tables belong"):
        filled("no marks", "new")
