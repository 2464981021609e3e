"""Continuous exposures are binned: the stated bound holds, whoever bins, and the fit hardly notices."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ebformer as eb
from ebformer.bayes.marginal import bayes_rule
from ebformer.binning import FINEST, coarsened
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.errors import InputError
from ebformer.prior import Prior
from ebformer.rule import BayesRule
from ebformer.tables import observations as module
from ebformer.tables.columns import Columns
from ebformer.tables.fit import Fit
from ebformer.tables.frames import shrink, source_of
from ebformer.tables.learning import fit_table
from ebformer.tables.observations import Observations, observe
from ebformer.tables.remarks import about_bins, remarks
from ebformer.tables.shrink import shrink_table
from ebformer.tables.source import Distinct
from ebformer.tables.wanted import Wanted
from ebformer.tally import Tally

PRIOR = Prior([0.1, 1.0, 4.0], [0.3, 0.5, 0.2])


def continuous(n: int = 5_000) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(11)
    years = np.exp(rng.normal(0.0, 1.0, n))
    return {"claims": rng.poisson(PRIOR.draw(n, rng) * years), "years": years}


def homes(table: dict[str, np.ndarray]) -> dict[str, Any]:
    connection = duckdb.connect()
    connection.register("source", pl.DataFrame(table))
    return {"polars": pl.DataFrame(table), "duckdb": connection.sql("SELECT * FROM source")}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0.0, 50.0), min_size=1, max_size=6, unique=True),
    st.integers(0, 200),
    st.floats(-6.0, 6.0),
    st.integers(0, 8),
)
def test_an_estimate_falls_as_exposure_grows(atoms: list[float], x: int, log_t: float, doublings: int) -> None:
    """d/dt E[theta | x, t] = -Var[theta | x, t]: what makes the ends of a bin bound all that lies between."""
    prior = Prior(atoms, np.full(len(atoms), 1 / len(atoms)))
    t = np.exp(log_t + FINEST * 2**doublings * np.linspace(0.0, 1.0, 9))
    estimates = bayes_rule(prior, np.full(9, x), t)
    assert np.all(np.diff(estimates) <= 1e-9 * max(atoms))


@pytest.mark.parametrize("home", ["polars", "duckdb"])
@pytest.mark.parametrize("limit", [4_000, 1_500])
def test_no_estimate_moves_by_more_than_the_stated_bound(
    home: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LIMIT", limit)
    table = continuous()
    source, columns = source_of(homes(table)[home]), Columns("claims", "years")
    fit = Fit(columns, {None: BayesRule("oracle", PRIOR)})
    shrunken = shrink_table(source, columns, fit, Wanted())
    observations, frame = shrunken.observations, shrunken.rows
    assert observations.width >= FINEST
    assert observations.keys.rows.size <= limit
    assert observations.keys.rows.sum() == 5_000
    found = pl.DataFrame(frame.pl() if home == "duckdb" else frame).sort("claims", "years")
    exact = bayes_rule(PRIOR, found["claims"].to_numpy(), found["years"].to_numpy())
    moved = np.abs(found["estimate"].to_numpy() / exact - 1)
    assert moved.max() <= fit.binning_error(observations) / (1 - fit.binning_error(observations))


def test_bins_nest_exactly() -> None:
    """Doubling the width by halving the bin number is the same as binning anew."""
    t = np.exp(np.random.default_rng(0).uniform(-20, 20, 100_000))
    fine = np.floor(np.log(t) / FINEST)
    for doublings in range(1, 9):
        np.testing.assert_array_equal(np.floor(fine / 2**doublings), np.floor(np.log(t) / (FINEST * 2**doublings)))


def test_a_tally_is_coarsened_without_losing_units_or_exposure() -> None:
    table = continuous()
    tally = Tally.of(table["claims"], table["years"])
    small = coarsened(tally, limit=300)
    assert len(small) <= 300
    assert small.n == tally.n
    assert small.multiplicity @ small.known == pytest.approx(tally.multiplicity @ tally.known)
    assert small.multiplicity @ small.values == pytest.approx(tally.multiplicity @ tally.values, rel=1e-3)


def test_a_coarsened_tally_gives_nearly_the_same_rule() -> None:
    """A hundredth of a posterior standard deviation, at a tenth of the observations."""
    table = continuous(3_000)
    tally = Tally.of(table["claims"], table["years"])
    method = eb.CATALOGUE["gamma"]
    exact, binned = method(tally), method(coarsened(tally, limit=300))
    x, t = np.array([0, 1, 3, 10]), np.array([0.5, 1.0, 1.0, 4.0])
    moved = np.abs(exact(x, t) - binned(x, t))
    assert np.all(moved < 0.01 * np.sqrt(exact.posterior(x, t).variance))


def many_events(n: int = 3_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rates, counts in the thousands and exposures that no two units share."""
    rng = np.random.default_rng(12)
    theta, t = rng.gamma(10.0, 10.0, n), rng.uniform(1.0, 50.0, n)
    return theta, rng.poisson(theta * t), t


@pytest.mark.parametrize("home", ["polars", "duckdb"])
def test_bins_are_narrower_than_the_noise_of_large_counts(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand events tell a rate to 3 %: bins of a quarter made estimates worse than the raw rates."""
    monkeypatch.setattr(module, "LIMIT", 500)
    _, x, t = many_events()
    source, columns = source_of(homes({"claims": x, "years": t})[home]), Columns("claims", "years")
    rule = BayesRule("oracle", GammaPrior(10.0, 0.1))
    frame = shrink_table(source, columns, Fit(columns, {None: rule}), Wanted()).rows
    found = pl.DataFrame(frame.pl() if home == "duckdb" else frame)
    exact = rule.posterior(found["claims"].to_numpy(), found["years"].to_numpy())
    assert np.all(np.abs(found["estimate"].to_numpy() - exact.mean) <= np.sqrt(exact.variance) / 8)


@pytest.mark.parametrize("method", ["gamma", "npmle"])
def test_a_tally_of_large_counts_is_coarsened_to_nearly_the_same_rule(method: str) -> None:
    """The rates move with the counts: to merge exposures alone left every value, and spoilt the prior."""
    theta, x, t = many_events()
    tally = Tally.of(x, t)
    small = coarsened(tally, limit=500)
    assert len(small) <= 500
    exact, binned = (eb.CATALOGUE[method](each) for each in (tally, small))
    regret = np.mean((binned(x, t) - theta) ** 2) / np.mean((exact(x, t) - theta) ** 2) - 1
    assert regret < 0.02


def test_binning_is_said_aloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT", 500)
    observations = observe(source_of(pl.DataFrame(continuous())), Columns("claims", "years"))
    said = remarks(fit_table(observations, eb.CATALOGUE["npmle"]), observations, eb.CATALOGUE["npmle"])
    assert any("no estimate moves by more than" in sentence for sentence in said)
    told = about_bins(Fit(observations.columns, {None: BayesRule("oracle", PRIOR)}), observations)  # as `apply` does
    assert "no estimate moves by more than" in told[0]
    assert "ends of intervals may move more" in told[0]


@pytest.mark.parametrize("home", ["polars", "duckdb"])
@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_bad_exposures_are_found_among_binned_ones(home: str, bad: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT", 500)
    table = continuous()
    table["years"][7], table["claims"][7] = bad, 3
    with pytest.raises(InputError, match="row 8: years is"):
        shrink(homes(table)[home], "claims", "years", method="gamma")
    if np.isnan(bad):
        observations = observe(source_of(homes(table)[home]), Columns("claims", "years"), missing="keep")
        assert observations.missing == 1


@pytest.mark.parametrize("home", ["polars", "duckdb"])
def test_a_bad_exposure_is_refused_even_where_the_count_is_missing(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT", 500)
    table = continuous()
    claims = table["claims"].astype(float)
    claims[7], table["years"][7] = np.nan, 0.0
    with pytest.raises(InputError, match="row 8: years is 0"):
        shrink(homes(table | {"claims": claims})[home], "claims", "years", method="gamma", missing="keep")


def test_exact_exposures_have_no_error() -> None:
    keys = Distinct(None, np.array([3.0]), np.array([2.0]), np.array([1]))
    observations = Observations(Columns("claims", "years"), keys, 0.0, 0)
    assert Fit(observations.columns, {None: BayesRule("oracle", PRIOR)}).binning_error(observations) == 0.0


def test_many_groups_do_not_make_bins_coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """However wide the bins, a thousand groups show a thousand observations: merging the exposures would not help."""
    monkeypatch.setattr(module, "LIMIT", 500)
    rng = np.random.default_rng(0)
    few = {"claims": rng.poisson(2.0, 1_000), "years": rng.integers(1, 9, 1_000)}
    assert (
        observe(source_of(pl.DataFrame(few | {"town": np.arange(1_000)})), Columns("claims", "years", "town")).width
        == 0
    )
    one = observe(source_of(pl.DataFrame(continuous() | {"town": np.zeros(5_000)})), Columns("claims", "years", "town"))
    assert one.width > 0
