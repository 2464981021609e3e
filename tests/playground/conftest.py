"""The page, built once, and a browser that has it open."""

import runpy
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BUILD = Path(__file__).parents[2] / "playground" / "build.py"


@pytest.fixture(scope="session")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as `make playground` builds it, from whatever weights are in the zoo."""
    pytest.importorskip("ziglang")
    path = tmp_path_factory.mktemp("playground") / "playground.html"
    runpy.run_path(str(BUILD))["main"](str(path))
    return path


@pytest.fixture(scope="session")
def browser(playground: Path) -> Iterator[Any]:
    """A browser that tells what it asks of any network."""
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        pytest.skip("needs Debian's chromium and chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in ("--headless", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(300)
    driver.set_window_size(1200, 1400)
    yield driver
    driver.quit()


@pytest.fixture
def page(browser: Any, playground: Path) -> Any:
    """The page, freshly opened from its file, after its first answer."""
    return opened(browser, playground)


@pytest.fixture
def engine(browser: Any, playground: Path) -> Any:
    """The page in whatever state, for those who only call its functions."""
    return browser if browser.current_url == playground.as_uri() else opened(browser, playground)


def opened(browser: Any, playground: Path) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(playground.as_uri())
    WebDriverWait(browser, 120).until(
        lambda driver: driver.execute_script("return document.documentElement.dataset.ready === 'yes'")
    )
    return browser
