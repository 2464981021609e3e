"""The command scores what it is given, writes a tidy table, and complains in one sentence."""

import csv

import pytest
from click.testing import CliRunner

from ebformer.cli.fielddata import command
from ebformer.errors import InputError
from ebformer.fielddata.classic import shipped
from ebformer.fielddata.scoring import Score

pytest.importorskip("choix")
TEAMS = "club,autumn,spring\n" + "".join(f"c{i},{(i * 7) % 11},{(i * 5) % 13}\n" for i in range(60))


def run(*arguments: object) -> str:
    result = CliRunner().invoke(command, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def teams(tmp_path):
    path = tmp_path / "teams.csv"
    path.write_text(TEAMS)
    return path


def test_two_columns_of_a_table_are_scored_with_the_mle_as_yardstick(teams, tmp_path):
    output = tmp_path / "scores.csv"
    shown = run("table", teams, "--before", "autumn", "--after", "spring", "--estimators", "gamma, erm", "-o", output)
    assert "teams.csv: percent better than MLE, one case" in shown
    with output.open() as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == Score._fields
    assert [row["estimator"] for row in rows] == ["mle", "gamma", "erm"]
    assert float(rows[0]["rmse_improvement"]) == 0
    assert [row["coverage"] != "" for row in rows] == [False, True, False]


def test_a_thinned_first_look_is_judged_without_the_second(teams, tmp_path):
    def scores(table):
        output = tmp_path / "scores.csv"
        columns = ("--before", "autumn", "--after", "spring")
        run("table", table, *columns, "--estimators", "gamma", "--thinned", "-o", output)
        with output.open() as file:
            return [row | {"seconds": ""} for row in csv.DictReader(file)]

    other = tmp_path / "other" / teams.name
    other.parent.mkdir()
    other.write_text("autumn,spring\n" + "".join(f"{(i * 7) % 11},9\n" for i in range(60)))
    assert scores(teams) == scores(other)
    assert {row["data"] for row in scores(teams)} == {"teams.csv, thinned"}
    with pytest.raises(InputError, match="--against pairs scores of the second look"):
        run("table", teams, "--before", "autumn", "--after", "spring", "--thinned", "--against", teams)


def test_pairing_with_published_scores_marks_what_is_below(tmp_path):
    pages = []
    for year, bonus in ((1990, 0), (1991, 1), (1992, 3)):
        page = tmp_path / f"NHL_{year}.csv"
        rows = [f"{i},P\\p{i},20,BOS,C,80,{(i * 3) % 9 + bonus},0,{i}" for i in range(40)]
        page.write_text("\n".join(["Rk,Player,Age,Tm,Pos,GP,G,A,PTS", *rows]))
        pages.append(page)
    published = tmp_path / "published.csv"
    published.write_text("data,case,estimator,rmse_improvement\nnhl center,1990,giant,90\nnhl center,1991,giant,91\n")
    shown = run("nhl", *pages, "--position", "center", "--estimators", "mle,gamma", "--against", published, "--jobs", 1)
    assert "ours minus theirs, 2 cases in common" in shown
    assert "!" in shown.split("giant")[1]


def test_jobs_do_not_change_a_number(tmp_path):
    books = []
    for name, word in (("a", "whale"), ("b", "ship"), ("c", "sea")):
        path = tmp_path / f"{name}.txt"
        path.write_text("\n".join(f"{word} {'harpoon ' * (i % 5)} unique{i % 97}" for i in range(1500)))
        books.append(path)
    written = []
    for jobs in (1, 2):
        output = tmp_path / f"{jobs}.csv"
        run("books", *books, "--estimators", "mle,robbins,gamma", "--jobs", jobs, "-o", output)
        with output.open() as file:
            written.append([row[:-1] for row in csv.reader(file)])  # all but the seconds
    assert written[0] == written[1]
    assert len(written[0]) == 1 + 3 * 3


def test_absent_data_are_named_with_what_to_do(tmp_path):
    for arguments, said in (
        (["nhl", "--data-dir", tmp_path / "nowhere"], "--data-dir or EBFORMER_DATA"),
        (["mlb", "--data-dir", tmp_path], r"has no mlb/.*docs/realdata.md"),
        (["classic", "thyrion", "--data-dir", tmp_path], r"ships with ebformer \(claims, .* and .* has no classic/"),
        (["nhl", "-o", tmp_path / "no" / "scores.csv"], "there is no folder"),
        (["nhl", "--figure", tmp_path / "violins.bmp"], r"ends in \.bmp: name a \.png, \.svg, \.pdf file"),
    ):
        with pytest.raises(InputError, match=said):
            run(*arguments)


def test_shipped_tables_need_no_folder_and_help_names_them(tmp_path):
    shown = run("classic", "claims", "--data-dir", tmp_path / "nowhere", "--estimators", "gamma", "--jobs", 1)
    assert "mean of 20 cases" in shown
    described = " ".join(run("classic", "--help").split())
    assert "claims, accidents or horse-kicks" in described
    assert [name for name in shipped() if name not in described] == []


@pytest.mark.data
def test_a_classic_table_is_thinned(data_dir):
    shown = run("classic", "thyrion_la_royale_belge", "--data-dir", data_dir, "--estimators", "gamma", "--jobs", 1)
    assert "mean of 20 cases" in shown
    with pytest.raises(InputError, match=r"norberg.* claims, .* thyrion_la_royale_belge"):
        run("classic", "norberg_group_life", "--data-dir", data_dir)
