"""Pages of docs/ as notebooks: prose as it is, Python and commands as cells to run, without what they print.

python website/notebooks.py FOLDER
"""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

DOCS = Path(__file__).parents[1] / "docs"
PAGES = tuple(f"tutorial-{name}" for name in ("sports", "insurance", "batting", "experiments", "counties", "drugs"))
"""One per role, and each channel among them."""
BLOCK = re.compile(r"^```(python(?=\n>>> )|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def notebook(page: Path) -> nbformat.NotebookNode:
    """Prose between runnable blocks becomes a cell of text, each block one or more cells of code."""
    cells, end, text = [], 0, page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        cells += [_prose(text[end : block.start()]), *map(new_code_cell, _sources(*block.groups()))]
        end = block.end()
    cells.append(_prose(text[end:]))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    found = new_notebook(cells=[cell for cell in cells if cell.source], metadata={"kernelspec": kernel})
    for number, cell in enumerate(found.cells):
        cell["id"] = f"{page.stem}-{number}"  # the same page gives the same file
    return found


def _prose(text: str) -> nbformat.NotebookNode:
    return new_markdown_cell(text.strip())


def _sources(language: str, content: str) -> list[str]:
    """What a reader would type, cell by cell: a notebook shows what the last line of a cell is worth."""
    if language == "console":
        return ["\n".join(f"!{line[2:]}" for line in content.splitlines() if line.startswith("$ "))]
    cells, begun = [], ""
    for example in doctest.DocTestParser().get_examples(content):
        begun += example.source
        if example.want:
            cells, begun = [*cells, begun], ""
    return [cell.rstrip() for cell in [*cells, begun] if cell]


def write(folder: Path) -> list[Path]:
    """One notebook per page."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / f"{name}.ipynb" for name in PAGES]
    for path in written:
        nbformat.write(notebook(DOCS / f"{path.stem}.md"), path)
    return written


if __name__ == "__main__":
    for path in write(Path(sys.argv[1])):
        print(path)
