"""`ebformer drift`, and predictions that use what it learnt."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import ebformer as eb
from ebformer.check import ModelWarning
from ebformer.cli import ebformer


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    theta = rng.gamma(1.0, 8.0, 600)
    games = rng.integers(20, 82, 600) / 50
    later = 0.75 * theta + 0.25 * 8.0
    table = {"season": np.arange(600) % 2, "x": rng.poisson(theta * games), "gp": games, "y": rng.poisson(later)}
    path = tmp_path_factory.mktemp("history") / "history.csv"
    pl.DataFrame(table).write_csv(path)
    return path


def test_what_the_command_learns_is_what_python_learns(history: Path, tmp_path: Path) -> None:
    saved, drawn = tmp_path / "drift.json", tmp_path / "drift.png"
    arguments = ["drift", str(history), "--before", "x", "--after", "y", "--exposure-before", "gp", "--look", "season"]
    done = CliRunner().invoke(ebformer, [*arguments, "--method", "gamma", "-o", str(saved), "--figure", str(drawn)])
    assert done.exit_code == 0, done.output
    rows = pl.read_csv(history)
    looks = [eb.Looks.of(one["x"], one["y"], exposure=one["gp"]) for one in rows.partition_by("season")]
    assert eb.Drift.load(saved) == eb.Drift.learn(looks, "gamma")
    assert eb.Drift.load(saved).look == "season"
    assert len(done.stdout.strip().splitlines()) == 2
    assert drawn.stat().st_size > 0


def test_a_long_table_teaches_what_its_pairs_of_looks_do(history: Path, tmp_path: Path) -> None:
    wide = pl.read_csv(history).with_columns(player=pl.int_range(pl.len()), gp2=1.0)
    first, second = ("x", "gp"), ("y", "gp2")
    rows = [
        wide.select("player", year=pl.lit(year), goals=pl.col(x), games=pl.col(gp))
        for year, (x, gp) in ((2001, first), (2002, second))
    ]
    pl.concat([*rows, rows[0].with_columns(player=pl.col("player") + 1000)]).write_csv(tmp_path / "long.csv")
    columns = ["--unit", "player", "--look", "year", "--before", "goals", "--exposure-before", "games"]
    asked = ["drift", str(tmp_path / "long.csv"), *columns, "--method", "gamma"]
    done = CliRunner().invoke(ebformer, [*asked, "-o", str(tmp_path / "long.json")])
    assert done.exit_code == 0, done.output
    learnt = eb.Drift.load(tmp_path / "long.json")
    assert learnt == eb.Drift.learn(eb.Looks.of(wide["x"], wide["y"], exposure=wide["gp"]), "gamma")
    assert (learnt.pairs, learnt.look) == (600, "year")  # who was seen once is in no pair
    for wrong, said in (([*asked[:2], *columns[4:]], "--after"), ([*asked, "--after", "goals"], "--before only")):
        assert said in str(CliRunner().invoke(ebformer, wrong).exception)


def test_shrink_and_estimate_predict_with_a_drift(history: Path, tmp_path: Path) -> None:
    drift = eb.Drift(pull=0.3, jump=0.2)
    drift.save(tmp_path / "drift.json")
    rows = pl.read_csv(history)
    found = eb.shrink(rows, count="x", exposure="gp", method="gamma", future=1.0, drift=drift)
    rule = eb.estimator("gamma")(eb.Tally.of(rows["x"], exposure=rows["gp"]))
    ahead = rule.predict(rows["x"][:5], exposure=rows["gp"][:5], future=1.0, drift=drift)
    np.testing.assert_allclose(found["predicted"][:5], ahead.mean, rtol=1e-3)
    arguments = ["estimate", str(history), "--count", "x", "--exposure", "gp", "--method", "gamma", "--future", "1"]
    out = tmp_path / "out.csv"
    done = CliRunner().invoke(ebformer, [*arguments, "--drift", str(tmp_path / "drift.json"), "-o", str(out)])
    assert done.exit_code == 0, done.output
    np.testing.assert_allclose(pl.read_csv(out)["predicted"], found["predicted"], rtol=1e-9)
    plain = eb.shrink(rows, count="x", exposure="gp", method="gamma", future=1.0)
    np.testing.assert_allclose(found["predicted_still"], plain["predicted"], rtol=1e-9)


def test_typical_is_that_of_the_table_and_another_drift_is_remarked_on(history: Path) -> None:
    rows = pl.read_csv(history)
    asked: dict[str, Any] = {"count": "x", "exposure": "gp", "method": "gamma", "future": 1.0}
    named = eb.shrink(rows, **asked, drift="typical")
    assert named["predicted"].equals(eb.shrink(rows, **asked, drift=eb.Drift.typical(exposures=True))["predicted"])
    with pytest.warns(ModelWarning, match="learnt without exposures"):
        eb.shrink(rows, **asked, drift=eb.Drift.typical())
    with pytest.warns(ModelWarning, match="learnt with exposures"):
        eb.shrink(rows, "x", method="gamma", future=1.0, drift=eb.Drift.typical(exposures=True))


def test_a_drift_asks_for_a_future(history: Path) -> None:
    with pytest.raises(eb.InputError, match="as future"):
        eb.shrink(pl.read_csv(history), count="x", drift="typical")


def test_what_is_known_of_one_look_alone_is_said_or_refused(history: Path) -> None:
    asked = ["drift", str(history), "--before", "x", "--after", "y", "--method", "gamma"]
    done = CliRunner().invoke(ebformer, [*asked, "--exposure-before", "gp"])
    assert done.exit_code == 0, done.output
    assert "taken to be 1" in done.stderr
    for option in ("--trials-before", "--trials-after", "--se-before", "--se-after"):
        word = option.removeprefix("--").partition("-")[0]
        done = CliRunner().invoke(ebformer, [*asked, option, "gp"])
        assert isinstance(done.exception, eb.InputError)
        assert f"--{word}-before and --{word}-after" in str(done.exception)


def test_one_number_may_be_known_of_all_rows(tmp_path: Path) -> None:
    """As in every other command; it says what a column of that number says."""
    rng = np.random.default_rng(1)
    pl.DataFrame({"x": rng.binomial(12, 0.4, 50), "y": rng.binomial(12, 0.4, 50), "m": [12] * 50}).write_csv(
        tmp_path / "h.csv"
    )
    said = []
    for trials in ("12", "m"):
        known = ["--trials-before", trials, "--trials-after", trials]
        done = CliRunner().invoke(ebformer, ["drift", str(tmp_path / "h.csv"), "--before", "x", "--after", "y", *known])
        assert done.exit_code == 0, done.output
        said.append(done.output)
    assert said[0] == said[1]
