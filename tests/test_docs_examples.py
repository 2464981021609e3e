"""What the pages in docs/ print is what happens: their Python and their commands run here, in the order of the page.

Commands run in this process and in an empty folder, so that a page needs nothing but the tables that ship. Their
output is standard output (cut where the page pipes it through `head`), then the remarks on standard error. A line `...`
stands for any lines.
"""

from __future__ import annotations

import doctest
import math
import re
import shlex
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from ebformer.cli import main

DOCS = Path(__file__).parents[1] / "docs"
PAGES = (
    "methods.md",
    "intervals.md",
    "why-not-labelled.md",
    "commands.md",
    "tutorial-sports.md",
    "tutorial-insurance.md",
    "tutorial-words.md",
)
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)")


def commands(console: str) -> Iterator[tuple[str, str]]:
    """Each `$ command` of a block and the text below it."""
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        line, _, printed = part.partition("\n")
        yield line, printed


def run(line: str, capture: pytest.CaptureFixture[str]) -> str:
    """What `ebformer ... [| head -n N]` prints."""
    line, _, head = line.partition(" | head -n ")
    name, *arguments = shlex.split(line)
    assert name == "ebformer", line
    capture.readouterr()
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as for a user, to whom the command line prints warnings as remarks
        with pytest.raises(SystemExit):
            main(arguments)
    out, err = capture.readouterr()
    return "".join(out.splitlines(keepends=True)[: int(head) if head else None]) + err


def same(printed: str, actual: str) -> bool:
    """Equal texts, numbers up to 1e-6: the last digits of a float depend on the machine's arithmetic."""
    if "...\n" in printed:
        pattern = ".*".join(re.escape(part) for part in re.split(r"^\.\.\.\n", printed, flags=re.MULTILINE))
        return re.fullmatch(pattern, actual, re.DOTALL) is not None
    ours, theirs = NUMBER.split(printed), NUMBER.split(actual)
    return len(ours) == len(theirs) and all(
        math.isclose(float(a), float(b), rel_tol=1e-6, abs_tol=1e-9) if at % 2 else a == b
        for at, (a, b) in enumerate(zip(ours, theirs, strict=True))
    )


@pytest.mark.parametrize("page", PAGES)
def test_the_page_runs_as_printed(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text, names = (DOCS / page).read_text(encoding="utf-8"), {"__name__": "__main__"}
    blocks = list(BLOCK.finditer(text))
    assert blocks, f"{page} shows nothing that runs"
    for block in blocks:
        language, content = block.groups()
        line = text.count("\n", 0, block.start())
        if language == "python":
            test = doctest.DocTestParser().get_doctest(content, names, page, page, line)
            assert test.examples
            test.globs = names  # not a copy, or functions of one block would not see the names of the next
            complaints: list[str] = []
            result = doctest.DocTestRunner(verbose=False).run(test, out=complaints.append, clear_globs=False)
            assert result.failed == 0, "".join(complaints)
        else:
            for command, printed in commands(content):
                assert same(printed, actual := run(command, capfd)), f"{page}: $ {command}\n{actual}"


def test_a_changed_digit_is_noticed() -> None:
    assert same("risk 0.25\n", "risk 0.2500000001\n")
    assert not same("risk 0.25\n", "risk 0.26\n")
    assert same("a\n...\nz\n", "a\nb\nc\nz\n")
    assert not same("a\n...\nz\n", "b\nz\n")
