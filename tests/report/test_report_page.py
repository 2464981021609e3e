"""The report as a reader meets it: a file opened in a real browser, without a network."""

import base64
import csv
import io
import json
import re
import time
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.browser

HOSTILE = '<img src=x onerror="document.title=1">'


@pytest.fixture(scope="module")
def page(tmp_path_factory, report) -> Path:
    """A report on a league of 300 players, one of whom is called <b>Bold</b>, written by the command."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(0)
    games = rng.integers(5, 80, 300)
    goals = rng.poisson(games * rng.gamma(2.0, 0.1, 300))
    names = ["<b>Bold</b>", *(f"Player {i:03d}" for i in range(1, 300))]
    teams = rng.choice(["north", "south"], 300)
    lines = [",".join(map(str, row)) for row in zip(names, teams, games, goals, strict=True)]
    (folder / "league.csv").write_text("name,team,games,goals\n" + "\n".join(lines) + "\n")
    asked = ["--future", "10", "--drift", "typical", "--above", "0.3"]
    return report(folder, "--count", "goals", "--exposure", "games", *asked, of="league")


@pytest.fixture(scope="module")
def maps(tmp_path_factory, report) -> Path:
    """A report on twelve areas with a map, whose names and columns try to run scripts."""
    folder = tmp_path_factory.mktemp("map")
    squares, rows = [], []
    for number in range(12):
        x, y = number % 4, number // 4
        ring = [[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1], [x, y]]
        named = {"fips": f"{number:02d}", "name": HOSTILE}
        squares.append({"type": "Feature", "properties": named, "geometry": {"type": "Polygon", "coordinates": [ring]}})
        rows.append([f"{number:02d}", f"{HOSTILE}{number}", 3 * number, 100 + number, "</script><script>x=1</script>"])
    (folder / "areas.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": squares}))
    with (folder / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["fips", HOSTILE, "</style>deaths", '"births"', "'note'"], *rows])
    known = ["--count", "</style>deaths", "--exposure", '"births"', "--label", HOSTILE]
    return report(folder, *known, "--map", "areas.geojson", "--key", "fips", "--per", "1000")


def shown(browser, number):
    """What the rows in view show in a column, the label being the first."""
    cells = f"document.querySelectorAll('tbody tr[data-unit] > :nth-child({number})')"
    return browser.execute_script(f"return Array.from({cells}, cell => cell.textContent)")


def place(browser, heading):
    """Which column a heading stands above."""
    heads = "Array.from(document.querySelectorAll('thead th'), head => head.textContent.trim())"
    return browser.execute_script(f"return {heads}").index(heading) + 1


def marked(browser):
    """The units that are marked: in the table, among the points, in lines, and in the line at the foot of the page."""
    return browser.execute_script("""
      const here = document.querySelector("#here");
      return {
        table: document.querySelector("tbody tr.here th")?.textContent ?? null,
        points: document.querySelector("svg[data-kind=points] .marker-name")?.textContent ?? null,
        spread: document.querySelector("svg[data-kind=line] .marker-name")?.textContent ?? null,
        lines: Array.from(document.querySelectorAll("svg g.here .name"), name => name.textContent),
        foot: here.hidden ? null : here.textContent,
      };""")


def hover(browser, selector):
    from selenium.webdriver import ActionChains

    element = browser.find_element("css selector", selector)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    ActionChains(browser).move_to_element(element).perform()


def test_the_console_is_silent_and_nothing_is_fetched(page, maps, opened, browser):
    for file in (page, maps):
        browser.get_log("performance")
        opened(file)
        assert browser.get_log("browser") == []
        assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
        sent = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
        asked = [each["params"]["request"]["url"] for each in sent if each["method"] == "Network.requestWillBeSent"]
        assert [url for url in asked if url.startswith(("http", "ws", "ftp"))] == []


def test_hostile_names_and_values_are_shown_and_run_nothing(maps, opened):
    browser = opened(maps)
    assert "1,000" in browser.title  # the unit of the rates, not what the name of a column wanted
    assert browser.title != "1"
    assert shown(browser, 1)[0].startswith(HOSTILE)
    assert browser.execute_script("return typeof window.x") == "undefined"
    assert browser.find_elements("css selector", "main img, main script") == []
    policy = browser.find_element("css selector", "meta[http-equiv]").get_attribute("content")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_no_script_of_a_stranger_would_run(page, opened):
    browser = opened(page)
    browser.execute_script("""
      const script = document.createElement("script");
      script.textContent = "window.ran = 1";
      document.body.append(script);""")
    assert browser.execute_script("return window.ran ?? null") is None
    browser.get_log("browser")


def test_the_words_tell_what_became_of_the_highest_raw_rate(page, opened):
    with (page.parent / "league.csv").open() as file:
        league = [(int(row["goals"]), int(row["games"])) for row in csv.DictReader(file)]
    goals, games = max(league, key=lambda unit: unit[0] / unit[1])
    told = f"The highest raw rate, {goals} goals in {games} games ({goals / games:.4g}), is estimated at "
    answer = opened(page).find_element("css selector", "p.answer").text
    assert told in answer
    total = f"300 units with {sum(x for x, _ in league):,} goals in {sum(t for _, t in league):,} games"
    assert total in answer


def test_a_page_opens_in_the_order_of_what_was_asked(page, opened):
    browser = opened(page)
    chances = [float(cell) for cell in shown(browser, place(browser, "P(above 0.3)"))]
    assert chances == sorted(chances, reverse=True)
    assert browser.find_element("css selector", "th[aria-sort=descending]").text.startswith("P(above")


def test_clicking_a_heading_sorts_and_clicking_again_reverses(page, opened):
    browser = opened(page)
    heading = browser.find_element("xpath", "//th/button[text()='raw']")
    heading.click()
    down = [float(cell) for cell in shown(browser, place(browser, "raw"))]
    assert down == sorted(down, reverse=True)
    heading.click()
    up = [float(cell) for cell in shown(browser, place(browser, "raw"))]
    assert up == sorted(up)
    assert up[0] < down[0]


def test_scrolling_brings_the_last_row_with_its_number(page, opened):
    browser = opened(page)
    browser.execute_script("const s = document.querySelector('.scroll'); s.scrollTop = s.scrollHeight")
    time.sleep(0.2)
    rows = "[...document.querySelectorAll('tbody tr[data-unit]')]"
    assert browser.execute_script(f"return {rows}.pop().getAttribute('aria-rowindex')") == "301"
    assert len(shown(browser, 1)) < 100


def test_searching_keeps_the_rows_that_match_whatever_their_letters(page, opened):
    browser = opened(page)
    browser.find_element("css selector", "input[type=search]").send_keys("player 12")
    assert sorted(shown(browser, 1)) == [f"Player {i:03d}" for i in range(120, 130)]
    assert browser.find_element("css selector", ".shown").text == "10 of 300 units"


def test_filters_keep_what_they_say_and_the_download_is_what_is_shown(page, opened, tmp_path):
    from selenium.webdriver.support.ui import Select

    browser = opened(page)
    Select(browser.find_element("css selector", "select[data-filter=standing]")).select_by_value("above")
    Select(browser.find_element("css selector", "select[data-filter=column]")).select_by_value("=south")
    count = int(browser.find_element("css selector", ".shown").text.split()[0])
    assert 0 < count < 150
    assert set(shown(browser, place(browser, "team"))) == {"south"}
    mean = float(browser.find_element("id", "units").get_attribute("data-mean"))
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    browser.find_element("css selector", ".download").click()
    file = tmp_path / "league-shown.csv"
    for _ in range(100):
        if file.exists():
            break
        time.sleep(0.1)
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert len(rows) == count
    assert [row["name"] for row in rows][: len(shown(browser, 1))] == shown(browser, 1)
    assert all(float(row["lower"]) > mean and row["team"] == "south" for row in rows)
    chances = [float(row["p_above"]) for row in rows]
    assert chances == sorted(chances, reverse=True)


def test_a_unit_under_the_pointer_is_marked_in_every_picture_and_in_the_table(page, opened):
    browser = opened(page)
    hover(browser, "#leaders g[data-unit='3'] .estimate")
    name = browser.find_element("css selector", "tbody tr[data-unit='3'] th").text
    found = marked(browser)
    assert {found["table"], found["points"], found["spread"], *found["lines"]} == {name}
    assert len(found["lines"]) == 2  # among the leaders, and in what comes next
    assert found["foot"].startswith(f"{name} · raw ")
    hover(browser, "tbody tr[data-unit='5'] th")
    assert marked(browser)["points"] == browser.find_element("css selector", "tbody tr[data-unit='5'] th").text


def test_a_point_under_the_pointer_is_its_unit(page, opened):
    browser = opened(page)
    highest = max(range(12), key=lambda i: float(shown(browser, place(browser, "raw"))[i]))
    spot = browser.execute_script(
        """const svg = document.querySelector("svg[data-kind=points]"); svg.scrollIntoView({block: "center"});
        const x = JSON.parse(svg.dataset.x), y = JSON.parse(svg.dataset.y);
        const place = (s, v) => s.start + (v - s.low) / (s.high - s.low) * (s.end - s.start);
        const p = new DOMPoint(place(x, arguments[0]), place(y, arguments[1])).matrixTransform(svg.getScreenCTM());
        return [x.kind, p.x, p.y];""",
        float(shown(browser, place(browser, "raw"))[highest]),
        float(shown(browser, place(browser, "estimate"))[highest]),
    )
    assert spot[0] == "linear"
    from selenium.webdriver import ActionChains

    actions = ActionChains(browser)
    actions.w3c_actions.pointer_action.move_to_location(round(spot[1]), round(spot[2]))
    actions.perform()
    assert marked(browser)["table"] == shown(browser, 1)[highest]


def test_keys_walk_through_the_units_in_the_table_and_in_a_picture(page, opened):
    from selenium.webdriver.common.keys import Keys

    browser = opened(page)
    names = shown(browser, 1)
    for selector in (".scroll", "#shrinkage .picture"):
        browser.find_element("css selector", selector).send_keys(Keys.ESCAPE + Keys.ARROW_DOWN * 3 + Keys.ARROW_UP)
        assert marked(browser)["points"] == names[1]
        assert marked(browser)["foot"].startswith(names[1])
    browser.find_element("css selector", ".scroll").send_keys(Keys.END)
    assert marked(browser)["table"] == shown(browser, 1)[-1]


def test_a_name_with_markup_is_shown_as_text(page, opened):
    browser = opened(page)
    browser.find_element("css selector", "input[type=search]").send_keys("<b>")
    assert shown(browser, 1) == ["<b>Bold</b>"]


def test_the_area_under_the_pointer_is_marked_on_both_maps(maps, opened):
    browser = opened(maps)
    assert len(browser.find_elements("css selector", "svg.map use[data-unit]")) == 24
    hover(browser, "svg.map use[data-unit='2']")
    assert len(browser.find_elements("css selector", "svg.map use.marker")) == 2
    assert marked(browser)["table"] == shown(browser, 1)[2]


def test_dark_mode_turns_the_ink_of_page_and_pictures_light(page, opened, browser):
    def ink(selector, what):
        rgb = browser.execute_script(f"return getComputedStyle(document.querySelector('{selector}')).{what}")
        return sum(int(part) for part in rgb.strip("rgb()").split(",")[:3]) / 3

    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    opened(page)
    dark = ink("body", "color"), ink("figure svg text", "fill"), ink("body", "backgroundColor")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert min(dark[:2]) > 150
    assert dark[2] < 40


def test_a_phone_needs_no_sideways_scrolling_and_keeps_names_and_estimates_in_view(page, maps, opened, browser):
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        opened(page)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
        moved = browser.execute_script("""
          const s = document.querySelector(".scroll"); s.scrollLeft = 300; s.scrollTop = 200;
          const box = element => element.getBoundingClientRect(), frame = box(s);
          const head = box(document.querySelector("thead th"));
          const label = box(document.querySelector("tbody tr[data-unit] th"));
          return [head.left - frame.left, head.top - frame.top, label.left - frame.left];""")
        assert moved == pytest.approx([1, 1, 1], abs=1.5)
        opened(maps)  # whose names are long
        assert (
            browser.execute_script("""
          return document.querySelector("tbody tr[data-unit] td.answer").getBoundingClientRect().right;""")
            <= 390
        )
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("which", ["page", "maps"])
def test_on_paper_there_are_two_to_four_pages_and_every_number_is_whole(which, request, opened, browser):
    from pypdf import PdfReader

    opened(request.getfixturevalue(which))
    numbers = browser.execute_script("""
      return Array.from(document.querySelectorAll("tbody tr[data-unit]")).slice(0, 12).flatMap(row =>
        Array.from(row.querySelectorAll("td.number:not(.other)"), cell => cell.textContent)).filter(Boolean)""")
    sheet = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})["data"]
    pages = PdfReader(io.BytesIO(base64.b64decode(sheet))).pages
    assert 2 <= len(pages) <= 4
    text = re.sub(r"\s+", " ", "\n".join(each.extract_text() for each in pages))
    assert len(numbers) > 50
    assert [number for number in numbers if number not in text] == []
    assert "Search" not in text


def test_on_paper_nothing_reaches_beyond_the_sheet(page, opened, browser):
    sheet = {"width": 695, "height": 1000, "deviceScaleFactor": 1, "mobile": False}  # A4 less its margins
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", sheet)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        opened(page)
        wide, broken = browser.execute_script("""
          const lines = cell => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return range.getClientRects().length;
          };
          const cells = Array.from(document.querySelectorAll("tbody tr[data-unit] > :not(.strip)"));
          const broken = cells.filter(cell => cell.offsetParent && lines(cell) > 1);
          return [document.documentElement.scrollWidth, broken.length];""")
        assert wide <= 695
        assert broken == 0
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["page", "maps"])
def test_axe_finds_no_serious_fault(which, scheme, request, opened, browser):
    import axe_core_python

    script = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    try:
        opened(request.getfixturevalue(which))
        browser.execute_script("document.querySelector('details').open = true")
        browser.execute_script(script)
        found = browser.execute_async_script("const done = arguments[0]; axe.run().then(done)")["violations"]
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert [(each["id"], each["nodes"][0]["html"][:100]) for each in serious] == []


def test_a_page_without_scripts_still_has_the_first_rows(page):
    html = page.read_text()
    body = html.partition("<tbody>")[2].partition("</tbody>")[0]
    assert body.count("<tr>") == 30
    assert "noscript" not in html


def test_a_long_total_stays_on_one_line(tmp_path, report, opened):
    (tmp_path / "t.csv").write_text("views\n9876543210\n1\n")
    browser = opened(report(tmp_path, "--method", "mle"))
    heights = {fact.text: fact.size["height"] for fact in browser.find_elements("css selector", ".facts dd")}
    assert len(set(heights.values())) == 1
    assert "9,876,543,211 views" in browser.find_element("css selector", "p.answer").text
