"""Observed over expected: margins, empty cells that are never written out, and the field's words at every door."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas
import polars
import pytest
from scipy.optimize import minimize
from scipy.special import expit, gammaln, log_expit
from scipy.stats import nbinom

import ebformer as eb
from command_line import ebformer
from ebformer.errors import InputError, NoPriorError
from ebformer.margins import empty_cells


def reports(seed: int = 0, strata: int = 1) -> polars.DataFrame:
    """A table of 40 drugs and 30 events, every cell written out."""
    rng = np.random.default_rng(seed)
    drugs, events, sexes = np.meshgrid(np.arange(40), np.arange(30), np.arange(strata), indexing="ij")
    scale = np.exp(rng.normal(size=(40, 1, strata)) + rng.normal(size=(1, 30, strata)) - 1)
    ratio = np.where(rng.random((40, 30, 1)) < 0.1, 5.0, rng.gamma(4.0, 0.25, (40, 30, 1)))
    n = rng.poisson(scale * ratio)
    names = {"drug": [f"d{i}" for i in drugs.ravel()], "event": [f"e{i}" for i in events.ravel()]}
    return polars.DataFrame({**names, "sex": sexes.ravel(), "n": n.ravel()})


def test_expected_counts_come_from_the_margins_within_strata() -> None:
    frame = reports(1, strata=2)
    found = eb.signals(frame, "drug", "event", "n", stratify="sex")
    cells = frame["n"].to_numpy().reshape(40, 30, 2).astype(float)
    totals = cells.sum(axis=(0, 1))
    expected = (cells.sum(axis=1)[:, None] * cells.sum(axis=0)[None] / totals).sum(axis=2)
    places = found["drug"].str.slice(1).cast(int).to_numpy(), found["event"].str.slice(1).cast(int).to_numpy()
    assert np.allclose(found["expected"], expected[places])
    assert np.array_equal(found["n"], cells.sum(axis=2)[places])
    assert found["n"].sum() == pytest.approx(expected.sum())


def test_pairs_keep_the_names_they_came_with() -> None:
    frame = reports().with_columns(polars.col("drug").str.slice(1).cast(int))
    named, numbered = (eb.signals(each, "drug", "event", "n") for each in (reports(), frame))
    assert numbered["drug"].dtype == polars.Int64
    by_name = named.with_columns(polars.col("drug").str.slice(1).cast(int)).sort("drug", "event")
    again = numbered.sort("drug", "event")
    assert again["event"].equals(by_name["event"])
    assert again["EBGM"].to_numpy() == pytest.approx(by_name["EBGM"].to_numpy())


def test_the_order_of_rows_changes_no_bit() -> None:
    rng, n = np.random.default_rng(0), 5000
    frame = polars.DataFrame({"drug": np.arange(n), "event": rng.integers(0, 36, n), "n": rng.poisson(3, n)})
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1)
    once, again = (eb.signals(each, "drug", "event", "n") for each in (frame, shuffled))
    assert once.equals(again)


def test_labels_of_several_types_are_refused() -> None:
    frame = pandas.DataFrame({"drug": [True, 8], "event": ["x", "y"], "n": [8, 7]})
    with pytest.raises(InputError, match="'drug' holds entries of types bool and int"):
        eb.signals(frame, "drug", "event", "n")


def test_dates_are_labels_and_strata_like_others() -> None:
    frame = reports(2, strata=2)
    plain = eb.signals(frame, "drug", "event", "n", stratify="sex")
    days = {name: polars.date(2024, 1, 1) + polars.duration(days=name) for name in ("drug", "sex")}
    dated = frame.with_columns(polars.col("drug").str.slice(1).cast(int)).with_columns(**days)
    for each in (dated, dated.to_pandas()):
        found = eb.signals(each, "drug", "event", "n", stratify="sex")
        assert np.sort(found["EBGM"].to_numpy()) == pytest.approx(np.sort(plain["EBGM"].to_numpy()))
    kept = eb.signals(dated, "drug", "event", "n")
    assert kept["drug"].dtype == polars.Date
    assert set(kept["drug"]) == set(dated["drug"])


def test_a_pair_has_one_row_wherever_its_expected_count_comes_from() -> None:
    frame = reports(3, strata=3).with_columns(e=polars.col("n") * 0.5 + 1.0)
    key = ["drug", "event"]
    one = frame.group_by(key).agg(polars.col("n").sum(), polars.col("e").sum())
    told = eb.signals(one, *key, "n", expected="e").sort(key)
    for asked in ({}, {"stratify": "sex"}):
        found = eb.signals(frame, *key, "n", expected="e", **asked).sort(key)
        assert found.select(*key, "n").equals(told.select(*key, "n"))
        assert np.allclose(found["EBGM"], told["EBGM"], rtol=1e-9)


def test_zeros_need_no_rows() -> None:
    frame = reports()
    key = ["drug", "event"]
    whole = eb.signals(frame, "drug", "event", "n").filter(polars.col("n") > 0).sort(key)
    short = eb.signals(frame.filter(polars.col("n") > 0), "drug", "event", "n").sort(key)
    assert whole[key].equals(short[key])
    for name in ("expected", "estimate", "EBGM", "EB05", "EB95"):
        assert np.allclose(whole[name], short[name], rtol=1e-9)


def test_empty_cells_are_counted_as_if_written_out() -> None:
    rng = np.random.default_rng(0)
    rows, columns = rng.gamma(0.5, 40.0, (200, 2)), rng.gamma(0.5, 50.0, (150, 2))
    totals = rows.sum(axis=0)
    every = ((rows / totals) @ columns.T).ravel()
    filled = rng.random(every.size) < 0.3
    expected, cells = empty_cells(rows, columns, totals, every[filled])
    assert cells.sum() == (~filled).sum()
    assert cells @ expected == pytest.approx(every[~filled].sum())
    for rate in (0.3, 2.0):
        assert cells @ np.exp(-rate * expected) == pytest.approx(np.exp(-rate * every[~filled]).sum(), rel=1e-4)


def test_the_words_of_the_field() -> None:
    found = eb.signals(reports(), "drug", "event", "n")
    assert (found["EB05"] < found["EBGM"]).all()
    assert (found["EBGM"] < found["estimate"]).all()
    assert (found["estimate"] < found["EB95"]).all()
    assert np.array_equal(found["EB05"], np.sort(found["EB05"])[::-1])
    chosen = found.filter("selected")
    assert 0 < len(chosen) < len(found)
    assert (1 - chosen["p_above"]).mean() <= 0.05


def test_the_list_is_as_precise_as_it_says() -> None:
    rng = np.random.default_rng(5)
    expected = rng.gamma(1.0, 3.0, 4000)
    ratio = np.where(rng.random(4000) < 0.85, rng.gamma(6.0, 1 / 6, 4000), rng.gamma(3.0, 1.5, 4000))
    frame = polars.DataFrame({"d": np.arange(4000), "e": "x", "n": rng.poisson(ratio * expected), "expected": expected})
    found = eb.signals(frame, "d", "e", "n", expected="expected", above=2.0, fdr=0.1).sort("d")
    listed = found["selected"].to_numpy()
    assert listed.sum() > 100
    assert (ratio[listed] <= 2.0).mean() < 0.1 + 2 * np.sqrt(0.09 / listed.sum())


def test_two_gammas_are_the_likeliest_two() -> None:
    rng = np.random.default_rng(2)
    expected = rng.gamma(0.5, 4.0, 2000)
    x = rng.poisson(expected * np.where(rng.random(2000) < 0.8, rng.gamma(4.0, 0.25, 2000), rng.gamma(2.0, 2.0, 2000)))
    rule = eb.GammaMixture()(eb.Tally.of(x, expected))

    def log_likelihood(weight: float, a: np.ndarray, b: np.ndarray) -> float:
        n, t = x[:, None], expected[:, None]
        log_f = gammaln(n + a) - gammaln(a) - gammaln(n + 1) - a * np.log1p(t / b) - n * np.log1p(b / t)
        return float(np.logaddexp(np.log(weight) + log_f[:, 0], np.log1p(-weight) + log_f[:, 1]).sum())

    told = rule.prior.parameters()
    weight, a, b = told["weights"][0], np.array(told["shape"]), np.array(told["rate"])
    best = log_likelihood(weight, a, b)
    assert rule.convergence.reached
    assert rule.log_likelihood == pytest.approx(best, abs=1e-6)
    for factor in (0.99, 1.01):
        for which in ([1, 0], [0, 1]):
            change = np.where(which, factor, 1.0)
            assert log_likelihood(weight, a * change, b) < best
            assert log_likelihood(weight, a, b * change) < best
        assert log_likelihood(weight * factor, a, b) < best


def independent_two_gammas(x: np.ndarray, t: np.ndarray, truncated: bool) -> tuple[float, np.ndarray]:
    """The highest log-likelihood of two gammas that scipy finds from several starts; weights, shapes and rates."""

    def log_f(n: np.ndarray, place: np.ndarray) -> np.ndarray:
        a, b = np.exp(place[:2]), np.exp(place[2:4])
        logs = nbinom.logpmf(n[:, None], a, b / (b + t[:, None]))
        return np.logaddexp(log_expit(place[4]) + logs[:, 0], log_expit(-place[4]) + logs[:, 1])

    def loss(place: np.ndarray) -> float:
        unseen = np.log1p(-np.exp(log_f(0 * x, place))) if truncated else 0.0
        return -float(np.sum(log_f(x, place) - unseen))

    best, options = None, {"ftol": 1e-14, "gtol": 1e-7}
    for start in ([0, 0, 0, -1, 0], [1.4, 0.7, 1.4, -0.7, 1.4], [2, -1, 2, -2, 1]):
        for _ in range(2):
            found = minimize(loss, start, method="L-BFGS-B", bounds=[(-9, 12)] * 5, options=options)
            start = found.x
        best = found if best is None or found.fun < best.fun else best
    a, b, weight = np.exp(best.x[:2]), np.exp(best.x[2:4]), expit(np.array([1.0, -1.0]) * best.x[4])
    order = np.argsort(a / b)
    return -best.fun, np.concatenate([weight[order], a[order], b[order]])


@pytest.mark.parametrize("truncated", [False, True])
def test_two_gammas_are_those_of_an_independent_optimiser(truncated: bool) -> None:
    """To four digits, with zeros and without."""
    rng = np.random.default_rng(2)
    t = rng.gamma(0.7, 4.0, 1500)
    x = rng.poisson(t * np.where(rng.random(1500) < 0.8, rng.gamma(4.0, 0.25, 1500), rng.gamma(2.0, 2.0, 1500)))
    x, t, words = (x[x > 0], t[x > 0], {"zeros": "missing"}) if truncated else (x, t, {})
    rule = eb.GammaMixture()(eb.Tally.of(x, exposure=t, **words))
    height, parameters = independent_two_gammas(x, t, truncated)
    assert rule.log_likelihood == pytest.approx(height, rel=1e-9)
    told = rule.prior.parameters()
    found = np.concatenate([told["weights"], told["shape"], told["rate"]])
    np.testing.assert_allclose(found, parameters, rtol=1e-4)


def test_one_component_is_the_gamma_method() -> None:
    tally = eb.Tally.of([0, 0, 3, 1, 12, 0, 2], [1.0, 2.0, 1.0, 0.5, 3.0, 1.0, 1.0])
    one, gamma = eb.GammaMixture(1)(tally), eb.Gamma()(tally)
    assert np.allclose(one([0, 5], 1.5), gamma([0, 5], 1.5), rtol=1e-5)
    assert np.allclose(
        one.posterior(3, 1.0).quantile([0.05, 0.95]), gamma.posterior(3, 1.0).quantile([0.05, 0.95]), rtol=1e-5
    )


def test_a_mixture_survives_being_saved_and_its_posterior_is_one_of_atoms(tmp_path: Path) -> None:
    tally = eb.Tally.of(np.random.default_rng(0).poisson(np.repeat([0.5, 6.0], 300)))
    rule = eb.GammaMixture()(tally)
    rule.save(tmp_path / "rule.json")
    again = eb.Rule.load(tmp_path / "rule.json")
    assert again.prior == rule.prior
    drawn = rule.prior.draw(200_000, np.random.default_rng(1))
    weight = np.exp(-drawn) * drawn**4
    after = rule.posterior(4)
    assert after.mean == pytest.approx(np.average(drawn, weights=weight), rel=0.02)
    assert after.mean_log == pytest.approx(np.average(np.log(drawn), weights=weight), abs=0.02)
    assert after.exceeds(5.0) == pytest.approx(np.average(drawn > 5.0, weights=weight), abs=0.01)
    assert rule.predict(4).pmf(2) == pytest.approx(np.average(np.exp(-drawn) * drawn**2 / 2, weights=weight), rel=0.02)


def test_the_command_says_what_python_says(tmp_path: Path) -> None:
    frame = reports().filter(polars.col("n") > 0)
    frame.write_csv(tmp_path / "reports.csv")
    columns = ["--row", "drug", "--column", "event", "--count", "n"]
    ran = ebformer("signals", "reports.csv", *columns, "-o", "out.csv", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    found, same = polars.read_csv(tmp_path / "out.csv"), eb.signals(frame, "drug", "event", "n")
    assert found.columns == same.columns
    assert np.allclose(found["EBGM"], same["EBGM"])


def test_a_misspelt_column_is_named_beside_those_there_are() -> None:
    with pytest.raises(InputError, match=r"'evnt' \(did you mean 'event'\?\); the columns are drug, event, sex, n"):
        eb.signals(reports(), "drug", "evnt", "n")


def test_what_cannot_be_used_is_named() -> None:
    frame = reports()
    with pytest.raises(NoPriorError, match="mle"):
        eb.signals(frame, "drug", "event", "n", method="mle")
    with pytest.raises(InputError, match="drog"):
        eb.signals(frame, "drog", "event", "n")
    for parts in (("drug", "drug", "n"), ("drug", "event", "drug")):
        with pytest.raises(InputError, match="'drug' cannot be both"):
            eb.signals(frame, *parts)
    for part in ("stratify", "expected"):
        with pytest.raises(InputError, match=f"'n' cannot be both the count and the {part}"):
            eb.signals(frame, "drug", "event", "n", **{part: "n"})
        with pytest.raises(InputError, match=f"the {part} is 5.5: name a column"):
            eb.signals(frame, "drug", "event", "n", **{part: 5.5})
    with pytest.raises(InputError, match="the row is None: name a column"):
        eb.signals(frame, None, "event", "n")
    for asked in ({}, {"expected": "sex"}):
        nameless = frame.with_columns(drug=polars.lit(None), sex=polars.lit(1.0))[:3]
        with pytest.raises(InputError, match="3 rows have no entry in drug or event: fill it in"):
            eb.signals(nameless, "drug", "event", "n", **asked)
    with pytest.raises(InputError, match="components"):
        eb.GammaMixture(0)


@pytest.mark.parametrize("name", ["expected", "Expected", "EBGM", "eb05", "estimate", "selected"])
def test_no_column_of_the_table_takes_the_name_of_an_answer(name: str) -> None:
    for part in ("drug", "event", "n"):
        parts = [name if each == part else each for each in ("drug", "event", "n")]
        with pytest.raises(InputError, match=f"the table already has a column '{name}'"):
            eb.signals(reports().rename({part: name}), *parts)
    if name.lower() != "expected":
        with pytest.raises(InputError, match=f"the table already has a column '{name}'"):
            eb.signals(reports().with_columns(polars.lit(1.0).alias(name)), "drug", "event", "n", expected=name)
    with pytest.raises(InputError, match="several columns are called 'N'"):
        eb.signals(reports().rename({"drug": "N"}), "N", "event", "n")


def test_a_lazy_frame_comes_back_lazy_and_what_is_no_table_is_refused() -> None:
    frame = reports()
    found = eb.signals(frame.lazy(), "drug", "event", "n")
    assert isinstance(found, polars.LazyFrame)
    assert found.collect().equals(eb.signals(frame, "drug", "event", "n"))
    for other in (duckdb.connect().sql("SELECT 1 AS n"), [1, 2]):
        with pytest.raises(InputError, match="cannot find signals in a"):
            eb.signals(other, "drug", "event", "n")


def test_one_long_name_among_many_takes_no_memory_but_its_own() -> None:
    def found(name: str) -> list[float]:
        more = polars.DataFrame({"drug": [name], "event": ["e0"], "sex": [0], "n": [9]})
        return eb.signals(polars.concat([reports(), more]), "drug", "event", "n")["EBGM"].to_list()

    assert found("a" * 10**7) == pytest.approx(found("a"))
