"""The command scores what it is given, writes a tidy table, and complains in one sentence."""

import csv

import pytest
from click.testing import CliRunner

from ebformer.errors import InputError
from ebformer.lab.commands.fielddata import command
from ebformer.lab.fielddata.classic import shipped

HEADER = "data,case,estimator,units,rmse,mae,rmse_improvement,mae_improvement,log_score,coverage,seconds"
"""Of the table that -o writes and --against reads."""
TEAMS = "club,autumn,spring\n" + "".join(f"c{i},{(i * 7) % 11},{(i * 5) % 13}\n" for i in range(60))


def run(*arguments: object) -> str:
    result = CliRunner().invoke(command, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def table(path) -> list[dict[str, str]]:
    """The scores that -o wrote, without what differs from run to run."""
    with path.open() as file:
        return [row | {"seconds": ""} for row in csv.DictReader(file)]


def pages(folder, *bonuses: int):
    """Pages of hockey-reference.com from 1990 on, of 40 centers each."""
    made = []
    for year, bonus in enumerate(bonuses, 1990):
        page = folder / f"NHL_{year}.csv"
        rows = [f"{i},P\\p{i},20,BOS,C,80,{(i * 3) % 9 + bonus},0,{i}" for i in range(40)]
        page.write_text("\n".join(["Rk,Player,Age,Tm,Pos,GP,G,A,PTS", *rows]))
        made.append(page)
    return made


@pytest.fixture
def teams(tmp_path):
    path = tmp_path / "teams.csv"
    path.write_text(TEAMS)
    return path


def test_two_columns_of_a_table_are_scored_with_the_mle_as_yardstick(teams, tmp_path):
    output = tmp_path / "scores.csv"
    shown = run("table", teams, "--before", "autumn", "--after", "spring", "--estimators", "gamma, erm", "-o", output)
    assert "teams.csv: percent better than MLE, one case" in shown
    rows = table(output)
    assert ",".join(rows[0]) == HEADER
    assert [row["estimator"] for row in rows] == ["mle", "gamma", "erm"]
    assert float(rows[0]["rmse_improvement"]) == 0
    assert [row["coverage"] != "" for row in rows] == [False, True, False]


def test_a_thinned_first_look_is_judged_without_the_second(teams, tmp_path):
    def scores(given):
        output = tmp_path / "scores.csv"
        columns = ("--before", "autumn", "--after", "spring")
        run("table", given, *columns, "--estimators", "gamma", "--thinned", "-o", output)
        return table(output)

    other = tmp_path / "other" / teams.name
    other.parent.mkdir()
    other.write_text("autumn,spring\n" + "".join(f"{(i * 7) % 11},9\n" for i in range(60)))
    assert scores(teams) == scores(other)
    assert {row["data"] for row in scores(teams)} == {"teams.csv, thinned"}
    with pytest.raises(InputError, match="--against pairs scores of the second look"):
        run("table", teams, "--before", "autumn", "--after", "spring", "--thinned", "--against", teams)


def test_a_thinned_case_does_not_depend_on_what_else_is_scored(tmp_path):
    made, output = pages(tmp_path, 0, 1, 3), tmp_path / "scores.csv"
    thinned = ("--position", "center", "--estimators", "gamma", "--thinned", "--jobs", 1, "-o", output)
    run("nhl", *made, *thinned)
    together = [row for row in table(output) if row["case"] == "1991"]
    run("nhl", *made[1:], *thinned)
    assert table(output) == together


def test_pairing_with_published_scores_marks_what_is_below(tmp_path):
    published = tmp_path / "published.csv"
    published.write_text("data,case,estimator,rmse_improvement\nnhl center,1990,giant,90\nnhl center,1991,giant,91\n")
    centers = ("nhl", *pages(tmp_path, 0, 1, 3), "--position", "center", "--estimators", "mle,gamma", "--jobs", 1)
    shown = run(*centers, "--error", "rmse", "--against", published)
    assert "ours minus theirs, 2 cases in common" in shown
    assert "!" in shown.split("giant")[1]
    with pytest.raises(InputError, match="has no column 'mae_improvement'"):
        run(*centers, "--against", published)


def test_both_errors_rank_test_and_draw_unless_one_is_asked_for(tmp_path):
    centers = ("nhl", *pages(tmp_path, 0, 1, 3), "--position", "center", "--estimators", "gamma,T24r", "--jobs", 1)
    both = run(*centers, "--figure", tmp_path / "both.svg")
    one = run(*centers, "--error", "mae", "--figure", tmp_path / "one.svg")
    assert "P-L RMSE" in both
    assert "P-L MAE" in both
    assert both.count("one-sided p-values") == 2
    assert "P-L RMSE" not in one
    assert one.count("one-sided p-values") == 1
    assert (tmp_path / "both.svg").stat().st_size > 1.3 * (tmp_path / "one.svg").stat().st_size


@pytest.fixture
def no_scoring(monkeypatch):
    """Complaints must come before the work."""
    monkeypatch.setattr("ebformer.lab.commands.fielddata.run", lambda *_: pytest.fail("scored before the complaint"))


def test_an_output_never_replaces_what_is_read(teams, tmp_path, no_scoring):
    published, link = tmp_path / "published.csv", tmp_path / "link.csv"
    published.write_text("data,case,estimator,rmse_improvement,mae_improvement\nteams.csv,all,giant,90,90\n")
    link.symlink_to(teams)
    columns = ("table", teams, "--before", "autumn", "--after", "spring", "--estimators", "gamma")
    for outputs in (
        ("-o", teams),
        ("-o", link),
        ("--against", published, "-o", published),
        ("-o", tmp_path / "same.png", "--figure", tmp_path / "same.png"),
    ):
        with pytest.raises(InputError, match="which is another file of this command"):
            run(*columns, *outputs)
    assert teams.read_text() == TEAMS
    made = pages(tmp_path, 0, 1)
    with pytest.raises(InputError, match="which is another file of this command"):
        run("nhl", *made, "-o", made[1])


def test_complaints_come_before_the_work(teams, tmp_path, no_scoring):
    published = tmp_path / "published.csv"
    published.write_text("data,case,estimator,rmse_improvement,mae_improvement\ncricket,all,giant,90,90\n")
    columns = ("table", teams, "--before", "autumn", "--after", "spring")
    with pytest.raises(InputError, match="none of the cases"):
        run(*columns, "--against", published)
    with pytest.raises(InputError, match="figures leave out mle and robbins: add a method"):
        run(*columns, "--estimators", "mle,robbins", "--figure", tmp_path / "violins.png")
    with pytest.raises(InputError, match="there is nothing to score"):
        run("nhl", *pages(tmp_path, 0, 1), "--position", "defender")


def test_a_perfect_mle_has_neither_gains_nor_a_figure_but_its_table(tmp_path):
    perfect = tmp_path / "perfect.csv"
    perfect.write_text("autumn,spring\n3,3\n3,3\n")
    columns = ("table", perfect, "--before", "autumn", "--after", "spring", "--estimators", "gamma")
    assert "nan" not in run(*columns)
    result = CliRunner().invoke(command, [*map(str, columns), "--figure", str(tmp_path / "violins.png")])
    assert "percent better than MLE" in result.output
    assert "nothing to draw" in str(result.exception)


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
    assert "mean of 20 random splits of one table" in shown
    assert "intervals tell of the splitting alone" in shown
    described = " ".join(run("classic", "--help").split())
    assert "claims, accidents or horse-kicks" in described
    assert [name for name in shipped() if name not in described] == []


def test_random_splits_of_one_table_are_not_tested_as_if_they_were_tables():
    shown = run("classic", "horse-kicks", "--estimators", "gamma,T24r", "--jobs", 1)
    assert "T24r" in shown
    assert "p-value" not in shown


@pytest.mark.parametrize("name", ["nhl", "mlb", "books", "classic", "table", "all"])
def test_help_has_an_example(name):
    assert f"\n    ebformer fielddata {name} " in run(name, "--help")


@pytest.mark.data
def test_a_classic_table_is_thinned(data_dir):
    shown = run("classic", "thyrion_la_royale_belge", "--data-dir", data_dir, "--estimators", "gamma", "--jobs", 1)
    assert "mean of 20 random splits of one table" in shown
    with pytest.raises(InputError, match=r"norberg.* claims, .* thyrion_la_royale_belge"):
        run("classic", "norberg_group_life", "--data-dir", data_dir)
