"""The report as a reader meets it: a file opened in a real browser, without a network."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from command_line import ebformer

pytestmark = pytest.mark.browser


def report(folder: Path, *options: str, of: str = "t") -> Path:
    """The page that the command writes about a table of the folder, beside it."""
    done = ebformer("report", f"{of}.csv", *options, "-o", f"{of}.html", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder / f"{of}.html"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on a league of 300 players, one of whom is called <b>Bold</b>, written by the command."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(0)
    games = rng.integers(5, 80, 300)
    goals = rng.poisson(games * rng.gamma(2.0, 0.1, 300))
    names = ["<b>Bold</b>", *(f"Player {i:03d}" for i in range(1, 300))]
    lines = [f"{name},{g},{x}" for name, g, x in zip(names, games, goals, strict=True)]
    (folder / "league.csv").write_text("name,games,goals\n" + "\n".join(lines) + "\n")
    return report(folder, "--count", "goals", "--exposure", "games", of="league")


def column(browser, number):
    """What the cells of a column show, asked for at once: a question for each takes seconds."""
    cells = f"document.querySelectorAll('tbody tr:not([hidden]) td:nth-child({number})')"
    return browser.execute_script(f"return Array.from({cells}, cell => cell.innerText)")


def test_everything_is_there_and_the_console_is_silent(page, browser):
    browser.get(page.as_uri())
    assert "goals / games in league.csv" in browser.title
    assert len(browser.find_elements("css selector", "figure svg[role=img]")) == 6
    assert len(browser.find_elements("css selector", "tbody tr")) == 300
    assert browser.get_log("browser") == []


def test_the_first_sentence_tells_what_became_of_the_highest_raw_rate(page, browser):
    with (page.parent / "league.csv").open() as file:
        league = [(int(row["goals"]), int(row["games"])) for row in csv.DictReader(file)]
    goals, games = max(league, key=lambda unit: unit[0] / unit[1])
    browser.get(page.as_uri())
    told = f"The highest raw rate, {goals} goals in {games} games, a rate of {goals / games:.4g}, is estimated at "
    assert told in browser.find_element("css selector", "section").text


def test_the_file_fetches_nothing(page, browser):
    browser.get(page.as_uri())
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_clicking_a_heading_sorts_and_clicking_again_reverses(page, browser):
    browser.get(page.as_uri())
    heading = browser.find_element("xpath", "//th/button[text()='goals']")
    heading.click()
    down = [int(cell) for cell in column(browser, 3)]
    assert down == sorted(down, reverse=True)
    heading.click()
    assert [int(cell) for cell in column(browser, 3)] == sorted(down)


def test_searching_keeps_the_rows_that_match(page, browser):
    browser.get(page.as_uri())
    browser.find_element("css selector", "input[type=search]").send_keys("player 12")
    assert sorted(column(browser, 1)) == [f"Player {i:03d}" for i in range(120, 130)]
    assert browser.find_element("css selector", ".shown").text == "10 of 300 rows"


def test_a_name_with_markup_is_shown_as_text(page, browser):
    browser.get(page.as_uri())
    assert "<b>Bold</b>" in column(browser, 1)


def test_dark_mode_turns_the_ink_of_page_and_pictures_light(page, browser):
    def ink(selector):
        rgb = browser.execute_script(f"return getComputedStyle(document.querySelector('{selector}')).color")
        return sum(int(part) for part in rgb.strip("rgb()").split(",")) / 3

    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    browser.get(page.as_uri())
    dark = ink("body"), ink("figure svg")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert min(dark) > 180


def test_on_paper_all_rows_are_there_and_nothing_to_type_into(page, browser):
    def height(selector, of):
        return browser.execute_script(f"return document.querySelector('{selector}').{of}")

    browser.get(page.as_uri())
    assert height(".scroll", "clientHeight") < height(".scroll table", "offsetHeight")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert height(".scroll", "clientHeight") >= height(".scroll table", "offsetHeight")
        assert not browser.find_element("css selector", "input[type=search]").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.parametrize(
    ("columns", "called"),
    [
        ("policy,town,claims\n1021,Ath,0\n1022,Mons,3\n", ["Ath", "Mons"]),
        ("age,policy,claims\n40,1021,0\n40,1022,3\n", ["policy 1021", "policy 1022"]),
        ("town,policy,claims\nAth,1021,0\nAth,1022,3\n", ["policy 1021", "policy 1022"]),
        ("town,age,claims\nAth,40,0\nAth,40,3\n", ["Ath", "Ath"]),
        ("age,claims\n40,0\n40,3\n", ["0", "3"]),
    ],
)
def test_units_go_by_their_name_or_number_and_only_else_by_their_count(tmp_path, columns, called):
    (tmp_path / "t.csv").write_text(columns)
    page = report(tmp_path, "--count", "claims", "--method", "mle").read_text()
    figure = page.partition('aria-label="Highest and lowest units"')[2].partition("</svg>")[0]
    for name in called:
        assert f">{name}</text>" in figure


def test_the_level_asked_for_is_the_level_shown(tmp_path):
    """97.5 % was written 98 %, and the band of the shrinkage picture stayed at 90 %."""
    (tmp_path / "t.csv").write_text("claims\n0\n0\n1\n3\n7\n")
    html = report(tmp_path, "--method", "gamma", "--interval", "0.975").read_text()
    assert "lines are 97.5 % intervals" in " ".join(html.split())
    assert ">97.5 % interval</text>" in html
    assert "90 %" not in html


def test_a_missing_entry_leaves_a_column_of_numbers_one(tmp_path):
    """NA made the whole column text, which sorts 10 before 9."""
    (tmp_path / "t.csv").write_text("team,claims,years\na,9,1.5\nb,10,NA\nc,NA,2\nd,0,1\n")
    columns = ["--count", "claims", "--exposure", "years", "--missing", "keep"]
    html = report(tmp_path, *columns, "--method", "gamma").read_text()
    for name, number in (("team", ""), ("claims", ' class="number"'), ("years", ' class="number"')):
        assert f'data-name="{name}"{number}>' in html


def test_what_holds_for_all_groups_stands_before_the_first_of_them(tmp_path):
    rows = "".join(f"{'north' if i % 4 else 'south'},{i % 5}\n" for i in range(60))
    (tmp_path / "t.csv").write_text("region,claims\n" + rows)
    html = report(tmp_path, "--count", "claims", "--group", "region").read_text()
    assert "estimated by priorformer from all units of its region together" in " ".join(html.split())
    first = html.index("What shrinkage did in region north")
    assert html.index("About all groups") < html.index("Few rows to learn a prior from") < first


@pytest.mark.parametrize(
    ("sizes", "said", "drawn"),
    [
        ({"a": 9, "b": 1, "c": 1}, "Pictures are shown for the largest of 3 groups", ["a"]),
        ({"a": 9, "b": 3, "c": 1}, "Pictures are shown for the 2 largest of 3 groups", ["a", "b"]),
        ({"a": 1, "b": 1}, "No group has more than one unit", []),
    ],
)
def test_groups_of_one_unit_have_no_pictures(tmp_path, sizes, said, drawn):
    rows = "".join(f"{group},{i}\n" for group, size in sizes.items() for i in range(size))
    (tmp_path / "t.csv").write_text("region,claims\n" + rows)
    html = report(tmp_path, "--count", "claims", "--group", "region", "--method", "gamma").read_text()
    assert said in html
    assert ">a: 0</text>" in html  # a unit without a name
    assert re.findall("What shrinkage did in region (.)", html) == drawn


def test_a_long_total_stays_on_one_line(tmp_path, browser):
    (tmp_path / "t.csv").write_text("views\n9876543210\n1\n")
    browser.get(report(tmp_path, "--method", "mle").as_uri())
    heights = {fact.text: fact.size["height"] for fact in browser.find_elements("css selector", ".facts dd")}
    assert heights["9,876,543,211"] == heights["2"]


def test_a_phone_needs_no_sideways_scrolling(page, browser):
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    browser.get(page.as_uri())
    width = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width <= 390
