"""docs/probes.md says what docs/probes.csv and docs/blocks.csv say."""

from pathlib import Path

import pytest

from ebformer.errors import InputError
from ebformer.lab.probes.blocks import BlockFinding
from ebformer.lab.probes.experiment import Finding
from ebformer.lab.reproduction.bench import CONTROL, PROBED
from ebformer.lab.reproduction.docs import BEGIN, END, computed, filled
from ebformer.lab.reproduction.store import read_rows

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_is_what_its_tables_give():
    findings = read_rows(DOCS / "probes.csv", Finding)
    assert {finding.model for finding in findings} == {*PROBED, CONTROL}
    page = (DOCS / "probes.md").read_text(encoding="utf-8")
    assert filled(page, computed(findings, read_rows(DOCS / "blocks.csv", BlockFinding))) == page


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
