"""What comes in through any door is answered or refused in a line: files, numbers, saved objects, wide tables."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import tracemalloc
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from scipy import stats

import ebformer as eb
from command_line import ebformer
from ebformer.atomic import replacing
from ebformer.channels import channel_named
from ebformer.channels.bounds import LARGEST, SMALLEST
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.channels.mixed_prior import ConjugateMixture
from ebformer.cli import terminal
from ebformer.distributions import DiscretePosterior, GridPosterior
from ebformer.encoding import Encoding
from ebformer.errors import LONGEST, EbformerError, InputError, WeightsError
from ebformer.estimators.catalogue import CATALOGUE, estimator
from ebformer.expectation import Expectation
from ebformer.networks import zoo
from ebformer.networks.weights import Weights
from ebformer.prior import Prior
from ebformer.regression import Blend
from ebformer.report.text_table import TextTable
from ebformer.rule import BayesRule, Rule

RNG = np.random.default_rng(0)
TABLE = polars.DataFrame(
    {"name": [f"u{i}" for i in range(20)], "goals": RNG.poisson(3, 20), "games": RNG.uniform(0.5, 4, 20)}
)


def written(kind: str, path: Path) -> bytes:
    if kind == "parquet":
        TABLE.write_parquet(path)
    else:
        text = TABLE.write_csv().encode()
        path.write_bytes(gzip.compress(text) if kind == "csv.gz" else text)
    return path.read_bytes()


@pytest.mark.parametrize("kind", ["parquet", "csv.gz", "csv"])
def test_a_file_with_flipped_bytes_is_answered_or_refused_by_its_name(kind: str, tmp_path: Path) -> None:
    path, rng, refused = tmp_path / f"in.{kind}", random.Random(0), 0
    good = written(kind, path)
    for _ in range(50):
        bad = bytearray(good)
        for _ in range(rng.choice([1, 2, 5])):
            bad[rng.randrange(len(bad))] = rng.randrange(256)
        path.write_bytes(bad)
        done = ebformer("estimate", path, "--count", "goals", "--exposure", "games", "--method", "mle", "-o", "out.csv",
                        folder=tmp_path)  # fmt: skip
        assert done.returncode in (0, 1)
        if done.returncode:
            refused += 1
            assert len(done.stderr) <= LONGEST + 20
            assert done.stderr.count("\n") == 1
    assert refused > 10


@pytest.mark.parametrize("ending", ["parquet", "csv.gz"])
def test_a_file_that_ends_early_is_refused_by_its_name(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"in.{ending}"
    path.write_bytes(written(ending, path)[:-30])
    done = ebformer("estimate", path, "--count", "goals", "-o", "out.csv", folder=tmp_path)
    assert (done.returncode, str(path) in done.stderr, done.stderr.count("\n")) == (1, True, 1)


@pytest.mark.parametrize("number", [5e-324, 1e-320, 9e-51, 1.1e50, 1e300])
@pytest.mark.parametrize(("word", "x"), [("exposure", 3), ("se", 0.5)])
def test_exposures_and_errors_beyond_the_bound_are_refused(number: float, word: str, x: float) -> None:
    with pytest.raises(InputError, match="from 1e-50 to 1e50"):
        eb.Tally.of([x, x], **{word: [1.0, number]})
    named = {"effect" if word == "se" else "count": "x", word: "t"}
    with pytest.raises(InputError, match="from 1e-50 to 1e50"):
        eb.shrink(polars.DataFrame({"x": [x, x], "t": [1.0, number]}), **named)


def test_effects_beyond_the_bound_are_refused() -> None:
    with pytest.raises(InputError, match="from -1e50 to 1e50"):
        eb.Tally.of([1e51, 0.0], se=1.0)


@pytest.mark.parametrize("method", ["gamma", "npmle", "npmle-em", "mle"])
@pytest.mark.parametrize("known", [SMALLEST, LARGEST])
def test_numbers_at_the_bound_are_answered(method: str, known: float) -> None:
    x = [0, 1, 1, 7]
    rule = estimator(method)(eb.Tally.of(x, exposure=known))
    found = rule(x)
    assert np.isfinite(found).all()
    assert found * known == pytest.approx(estimator(method)(eb.Tally.of(x))(x), rel=1e-6)


def saved(method: str = "npmle", **changes: Any) -> dict[str, Any]:
    record = estimator(method)(eb.Tally.of([0, 0, 1, 3, 9])).record()
    return json.loads(json.dumps(record)) | changes


GAP = {"gap": 0.0, "iterations": 3, "reached": True, "meaning": "gap"}


@pytest.mark.parametrize(
    "record",
    [
        saved(convergence=GAP | {"gap": "none"}),
        saved(convergence=GAP | {"iterations": [3]}),
        saved(convergence=GAP | {"reached": "yes"}),
        saved(convergence=GAP | {"meaning": 3}),
        saved(convergence=[1, 2]),
        saved(units=-3),
        saved(units=True),
        saved(log_likelihood="much"),
        saved(known=1e308),
        saved(known=True),
        saved(content={"atoms": [1.0, 1e300], "weights": [0.5, 0.5]}),
        saved(content={"atoms": [True, 2.0], "weights": [0.5, 0.5]}),
        saved(content={"atoms": 1.0, "weights": 1.0}),
        saved("gamma", content={"gamma": {"shape": 1e-320, "rate": 1.0}}),
        saved("gamma", content={"gamma": {"shape": [1.0], "rate": 1.0}}),
        saved("gamma", content={"mixture": {"weights": [1.0], "shape": [1.0, 2.0], "rate": [1.0]}}),
        saved("gamma", content={"mixture": {"weights": [0.5, 0.1], "shape": [1.0, 2.0], "rate": [1.0, 1.0]}}),
        saved("erm", content={"knots": [0, 3], "levels": [1.0]}),
        saved("erm", content={"knots": [0, 3], "levels": [-1.0, 2.0]}),
        saved("erm", content={"knots": [3, 0], "levels": [1.0, 2.0]}),
        saved("erm", content={"knots": [], "levels": []}),
    ],
)
def test_an_edited_rule_is_refused_whole(record: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "rule.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"rule\.json"):
        Rule.load(tmp_path / "rule.json")


def test_nan_in_a_saved_rule_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rule.json").write_text(json.dumps(saved()).replace("5", "NaN", 1))
    with pytest.raises(InputError, match="not a saved rule"):
        Rule.load(tmp_path / "rule.json")


@pytest.mark.parametrize("change", [{"jump": 1e49}, {"pull": True}, {"trend": "up"}, {"errors": [1]}, {"pairs": 0.5}])
def test_an_edited_drift_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "drift.json").write_text(json.dumps(eb.Drift.typical().record() | change))
    with pytest.raises(InputError):
        eb.Drift.load(tmp_path / "drift.json")


@pytest.mark.parametrize("number", [np.nan, 1e30])
def test_absurd_weights_are_refused(number: float) -> None:
    shipped = zoo.load("T24r")
    name = next(iter(shipped.arrays))
    array = shipped.arrays[name].copy()
    array.flat[0] = number
    with pytest.raises(WeightsError, match="not finite, or beyond"):
        Weights(shipped.config, dict(shipped.arrays) | {name: array})
    with pytest.raises(WeightsError, match="has type"):
        Weights(shipped.config, dict(shipped.arrays) | {name: array.astype(str)})


@pytest.mark.parametrize("of", ["count", "exposure"])
def test_true_and_false_are_no_numbers_in_any_kind_of_table(of: str, tmp_path: Path) -> None:
    columns = {"x": [1, 0, 2], "t": [1.0, 2.0, 1.0]} | {"x" if of == "count" else "t": [True, False, True]}
    polars.DataFrame(columns).write_parquet(tmp_path / "in.parquet")
    polars.DataFrame(columns).write_csv(tmp_path / "in.csv")
    arrow = pyarrow.table(columns)
    kinds = [pandas.DataFrame(columns), polars.DataFrame(columns), arrow, duckdb.connect().from_arrow(arrow)]
    kinds.append(pandas.DataFrame(columns).astype(object))
    for frame in kinds:
        with pytest.raises(InputError, match=r"not (numbers|a number)"):
            eb.shrink(frame, count="x", exposure="t", method="mle")
    for name in ("in.parquet", "in.csv"):
        done = ebformer("estimate", name, "--count", "x", "--exposure", "t", folder=tmp_path)
        assert (done.returncode, "not " in done.stderr) == (1, True)


def test_numbers_of_128_bits_are_numbers() -> None:
    wide = polars.DataFrame({"x": polars.Series([1, 0, 2, 7] * 10, dtype=polars.Int128)})
    answers = eb.shrink(wide, count="x", method="gamma")["estimate"]
    assert answers.equals(eb.shrink(wide.cast(polars.Int64), count="x", method="gamma")["estimate"])
    with pytest.raises(InputError, match="row 1: x is 1180591620717411303424: give whole numbers of at most"):
        eb.shrink(polars.DataFrame({"x": polars.Series([2**70, 1], dtype=polars.Int128)}), count="x")


@pytest.mark.parametrize("of", ["--exposure t", "--trials m", "--effect e --se s", ""])
@pytest.mark.parametrize("asked", ["--exposure t", "--trials m", "--effect e --se s"])
def test_a_fit_meets_observations_of_its_own_kind_alone(of: str, asked: str, tmp_path: Path) -> None:
    rows = "".join(f"{i % 5},{1 + i % 3},{9 + i % 4},{i % 7 - 3},1\n" for i in range(12))
    (tmp_path / "in.csv").write_text("x,t,m,e,s\n" + rows)
    count = [] if "effect" in of else ["--count", "x"]
    ebformer("estimate", "in.csv", *count, *of.split(), "--save", "fit.json", "-o", "o.csv", folder=tmp_path)
    done = ebformer("apply", "fit.json", "in.csv", *asked.split(), "-o", "o.csv", folder=tmp_path)
    if asked == of or (not of and asked == "--exposure t"):  # counts of which nothing was said may have an exposure
        assert done.returncode == 0
    else:
        assert (done.returncode, "ebformer: the fit is of " in done.stderr) == (1, True)


@pytest.mark.parametrize("word", ["exposure", "se"])
@pytest.mark.parametrize("method", ["priorformer", "npmle", "npmle-smooth", "full-bayes"])
def test_what_lies_too_far_apart_is_told_in_the_numbers_that_were_given(method: str, word: str) -> None:
    with pytest.raises(InputError, match=r"from 1e-30 to 1e\+30 lie too many decades apart"):
        eb.estimate([1, 2, 0], method=method, **{word: [1e-30, 1e30, 1.0]})


@pytest.mark.filterwarnings("ignore:few rows")
def test_ten_units_over_four_decades_are_ranked_in_little_memory() -> None:
    """Grids as fine as the narrowest of their posteriors, for all of them, would take gigabytes."""
    rng = np.random.default_rng(4)
    t = 10.0 ** rng.uniform(-2, 2, 10)
    frame = polars.DataFrame({"x": rng.poisson(rng.lognormal(rng.uniform(0, 8), 1.0, 10) * t), "t": t})
    tracemalloc.start()
    ranked = eb.shrink(frame, "x", "t", top=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500e6
    assert ranked["p_top"].sum() == pytest.approx(3.0, abs=1e-6)


def test_hundreds_of_large_counts_have_posteriors_in_little_memory() -> None:
    """The whole posteriors of 300 counts on a grid as fine as their noise would take gigabytes."""
    x = np.random.default_rng(0).poisson(np.random.default_rng(1).gamma(4.0, 2.5e6, 300)).astype(float)
    rule = estimator("priorformer")(eb.Tally.of(x))
    tracemalloc.start()
    low, high = rule.posterior(x).interval(0.9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500e6
    assert ((low < rule(x)) & (rule(x) < high)).all()


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_header_of_thousands_of_columns_is_refused(delimiter: str, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(delimiter.join(["count"] + ["x"] * 17_999) + "\n" + delimiter.join("1" * 18_000))
    done = ebformer("estimate", "in.csv", "--count", "count", folder=tmp_path)
    assert (done.returncode, "18,000 columns" in done.stderr) == (1, True)


def test_a_parquet_file_of_more_than_ten_thousand_columns_is_refused(tmp_path: Path) -> None:
    one = pyarrow.array([1])
    table = pyarrow.Table.from_arrays([one] * 10_001, names=[f"c{i}" for i in range(10_001)])
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet")
    done = ebformer("estimate", "in.parquet", "--count", "c1", folder=tmp_path)
    assert (done.returncode, "in.parquet has 10,001 columns" in done.stderr) == (1, True)


def test_among_hundreds_of_columns_one_has_to_be_named(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(",".join(f"c{i}" for i in range(150)) + "\n" + ",".join(["1"] * 150) + "\n")
    done = ebformer("estimate", "in.csv", folder=tmp_path)
    assert (done.returncode, "--count" in done.stderr) == (1, True)


def test_complaints_stay_on_one_line_whatever_they_quote(tmp_path: Path) -> None:
    hostile = "\x1b[2J" + "x\n" * 10_000
    with pytest.raises(EbformerError) as caught:
        eb.shrink(polars.DataFrame({"x": [hostile, "1"]}), count="x")
    assert len(str(caught.value)) <= LONGEST
    assert str(caught.value).isprintable()


def test_remarks_stay_on_one_line_whatever_they_quote(tmp_path: Path) -> None:
    group = "team\n\x1b[2J"
    frame = polars.DataFrame({"x": [1, 2, 3], group: ["a\x1b[31m", "b\nc", "d"]})
    with pytest.warns(eb.ModelWarning) as said:
        eb.shrink(frame, count="x", group=group, method="gamma")
    assert all(str(each.message).isprintable() for each in said)
    frame.write_csv(tmp_path / "in.csv")
    done = ebformer("estimate", "in.csv", "--count", "x", "--group", group, "-o", "out.csv", folder=tmp_path)
    assert all(line.startswith("ebformer: ") for line in done.stderr.splitlines())


def test_a_terminal_obeys_no_cell_of_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.show(TextTable("", ("name\x1b[2J",), (("Ann\x1b]0;title\x07",),)))
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("command", [("estimate", "--save"), ("estimate", "-o"), ("report", "-o")])
def test_no_pipe_or_device_is_replaced_by_a_file(command: tuple[str, str], tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "in.csv")
    pipe = "pipe.html" if command[0] == "report" else "pipe.csv"
    os.mkfifo(tmp_path / pipe)
    done = ebformer(command[0], "in.csv", "--count", "goals", command[1], pipe, folder=tmp_path)
    assert (done.returncode, f"cannot write {pipe}: it is a pipe or a device" in done.stderr) == (1, True)
    assert (tmp_path / pipe).is_fifo()


def test_no_link_leads_a_writer_to_a_device(tmp_path: Path) -> None:
    (tmp_path / "out.json").symlink_to("/dev/null")
    rule = estimator("gamma")(eb.Tally.of([1, 2]))
    with pytest.raises(OSError, match="pipe or a device"):
        rule.save(tmp_path / "out.json")
    assert Path("/dev/null").is_char_device()


def test_a_file_may_have_as_long_a_name_as_there_can_be(tmp_path: Path) -> None:
    target = tmp_path / ("n" * 251 + ".csv")
    with replacing(target) as partial:
        partial.write_text("whole")
    assert (target.read_text(), len(list(tmp_path.iterdir()))) == ("whole", 1)


def test_a_link_that_leads_nowhere_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "in.csv").symlink_to("gone.csv")
    done = ebformer("estimate", "in.csv", folder=tmp_path)
    assert (done.returncode, done.stderr) == (1, "ebformer: in.csv is a link to gone.csv, which is no file\n")


@pytest.mark.parametrize("twin", ["goals", "Goals"])
def test_a_name_that_columns_of_parquet_share_is_refused_as_in_text(twin: str, tmp_path: Path) -> None:
    counts, parts = pyarrow.array([1, 2]), pyarrow.array([{"goals": [1]}] * 2)
    twins = pyarrow.Table.from_arrays([parts, counts, counts], names=["parts", "goals", twin])
    pyarrow.parquet.write_table(twins, tmp_path / "in.parquet")
    done = ebformer("estimate", "in.parquet", "--count", "goals", folder=tmp_path)
    assert (done.returncode, f"several columns are called 'goals' (goals, {twin})" in done.stderr) == (1, True)
    pyarrow.parquet.write_table(twins.select([0, 1]), tmp_path / "in.parquet")
    done = ebformer("estimate", "in.parquet", "--count", "goals", "-o", "out.csv", folder=tmp_path)
    assert (tmp_path / "out.csv").read_text().startswith("parts,goals,estimate")


METHODS = ["npmle", "npmle-em", "gamma", "priorformer"]


@pytest.mark.parametrize("method", METHODS)
def test_draws_have_the_law_of_the_posterior(method: str) -> None:
    """P(theta > c) of 20,000 draws is that of the posterior, at its own quantiles: chi-square with 4 cells."""
    after = estimator(method)(eb.Tally.of(RNG.poisson(RNG.gamma(2.0, 2.0, 80)))).posterior([0, 3, 12])
    draws = after.sample(20_000, np.random.default_rng(1))
    cuts = np.quantile(draws, [0.2, 0.5, 0.8])
    for unit in range(3):
        expected = -np.diff(np.concatenate([[1.0], after.exceeds(cuts)[unit], [0.0]])) * draws.shape[1]
        cell = np.searchsorted(cuts, draws[unit], side="left")
        seen = np.bincount(cell, minlength=4)
        held = expected > 5
        assert stats.chi2.sf(((seen - expected)[held] ** 2 / expected[held]).sum(), max(int(held.sum()) - 1, 1)) > 1e-4


def test_each_atom_is_drawn_as_often_as_its_weight_says_however_small() -> None:
    weights = np.array([[0.5, 1e-3, 0.499 - 1e-9, 1e-9], [0.0, 1.0, 0.0, 0.0]])
    after = DiscretePosterior(np.array([0.0, 1.0, 2.0, 1e9]), weights)
    draws = after.sample(200_000, np.random.default_rng(0))
    assert (draws[0] == 1.0).sum() == pytest.approx(200, abs=5 * np.sqrt(200))
    assert (draws[1] == 1.0).all()


def test_probabilities_above_many_levels_are_sums_over_atoms_and_cells() -> None:
    edges = np.concatenate([[0.0], np.cumsum(RNG.uniform(0.1, 1.0, 9))])
    atoms = np.concatenate([[0.0], (edges[1:-1] + edges[2:]) / 2])
    weights = RNG.dirichlet(np.ones(9), size=4)
    grid = GridPosterior(atoms, weights, edges, np.arange(9) == 0)
    levels = np.concatenate([[-1.0], atoms, edges, RNG.uniform(0, 6, 20), [99.0]])
    widths = grid.ends - grid.starts
    share = np.where(
        widths > 0,
        np.clip((grid.ends - levels[:, None]) / np.where(widths > 0, widths, 1.0), 0.0, 1.0),
        atoms > levels[:, None],
    )
    assert grid.exceeds(levels) == pytest.approx(weights @ share.T, abs=1e-14)
    plain = DiscretePosterior(atoms, weights)
    assert plain.exceeds(levels) == pytest.approx(weights @ (atoms > levels[:, None]).T, abs=1e-14)


def test_a_mean_may_lie_beyond_its_interval_where_a_rare_theta_bears_it() -> None:
    """Exactly: 0.0004 of a theta of a million is 400, and no interval of 99.9 % needs to hold it."""
    after = BayesRule("oracle", Prior([1.0, 1e6], [0.9996, 0.0004])).posterior(0, exposure=1e-12)
    assert after.interval(0.999)[1] == 1.0
    assert after.mean == pytest.approx(0.9996 + 400.0, rel=1e-5)
    assert after.mean - 1.0 <= np.sqrt(0.0005 / 0.9995 * after.variance)  # Cantelli


@pytest.mark.filterwarnings("ignore")  # npmle-em says that its nodes are too far apart
@pytest.mark.parametrize("method", ["npmle", "npmle-em", "priorformer"])
def test_over_eleven_decades_a_mean_leaves_its_interval_no_further_than_it_may(method: str) -> None:
    t = 10.0 ** RNG.uniform(-6, 5, 40)
    x = RNG.poisson(RNG.gamma(0.5, 3.0, 40) * t)
    after = estimator(method)(eb.Tally.of(x, exposure=t)).posterior(x, exposure=t)
    low, high = after.interval(0.999)
    slack = np.sqrt(0.0005 / 0.9995 * after.variance) + 1e-9 * high
    assert ((after.mean >= low - slack) & (after.mean <= high + slack)).all()


@pytest.mark.parametrize("name", ["T24f", "T24r", "T24u", "T24ur", "L24r"])
@pytest.mark.parametrize("mean", [300.0, 1e4, 1e6])
@pytest.mark.filterwarnings("ignore")
def test_beyond_its_range_a_network_still_agrees_with_the_mean_count(name: str, mean: float) -> None:
    x = RNG.poisson(RNG.gamma(2.0, mean / 2, 300))
    found = estimator(name)(eb.Tally.of(x))(x)
    assert abs(found.mean() - x.mean()) <= np.sqrt(3.0 * found.mean() / 300) * (1 + 1e-6)


@pytest.mark.parametrize("name", sorted(name for name, method in CATALOGUE.items() if "poisson" in method.channels))
@pytest.mark.filterwarnings("ignore")
def test_exposures_in_other_units_change_nothing_but_units(name: str) -> None:
    x, t = np.array([0, 2, 1, 9, 4]), np.array([1.0, 0.3, 7.0, 2.0, 1.0])
    method = estimator(name)
    t = t if method.unequal_known else 1.0
    plain = method(eb.Tally.of(x, exposure=t))(x, exposure=t)
    for scale in (1e-6, 365.25, 1e9):
        moved = method.in_units(1.0 / scale)(eb.Tally.of(x, exposure=scale * t))(x, exposure=scale * t)
        assert moved * scale == pytest.approx(plain, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("command", "output"), [("estimate", "o.csv"), ("report", "o.html")])
def test_as_many_groups_as_rows_are_told_of(command: str, output: str, tmp_path: Path) -> None:
    polars.DataFrame({"x": [i % 5 for i in range(60)], "g": [f"g{i}" for i in range(60)]}).write_csv(
        tmp_path / "in.csv"
    )
    named = ["--count", "x", "--group", "g", "--method", "gamma"]
    done = ebformer(command, "in.csv", *named, "-o", output, folder=tmp_path)
    assert done.returncode == 0
    assert "60 groups for 60 rows" in done.stderr


def test_what_a_killed_writer_left_is_removed_by_the_next_and_that_of_a_living_one_stays(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    with replacing(tmp_path / "a.csv") as partial:
        left = partial.with_name(partial.name.replace(f"-{os.getpid()}-", f"-{dead.pid}-"))
        left.write_text("half")
        other = tmp_path / f".b.csv.{left.name.partition('.a.csv.')[2]}"
        other.write_text("of another target")
        with replacing(tmp_path / "a.csv") as second:
            second.write_text("2")
        assert partial.exists()
        assert not left.exists()
        partial.write_text("1")
    assert (tmp_path / "a.csv").read_text() == "1"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([other.name, "a.csv"])


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_file_that_never_ends_its_first_line_is_not_read_whole(tmp_path: Path, ending: str) -> None:
    """Sixteen kilobytes of gzip hold sixteen megabytes of it, and would hold gigabytes as well."""
    endless = b"a" * 2**24
    (tmp_path / f"in.{ending}").write_bytes(gzip.compress(endless) if ending == "csv.gz" else endless)
    tracemalloc.start()
    done = ebformer("estimate", f"in.{ending}", "--count", "a", folder=tmp_path)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert done.returncode == 1
    assert "where the names of its columns should be" in " ".join(done.stderr.split())
    assert held < 2**24


class Elements(HTMLParser):
    """The kinds of elements and attributes of a page, and how many of those that run or fetch something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.kinds, self.active = set[tuple[str, str]](), Counter[str]()
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.kinds |= {(tag, name) for name, _ in [("", None), *attributes]}
        self.active[tag] += tag in ("script", "style", "img", "iframe", "object", "link", "a", "form")


def test_no_name_adds_an_element_to_a_report(tmp_path: Path) -> None:
    """Names of columns and of units that would be markup, a formula, a template or a comment are text."""

    def written(name: str) -> Elements:
        rows = [f"{name}{i},{(7 * i) % 9},{name}" for i in range(30)]
        (tmp_path / "in.csv").write_text(f"u{name},x{name},o{name}\n" + "\n".join(rows) + "\n")
        done = ebformer("report", "in.csv", "--count", f"x{name}", "--method", "gamma", "-o", "o.html", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        return Elements((tmp_path / "o.html").read_text(encoding="utf-8"))

    plain = written("plain")
    for hostile in (
        "</script><script>x()</script>",
        "</style><svg onload=x()>",
        "'><img src=x onerror=x()>",
        "<!--",
        "]]><x>",
        "=1+cmd()",
        "{{7*7}}${x}`",
        "\u202eevil",
    ):
        found = written(hostile)
        assert found.kinds <= plain.kinds, hostile
        assert found.active == plain.active, hostile


@pytest.mark.parametrize("text", ["\x1b[2J", "two\nlines", "x" * 300])
@pytest.mark.parametrize("of", ["method", "meaning"])
def test_texts_of_a_saved_rule_that_a_terminal_would_obey_are_refused(text: str, of: str, tmp_path: Path) -> None:
    change = {"method": text} if of == "method" else {"convergence": GAP | {"meaning": text}}
    (tmp_path / "rule.json").write_text(json.dumps(saved() | change))
    with pytest.raises(InputError, match="not a line of text"):
        Rule.load(tmp_path / "rule.json")


def test_weights_of_a_saved_mixture_are_made_to_add_up(tmp_path: Path) -> None:
    """A quantile would otherwise look for the missing ten-millionth for ever."""
    parts = {"shape": [2.0, 3.0], "rate": [1.0, 9.0]}
    record = saved("gamma-mixture", content={"mixture": {"weights": [0.4999999, 0.5]} | parts})
    (tmp_path / "rule.json").write_text(json.dumps(record))
    rule = Rule.load(tmp_path / "rule.json")
    ahead = rule.predict([0, 7])
    assert ahead.pmf(np.arange(200)).sum(axis=-1) == pytest.approx(1.0, abs=1e-12)
    assert (ahead.cdf(ahead.quantile(1 - 1e-9)).diagonal() >= 1 - 1e-9).all()
    rule.save(tmp_path / "again.json")
    assert Rule.load(tmp_path / "again.json").record() == rule.record()


def test_a_law_that_never_reaches_a_level_is_refused_in_a_sentence() -> None:
    part = GammaPrior(np.array([2.0]), np.array([1.0]))
    ahead = ConjugateMixture(part, np.array([0.9999999])).predictive(np.zeros(1), np.ones(1), np.ones(1))
    with pytest.raises(InputError, match="more than can be written"):
        ahead.quantile(1 - 1e-9)


@pytest.mark.parametrize(("channel", "prior"), [("poisson", {"gamma": {"shape": 1e49, "rate": 1e40}}),
                                                ("binomial", {"beta": {"a": 1e40, "b": 1.0}})])  # fmt: skip
def test_shapes_whose_spread_is_lost_in_rounding_are_refused(
    channel: str, prior: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "rule.json").write_text(json.dumps(saved(channel=channel, known=3, content=prior)))
    with pytest.raises(InputError, match=r"at most 1e\+30"):
        Rule.load(tmp_path / "rule.json")


@pytest.mark.parametrize("change", [{"step": 5e-324}, {"step": "nan"}, {"mean": "inf"}, {"explained": "nan"}])
def test_an_edited_expectation_is_refused(change: dict[str, Any]) -> None:
    regression = {"kind": "blend", "start": 0.5, "shares": [], "parts": []}
    record = {"names": ["age"], "categories": [[]], "regression": regression, "step": 0.1, "mean": 1.7}
    record |= {"explained": None, "importance": {}, "moves": False}
    assert Expectation.from_record(record).of_everybody(channel_named("poisson"), 1) == pytest.approx(np.exp(0.5))
    with pytest.raises(ValueError, match=r"not a number|without their kinds"):
        Expectation.from_record(record | change)
    line = {"kind": "linear", "start": 0.0, "effects": [[]], "centre": ["nan"], "slope": [1.0], "missing": [0.0]}
    with pytest.raises(ValueError, match="not a number"):
        Expectation.from_record(record | {"regression": line, "moves": True})


def test_what_is_expected_stays_within_the_bound() -> None:
    """exp(800) is no number."""
    told = Expectation(Encoding(("age",), ((),)), Blend(800.0), 0.1, 1.0, None, {}, moves=False)
    assert told.of_everybody(channel_named("poisson"), 1).tolist() == [LARGEST]


@pytest.mark.parametrize("y", [[10**400], [[1], [2, 3]], {1: 2}, {1, 2}], ids=["large", "ragged", "dict", "set"])
@pytest.mark.parametrize("asked", ["cdf", "log_density"])
@pytest.mark.parametrize("method", ["gamma", "npmle", "full-bayes"])
def test_a_next_observation_that_is_no_number_is_refused(method: str, asked: str, y: Any) -> None:
    ahead = estimator(method)(eb.Tally.of([0, 1, 3, 9])).predict([0, 3])
    with pytest.raises(InputError, match="the next observation is"):
        getattr(ahead, asked)(y)


@pytest.mark.parametrize("method", ["gamma", "npmle"])
def test_no_count_is_infinite(method: str) -> None:
    assert estimator(method)(eb.Tally.of([0, 1, 3, 9])).predict(3).pmf([np.inf, 0.5]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("multiplicity", [[], [np.nan, 1.0], [-1, 2], 3, [[1], [2]], [None, 1], {1: 2}, [10**400, 1]])
def test_pairs_of_looks_that_are_no_number_of_units_are_refused(multiplicity: Any) -> None:
    with pytest.raises(InputError, match="multiplicit"):
        eb.Looks.of([1, 2], [1, 2], multiplicity=multiplicity)


@pytest.mark.parametrize("drift", [3, "typical", {"pull": 0.1}])
def test_what_is_no_drift_is_refused(drift: Any) -> None:
    rule = estimator("gamma")(eb.Tally.of([0, 1, 3, 9]))
    with pytest.raises(InputError, match="the drift is a"):
        rule.predict([1, 2], drift=drift)
