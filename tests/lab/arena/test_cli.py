"""The command line: tables out, one sentence on error."""

import pytest
from click.testing import CliRunner

from command_line import ebformer
from ebformer.errors import InputError
from ebformer.lab.arena import read
from ebformer.lab.commands.arena import command
from ebformer.lab.journal import Journal


def invoke(*arguments):
    return CliRunner().invoke(command, list(arguments), catch_exceptions=False)


def test_the_example_of_the_issue_runs_and_resumes(tmp_path):
    table = tmp_path / "losses.csv"
    design = ["--world", "multinomial", "--n", "64,128", "--priors", "5", "--seed", "0"]
    call = [*design, "--workers", "1", "-o", str(table)]
    first = invoke(*call, "--estimators", "mle,robbins")
    assert "Mean regret" in first.output
    assert "Plackett-Luce" in first.output
    rows = read(table)
    assert {(row.n, row.case, row.estimator) for row in rows} == {
        (n, prior, name) for n in (64, 128) for prior in range(5) for name in ("mle", "robbins")
    }
    invoke(*call, "--estimators", "mle,robbins,erm", "--figures", str(tmp_path / "figures"), "--timing")
    assert set(map(repr, rows)) <= set(map(repr, read(table)))
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
        "regret_against_n.png",
        "time_against_n.png",
    ]


def test_rows_of_an_earlier_run_stay_in_the_output_and_out_of_the_comparison(tmp_path):
    table = tmp_path / "losses.csv"
    invoke("--world", "gamma", "--n", "64", "--priors", "2", "--workers", "1", "-o", str(table), "--estimators", "erm")
    design = ["--world", "point-mass", "--n", "32", "--priors", "3", "--workers", "1", "--estimators", "mle,gamma"]
    assert invoke(*design, "-o", str(table)).output == invoke(*design).output
    assert {row.estimator for row in read(table)} == {"erm", "mle", "gamma"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--world", "atlantis"], "no world atlantis"),
        (["--n", "ten"], "n is 'ten'"),
        (["--theta-max", "wide"], "theta_max is 'wide'"),
        (["--theta-max", "-1"], "theta_max is -1"),
        (["--estimators", "mle", "--challenger", "npmle"], "challenger npmle"),
        (["--estimators", "crystal-ball"], "crystal-ball"),
        (["--n", "1" + 30 * "0"], "at most 2"),
        (["--seed", "-1"], "seed is -1"),
        (["--workers", "0"], "workers is 0"),
        (["--world", "zipf,gamma,zipf"], "two worlds are called zipf"),
        (["--world", "zipf", "--world", "gamma,zipf"], "two worlds are called zipf"),
        (["--published", __file__], "add --tallies"),
    ],
)
def test_mistakes_are_named(arguments, complaint):
    with pytest.raises(InputError, match=complaint):
        invoke("--priors", "1", "--workers", "1", *arguments)


def test_every_world_of_rates_is_drawn_from_and_others_are_refused():
    done = invoke(
        "--world",
        "tails,groups,coarse-dirichlet",
        "--n",
        "40",
        "--priors",
        "1",
        "--estimators",
        "mle,gamma",
        "--workers",
        "1",
    )
    assert done.exit_code == 0
    assert "coarse-dirichlet 40" in done.output
    own = invoke(
        "--world",
        "ebformer.lab.worlds.rates:Few",
        "--n",
        "40",
        "--priors",
        "1",
        "--estimators",
        "mle",
        "--workers",
        "1",
    )
    assert "few 40" in own.output
    with pytest.raises(InputError, match="sparse is a world of the normal channel"):
        invoke("--world", "sparse", "--estimators", "mle")


def test_a_space_after_a_comma_changes_nothing():
    def played(worlds, sizes, names):
        return invoke(
            *("--world", worlds, "--n", sizes, "--estimators", names, "--priors", "2", "--workers", "1")
        ).output

    assert played("gamma, zipf", "16, 32", "gamma, mle") == played("gamma,zipf", "16,32", "gamma,mle")


def test_ctrl_c_keeps_what_was_played_and_says_so(tmp_path, monkeypatch):
    append = Journal.append

    def press(journal, losses):
        append(journal, losses)
        raise KeyboardInterrupt

    monkeypatch.setattr(Journal, "append", press)
    design = ["--world", "point-mass", "--n", "64", "--estimators", "mle", "--workers", "1"]
    done = ebformer("arena", *design, "-o", tmp_path / "losses.csv")
    assert done.stderr == "ebformer: interrupted: the same command again goes on from here\n"
    assert done.returncode == 130
    assert [path.name for path in tmp_path.iterdir()] == ["losses.csv.journal"]
    assert (tmp_path / "losses.csv.journal").stat().st_size


def test_given_tallies_are_compared_with_published_regrets(tmp_path):
    tallies, published = tmp_path / "tallies.csv", tmp_path / "published.csv"
    tallies.write_text("world,n,tally,x,multiplicity,bayes\nw,2,0,5,2,6\nw,2,1,3,2,5\n")
    published.write_text("world,n,tally,estimator,regret\nw,2,0,mle,1\nw,2,1,mle,4\nw,2,0,T24r,0.5\nw,2,1,T24r,6\n")
    shown = invoke(
        "--tallies", str(tallies), "--published", str(published), "--estimators", "mle", "--workers", "1"
    ).output
    assert "mle (published): regrets agree with ours to 0.0e+00 of their mean, on 2 tallies" in shown
    assert "T24r" in shown


@pytest.mark.parametrize(
    ("theirs", "agreement"), [((0, 2), "1.0e+00 of their mean"), ((0, 0), "1.0e+00, where theirs are 0")]
)
def test_a_published_regret_of_0_is_compared_like_others(tmp_path, theirs, agreement):
    tallies, published = tmp_path / "tallies.csv", tmp_path / "published.csv"
    tallies.write_text("world,n,tally,x,multiplicity,bayes\nw,2,0,5,2,5\nw,2,1,3,2,4\n")
    published.write_text(f"world,n,tally,estimator,regret\nw,2,0,mle,{theirs[0]}\nw,2,1,mle,{theirs[1]}\n")
    shown = invoke(
        "--tallies", str(tallies), "--published", str(published), "--estimators", "mle", "--workers", "1"
    ).output
    assert f"mle (published): regrets agree with ours to {agreement}, on 2 tallies" in shown
