"""What the pages point to is there: files, headings, and the modules, tests and scripts they name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("src/**/*.md")])
FOLDERS = (ROOT, ROOT / "src" / "ebformer")
"""A page may name a file from the root of the repository or from that of the package."""


def prose(page: Path) -> str:
    """The page without what it quotes as code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-")) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if not link.startswith("https://"):
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            assert target.exists(), f"{link} leads nowhere"
            assert not anchor or anchor in anchors(target), f"{name or page.name} has no heading for #{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page: Path) -> None:
    for name in re.findall(r"`(?:python )?([a-z_]+/[\w/.-]+\.(?:py|c|md|csv|json))[` ]", prose(page)):
        assert any((folder / name).exists() for folder in FOLDERS), f"there is no {name}"


def test_a_heading_becomes_the_anchor_that_github_gives_it() -> None:
    assert {"results-of-the-classical-methods", "what-shrinkage-does-to-a-hot-start"} <= anchors(
        ROOT / "docs" / "realdata.md"
    )
    assert "plackett-luce-real-rmse" in anchors(ROOT / "docs" / "reproduction.md")
