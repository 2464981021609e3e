"""What the site has beside docs/: cards of the networks, the changelog, how to contribute, notebooks, playground."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "website"))

import notebooks  # noqa: E402  which lies beside this file

ZOO = ROOT / "src/ebformer/networks/zoo"
ELSEWHERE = {
    "changelog.md": ROOT / "CHANGELOG.md",
    "contributing.md": ROOT / "CONTRIBUTING.md",
    **{f"cards/{card.name}": card for card in sorted(ZOO.glob("*.md"))},
}
"""Pages of the site by their place in it, and the files of the repository that they are."""
PLAYGROUND = "play.html"
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    for place, source in ELSEWHERE.items():
        files.append(File.generated(config, place, abs_src_path=str(source)))
    for name in notebooks.PAGES:
        content = nbformat.writes(notebooks.notebook(Path(config.docs_dir) / f"{name}.md"))
        files.append(File.generated(config, f"notebooks/{name}.ipynb", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links to other files of the repository lead to their page on the site; what has none is only named."""
    source = ELSEWHERE.get(page.file.src_uri, Path(config.docs_dir) / page.file.src_uri)
    depth = page.file.src_uri.count("/")
    places = {file.resolve(): place for place, file in ELSEWHERE.items()} | {(ROOT / "README.md").resolve(): "index.md"}

    def moved(found: re.Match[str]) -> str:
        text, link = found.groups()
        name, _, anchor = link.partition("#")
        if not name or "://" in link:
            return found[0]
        target = (source.parent / name).resolve()
        if target in places:
            place = places[target]
        elif target.is_relative_to(config.docs_dir):
            place = target.relative_to(config.docs_dir).as_posix()
        else:
            return text
        return f"[{text}]({'../' * depth}{place}{'#' * bool(anchor)}{anchor})"

    markdown = LINK.sub(moved, markdown)
    if page.file.name in notebooks.PAGES:
        title, _, rest = markdown.partition("\n")
        return f"{title}\n\n[This page as a notebook](notebooks/{page.file.name}.ipynb){{ download }}\n{rest}"
    if page.file.name == "playground":
        return f'{markdown}\n<p><a href="{PLAYGROUND}">Open the playground</a></p>\n'
    return markdown


def on_post_build(config: Any) -> None:
    built = [sys.executable, str(ROOT / "playground/build.py"), str(Path(config.site_dir) / PLAYGROUND)]
    subprocess.run(built, check=True, stdout=subprocess.DEVNULL)
