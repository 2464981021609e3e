"""A real browser, and the command that writes a page for it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import ebformer

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-dev-shm-usage",  # in a container /dev/shm may hold less than a page takes
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def report() -> Callable[..., Path]:
    """The page that the command writes about a table of a folder, beside it."""

    def written(folder: Path, *options: str, of: str = "t") -> Path:
        done = ebformer("report", f"{of}.csv", *options, "-o", f"{of}.html", folder=folder)
        assert done.returncode == 0, done.stderr
        return folder / f"{of}.html"

    return written


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless Chromium that downloads into `browser.downloads`."""
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        pytest.skip("needs Debian's chromium and chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.downloads = tmp_path_factory.mktemp("downloads")
    allowed = {"behavior": "allow", "downloadPath": str(driver.downloads)}
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", allowed)
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def opened(browser: Any) -> Callable[[Path], Any]:
    """Open a page and wait until its rows are unpacked."""
    from selenium.webdriver.support.ui import WebDriverWait

    def ready(page: Path) -> Any:
        browser.get(page.as_uri())
        WebDriverWait(browser, 60).until(lambda b: b.execute_script("return document.documentElement.dataset.ready"))
        return browser

    return ready
