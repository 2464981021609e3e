"""What a report says, read from its file."""

import base64
import json
import re
import zlib

import numpy as np
import pytest

from command_line import ebformer
from ebformer.report.choropleth import FEW_LETTERS, MOST_TEXT, Areas, outlines


def rows(html: str) -> dict[str, list[str]]:
    """The packed columns of a page, as its script unpacks them."""
    packed = re.search('<script type="text/plain" id="rows">(.*?)</script>', html)
    assert packed is not None
    columns = {}
    for column in json.loads(zlib.decompress(base64.b64decode(packed[1]))):
        texts, last = [], ""
        for line in column["text"].split("\n"):
            if column["numeric"]:
                last = last if line == "" else "" if line == "." else line
                texts.append(last)
            else:
                texts.append(line)
        columns[column["name"]] = texts
    return columns


def answer(html: str) -> str:
    return " ".join(re.search('<p class="answer">(.*?)</p>', html, re.DOTALL)[1].split())


def test_exposures_are_those_of_the_table_and_never_bins(tmp_path, report):
    """40,000 exposures are answered in bins; every cell and sentence has the real ones."""
    rng = np.random.default_rng(1)
    years = rng.uniform(0.5, 3.0, 40_000).round(5)
    claims = rng.poisson(years * 0.4)
    lines = "".join(f"u{i},{x},{t}\n" for i, (x, t) in enumerate(zip(claims, years, strict=True)))
    (tmp_path / "t.csv").write_text("unit,claims,years\n" + lines)
    html = report(tmp_path, "--count", "claims", "--exposure", "years", "--method", "gamma").read_text()
    found = rows(html)
    assert "near ones were taken together" in html
    assert len(found["unit"]) == 40_000
    for name, x, t, raw in list(zip(found["unit"], found["claims"], found["years"], found["raw"], strict=True))[::97]:
        i = int(name[1:])
        assert float(t) == pytest.approx(years[i], rel=1e-5)
        assert int(x) == claims[i]
        assert float(raw) == pytest.approx(claims[i] / years[i], abs=1e-3)
    top = int(np.argmax(claims / years))
    assert f"{claims[top]} claims in {years[top]:.6g} years" in answer(html)
    assert f"in {years.sum():,.0f} years" in answer(html)
    assert html.count("circle") < 2000


@pytest.mark.parametrize(
    ("asked", "column", "sign"),
    [
        ((), "estimate", -1),
        (("--above", "2"), "p_above", -1),
        (("--below", "2"), "p_below", -1),
        (("--top", "3"), "expected_rank", 1),
    ],
)
def test_the_rows_that_lead_come_first(tmp_path, report, asked, column, sign):
    """Those that are asked for, on paper too: a large district that is surely above, before small ones that may be."""
    places = [("large", 2600, 1000.0)] + [(f"small{i}", i % 7, 1.0) for i in range(59)]
    lines = "".join(f"{name},{cases},{expected}\n" for name, cases, expected in places)
    (tmp_path / "t.csv").write_text("district,cases,expected\n" + lines)
    html = report(tmp_path, "--count", "cases", "--exposure", "expected", "--method", "gamma", *asked).read_text()
    printed, columns = re.findall('<th scope="row"[^>]*>(.*?)</th>', html), rows(html)
    entry = dict(zip(columns["district"], map(float, columns[column]), strict=True))
    assert [entry[name] for name in printed] == sorted(entry.values(), key=lambda value: sign * value)[:30]
    assert f'data-by="{column}" data-down="{"true" if sign < 0 else "false"}"' in html
    if column == "p_above":
        assert printed[0] == "large"


@pytest.mark.parametrize("method", ["beta", "npmle", "npmle-smooth", "priorformer"])
def test_the_spread_looks_the_same_in_any_unit(tmp_path, report, method):
    """Of probabilities too, told per 1000 admissions: another unit moves the numbers on the axis alone."""
    rng = np.random.default_rng(5)
    admissions = rng.integers(1, 900, 80)
    deaths = rng.binomial(admissions, rng.beta(8, 100, 80))
    lines = "".join(f"h{i},{x},{m}\n" for i, (x, m) in enumerate(zip(deaths, admissions, strict=True)))
    (tmp_path / "t.csv").write_text("hospital,deaths,admissions\n" + lines)
    asked = ("--count", "deaths", "--trials", "admissions", "--method", method)
    drawn = []
    for unit in ((), ("--per", "1000")):
        html = report(tmp_path, *asked, *unit).read_text()
        for kind in ("hidden", "raw"):
            told = re.search(f'<polyline points="([^"]*)"[^>]*class="spread-{kind}"', html)
            drawn.append([float(number) for number in re.split("[ ,]", told[1])])
            assert np.ptp(drawn[-1][1::2]) > 20
    assert drawn[0] == pytest.approx(drawn[2], abs=0.11)
    assert drawn[1] == pytest.approx(drawn[3], abs=0.11)


def test_the_little_pictures_tell_estimates_apart(tmp_path, report):
    """One death out of one admission takes no room from all the others."""
    rng = np.random.default_rng(6)
    lines = "".join(f"h{i},{rng.binomial(500, rng.beta(8, 140))},500\n" for i in range(400))
    (tmp_path / "t.csv").write_text("hospital,deaths,admissions\n" + lines + "tiny,1,1\n")
    html = report(tmp_path, "--count", "deaths", "--trials", "admissions").read_text()
    scale = json.loads(re.search('data-strip="(.*?)"', html)[1].replace("&#34;", '"'))
    estimates = list(map(float, rows(html)["estimate"]))
    assert scale["low"] <= min(estimates)
    assert max(estimates) <= scale["high"] < 2 * max(estimates)


def test_names_from_right_to_left_turn_nothing_around_them(tmp_path, report):
    """By Unicode's rules a number behind a Hebrew name would be written before it, unless the name is isolated."""
    names = ["דוד לוי", "\u202eAnn"]
    for leader, other in (names, names[::-1]):
        lines = f"{leader},40,10\n{other},2,10\n" + "".join(f"u{i},{i % 4},10\n" for i in range(20))
        (tmp_path / "t.csv").write_text("player,goals,games\n" + lines, encoding="utf-8")
        page = report(tmp_path, "--count", "goals", "--exposure", "games", "--method", "gamma")
        said = answer(page.read_text(encoding="utf-8"))
        assert "\u202e" not in said
        assert ("that of \u2068דוד לוי\u2069: " if leader == names[0] else "that of Ann: ") in said


def test_the_answers_are_those_of_estimate(tmp_path, report):
    rng = np.random.default_rng(2)
    lines = "".join(f"b{i},{rng.binomial(40, 0.2 + 0.01 * (i % 20))},40\n" for i in range(60))
    (tmp_path / "t.csv").write_text("name,hits,tries\n" + lines)
    asked = ["--count", "hits", "--trials", "tries", "--future", "100", "--above", "1.2x", "--top", "5", "--fdr", "0.2"]
    found = rows(report(tmp_path, *asked).read_text())
    done = ebformer("estimate", "t.csv", *asked, "-o", "out.csv", folder=tmp_path)
    assert done.returncode == 0
    header, *table = [line.split(",") for line in (tmp_path / "out.csv").read_text().split()]
    at = {row[0]: dict(zip(header, row, strict=True)) for row in table}
    numbers = ["estimate", "lower", "upper", "predicted", "predicted_upper", "p_above", "expected_rank", "p_top"]
    for i, name in enumerate(found["name"]):
        for column in numbers:
            digits = len(found[column][i].partition(".")[2])
            assert float(found[column][i]) == pytest.approx(float(at[name][column]), abs=0.51 * 10**-digits)
        assert (found["selected"][i] == "yes") == (at[name]["selected"] == "true")


def test_a_page_of_many_rows_stays_below_two_megabytes_and_says_what_it_left_out(tmp_path, report):
    rng = np.random.default_rng(3)
    words = ["".join(map(chr, row)) for row in rng.integers(97, 123, (60_000, 60))]
    lines = "".join(f"{word},{x}\n" for word, x in zip(words, rng.poisson(3.0, 60_000), strict=True))
    (tmp_path / "t.csv").write_text("name,claims\n" + lines)
    page = report(tmp_path, "--count", "claims", "--method", "gamma")
    assert page.stat().st_size < 2_000_000
    html = page.read_text()
    kept = len(rows(html)["name"])
    assert 20_000 < kept < 60_000
    assert f"The {kept - 25:,} highest and the 25 lowest of 60,000 units" in html


@pytest.mark.parametrize(
    ("columns", "called"),
    [
        ("policy,town,claims\n1021,Ath,0\n1022,Mons,3\n", ["Ath", "Mons"]),
        ("age,policy,claims\n40,1021,0\n40,1022,3\n", ["policy 1021", "policy 1022"]),
        ("town,policy,claims\nAth,1021,0\nAth,1022,3\n", ["policy 1021", "policy 1022"]),
        ("town,age,claims\nAth,40,0\nAth,40,3\n", ["Ath", "Ath"]),
        ("age,claims\n40,0\n40,3\n", ["0 claims", "3 claims"]),
    ],
)
def test_units_go_by_their_name_or_number_and_only_else_by_what_was_seen(tmp_path, report, columns, called):
    (tmp_path / "t.csv").write_text(columns)
    page = report(tmp_path, "--count", "claims", "--method", "mle").read_text()
    figure = page.partition('id="leaders"')[2].partition("</figure>")[0]
    for name in called:
        assert f">{name}</text>" in figure


def test_the_level_asked_for_is_the_level_shown(tmp_path, report):
    (tmp_path / "t.csv").write_text("claims\n0\n0\n1\n3\n7\n")
    html = report(tmp_path, "--method", "gamma", "--interval", "0.975").read_text()
    assert "Lines are 97.5\N{NO-BREAK SPACE}% intervals" in html
    assert "97.5\N{NO-BREAK SPACE}% interval</button>" in html
    assert "90\N{NO-BREAK SPACE}%" not in html


def test_a_missing_entry_leaves_a_column_of_numbers_one(tmp_path, report):
    """NA made the whole column text, which sorts 10 before 9."""
    (tmp_path / "t.csv").write_text("team,claims,years,age\na,9,1.5,3\nb,10,NA,NA\nc,NA,2,5\nd,0,1,7\n")
    columns = ["--count", "claims", "--exposure", "years", "--missing", "keep"]
    html = report(tmp_path, *columns, "--method", "gamma").read_text()
    heads = re.findall(r'<th scope="col" class="([^"]*)"[^>]*><button[^>]*>(\w+)</button>', html)
    numbers = {name for kinds, name in heads if "number" in kinds.split()}
    assert numbers >= {"claims", "years", "age", "estimate"}
    assert "team" not in numbers
    found = rows(html)
    assert {name for name, text in zip(found["team"], found["estimate"], strict=True) if text == ""} == {"b", "c"}


def test_groups_have_a_picture_that_narrows_the_table_down(tmp_path, report):
    text = "".join(f"{'north' if i % 4 else 'south'},{i % 5}\n" for i in range(60))
    (tmp_path / "t.csv").write_text("region,claims\n" + text)
    html = report(tmp_path, "--count", "claims", "--group", "region", "--pool").read_text()
    assert re.findall('<g data-group="(.*?)">', html) != []
    assert "estimated by priorformer from all units of its region together" in " ".join(html.split())
    assert "of the spread of the rates lies between them" in html


def test_the_line_among_groups_lies_between_their_means(tmp_path, report):
    """However much longer some units were watched than others, which are above the mean of all events, then."""
    rng = np.random.default_rng(6)
    games = np.where(np.arange(120) % 3 == 0, 400, 10)
    goals = rng.poisson(games * np.where(games > 10, 0.1, rng.gamma(9.0, 0.1, 120)))
    text = "".join(f"{'nsw'[i // 2 % 3]},{games[i]},{goals[i]}\n" for i in range(120))
    (tmp_path / "t.csv").write_text("region,games,goals\n" + text)
    asked = ["--count", "goals", "--exposure", "games", "--group", "region", "--pool", "--method", "gamma"]
    picture = re.search('<figure id="groups">.*?</figure>', report(tmp_path, *asked).read_text(), re.S)[0]
    means = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', picture)[-3:]]
    (line,) = (float(x) for x in re.findall(r'<polyline points="([\d.]+),30[^"]*"[^>]*class="dashed"', picture))
    assert min(means) < line < max(means)


@pytest.mark.parametrize("channel", ["poisson", "binomial", "normal", "truncated"])
@pytest.mark.parametrize("method", [None, "mle"])
def test_every_channel_has_its_words(tmp_path, report, channel, method):
    if channel == "truncated" and method == "mle":
        method = "npmle-em"
    rng = np.random.default_rng(4)
    x = {"normal": rng.normal(size=40).round(3)}.get(channel, rng.poisson(3.0, 40) + (channel == "truncated"))
    (tmp_path / "t.csv").write_text("name,x,t\n" + "".join(f"n{i},{v},{10 + i % 7}\n" for i, v in enumerate(x)))
    named = {
        "poisson": ["--count", "x", "--exposure", "t"],
        "binomial": ["--count", "x", "--trials", "t"],
        "normal": ["--effect", "x", "--se", "t"],
        "truncated": ["--count", "x", "--zeros", "missing"],
    }[channel]
    html = report(tmp_path, *named, *([] if method is None else ["--method", method])).read_text()
    theta = {"binomial": "probability", "normal": "effect"}.get(channel, "rate")
    assert f"The highest {theta} is that of" in answer(html) or "same estimate" in answer(html)
    assert "nan" not in html.partition("<main>")[2].partition('<script type="text/plain"')[0].lower()


@pytest.mark.parametrize(("sure", "told"), [(0, "None of the 3 highest"), (1, "1 of the 3 highest"), (2, "2 of the 3")])
def test_those_sure_to_be_among_the_highest_are_counted_in_words_that_agree(tmp_path, report, sure, told):
    counts = [900] * sure + [3] * (30 - sure)
    (tmp_path / "t.csv").write_text("unit,count\n" + "".join(f"u{i},{x}\n" for i, x in enumerate(counts)))
    said = answer(report(tmp_path, "--count", "count", "--method", "npmle-em", "--top", "3").read_text())
    assert told in said
    assert ("at least 95 % each." in said) == (sure > 1)


def test_a_model_that_does_not_fit_is_said_at_the_top(tmp_path, report):
    rng = np.random.default_rng(5)
    (tmp_path / "t.csv").write_text("x\n" + "".join(f"{v}\n" for v in rng.binomial(5, 0.8, 2000)))
    html = report(tmp_path, "--count", "x", "--method", "gamma").read_text()
    assert html.index("vary less than Poisson counts can") < html.index("<main>")
    assert "Not quite: the counts vary less" in html


TRIANGLE = '"geometry": {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1]]]}'


@pytest.mark.parametrize(
    ("geojson", "sentence"),
    [
        ("{", "is no GeoJSON: it does not hold JSON"),
        ('{"type": "Point"}', "is no GeoJSON with features"),
        ('{"features": [{"properties": {}, "geometry": null}]}', "has no area with a property 'fips' or an id"),
        (
            f'{{"features": [{{"id": "zz", {TRIANGLE}}}]}}',
            "no row's fips is on the map: the table has '02', the map 'zz'",
        ),
        (f'{{"features": [{{"id": "02", {TRIANGLE}}}]}}', "several rows have fips 02"),
        ("[" * 100_000, "is no GeoJSON: it does not hold JSON"),
        ('{"features": [{"id": "01", "geometry": {"type": "Polygon", "coordinates": 5}}]}', "has no area with"),
        ('{"features": [{"id": "01", "geometry": {"type": "MultiPolygon", "coordinates": [true]}}]}', "has no area"),
        ('{"features": [{"id": "01", "geometry": {"geometries": 5}}]}', "has no area with"),
        (f'{{"features": [{{"id": "01", {TRIANGLE.replace("1, 1", "1e308, -1e308")}}}]}}', "has no area with"),
        (f'{{"features": [{{"id": "01", {TRIANGLE.replace("1, 1", "1" + 400 * "0" + ", 1")}}}]}}', "has no area with"),
    ],
)
def test_a_map_that_cannot_be_drawn_is_refused_in_one_sentence(tmp_path, geojson, sentence):
    (tmp_path / "t.csv").write_text("fips,x\n01,3\n02,4\n02,0\n")
    (tmp_path / "m.geojson").write_text(geojson)
    command = ["report", "t.csv", "--count", "x", "--method", "gamma", "-o", "t.html", "--key", "fips"]
    done = ebformer(*command, "--map", "m.geojson", folder=tmp_path)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "t.html").exists()
    assert "needs both" in ebformer(*command, folder=tmp_path).stderr


def test_a_map_of_nothing_but_missing_numbers_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("fips,x\n01,\n02,4\n03,0\n")
    (tmp_path / "m.geojson").write_text(f'{{"features": [{{"id": "01", {TRIANGLE}}}]}}')
    command = ["report", "t.csv", "--count", "x", "--method", "gamma", "--missing", "keep", "-o", "t.html"]
    done = ebformer(*command, "--key", "fips", "--map", "m.geojson", folder=tmp_path)
    assert "no row with an answer has its fips on the map" in done.stderr


@pytest.mark.parametrize("corners", [5, 400])
def test_a_map_of_many_areas_shows_each_in_its_place(corners):
    """However long the outlines are together: none comes to lie on another, and drawing ends."""
    angles = np.linspace(0.0, 2 * np.pi, corners)[:-1]
    places = np.stack(np.meshgrid(np.arange(250.0), np.arange(240.0)), axis=-1).reshape(-1, 2)[: 240_000 // corners]
    circles = np.stack([np.cos(angles), np.sin(angles)], axis=1) * 0.4 + 1000.0
    areas = Areas("place", {str(i): [circles + place] for i, place in enumerate(places)})
    paths, height = outlines(areas)
    starts = {path.split("l")[0].split("h")[0] for path in paths.values()}
    assert len(starts) == len(places)
    assert height > 0
    assert sum(map(len, paths.values())) <= max(MOST_TEXT, FEW_LETTERS * len(places))


def test_a_long_table_has_the_predictions_of_estimate_with_drift_and_without(tmp_path, report):
    rng = np.random.default_rng(3)
    skill = rng.gamma(2.0, 4.0, 40)
    lines = "".join(f"p{i},{year},{rng.poisson(skill[i])}\n" for year in (2010, 2011, 2012) for i in range(40))
    (tmp_path / "t.csv").write_text("player,season,goals\n" + lines)
    asked = ["--count", "goals", "--unit", "player", "--look", "season", "--future", "1", "--method", "gamma"]
    html = report(tmp_path, *asked).read_text()
    done = ebformer("estimate", "t.csv", *asked, "-o", "next.csv", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    header, *table = (line.split(",") for line in (tmp_path / "next.csv").read_text().splitlines())
    for name in ("predicted", "predicted_still"):
        there = dict(zip(rows(html)["player"], map(float, rows(html)[name]), strict=True))
        for row in table:
            assert there[row[0]] == pytest.approx(float(row[header.index(name)]), abs=0.005)  # two decimals are shown
    assert "of units start afresh" in html


@pytest.mark.parametrize("seen", [0, 9])
def test_where_nothing_or_everything_happened_no_unit_is_above_or_below_the_mean(tmp_path, report, seen):
    """The raw mean is then an end of the domain, and every interval on one side of it."""
    (tmp_path / "t.csv").write_text("name,hits,tries\n" + "".join(f"u{i},{seen},9\n" for i in range(6)))
    html = report(tmp_path, "--count", "hits", "--trials", "tries").read_text()
    assert "<h1>None of 6 units can be told from the mean</h1>" in html
    assert f"Every raw probability is {seen // 9}, which tells no units apart." in answer(html)
    assert "highest raw" not in html
    assert "clearly above the mean</option>" not in html


@pytest.mark.parametrize("channel", ["poisson", "binomial", "normal"])
def test_covariates_say_what_was_expected_beside_what_is_believed(tmp_path, report, channel):
    """What is expected, estimated and explained is that of `estimate`, and what is not tested is not said to fit."""
    rng, n = np.random.default_rng(4), 150
    age, known = rng.integers(20, 40, n), rng.integers(20, 60, n)
    theta = 0.2 + 0.02 * (age - 20)
    x = {
        "poisson": rng.poisson(theta * known),
        "binomial": rng.binomial(known, theta),
        "normal": theta + 0.1 * rng.normal(size=n),
    }[channel]
    lines = "".join(f"u{i},{x[i]},{0.1 if channel == 'normal' else known[i]},{age[i]}\n" for i in range(n))
    (tmp_path / "t.csv").write_text("name,seen,known,age\n" + lines)
    roles = {"poisson": ("--count", "--exposure"), "binomial": ("--count", "--trials"), "normal": ("--effect", "--se")}
    asked = [roles[channel][0], "seen", roles[channel][1], "known", "--covariates", "age"]
    html = report(tmp_path, *asked).read_text()
    done = ebformer("estimate", "t.csv", *asked, "-o", "told.csv", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    header, *table = (line.split(",") for line in (tmp_path / "told.csv").read_text().splitlines())
    found = rows(html)
    for name in ("expected", "estimate"):
        there = dict(zip(found["name"], map(float, found[name]), strict=True))
        assert all(there[row[0]] == pytest.approx(float(row[header.index(name)]), abs=0.005) for row in table)
    said = re.search("the (covariates explain .*)", done.stderr)
    assert said is not None
    assert said[1] in answer(html)
    assert all(f'id="{figure}"' in html for figure in ("expected", "importance"))
    assert ("Not tested" in html) == (channel == "binomial") == ('id="pit"' not in html)


def test_covariates_that_tell_nothing_have_no_picture(tmp_path, report):
    rng = np.random.default_rng(5)
    lines = "".join(f"u{i},{rng.poisson(rng.gamma(3.0))},{rng.normal():.3f}\n" for i in range(60))
    (tmp_path / "t.csv").write_text("name,goals,noise\n" + lines)
    html = report(tmp_path, "--count", "goals", "--covariates", "noise", "--method", "gamma").read_text()
    assert "The covariate noise tells no more than chance would." in answer(html)
    assert 'id="importance"' not in html
    assert 'id="expected"' not in html
