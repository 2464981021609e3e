"""The commands as a person meets them: arguments, two streams and an exit code."""

from __future__ import annotations

import csv
import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

import duckdb
import pytest

from command_line import ebformer
from ebformer.cli.terminal import show
from ebformer.report.text_table import TextTable

MISTAKES = [
    ("goals\n1\nseven\n", "row 2: goals is 'seven', not a number"),
    ("goals\n1\n-2\n", "row 2: goals is -2: give whole numbers of at least 0"),
    ("goals\n1\n2.5\n", "row 2: goals is 2.5: counts are whole numbers"),
    ("team,goals\na,1\nb,\n", "row 2: goals is missing"),
    ("", "standard input is empty"),
    ("goals\n", "the table has no rows"),
    ("goal,team\n1,a\n", "there is no column 'goals' (did you mean 'goal'?)"),
    ("goals,estimate\n1,2\n", "the table already has a column 'estimate'"),
    ("Goals,goals\n1,2\n", "several columns are called 'goals' (Goals, goals): rename all but one"),
    ('goals\n"1,234"\n', "row 1: goals is '1,234': write numbers with a decimal point"),
    ('name,goals\n"a,1\nb,2\n', "standard input, line 2: a quotation mark is never closed"),
]


def test_a_closed_standard_input_is_no_traceback() -> None:
    command = [sys.executable, "-m", "ebformer", "estimate", "-", "--count", "goals"]
    ended = subprocess.run(command, preexec_fn=lambda: os.close(0), capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr == "ebformer: standard input is closed: give a file, or a table through a pipe\n"


@pytest.mark.parametrize("arguments", [["estimate", "-", "--count", "goals"], ["methods"], ["--help"]], ids=" ".join)
def test_a_closed_standard_output_is_no_traceback(arguments: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "ebformer", *arguments],
        input="goals\n1\n2\n",
        stderr=subprocess.PIPE,
        preexec_fn=lambda: os.close(1),
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr == ("ebformer: standard output is closed: send it to a file, or to /dev/null if not wanted\n")


def test_a_named_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    text = "goals\n" + "0\n1\n5\n" * 100_000  # more than a pipe holds
    (tmp_path / "file.csv").write_text(text)
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["sh", "-c", 'cat "$0" > "$1"', str(tmp_path / "file.csv"), str(tmp_path / "pipe")]):
        piped = ebformer("estimate", tmp_path / "pipe", "--count", "goals", "--method", "gamma", "-o", "-")
    plain = ebformer("estimate", tmp_path / "file.csv", "--count", "goals", "--method", "gamma", "-o", "-")
    assert piped.returncode == 0
    assert piped.stdout == plain.stdout


def attentive() -> None:
    """Hear Ctrl-C even where the tests run in the background, whose processes are started deaf to it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def league(tmp_path: Path) -> Path:
    done = ebformer("datasets", "league", "-o", tmp_path / "league.csv")
    assert done.returncode == 0, done.stderr
    return tmp_path / "league.csv"


def test_estimate_save_and_apply_from_file_to_file(league: Path) -> None:
    """Yesterday's fit, applied to yesterday's rows, repeats yesterday's answers."""
    folder = league.parent
    arguments = ["--count", "goals", "--exposure", "games", "--group", "position", "--top", "10", "--future", "38"]
    first = ebformer("estimate", league, *arguments, "-o", folder / "out.csv", "--save", folder / "rule.json")
    assert first.returncode == 0, first.stderr
    assert first.stdout == ""
    again = ebformer("apply", folder / "rule.json", league, "--top", "10", "--future", "38")
    assert again.returncode == 0, again.stderr
    before, after = rows((folder / "out.csv").read_text()), rows(again.stdout)
    assert len(before) == len(after) == 600
    told = "estimate lower upper predicted predicted_lower predicted_upper expected_rank p_top grade"
    assert list(before[0])[5:] == told.split()
    for one, other in zip(before, after, strict=True):
        for name, entry in one.items():
            if name in list(before[0])[5:]:
                assert float(entry) == pytest.approx(float(other[name]), rel=1e-9, abs=1e-9)
            else:
                assert entry == other[name]
    assert sum(float(row["p_top"]) for row in before) == pytest.approx(10, rel=1e-6)
    assert all(float(row["lower"]) <= float(row["upper"]) for row in before)


def test_units_that_are_added_up_keep_their_label(tmp_path: Path) -> None:
    """In the table, when a saved fit scores it and in a report; a map may go by such a column, too."""
    (tmp_path / "t.csv").write_text("id,name,fips,goals\nov01,Alex,01,3\ncr01,Sid,02,2\nov01,Alex,01,5\n")
    shape = '"geometry": {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 1], [0, 0]]]}, "properties": {}'
    areas = ", ".join(f'{{"id": "{fips}", {shape}}}' for fips in ("01", "02"))
    (tmp_path / "m.geojson").write_text(f'{{"type": "FeatureCollection", "features": [{areas}]}}')
    named, run = ("--unit", "id", "--label", "name"), partial(ebformer, folder=tmp_path)
    fitted = run("estimate", "t.csv", "--count", "goals", "--method", "gamma", "--save", "rule.json", *named)
    for done in (fitted, run("apply", "rule.json", "t.csv", "--label", "name")):
        assert done.returncode == 0, done.stderr
        assert [(row["id"], row["name"], row["goals"]) for row in rows(done.stdout)] == [
            ("ov01", "Alex", "8"),
            ("cr01", "Sid", "2"),
        ]
    drawn = ("--map", "m.geojson", "--key", "fips", "-o", "t.html")
    done = run("report", "t.csv", "--count", "goals", "--method", "gamma", *named, *drawn)
    assert done.returncode == 0, done.stderr
    assert ">Alex</text>" in (tmp_path / "t.html").read_text()
    refused = run("estimate", "t.csv", "--count", "goals", "--unit", "id", "--label", "nickname")
    assert "no column 'nickname' to name units by: choose among id, name, fips, goals" in refused.stderr


@pytest.mark.parametrize("bar", ["0.3", "100"])
def test_the_length_of_a_list_is_said(league: Path, bar: str) -> None:
    with league.open("a") as file:
        file.write("nobody,wing,,3,0.1\n")
    asked, run = ("--above", bar, "--fdr", "0.2"), partial(ebformer, folder=league.parent)
    named = ("--count", "goals", "--exposure", "games", "--method", "gamma", "--missing", "keep")
    done = run("estimate", "league.csv", *named, "--save", "rule.json", *asked)
    for ended in (done, run("apply", "rule.json", "league.csv", *asked)):
        assert ended.returncode == 0, ended.stderr
        chosen = sum(row["selected"].lower() == "true" for row in rows(ended.stdout))
        assert (chosen > 0) == (bar == "0.3")
        assert f"ebformer: {chosen} of 600 rows {'is' if chosen == 1 else 'are'} selected\n" in ended.stderr


@pytest.mark.parametrize("taken", ["league.csv", "out.csv", "./league.csv"])
def test_a_fit_replaces_neither_the_table_nor_its_answers(league: Path, taken: str) -> None:
    before = league.read_bytes()
    columns = ["--count", "goals", "--method", "gamma"]
    ended = ebformer("estimate", "league.csv", *columns, "-o", "out.csv", "--save", taken, folder=league.parent)
    assert ended.returncode == 1
    assert f"cannot write {taken}, which is another file of this command" in ended.stderr
    assert league.read_bytes() == before
    assert not (league.parent / "out.csv").exists()


def test_shrinking_helps_on_the_league(league: Path) -> None:
    """The estimates are nearer to the hidden rates than goals per game are."""
    found = rows(ebformer("estimate", league, "--count", "goals", "--exposure", "games").stdout)
    raw = sum((float(row["goals"]) / float(row["games"]) - float(row["hidden_rate"])) ** 2 for row in found)
    shrunken = sum((float(row["estimate"]) - float(row["hidden_rate"])) ** 2 for row in found)
    assert shrunken < 0.5 * raw


def test_the_count_column_is_guessed_and_said(tmp_path: Path) -> None:
    done = ebformer("estimate", "-", given="team;goals\na;1\nb;0\n")
    assert done.returncode == 0
    assert "reading counts from column 'goals'" in done.stderr
    assert done.stdout.splitlines()[0] == "team;goals;estimate;lower;upper"
    unclear = ebformer("estimate", "-", given="games,goals\n3,1\n4,0\n")
    assert unclear.returncode == 1
    assert "several columns could hold the counts (games, goals)" in unclear.stderr
    assert "the table has no rows" in ebformer("estimate", "-", given="team,goals\n").stderr


def test_a_first_line_of_numbers_is_no_header() -> None:
    """A list of counts without a header would lose its first unit unsaid; whoever names the column means it."""
    assert "give the table a header" in ebformer("estimate", "-", given="3\n2\n0\n").stderr
    assert ebformer("estimate", "-", "--count", "2024", "--method", "gamma", given="2024\n2\n0\n").returncode == 0


def test_missing_rows_can_be_kept() -> None:
    """A point is how SAS writes a missing number, #N/A how a spreadsheet does."""
    done = ebformer("estimate", "-", "--missing", "keep", given="team,goals\na,1\nb,NA\nc,3\nd,.\ne,#N/A\n")
    assert done.returncode == 0
    assert [row["estimate"] == "" for row in rows(done.stdout)] == [False, True, False, True, True]
    assert "kept without answers: 3 rows with a missing entry" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("estimate", "gap.csv", "--count", "n"), '(--missing keep, in Python missing="keep")'),
        (("apply", "rule.json", "gap.csv", "--strict"), "(without --strict, in Python strict=False)"),
        (("signals", "gap.csv", "--row", "a", "--column", "b", "--count", "n"), "fill it in, or drop the row"),
        (
            ("drift", "gap.csv", "--unit", "a", "--look", "b", "--before", "n", "-o", "drift.json"),
            "fill it in, or drop the row",
        ),
    ],
)
def test_what_is_advised_about_a_missing_entry_can_be_done(
    tmp_path: Path, arguments: tuple[str, ...], advice: str
) -> None:
    (tmp_path / "whole.csv").write_text("a,b,n\nx,1,3\ny,2,5\n")
    (tmp_path / "gap.csv").write_text("a,b,n\nx,1,3\ny,2,\n")
    fit = ("--count", "n", "--method", "gamma", "--save", "rule.json")
    assert ebformer("estimate", "whole.csv", *fit, folder=tmp_path).returncode == 0
    refused = ebformer(*arguments, folder=tmp_path)
    assert refused.returncode == 1
    assert "row 2: n is missing: " in refused.stderr
    assert refused.stderr.endswith(f"{advice}\n")
    allowed = ebformer(arguments[0], "--help").stdout
    assert all(option in allowed for option in re.findall("--[a-z]+", advice))


def test_nobody_leaves_out_missing_rows_unsaid(tmp_path: Path) -> None:
    table, page = "team,goals\na,1\nb,NA\nc,3\nd,0\n", tmp_path / "r.html"
    told = ebformer("compare", "-", "--missing", "keep", "--methods", "mle,gamma", given=table)
    assert "left out: 1 row with a missing entry" in told.stderr
    told = ebformer("report", "-", "--missing", "keep", "--method", "gamma", "-o", page, given=table)
    assert "kept without answers: 1 row with a missing entry" in told.stderr
    assert "<dt>left out, with a missing entry</dt><dd>1</dd>" in page.read_text(encoding="utf-8")


def test_a_report_is_a_page_whatever_its_name_hopes(tmp_path: Path) -> None:
    done = ebformer("report", "-", "-o", "report.pdf", given="team,goals\na,1\nb,3\n", folder=tmp_path)
    assert done.returncode == 1
    assert "report.pdf does not end in .html" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("table", "sentence"), MISTAKES)
def test_mistakes_get_one_sentence_and_exit_code_1(tmp_path: Path, table: str, sentence: str) -> None:
    done = ebformer("estimate", "-", "--count", "goals", "-o", "out.csv", given=table, folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"ebformer: {sentence}")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_exposure_zero_a_missing_file_and_unwritable_outputs(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("goals,games\n1,2\n3,0\n")
    for arguments, sentence in (
        (["t.csv", "--count", "goals", "--exposure", "games"], "row 2: games is 0: give positive numbers"),
        (["u.csv", "--count", "goals"], "there is no file u.csv (did you mean t.csv?)"),
        (["t.csv", "--count", "goals", "-o", "nowhere/out.csv"], "cannot write nowhere/out.csv: there is no folder"),
        (["t.csv", "--count", "goals", "-o", "out.xlsx"], "cannot tell the format of out.xlsx"),
        (["t.csv", "--count", "goals", "--save", "nowhere/r.json"], "cannot write nowhere/r.json: there is no folder"),
        (["t.csv", "--count", "goals", "--method", "npmel"], "there is no method 'npmel': did you mean 'npmle'?"),
    ):
        done = ebformer("estimate", *arguments, folder=tmp_path)
        assert done.returncode == 1, done.stderr
        assert done.stderr.startswith(f"ebformer: {sentence}")
        assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
    assert ebformer("apply", "r.json", "t.csv", folder=tmp_path).stderr == "ebformer: there is no file r.json\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_a_sentence(tmp_path: Path, unbuffered: str) -> None:
    (tmp_path / "t.csv").write_text("goals\n1\n3\n")
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "ebformer", "estimate", str(tmp_path / "t.csv")]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_usage_is_exit_code_2() -> None:
    done = ebformer("estimate", "t.csv", "--interval", "2")
    assert done.returncode == 2
    assert "Usage: ebformer estimate" in done.stderr
    misspelt = ebformer("estimat", "t.csv")
    assert misspelt.returncode == 2
    assert "No such command 'estimat'. Did you mean 'estimate'?" in misspelt.stderr
    assert "No such command 'weather'." in ebformer("weather").stderr


def test_a_closed_pipe_is_left_quietly(league: Path) -> None:
    """As under `head`: nothing on standard error, the exit code of a process that SIGPIPE ended, and the fit saved."""
    saved = league.parent / "rule.json"
    command = [sys.executable, "-m", "ebformer", "estimate", str(league), "--count", "goals", "--save", str(saved)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        remarks = process.stderr.read().decode()
    assert process.returncode == 128 + signal.SIGPIPE
    assert remarks == ""
    assert saved.exists()


@pytest.fixture(scope="module")
def millions_of_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "in.parquet"
    duckdb.sql("SELECT i % 40 AS goals, i AS id FROM range(5000000) AS r(i)").write_parquet(str(path))
    return path


@pytest.mark.parametrize(
    ("end", "deaf"),
    [(signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGTERM, True), (signal.SIGHUP, True)],
)
def test_a_signal_while_writing_leaves_no_trace(
    millions_of_rows: Path, tmp_path: Path, end: signal.Signals, deaf: bool
) -> None:
    """Neither beside the output nor among temporary files, also in the background, where processes ignore Ctrl-C."""
    (tmp_path / "in.parquet").symlink_to(millions_of_rows)
    (tmp_path / "temporary").mkdir()

    def ears() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN if deaf else signal.SIG_DFL)
        signal.signal(end, signal.SIG_DFL)

    command = [sys.executable, "-m", "ebformer", "estimate", "in.parquet", "--count", "goals", "-o", "out.csv"]
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, preexec_fn=ears, env=environment) as process:
        while process.poll() is None and not any(path.name.startswith(".out.csv") for path in tmp_path.iterdir()):
            time.sleep(0.02)
        process.send_signal(end)
        assert process.stderr is not None
        remarks = process.stderr.read().decode()
    assert process.returncode == 128 + end, remarks
    assert remarks.strip() == "ebformer: interrupted, no unfinished file was left"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["in.parquet", "temporary"]


@pytest.mark.parametrize("end", ["SIGINT", "SIGTERM"])
def test_a_signal_while_python_tidies_up_is_not_lost(end: str) -> None:
    """There Python drops every exception, and that of a signal with them."""
    program = f"""
import signal, sys, time
from ebformer.cli.termination import exit_code, heed_signals

class Ended:
    def __del__(self):
        signal.raise_signal(signal.{end})

signal.signal(signal.SIGINT, signal.default_int_handler)
heed_signals()
try:
    Ended()
    for _ in range(1000):
        time.sleep(0.01)
except KeyboardInterrupt:
    sys.exit(exit_code())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (128 + getattr(signal, end), "")


def interrupted_in(function: str, *arguments: str, folder: Path) -> tuple[str, set[str]]:
    """What a command says last that gets Ctrl-C where it calls this function, and the files it leaves behind."""

    def press(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before = {path.name for path in folder.iterdir()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(function, press)
        done = ebformer(*arguments, folder=folder)
    assert done.returncode == 130, done.stderr
    return done.stderr.splitlines()[-1], {path.name for path in folder.iterdir()} - before


def test_where_ctrl_c_is_said_to_leave_no_file_there_is_none(league: Path) -> None:
    folder, fitted = league.parent, ["--count", "goals", "--method", "gamma"]
    none = ("ebformer: interrupted, no unfinished file was left", set[str]())
    estimate = ["estimate", "league.csv", *fitted, "-o", "out.csv", "--save", "rule.json"]
    assert interrupted_in("ebformer.tables.shrink.remarks", *estimate, folder=folder) == none
    assert interrupted_in("ebformer.tables.shrink.verdict", *estimate, folder=folder) == none
    assert ebformer("estimate", "league.csv", *fitted, "--save", "rule.json", folder=folder).returncode == 0
    applied = ["apply", "rule.json", "league.csv", "-o", "out.csv"]
    assert interrupted_in("ebformer.tables.shrink.about_bins", *applied, folder=folder) == none


def test_ctrl_c_in_the_demo_says_which_file_was_written(tmp_path: Path) -> None:
    said, left = interrupted_in("ebformer.report.table_page.table_page", "demo", "-o", ".", folder=tmp_path)
    assert left == {"league.csv"}
    assert said == ("ebformer: interrupted: league.csv was written, but no report: the same command again writes both")


@pytest.fixture
def one_core() -> Iterator[None]:
    """This process and those it starts take turns on one core, where the system lets them."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    yield
    os.sched_setaffinity(0, cores)


def test_what_nohup_ignores_is_ignored() -> None:
    command = [sys.executable, "-m", "ebformer", "estimate", "-", "--method", "gamma"]
    ignoring = partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=ignoring) as process:
        assert process.stdin is not None
        process.stdin.write(b"goals\n" + b"1\n" * 1_000_000)  # more than a pipe holds: once through, it is reading
        process.stdin.flush()
        process.send_signal(signal.SIGHUP)
        process.communicate()
    assert process.returncode == 0


@pytest.mark.usefixtures("one_core")
def test_ctrl_c_while_waiting_for_input() -> None:
    """On one core it most often comes between two reads, where Python would wait for more input before it listens."""
    command = [sys.executable, "-m", "ebformer", "estimate", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=attentive) as process:
        assert process.stdin is not None
        process.stdin.write(b"goals\n" * 1_000_000)  # more than a pipe holds: once through, the command is reading
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        remarks = process.stderr.read().decode()
    assert process.returncode == 130
    assert remarks.strip() == "ebformer: interrupted, no unfinished file was left"


def test_the_model_check_speaks_up() -> None:
    claims = ebformer("datasets", "claims").stdout
    assert (
        "mixing distribution fits"
        in ebformer("estimate", "-", "--count", "claims", "--method", "npmle", given=claims).stderr
    )
    rounded = "goals\n" + "\n".join(str(10 * (i % 9 + 1)) for i in range(500)) + "\n"
    spoken = ebformer("estimate", "-", "--method", "npmle", given=rounded)
    assert "model check: most counts are multiples of 10" in spoken.stderr


def test_a_method_without_a_prior_claims_no_fit_but_tells_of_troubles(tmp_path: Path) -> None:
    claims = ebformer("datasets", "claims").stdout
    assert "model check" not in ebformer("estimate", "-", "--count", "claims", "--method", "mle", given=claims).stderr
    few, page = "goals\n0\n1\n7\n", tmp_path / "report.html"
    for method, said in (("mle", False), ("gamma", True)):
        done = ebformer("report", "-", "--method", method, "-o", page, given=few)
        assert done.returncode == 0, done.stderr
        assert ("too few units to tell" in page.read_text(encoding="utf-8")) is said
        assert ("extremes move towards" in page.read_text(encoding="utf-8")) is said
        assert "Calibration" not in page.read_text(encoding="utf-8")
    rounded = "goals\n" + "\n".join(str(10 * (i % 9 + 1)) for i in range(500)) + "\n"
    spoken = ebformer("estimate", "-", "--method", "mle", given=rounded)
    assert "model check: most counts are multiples of 10" in spoken.stderr


def test_compare_names_a_winner_and_its_assumption(league: Path) -> None:
    done = ebformer("compare", league, "--count", "goals", "--exposure", "games", "--methods", "npmle,gamma,robbins")
    assert done.returncode == 0, done.stderr
    table = [line.split("\t") for line in done.stdout.splitlines()]
    assert table[0] == ["method", "risk", "log score", "excess", "standard error", "first"]
    assert {row[0] for row in table[1:]} == {"npmle", "gamma"}
    assert f"{table[1][0]} predicts best" in done.stderr
    assert "Poisson given the rate" in done.stderr
    assert "left out robbins: treats all units alike" in done.stderr
    again = ["compare", "-", "--count", "goals", "--exposure", "games", "--methods"]
    assert done.stdout == ebformer(*again, "npmle,gamma", given=league.read_text()).stdout
    assert "predicts best" not in ebformer(*again, "gamma", given=league.read_text()).stderr


def test_methods_and_datasets_list_what_there_is() -> None:
    listed = ebformer("methods")
    assert listed.stderr == "", "the probe lies outside the range that a network was trained for"
    methods = listed.stdout.splitlines()
    assert {"mle", "robbins", "npmle", "gamma"} <= {line.split("\t")[0].removesuffix(" *") for line in methods}
    assert any(line.split("\t")[0].endswith(" *") for line in methods)
    assert len({line.split("\t")[-1] for line in methods if line.startswith(("T24", "L24"))}) > 1
    assert {"league", "claims", "pumps"} <= {line.split("\t")[0] for line in ebformer("datasets").stdout.splitlines()}
    assert "there is no table 'leage': did you mean 'league'?" in ebformer("datasets", "leage").stderr
    assert "choose from league, claims" in ebformer("datasets", "weather").stderr


def test_methods_left_out_for_one_reason_are_named_in_one_line() -> None:
    given = "goals,games\n1,2\n3,1\n0,4\n"
    arguments = ["--count", "goals", "--exposure", "games", "--methods", "mle,robbins,erm"]
    done = ebformer("compare", "-", *arguments, given=given)
    assert [line for line in done.stderr.splitlines() if "left out" in line] == [
        "ebformer: left out robbins, erm: each treats all units alike and cannot use unequal exposures"
    ]


def test_a_report_without_jinja_says_what_to_install(tmp_path: Path) -> None:
    """`pip install .` leaves jinja2 out; the same holds for a process that cannot find it."""
    hidden = "import sys; sys.modules['jinja2'] = None; from ebformer.cli import main; main()"
    command = [sys.executable, "-c", hidden, "report", "-", "-o", str(tmp_path / "r.html")]
    done = subprocess.run(command, input="goals\n1\n2\n", capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "ebformer: this needs jinja2: pip install 'ebformer[plot]'\n"


@pytest.mark.parametrize("command", ["estimate", "apply", "compare", "methods", "datasets"])
def test_help_has_an_example(command: str) -> None:
    done = ebformer(command, "--help")
    assert done.returncode == 0
    assert f"ebformer {command}" in done.stdout.partition("Example")[2]


def test_the_help_of_apply_speaks_of_the_columns_of_the_fit() -> None:
    said = " ".join(ebformer("apply", "--help").stdout.split())
    assert said.count("if the column has another name than in the fit") == 7
    assert "1 for all" not in said
    assert "up to the binning that large tables need" in said


def on_a_terminal(*arguments: str | Path, columns: int = 160) -> str:
    """What a command that succeeds shows on a terminal, a wide one unless it is said how wide."""
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "ebformer", *map(str, arguments)]
    wide = os.environ | {"TERM": "xterm", "COLUMNS": str(columns)}
    with subprocess.Popen(command, stdout=follower, stderr=follower, env=wide) as process:
        os.close(follower)
        seen = b""
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:  # how Linux says that the other side has closed
                break
            if not chunk:
                break
            seen += chunk
    os.close(leader)
    assert process.returncode == 0, seen.decode()
    return seen.decode()


def test_a_first_look_on_a_terminal(league: Path) -> None:
    """In a pipe standard error holds sentences only; on a terminal the first rows are drawn as a table."""
    done = ebformer("estimate", league, "--count", "goals")
    assert all(line.startswith("ebformer: ") for line in done.stderr.splitlines())
    text = on_a_terminal("estimate", league, "--count", "goals", "--exposure", "games")
    assert "player 001" in text
    assert "player 021" not in text
    # 2 games and 15 games: the numbers of a text file stand below each other, too
    found = [re.match(r" *player 00[12] +[a-z]+ +\d+ ", line) for line in text.splitlines()]
    assert len([one.end() for one in found if one]) == 2
    assert len({one.end() for one in found if one}) == 1
    assert "write all of them with -o" in text


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_a_narrow_terminal_shows_whole_columns_and_what_they_are_ordered_by(league: Path, columns: int) -> None:
    asked = ("--count", "goals", "--exposure", "games", "--method", "gamma", "--top", "9", "--future", "38")
    text = on_a_terminal("estimate", league, *asked, columns=columns)
    head = next(line for line in text.splitlines() if "player" in line)
    table = text[: text.index("the first 20 rows by expected_rank")]
    assert "expected_rank" in head
    assert "goals" in head
    assert "…" not in table
    assert all(len(re.sub("\x1b[^m]*m", "", line)) <= columns for line in table.splitlines())


@pytest.mark.parametrize("command", ["methods", "datasets"])
def test_a_narrow_terminal_breaks_no_words(command: str) -> None:
    """All that is on a wide terminal, and as many short columns side by side as there is room for."""
    narrow, wide = (re.sub("\x1b[^m]*m|─", "", on_a_terminal(command, columns=columns)) for columns in (80, 400))
    assert "…" not in narrow
    assert max(len(line.rstrip()) for line in narrow.splitlines()) <= 80
    assert set(narrow.split()) == set(wide.split())


def test_fractions_have_few_digits_on_a_terminal_and_all_in_the_file(tmp_path: Path) -> None:
    years = ["0.7342465753424657", "0.250", "12.000000000000123"]
    names = ["1.2345678901234", "b", "c"]  # text, of which one looks like a number
    lines = [f"{name},{x},{t}" for name, x, t in zip(names, (3, 0, 7), years, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["name,claims,years", *lines, ""]))
    arguments = ("estimate", tmp_path / "t.csv", "--count", "claims", "--exposure", "years", "--method", "gamma")
    text = on_a_terminal(*arguments)
    drawn = [line.split()[:3] for line in text.splitlines()]
    for expected in (["1.2345678901234", "3", "0.734247"], ["b", "0", "0.250"], ["c", "7", "12"]):
        assert expected in drawn
    assert [row["years"] for row in rows(ebformer(*arguments).stdout)] == years


@pytest.mark.parametrize(
    ("asked", "column"),
    [(("--top", "5"), "expected_rank"), (("--above", "0.3"), "p_above"), (("--null", "0.1"), "lfsr")],
)
def test_who_is_looked_for_comes_first_on_a_terminal(league: Path, asked: tuple[str, str], column: str) -> None:
    arguments = ("estimate", league, "--count", "goals", "--exposure", "games", "--method", "gamma", *asked)
    rows = list(csv.DictReader(io.StringIO(ebformer(*arguments).stdout)))
    leader = min(rows, key=lambda row: float(row[column]) * (-1 if column == "p_above" else 1))
    text = on_a_terminal(*arguments)
    assert f"the first 20 rows by {column}; write all of them with -o" in text
    assert re.findall(r"player \d+", text)[0] == leader["player"]


def test_entries_that_look_like_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    names = ["Ann [red]", "Bo [/b] y", "Cy :smiley:"]
    (tmp_path / "names.csv").write_text("[bold]name,goals\n" + "".join(f"{name},1\n" for name in names))
    text = on_a_terminal("estimate", tmp_path / "names.csv", "--count", "goals", "--method", "gamma")
    assert all(name in text for name in ["[bold]name", *names])


def test_titles_rows_and_notes_of_the_arena_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["Regret of [/b]", "[world]", "gamma [red]", "* see :smiley:"]
    show(TextTable(words[0], (words[1], "mle"), ((words[2], "1"),), (words[3],)))
    shown = capsys.readouterr().out
    assert all(word in shown for word in words)
