"""Covariates: expectations out of sample, priors around them, and nothing that depends on the order of rows."""

import json
import warnings
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

import ebformer as eb
from command_line import ebformer
from ebformer.channels.binomial import Binomial
from ebformer.channels.normal import Normal
from ebformer.channels.poisson import Poisson
from ebformer.covariates import cross_fit, dealt
from ebformer.encoding import Encoding
from ebformer.errors import EbformerError, InputError

WORDS = {
    "poisson": {"count": "x", "exposure": "known"},
    "binomial": {"count": "x", "trials": "known"},
    "normal": {"effect": "x", "se": "known"},
}
CHANNELS = {"poisson": Poisson(), "binomial": Binomial(), "normal": Normal()}


def world(channel: str, n: int = 300, seed: int = 0, effect: float = 1.0) -> tuple[pl.DataFrame, np.ndarray]:
    """Units whose natural parameter goes with age and team, `effect` times, and with chance."""
    rng = np.random.default_rng(seed)
    age, team = rng.integers(18, 40, n).astype(float), rng.choice(["a", "b", "c"], n)
    eta = -1.0 + effect * (0.06 * (age - 28) + np.where(team == "a", 0.8, 0.0)) + 0.25 * rng.normal(size=n)
    theta = CHANNELS[channel].at_natural(eta)
    known = rng.gamma(3.0, 0.1, n) if channel == "normal" else rng.integers(5, 60, n).astype(float)
    x = CHANNELS[channel].draw(theta, known, rng)
    frame = pl.DataFrame({"unit": np.arange(n), "x": x, "known": known, "age": age, "team": team})
    gaps = pl.when(pl.col("unit") % 13 == 0).then(None).otherwise(pl.col("age")).alias("age")
    return frame.with_columns(gaps), theta


def shrunken(frame: pl.DataFrame, channel: str, **more) -> pl.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eb.shrink(frame, **WORDS[channel], **more)


def error(table: pl.DataFrame, theta: np.ndarray) -> float:
    return float(np.mean((table["estimate"].to_numpy() - theta) ** 2))


@pytest.mark.parametrize("channel", WORDS)
def test_covariates_that_tell_lower_the_error_and_intervals_hold(channel) -> None:
    frame, theta = world(channel, 600)
    told = shrunken(frame, channel, covariates=["age", "team"])
    assert error(told, theta) < 0.9 * error(shrunken(frame, channel), theta)
    assert told.columns[5:] == ["expected", "estimate", "lower", "upper"]
    held = ((told["lower"].to_numpy() <= theta) & (theta <= told["upper"].to_numpy())).mean()
    assert 0.85 <= held <= 0.96


@pytest.mark.parametrize("channel", WORDS)
def test_the_order_of_rows_of_columns_and_of_doors_changes_nothing(channel) -> None:
    frame, _ = world(channel, 210 if channel == "poisson" else 60)  # with trees, and with a line alone
    names = ["expected", "estimate", "lower", "upper"]
    first = shrunken(frame, channel, covariates=["age", "team"])
    turned = shrunken(frame.sample(fraction=1.0, shuffle=True, seed=3), channel, covariates=["age", "team"])
    assert turned.sort("unit").select(names).equals(first.select(names))
    in_duckdb = shrunken(duckdb.sql("FROM frame"), channel, covariates=["age", "team"]).pl().sort("unit")
    np.testing.assert_allclose(in_duckdb.select(names).to_numpy(), first.select(names).to_numpy(), rtol=1e-12)
    pandas = shrunken(frame.to_pandas(), channel, covariates=["team", "age"])
    np.testing.assert_allclose(pandas[names].to_numpy(), first.select(names).to_numpy(), rtol=1e-12)


@pytest.mark.parametrize("regression", ["linear", "trees"])
@pytest.mark.parametrize("channel", WORDS)
def test_shuffled_targets_show_no_gain(channel, regression) -> None:
    """Neither before nor after the covariates change rows do they tell anything, and they do hardly any harm."""
    frame, theta = world(channel, 250, effect=0.0)
    ratios = []
    for seed in range(3 if regression == "linear" else 1):
        order = np.random.default_rng(seed).permutation(frame.height)
        other = frame.select("age", "team")[order]
        shuffled = pl.concat([frame.drop("age", "team"), other], how="horizontal")
        told = shrunken(shuffled, channel, covariates=["age", "team"], regression=regression)
        ratios.append(error(told, theta) / error(shrunken(shuffled, channel), theta))
    assert 0.97 < np.mean(ratios) < 1.1


@pytest.mark.parametrize("asked", [{}, {"null": 0.5, "fdr": 0.2}, {"above": "1.2x", "top": 5, "group": "team"}])
@pytest.mark.parametrize("channel", WORDS)
def test_covariates_that_tell_nothing_change_nothing(channel, asked, tmp_path) -> None:
    frame, _ = world(channel, 80)
    above = pl.col("x") + (2.0 if channel == "normal" else 0.0)  # a multiple of a mean below 0 is none
    frame = frame.with_columns(above, same=pl.lit("all"))
    told, plain = shrunken(frame, channel, covariates=["same"], **asked), shrunken(frame, channel, **asked)
    assert told["expected"].n_unique() == 1
    assert told.drop("expected").equals(plain)
    wanted = {name: value for name, value in asked.items() if name != "group"}
    fits = [eb.fit(frame, **WORDS[channel], group=asked.get("group"), covariates=names) for names in (["same"], None)]
    fits[0].save(tmp_path / "fit.json")
    for fit in (fits[0], eb.load_fit(tmp_path / "fit.json")):
        again = fit.apply(frame, **wanted)
        assert again["expected"].equals(told["expected"])
        assert again.drop("expected").equals(fits[1].apply(frame, **wanted))


def test_a_fit_of_an_earlier_version_is_one_of_deviations(tmp_path) -> None:
    """It does not say whether covariates move its priors: then they do."""
    frame, _ = world("normal", 80)
    fit = eb.fit(frame, **WORDS["normal"], covariates=["age"], regression="linear")
    assert fit.moves
    fit.save(tmp_path / "fit.json")
    saved = json.loads((tmp_path / "fit.json").read_text())
    del saved["expectation"]["moves"]
    (tmp_path / "older.json").write_text(json.dumps(saved))
    assert eb.load_fit(tmp_path / "older.json").apply(frame).equals(fit.apply(frame))


def test_no_unit_tells_about_its_own_expectation() -> None:
    frame, _ = world("poisson", 200)
    x, known, age = (frame[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("x", "known", "age"))
    one = np.ones(200, dtype=np.int64)
    before = cross_fit(Poisson(), x, known, one, {"age": age, "id": np.arange(200.0)}, "linear")[0]
    # A covariate that names the unit itself could tell its outcome only by a leak.
    telling = cross_fit(Poisson(), x, known, one, {"id": np.arange(200.0).astype(str).astype(object)}, "trees")[1]
    assert telling.importance == {}
    assert before.shape == (200,)


def test_units_are_dealt_out_evenly_and_copies_to_all_folds() -> None:
    units = np.array([1, 7, 100, 3])
    folds = dealt(units, 10, np.random.default_rng(0))
    assert folds.sum(axis=0).tolist() == units.tolist()
    assert set(folds.sum(axis=1).tolist()) <= {11, 12}
    assert folds[:, 2].tolist() == [10] * 10


@pytest.mark.parametrize("channel", WORDS)
def test_a_saved_fit_answers_as_the_fit_does_and_holds_no_code(channel, tmp_path) -> None:
    frame, _ = world(channel)
    fit = eb.fit(frame, **WORDS[channel], covariates=["age", "team"])
    fit.save(tmp_path / "fit.json")
    saved = json.loads((tmp_path / "fit.json").read_text())
    (tmp_path / "older.json").write_text(json.dumps(saved | {"version": 3}))
    if channel == "binomial":  # whose priors have another meaning now
        with pytest.raises(InputError, match="once more"):
            eb.load_fit(tmp_path / "older.json")
    else:
        eb.load_fit(tmp_path / "older.json")
    new = frame.head(20).with_columns(pl.lit("new").alias("team"))
    assert eb.load_fit(tmp_path / "fit.json").apply(new).equals(fit.apply(new))
    with pytest.raises(InputError, match="together"):
        fit.updated(new)


@pytest.mark.parametrize("channel", ["poisson", "binomial"])
def test_a_unit_without_observation_gets_its_expectation_and_a_wide_interval(channel) -> None:
    frame, _ = world(channel, 600)
    fit = eb.fit(frame, **WORDS[channel], covariates=["age", "team"])
    fresh, rates = world(channel, 1000, seed=1)
    told = fit.apply(fresh.with_columns(pl.lit(0.0).alias("x"), pl.lit(0.0).alias("known")))
    np.testing.assert_allclose(told["estimate"], told["expected"], rtol=0.05)
    held = ((told["lower"].to_numpy() <= rates) & (rates <= told["upper"].to_numpy())).mean()
    assert 0.84 <= held <= 0.97


def test_exposure_itself_may_be_a_covariate_where_the_check_finds_it() -> None:
    rng = np.random.default_rng(5)
    games = rng.integers(1, 82, 800)
    theta = 0.1 + 0.4 * games / 82
    frame = pl.DataFrame({"x": rng.poisson(games * theta), "known": games})
    with pytest.warns(eb.ModelWarning, match="--covariates"):
        plain = eb.shrink(frame, **WORDS["poisson"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = eb.shrink(frame, **WORDS["poisson"], covariates=["known"])
    assert error(told, theta) < 0.5 * error(plain, theta)


def test_the_command_line_answers_as_python_does(tmp_path) -> None:
    frame, _ = world("poisson")
    frame.with_columns(pl.col("x").cast(pl.Int64)).write_csv(tmp_path / "players.csv")
    table, fit, out = (str(tmp_path / name) for name in ("players.csv", "fit.json", "out.csv"))
    asked = ["estimate", table, "--count", "x", "--exposure", "known", "--covariates", "age, team"]
    said = ebformer(*asked, "--save", fit, "-o", out)
    assert "of the spread" in said.stderr
    expected = shrunken(frame, "poisson", covariates=["age", "team"])
    np.testing.assert_allclose(pl.read_csv(out)["estimate"], expected["estimate"], rtol=1e-12)
    ebformer("apply", fit, table, "-o", out)
    assert "expected" in pl.read_csv(out).columns


def test_per_multiplies_what_is_expected_too() -> None:
    frame, _ = world("poisson")
    one = shrunken(frame, "poisson", covariates=["age"], regression="linear")
    many = shrunken(frame, "poisson", covariates=["age"], regression="linear", per=1000)
    np.testing.assert_allclose(many["expected"], 1000 * one["expected"])


def test_categories_are_in_the_order_of_their_names_and_new_ones_missing() -> None:
    columns = {"age": np.array([3.0, np.nan]), "team": np.array(["b", "a"], dtype=object)}
    encoding = Encoding.of(columns, np.ones(2, dtype=np.int64))
    assert encoding.names == ("team", "age")
    np.testing.assert_equal(encoding.numbers(columns), [[1.0, 3.0], [0.0, np.nan]])
    asked = {"age": np.array([np.inf]), "team": np.array(["z"], dtype=object)}
    np.testing.assert_equal(encoding.numbers(asked), [[np.nan, np.nan]])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"covariates": "age"}, "give a list"),
        ({"covariates": []}, "at least one"),
        ({"covariates": ["agee"]}, "did you mean 'age'"),
        ({"covariates": ["x"]}, "cannot be a covariate"),
        ({"covariates": ["age"], "regression": "cubic"}, "trees or linear"),
        ({"covariates": ["age"], "unit": "unit", "look": "known"}, "several looks"),
        ({"covariates": ["age"], "method": "mle"}, "has none"),
        ({"covariates": ["empty"]}, "no entries"),
        ({"covariates": ["day"]}, "make it a number"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(given, sentence) -> None:
    frame, _ = world("poisson", 160)
    frame = frame.with_columns(pl.lit(None).alias("empty"), pl.date(2020, 1, 1).alias("day"))
    with pytest.raises(EbformerError, match=sentence):
        shrunken(frame, "poisson", **given)


@pytest.mark.parametrize("channel", WORDS)
def test_a_group_that_is_new_has_the_prior_of_all_around_what_is_expected(channel, tmp_path) -> None:
    """The answer of the fit without groups whose units have the same expectations, in every channel alike."""
    frame, _ = world(channel)
    fit = eb.fit(frame, **WORDS[channel], group="team", covariates=["age"])
    fit.save(tmp_path / "fit.json")
    together = eb.fit(frame, **WORDS[channel], covariates=["age"])
    rows = frame.head(30).with_columns(pl.when(pl.col("unit") < 20).then(pl.lit("new")).otherwise("team").alias("team"))
    told, typical, fitted = fit.apply(rows), together.apply(rows), fit.apply(frame.head(30))
    for name in ("expected", "estimate", "lower", "upper"):
        np.testing.assert_allclose(told[name][:20], typical[name][:20], rtol=1e-9, err_msg=name)
        np.testing.assert_allclose(told[name][20:], fitted[name][20:], rtol=1e-12, err_msg=name)
    assert set(told["note"][:20]) == {"team is not in the fit: answered with the prior of all"}
    assert eb.load_fit(tmp_path / "fit.json").apply(rows).equals(told)


@pytest.mark.parametrize(("channel", "advice"), [("poisson", "pooling"), ("binomial", "team as a covariate")])
def test_few_rows_of_a_group_are_no_reason_for_what_would_be_refused(channel, advice) -> None:
    frame, _ = world(channel, 40)
    with pytest.warns(eb.ModelWarning, match=rf"few rows to learn a prior from in team .*: consider {advice}"):
        eb.shrink(frame, **WORDS[channel], group="team", covariates=["age"])


def test_proportions_have_a_method_of_their_own() -> None:
    frame, _ = world("binomial", 40)
    with pytest.raises(InputError, match="name no method"):
        shrunken(frame, "binomial", covariates=["age"], method="beta")


@pytest.mark.parametrize("regression", ["trees", "linear"])
def test_units_of_one_content_tell_as_much_as_units_that_differ(regression) -> None:
    """Counts without exposures are few distinct contents; exposures that hardly differ make them as many as units."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, 1000)
    counts = rng.poisson(0.2 * 2.0**kind)
    frame = pl.DataFrame({"x": counts, "known": 1.0, "kind": [f"k{each}" for each in kind]})
    apart = frame.with_columns(known=1.0 + 1e-9 * rng.random(1000))
    for table in (frame, apart):
        found = shrunken(table, "poisson", covariates=["kind"], regression=regression)["expected"].to_numpy()
        for each in range(4):
            np.testing.assert_allclose(found[kind == each].mean(), counts[kind == each].mean(), rtol=0.3)


@pytest.mark.parametrize("events", [0, 5])
def test_where_hardly_anything_happened_half_an_event_is_expected(events) -> None:
    """Ten folds leave 36 units of 40 or more: without any event nothing below 0.5 / 40 can be told from nothing."""
    counts = np.zeros(40, dtype=np.int64)
    counts[7] = events
    frame = pl.DataFrame({"x": counts, "known": 1.0, "team": ["a", "b"] * 20})
    found = shrunken(frame, "poisson", covariates=["team"])
    assert found["expected"].min() >= 0.99 * 0.5 / 40
    assert found["estimate"].is_between(0.0, 5.0, closed="none").all()


def test_a_covariate_named_twice_tells_no_more() -> None:
    table = duckdb.from_arrow(world("poisson", 60)[0].to_arrow())
    found = [shrunken(table, "poisson", covariates=["age"] * n).pl() for n in (1, 2)]
    assert found[0].sort("unit").equals(found[1].sort("unit"))


def test_one_unit_cannot_tell_about_others() -> None:
    with pytest.raises(InputError, match="one unit"):
        shrunken(world("poisson", 1)[0].with_columns(age=30.0), "poisson", covariates=["age"])


def test_a_category_that_the_fit_never_saw_is_noted() -> None:
    frame, _ = world("poisson", 60)
    fit = eb.fit(frame, **WORDS["poisson"], covariates=["age", "team"], regression="linear")
    new = frame.head(4).with_columns(team=pl.Series(["a", "z", None, "b"]), x=pl.lit(1.0), known=pl.lit(2.0))
    new = new.with_columns(age=pl.lit(30.0))  # so that the second and the third differ by nothing else
    for table in (new, duckdb.from_arrow(new.to_arrow())):
        told = fit.apply(table)
        told = (told if isinstance(told, pl.DataFrame) else told.pl()).sort("unit")
        assert told["note"].to_list() == [None, "the fit never saw this team: counted as missing", None, None]
        assert told["estimate"][1] == told["estimate"][2]
        assert told.columns[-1] == "note"


def test_an_update_that_is_refused_writes_nothing(tmp_path) -> None:
    frame, _ = world("poisson", 60)
    frame.write_csv(tmp_path / "in.csv")
    eb.fit(frame, **WORDS["poisson"], covariates=["age"], regression="linear").save(tmp_path / "fit.json")
    done = ebformer("apply", "fit.json", "in.csv", "--update", "-o", "out.csv", folder=tmp_path)
    assert done.returncode == 1
    assert "fit old and new rows together" in done.stderr
    assert not (tmp_path / "out.csv").exists()


def test_rows_of_units_are_added_up_and_their_covariates_kept() -> None:
    frame, _ = world("poisson", 90)
    names = {"covariates": ["team", "known"], "regression": "linear"}
    whole = shrunken(frame, "poisson", **names)
    half = (pl.col("known") / 2).alias("known")
    halves = pl.concat([frame.with_columns(half), frame.with_columns(half, pl.lit(0.0).alias("x"))])
    for table in (halves, duckdb.from_arrow(halves.to_arrow())):
        told = shrunken(table, "poisson", unit="unit", **names)
        told = (told if isinstance(told, pl.DataFrame) else told.pl()).sort("unit")
        np.testing.assert_allclose(told["estimate"], whole["estimate"], rtol=1e-12)
    with pytest.raises(InputError, match="differ in a covariate"):
        shrunken(halves.with_columns(team=pl.Series(["a"] * 90 + ["b"] * 90)), "poisson", unit="unit", **names)


def test_one_covariate_that_tells_nothing_is_spoken_of_as_one():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"x": rng.poisson(2.0, 60), "shirt": rng.integers(0, 99, 60)})
    assert str(eb.fit(table, "x", covariates=["shirt"]).expectation) == (
        "the covariate shirt tells no more than chance would"
    )


def test_a_regression_of_no_covariates_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("x,a\n1,2\n3,4\n")
    for kind in ("trees", "linear"):
        done = ebformer("estimate", "in.csv", "--count", "x", "--regression", kind, "-o", "out.csv", folder=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert f"regression is {kind}, and no covariates are named" in done.stderr
    with pytest.raises(InputError, match="no covariates are named"):
        eb.fit(pl.DataFrame({"x": [1, 3]}), "x", regression="linear")


@pytest.mark.parametrize("entry", [1.0, "a"])
def test_a_covariate_that_one_unit_has_is_missing_in_the_fold_without_it(entry) -> None:
    frame, _ = world("poisson", 210)
    one = pl.when(pl.col("unit") == 7).then(pl.lit(entry)).alias("one")
    told = shrunken(frame.with_columns(one), "poisson", covariates=["age", "one"])
    assert told["expected"].n_unique() > 10
