"""The README's picture, docs/pictures/report.png: the report on the league as Chromium shows it.

python benchmarks/pictures.py
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ebformer.atomic import replacing
from ebformer.report.style import with_palette

OUTPUT = Path(__file__).parents[1] / "docs" / "pictures" / "report.png"
ASKED = ["--count", "goals", "--exposure", "games", "--future", "10", "--above", "0.3"]
WIDTH, HEIGHT = 1180, 1560


def screenshot(page: Path) -> bytes:
    """The top of a page, with one unit marked in its table and pictures."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.ui import WebDriverWait

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(page.as_uri())
        WebDriverWait(browser, 30).until(lambda b: b.execute_script("return document.documentElement.dataset.ready"))
        browser.execute_script("""
          const unit = document.querySelector("#leaders g[data-unit='2']");
          unit.dispatchEvent(new PointerEvent("pointermove", { bubbles: true }));""")
        return base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", {})["data"])
    finally:
        browser.quit()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        table, page = Path(folder) / "league.csv", Path(folder) / "report.html"
        ebformer = [sys.executable, "-m", "ebformer"]
        subprocess.run([*ebformer, "datasets", "league", "-o", table], check=True)
        subprocess.run([*ebformer, "report", table, *ASKED, "-o", page], check=True)
        picture = with_palette(screenshot(page))
    with replacing(OUTPUT) as partial:
        partial.write_bytes(picture)


if __name__ == "__main__":
    main()
