"""The playground in a real browser, from its file: its numbers are Python's, its sentences the command line's."""

import base64
import csv
import io
import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ebformer as eb
from command_line import ebformer
from ebformer.networks import kernels

pytestmark = pytest.mark.browser

TABLES = 50
COMBINATIONS = [
    *(("poisson", method) for method in ("robbins", "gamma", "npmle", "priorformer")),
    *(("binomial", method) for method in ("beta", "npmle", "priorformer")),
    *(("normal", method) for method in ("normal", "npmle", "priorformer")),
]
ANSWERED = """
const [tables, method] = arguments;
return tables.map(([names, entries, named]) => {
  try {
    const {answers} = ebformer.answered(ebformer.table(names, entries), named, method, 0.9);
    return Object.fromEntries(Object.entries(answers).map(([name, values]) => [name, Array.from(values)]));
  } catch (error) { return error.message; }
});
"""


def written(numbers: Any) -> list[str]:
    return [f"{number:.10g}" for number in np.asarray(numbers, dtype=float)]


def random_table(kind: str, number: int) -> tuple[list[str], list[list[str]], dict[str, Any]]:
    """Names, entries and the words of a user; every other table has one exposure, trials or error for all units."""
    rng = np.random.default_rng([17, number, len(kind)])
    n, alike = int(np.exp(rng.uniform(np.log(4), np.log(250)))), number % 2 == 0
    if kind == "poisson":
        rate = rng.gamma(rng.uniform(0.3, 5.0), rng.uniform(0.2, 5.0), n)
        known = np.ones(n) if alike else np.round(rng.gamma(2.0, 2.0, n) + 0.1, 2)
        return ["x", "t"], [written(rng.poisson(rate * known)), written(known)], {"count": "x", "exposure": "t"}
    if kind == "binomial":
        known = np.full(n, rng.integers(2, 60)) if alike else rng.integers(1, 200, n)
        x = rng.binomial(known, rng.beta(rng.uniform(0.5, 10.0), rng.uniform(0.5, 20.0), n))
        return ["x", "m"], [written(x), written(known)], {"count": "x", "trials": "m"}
    known = np.full(n, 1.5) if alike else np.round(rng.gamma(3.0, 0.3, n) + 0.05, 3)
    effect = rng.normal(rng.normal(), rng.uniform(0.1, 3.0), n) * (rng.random(n) < rng.uniform(0.2, 1.0))
    return ["x", "s"], [written(np.round(rng.normal(effect, known), 4)), written(known)], {"effect": "x", "se": "s"}


def python_answers(table: tuple[list[str], list[list[str]], dict[str, Any]], method: str) -> Any:
    names, entries, words = table
    frame = pd.DataFrame({name: [float(text) for text in column] for name, column in zip(names, entries, strict=True)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eb.shrink(frame, method=method, **words)
        except eb.EbformerError as error:
            return str(error)


def apart(found: dict[str, list[float]], right: Any, known: Any) -> float:
    """The largest difference, relative to the answer or, where that is smaller, to what one unit can tell."""
    scale = np.maximum(np.abs(right["estimate"]), known if known is not None else 1e-3)
    return max(
        float(np.max(np.abs(found[name] - right[name]) / scale))
        for name in ("estimate", "lower", "upper")
        if name in right
    )


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "method"), COMBINATIONS)
def test_numbers_equal_those_of_python(kind: str, method: str, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """priorformer computes in single precision, in which Python's two ways, compiled and in numpy, may part: the page
    then equals one of them."""
    tables = [random_table(kind, number) for number in range(TABLES)]
    if method == "robbins":
        tables = [random_table(kind, 2 * number) for number in range(TABLES)]
    found = engine.execute_script(ANSWERED, tables, method)
    for table, answers in zip(tables, found, strict=True):
        right = python_answers(table, method)
        if isinstance(right, str):
            assert answers == right
            continue
        known = np.array([float(text) for text in table[1][1]]) if kind == "normal" else None
        off = apart(answers, right, known)
        if off > 1e-5 and method == "priorformer":
            with monkeypatch.context() as patched:
                patched.setattr(kernels, "library", lambda: None)
                off = apart(answers, python_answers(table, method), known)
        assert off <= 1e-5, table


@pytest.mark.parametrize("known", [["2", "2.5", "3"], ["1", "1", "1"]])
def test_what_python_refuses_the_page_refuses(known: list[str], engine: Any) -> None:
    table = ["x", "t"], [["1", "2", "3"], known], {"count": "x", "exposure": "t"}
    found, right = engine.execute_script(ANSWERED, [table], "robbins")[0], python_answers(table, "robbins")
    assert found == right if isinstance(right, str) else apart(found, right, None) < 1e-12


def paste(page: Any, text: str) -> None:
    page.execute_script("document.getElementById('tab-table').click()")
    box = (
        "const box = document.getElementById('text'); box.value = arguments[0]; box.dispatchEvent(new Event('input'));"
    )
    page.execute_script(box, text)


def settled(page: Any) -> dict[str, Any]:
    """What the page shows once it has answered or refused."""
    script = """
    const done = arguments[0], {state, answers_as_text} = window.playground;
    const look = () => {
      const refused = document.getElementById('refused'), said = document.getElementById('said');
      if (!refused.hidden) return done({refused: refused.textContent});
      if (!document.getElementById('answers').hidden)
        return done({said: said.textContent, text: answers_as_text(),
                     rows: document.querySelectorAll('#leaders tr').length});
      setTimeout(look, 50);
    };
    setTimeout(look, 400);
    """
    return dict(page.execute_async_script(script))


def league(n: int = 60) -> str:
    rng = np.random.default_rng(5)
    games = rng.integers(5, 80, n)
    goals = rng.poisson(games * rng.gamma(2.0, 0.1, n))
    lines = [f'"Player {i}, Jr.",{x},{t}' for i, (x, t) in enumerate(zip(goals, games, strict=True))]
    return "player,goals,games\n" + "\n".join(lines) + "\n"


def test_a_pasted_table_comes_back_as_the_command_line_writes_it(page: Any, tmp_path: Path) -> None:
    (tmp_path / "league.csv").write_text(league())
    done = ebformer(
        "estimate", "league.csv", "--count", "goals", "--exposure", "games", "-o", "out.csv", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    paste(page, league())
    shown = settled(page)
    assert shown["rows"] == 20
    assert shown["said"].startswith("60 units")
    here, there = (list(csv.reader(io.StringIO(text))) for text in (shown["text"], (tmp_path / "out.csv").read_text()))
    assert here[0] == there[0]
    for mine, theirs in zip(here[1:], there[1:], strict=True):
        assert mine[:3] == theirs[:3]
        np.testing.assert_allclose(np.array(mine[3:], float), np.array(theirs[3:], float), rtol=1e-5)


def test_a_dropped_file_is_read_and_its_names_are_text(page: Any) -> None:
    drop = """
    const file = new File([arguments[0]], 'league.csv', {type: 'text/csv'}), moved = new DataTransfer();
    moved.items.add(file);
    document.dispatchEvent(new DragEvent('drop', {dataTransfer: moved, bubbles: true, cancelable: true}));
    """
    page.execute_script(drop, league().replace("Player 0", "<b>Bold</b>"))
    shown = settled(page)
    assert "Bold" in shown["text"]
    assert page.execute_script("return document.querySelectorAll('#leaders b').length") == 0
    assert page.execute_script("return document.getElementById('called').textContent").startswith("league.csv: 60 rows")


def test_a_drawn_prior_moves_the_units_while_it_is_dragged(page: Any) -> None:
    """Weight drawn at high rates, nothing elsewhere: units follow."""
    from selenium.webdriver.common.action_chains import ActionChains

    def mean() -> float:
        found = settled(page)
        return float(np.mean([float(row["estimate"]) for row in csv.DictReader(io.StringIO(found["text"]))]))

    before = mean()
    drawing = page.find_element("id", "drawing")
    box = drawing.size
    chain = ActionChains(page, duration=20).move_to_element_with_offset(
        drawing, -box["width"] // 2 + 3, box["height"] // 2 - 22
    )
    chain.click_and_hold().move_to_element_with_offset(drawing, box["width"] // 4, box["height"] // 2 - 22)
    chain.move_to_element_with_offset(drawing, box["width"] // 2 - 3, -box["height"] // 2 + 12).release().perform()
    assert mean() > before + 3.0


@pytest.mark.parametrize("kind", ["poisson", "binomial", "normal"])
def test_every_kind_and_method_answers_from_the_keyboard(kind: str, page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    page.execute_script(f"document.querySelector('input[value={kind}]').click()")
    assert "units around" in settled(page)["said"]
    for radio in page.find_elements("css selector", "#methods input"):
        radio.send_keys(Keys.SPACE)
        assert radio.get_attribute("value") in settled(page)["said"]
    before = settled(page)["text"]
    drawing = page.find_element("id", "drawing")
    drawing.send_keys(Keys.ARROW_RIGHT * 3 + Keys.ARROW_UP * 20)
    assert "height" in page.find_element("id", "bar").text
    assert settled(page)["text"] != before


def test_nothing_is_asked_of_any_network(page: Any, playground: Path) -> None:
    paste(page, league())
    settled(page)
    asked = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    urls = [each["params"]["request"]["url"] for each in asked if each["method"] == "Network.requestWillBeSent"]
    assert [url for url in urls if not url.startswith(("file:", "data:", "blob:", "chrome:"))] == []
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert [entry["message"] for entry in page.get_log("browser")] == []
    text = playground.read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert (
        re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))
        is None
    )
    assert playground.stat().st_size < 4_000_000


@pytest.mark.slow
def test_a_hundred_thousand_rows(page: Any) -> None:
    rng = np.random.default_rng(1)
    n = 100_000
    exposure = np.round(rng.gamma(2.0, 2.0, n) + 0.1, 3)
    counts = rng.poisson(exposure * rng.gamma(1.5, 1.2, n))
    text = "x,exposure\n" + "".join(f"{x},{t}\n" for x, t in zip(counts, exposure, strict=True))
    page.execute_script("document.getElementById('tab-table').click()")
    page.execute_script("window.playground.open(new TextEncoder().encode(arguments[0]), 'big.csv')", text)
    shown = settled(page)
    print(page.execute_script("return window.playground.state.shown.took"), "ms")
    estimate = pd.read_csv(io.StringIO(shown["text"]))["estimate"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        right = eb.shrink(pd.DataFrame({"x": counts, "exposure": exposure}), "x", exposure="exposure")["estimate"]
    np.testing.assert_allclose(estimate, right, rtol=0.02)  # both answer in bins, the page in wider ones


BAD = {
    "empty": b"",
    "blank": b"\nx,t\n1,2\n",
    "workbook": b"PK\x03\x04rest",
    "json": b'{"x": 1}',
    "packed": b"BZh91AY",
    "excel": b"sep=;\nx;t\n1;2\n",
    "latin": "x,t,name\n1,2,caf\xe9\n".encode("latin-1"),
    "latin header": "caf\xe9,x,t\n1,1,2\n".encode("latin-1"),
    "open quote": b'x,t\n1,2\n"3,4\n',
    "short": b"x,t\n1,2\n3\n4,5\n",
    "long": b"x,t\n1,2\n3,4,5\n",
    "header only": b"x,t\n",
    "text": b"x,t\n1,2\nseven,3\n",
    "thousands": b'x,t\n"1,234",2\n5,3\n',
    "negative": b"x,t\n-1,2\n5,3\n",
    "fraction": b"x,t\n1.5,2\n5,3\n",
    "missing": b"x,t\n1,2\n,3\n",
    "na": b"x,t\n1,2\nNA,3\nN/A,4\n",
    "no exposure": b"x,t\n1,0\n5,3\n",
    "infinite": b"x,t\n1,inf\n5,3\n",
    "stray space": "x,t\n1\u00a0,2\n5,3\n".encode(),
    "twice": b"x,X,t\n1,1,2\n5,5,3\n",
    "semicolons": b"x;t\n1;1.234\n5;2.345\n",
}


@pytest.mark.parametrize("fault", BAD)
def test_bad_files_get_the_sentence_of_the_command_line(fault: str, engine: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(BAD[fault])
    done = ebformer(
        "estimate", "t.csv", "--count", "x", "--exposure", "t", "--method", "gamma", "-o", "o.csv", folder=tmp_path
    )
    assert done.returncode != 0
    script = """
    const bytes = Uint8Array.from(atob(arguments[0]), letter => letter.charCodeAt(0));
    try { ebformer.answered(ebformer.opened(bytes, 't.csv').table, {count: 'x', exposure: 't'}, 'gamma', 0.9); }
    catch (error) { return [error.refused, error.message]; }
    """
    refused, sentence = engine.execute_script(script, base64.b64encode(BAD[fault]).decode())
    assert refused, sentence
    assert sentence in " ".join(done.stderr.split())
