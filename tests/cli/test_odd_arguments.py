"""What a command is told, however odd: one line of bounded length, and no file lost that was not asked for."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import ebformer as eb
from command_line import ebformer
from ebformer.errors import LONGEST

TABLE = "name,goals,later,games,shots,won\na,1,3,2.5,x,true\nb,0,2,1.5,4,false\nc,4,1,3.5,3,true\nd,2,0,3,1,false\n"
COUNTS = ["estimate", "in.csv", "--count", "goals", "--method", "gamma"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.csv").write_text(TABLE)
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["{}"],
        ["--{}"],
        ["methods", "{}"],
        ["estimate", "{}"],
        ["estimate", "in.csv", "--top", "{}"],
        ["estimate", "in.csv", "--missing", "{}"],
        ["estimate", "in.csv", "--count", "goals", "--above", "{}"],
        ["datasets", "{}"],
    ],
)
@pytest.mark.parametrize(
    "odd", ["a" * 5000, "\udcff", "\x1b[2J", "two\nlines"], ids=["long", "bytes", "escape", "lines"]
)
def test_whatever_is_typed_is_quoted_on_lines_that_a_terminal_can_show(
    folder: Path, arguments: list[str], odd: str
) -> None:
    ended = ebformer(*[text.format(odd) for text in arguments], folder=folder)
    assert ended.returncode in (1, 2)
    for line in ended.stderr.splitlines():
        assert len(line) <= LONGEST
        assert line.isprintable()


@pytest.mark.parametrize("command", ["estimate", "apply", "signals", "compare", "drift", "report"])
def test_options_take_what_people_have_a_name_for(folder: Path, command: str) -> None:
    """Not the types of the library that reads them."""
    told = ebformer(command, "--help", folder=folder).stdout
    assert not re.findall(r" --[a-z-]+ (?:TEXT|INTEGER|FLOAT)\b.*", told)
    if "--fdr" in told:
        assert "is not a valid number" in ebformer(command, "--fdr", "x", folder=folder).stderr


@pytest.mark.parametrize(
    "option", [["-o", "\udcff.csv"], ["--group", "name", "--neighbours", "\udcff.csv", "-o", "out.csv"]]
)
def test_a_name_that_is_not_utf8_is_refused(folder: Path, option: list[str]) -> None:
    shutil.copy(folder / "in.csv", folder / "\udcff.csv")
    ended = ebformer(*COUNTS, *option, folder=folder)
    assert ended.returncode == 1
    assert "is not UTF-8 text: give the file, and the folder it is in, another name" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ([*COUNTS, "--group", "name", "--neighbours", "pairs.csv", "-o", "pairs.csv"], "pairs.csv"),
        ([*COUNTS, "--future", "1", "--drift", "drift.json", "--save", "drift.json"], "drift.json"),
        (["drift", "in.csv", "--before", "goals", "--after", "later", "-o", "in.csv"], "in.csv"),
        (["drift", "in.csv", "--before", "goals", "--after", "later", "--figure", "./x.png", "-o", "x.png"], "in.csv"),
        (["report", "areas.html", "--count", "goals", "-o", "areas.html"], "areas.html"),
    ],
)
def test_no_output_takes_the_place_of_what_a_command_reads(folder: Path, arguments: list[str], kept: str) -> None:
    (folder / "pairs.csv").write_text("one,other\na,b\nb,c\n")
    (folder / "areas.html").write_text(TABLE)
    eb.Drift(pull=0.2).save(folder / "drift.json")
    before = (folder / kept).read_bytes()
    ended = ebformer(*arguments, folder=folder)
    assert ended.returncode == 1
    assert "which is another file of this command: name another output" in ended.stderr
    assert (folder / kept).read_bytes() == before


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ("name", "row 1: name is 'a', not a number (and 3 more rows)"),
        ("shots", "row 1: shots is 'x', not a number"),
        ("games", "row 1: games is 2.5: counts are whole numbers"),
        ("won", "row 1: won is 'true', not a number (and 3 more rows)"),
        ("goal", "there is no column 'goal' (did you mean 'goals'?)"),
    ],
)
def test_a_drift_refuses_a_column_as_an_estimate_does(folder: Path, column: str, sentence: str) -> None:
    estimated = ebformer("estimate", "in.csv", "--count", column, "--method", "gamma", folder=folder)
    for looks in (("goals", column), (column, "goals")):
        learnt = ebformer("drift", "in.csv", "--before", looks[0], "--after", looks[1], folder=folder)
        assert (learnt.returncode, estimated.returncode) == (1, 1)
        assert sentence in learnt.stderr
    assert sentence in estimated.stderr


def test_a_drift_reads_decimal_commas_as_an_estimate_does(folder: Path) -> None:
    (folder / "points.csv").write_text(TABLE)
    (folder / "commas.csv").write_text(TABLE.replace(",", ";").replace(".", ","))
    asked = ["--before", "goals", "--after", "later", "--exposure-before", "games", "--exposure-after", "games"]
    points, commas = (ebformer("drift", name, *asked, folder=folder) for name in ("points.csv", "commas.csv"))
    assert points.returncode == 0, points.stderr
    assert commas.stdout == points.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["compare", "in.csv", "--count", "goals", "--methods", ""], "there is no method ''"),
        (["arena", "--n", ""], "n is '': give whole numbers"),
        (["arena", "--n", "4", "--estimators", ""], "there is no method ''"),
        (["arena", "--n", "4", "--repeats", "0"], "repeats is 0: give a whole number"),
        (["arena", "--world", ".os:x"], "the world .os:x cannot be imported"),
        (["arena", "--n", "4", "--cluster", "nowhere"], "no scheduler of a Dask cluster answers at 'nowhere'"),
        (["arena", "--everyday", "--page", "none/page.md"], "there is no folder"),
        (["floor", "--page", "none/page.md"], "there is no folder"),
        (["train", "smoke", "--folder", "run", "--steps", "1", "--device", "abacus"], "cannot compute on 'abacus'"),
        (["train", "smoke", "--folder", "run", "--minutes", "nan"], "nan minutes: give a positive number"),
        (["train", "smoke", "--folder", "run", "--minutes", "inf"], "inf minutes: give a positive number"),
        (["demo", "-o", "in.csv"], "Directory 'in.csv' is a file"),
        (["fielddata", "table", "in.csv", "--before", "won", "--after", "goals"], "holds true and false, not numbers"),
    ],
)
def test_options_are_refused_before_the_work(folder: Path, arguments: list[str], sentence: str) -> None:
    ended = ebformer(*arguments, folder=folder)
    assert ended.returncode in (1, 2)
    assert sentence in ended.stderr
