"""What README.md and CONTRIBUTING.md print is what happens."""

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_readme_runs_as_printed() -> None:
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_method_of_the_contributing_page_obeys_the_laws() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], "CONTRIBUTING.md", "exec"), {})
