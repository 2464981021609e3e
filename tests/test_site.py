"""The site builds without a warning, asks nobody for anything, and is searched as a folder of files; notebooks run."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import test_docs_examples

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "website"))

import notebooks  # noqa: E402  which is no part of the package


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(built, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_no_page_fetches_anything_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        fetched = re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"(https?:[^\"]*)", page.read_text())
        assert not fetched, f"{page.name}: {fetched}"


def test_the_reference_has_every_public_name() -> None:
    names = re.findall(r"import (\w+) as", (ROOT / "src/ebformer/__init__.pyi").read_text())
    page = (ROOT / "docs/reference.md").read_text()
    listed = re.findall(r"^::: ebformer\.(\w+)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(set(names) - {"CATALOGUE"})


@pytest.mark.browser
def test_a_folder_of_files_is_searched(site: Path, browser: Any) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    browser.get((site / "index.html").as_uri())
    browser.execute_script("document.querySelector('label[for=__search]').click()")
    browser.find_element("css selector", "input.md-search__input").send_keys("Tweedie shrinkage")
    found = WebDriverWait(browser, 20).until(lambda page: page.find_elements("css selector", ".md-search-result__link"))
    assert found[0].get_attribute("href").startswith(site.as_uri())


@pytest.mark.parametrize("page", notebooks.PAGES)
def test_a_notebook_types_what_its_page_runs(page: str) -> None:
    """The pages themselves run in test_docs_examples.py."""
    assert f"{page}.md" in test_docs_examples.PAGES
    shown = list[str]()
    for language, content in test_docs_examples.BLOCK.findall((ROOT / f"docs/{page}.md").read_text(encoding="utf-8")):
        if language == "console":
            shown += [f"!{line}" for line, _ in test_docs_examples.commands(content)]
        else:
            shown += "".join(each.source for each in doctest.DocTestParser().get_examples(content)).splitlines()
    cells = notebooks.notebook(ROOT / f"docs/{page}.md")
    nbformat.validate(cells)
    typed = [line for cell in cells.cells if cell.cell_type == "code" for line in cell.source.splitlines()]
    assert typed == shown


def test_a_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One with commands and Python."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}", prepend=":")
    cells = notebooks.notebook(ROOT / "docs/tutorial-insurance.md")
    NotebookClient(cells, timeout=120, kernel_name="python3").execute()
    nbformat.validate(cells)
