"""The command that writes a page, and how one is opened."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import ebformer


@pytest.fixture(scope="session")
def report() -> Callable[..., Path]:
    """The page that the command writes about a table of a folder, beside it."""

    def written(folder: Path, *options: str, of: str = "t") -> Path:
        done = ebformer("report", f"{of}.csv", *options, "-o", f"{of}.html", folder=folder)
        assert done.returncode == 0, done.stderr
        return folder / f"{of}.html"

    return written


@pytest.fixture(scope="module")
def opened(browser: Any) -> Callable[[Path], Any]:
    """Open a page and wait until its rows are unpacked."""
    from selenium.webdriver.support.ui import WebDriverWait

    def ready(page: Path) -> Any:
        browser.get(page.as_uri())
        WebDriverWait(browser, 60).until(lambda b: b.execute_script("return document.documentElement.dataset.ready"))
        return browser

    return ready
