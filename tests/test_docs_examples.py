"""What the pages in docs/ print is what happens: their Python and their commands run here, in the order of the page.

Commands run in this process and in an empty folder, so that a page needs nothing but the tables that ship. Their
output is standard output (cut where the page pipes it through `head`), then the remarks on standard error. A line
`...` stands for any lines, and the sign `…` for anything within a line: speeds, and the digits of networks that are
trained again. Python without a prompt is there to be read. A picture that a page shows, `pictures/NAME.png`, is the
file NAME.png that its code writes. `make pages`, or `python tests/test_docs_examples.py [PAGE.md ...]`, writes what
the blocks print now into the pages, wherever it differs, and draws their pictures again.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import math
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from command_line import ebformer
from ebformer.report.style import with_palette

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```(python(?=\n>>> )|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r"^!\[[^\]]+\]\(pictures/([\w-]+\.png)\)$", re.MULTILINE)
ELSEWHERE = {"realdata.md"}
"""Pages that need data which are not in the repository; tests/lab/fielddata/test_realdata_page.py runs this one."""
PAGES = tuple(
    page.name
    for page in sorted(DOCS.glob("*.md"))
    if page.name not in ELSEWHERE and BLOCK.search(page.read_text(encoding="utf-8"))
)
LARGEST = 60_000
NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)")


def commands(console: str) -> Iterator[tuple[str, str]]:
    """Each `$ command` of a block and the text below it."""
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        line, _, printed = part.partition("\n")
        yield line, printed


def run(line: str) -> str:
    """What `ebformer ... [| head -n N]` prints."""
    line, _, head = line.partition(" | head -n ")
    name, *arguments = shlex.split(line)
    assert name == "ebformer", line
    done = ebformer(*arguments)
    return "".join(done.stdout.splitlines(keepends=True)[: int(head) if head else None]) + done.stderr


def same(printed: str, actual: str) -> bool:
    """Equal texts, numbers up to 1e-6: the last digits of a float depend on the machine's arithmetic."""
    if "...\n" in printed or "…" in printed:
        parts = re.split(r"(^\.\.\.\n|…)", printed, flags=re.MULTILINE)
        pattern = "".join({"...\n": "(?s:.*)", "…": ".*"}.get(part, re.escape(part)) for part in parts)
        return re.fullmatch(pattern, actual) is not None
    ours, theirs = NUMBER.split(printed), NUMBER.split(actual)
    return len(ours) == len(theirs) and all(
        math.isclose(float(a), float(b), rel_tol=1e-6, abs_tol=1e-9) if at % 2 else a == b
        for at, (a, b) in enumerate(zip(ours, theirs, strict=True))
    )


def python(content: str, names: dict[str, object], page: str, line: int) -> str:
    """Run a block as a doctest, with and for the names of the blocks before and after it; what it complains of."""
    test = doctest.DocTestParser().get_doctest(content, names, page, page, line)
    assert test.examples
    test.globs = names  # not a copy, or functions of one block would not see the names of the next
    complaints: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=complaints.append, clear_globs=False)
    return "".join(complaints)


@pytest.mark.parametrize("page", PAGES)
def test_the_page_runs_as_printed(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, names = (DOCS / page).read_text(encoding="utf-8"), {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        language, content = block.groups()
        line = text.count("\n", 0, block.start())
        if language == "python":
            complaints = python(content, names, page, line)
            assert not complaints, complaints
        else:
            for command, printed in commands(content):
                assert same(printed, actual := run(command)), f"{page}: $ {command}\n{actual}"
    for picture in PICTURE.findall(text):
        assert (tmp_path / picture).exists(), f"{page} shows {picture}, and no code of it draws one"
        kept = (DOCS / "pictures" / picture).read_bytes()
        assert alike(kept, (tmp_path / picture).read_bytes()), f"{picture} is another one now: make pages"
        assert len(kept) < LARGEST


def alike(one: bytes, other: bytes) -> bool:
    """Whether two pictures look the same from afar: fonts and edges differ with the version of matplotlib."""
    small = [
        np.asarray(Image.open(io.BytesIO(each)).convert("RGB").resize((48, 32), Image.Resampling.BOX), dtype=float)
        for each in (one, other)
    ]
    return float(np.abs(small[0] - small[1]).mean()) < 3.0


def test_every_picture_is_drawn_by_a_page() -> None:
    shown = {name for page in PAGES for name in PICTURE.findall((DOCS / page).read_text(encoding="utf-8"))}
    assert {path.name for path in (DOCS / "pictures").iterdir()} == shown | {"report.png"}  # by make demo, in a browser


def test_a_picture_of_something_else_is_noticed() -> None:
    white, dark = io.BytesIO(), io.BytesIO()
    Image.new("RGB", (90, 60), "white").save(white, format="png")
    Image.new("RGB", (90, 60), "grey").save(dark, format="png")
    assert alike(white.getvalue(), with_palette(white.getvalue()))
    assert not alike(white.getvalue(), dark.getvalue())


def test_a_changed_digit_is_noticed() -> None:
    assert same("risk 0.25\n", "risk 0.2500000001\n")
    assert not same("risk 0.25\n", "risk 0.26\n")
    assert same("a\n...\nz\n", "a\nb\nc\nz\n")
    assert not same("a\n...\nz\n", "b\nz\n")
    assert same("0 … 0.168\n", "0 0.164 0.168\n")
    assert not same("0 … 0.168\n", "0 0.164\n0.168\n")


class Rewriter(doctest.DocTestRunner):
    """Keeps what examples print where it is not what they should."""

    def __init__(self) -> None:
        super().__init__(verbose=False)
        self.printed: dict[int, str] = {}

    def report_failure(self, out: object, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self.printed[example.lineno] = got


def rewritten_python(content: str, names: dict[str, object]) -> str:
    """A block of Python with what it prints now."""
    test = doctest.DocTestParser().get_doctest(content, names, "page", "page", 0)
    test.globs, runner = names, Rewriter()
    runner.run(test, out=lambda text: None, clear_globs=False)
    lines = content.splitlines(keepends=True)
    for example in reversed(test.examples):
        if example.lineno in runner.printed:
            start = example.lineno + example.source.count("\n")
            lines[start : start + example.want.count("\n")] = [runner.printed[example.lineno]]
    return "".join(lines)


def rewritten(text: str, page: str) -> str:
    """The page with what its blocks print in the present, empty folder, where what is printed differs."""
    names: dict[str, object] = {"__name__": "__main__"}

    def block(found: re.Match[str]) -> str:
        if found[1] == "python":
            return f"```python\n{rewritten_python(found[2], names)}```"
        shown = ""
        for line, printed in commands(found[2]):
            shown += f"$ {line}\n{printed if same(printed, out := run(line)) else out}"
        return f"```console\n{shown}```"

    return BLOCK.sub(block, text)


def keep(picture: str) -> None:
    """Put a picture of the present folder among those of the pages, if it is another."""
    drawn, kept = with_palette(Path(picture).read_bytes()), DOCS / "pictures" / picture
    if not kept.exists() or kept.read_bytes() != drawn:
        kept.write_bytes(drawn)
        print(f"drew docs/pictures/{picture}")


if __name__ == "__main__":
    for page in sys.argv[1:] or PAGES:
        before = (DOCS / page).read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            after = rewritten(before, page)
            for picture in PICTURE.findall(before):
                keep(picture)
        if after != before:
            (DOCS / page).write_text(after, encoding="utf-8")
            print(f"rewrote docs/{page}")
