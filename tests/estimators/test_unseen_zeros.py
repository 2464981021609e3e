"""Units of unequal exposure that enter the table only with an event: what was left out hardly matters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import optimize, stats

import ebformer as eb
from ebformer.rule import Rule
from ebformer.tables.columns import Columns
from ebformer.tables.frames import source_of
from ebformer.tables.shrink import shrink_table
from ebformer.tables.wanted import Wanted


def pairs(n: int = 3_000) -> tuple[np.ndarray, np.ndarray]:
    """Counts with expected ones far below and above 1, as of drugs and events."""
    rng = np.random.default_rng(0)
    t = np.exp(rng.normal(-1.0, 1.2, n)).round(2) + 0.05
    return rng.poisson(rng.gamma(1.5, 0.7, n) * t), t


def test_the_fit_of_a_gamma_prior_is_the_maximum_of_the_likelihood_given_an_event() -> None:
    """EM on imputed zeros, against a direct search with the negative binomial law of scipy."""
    x, t = pairs()
    x, t = x[x > 0], t[x > 0]

    def loss(parameters: np.ndarray) -> float:
        shape, rate = np.exp(parameters)
        law = stats.nbinom(shape, rate / (rate + t))
        return -float(np.sum(law.logpmf(x) - np.log1p(-law.pmf(0))))

    best = optimize.minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-8})
    rule = eb.estimator("gamma")(eb.Tally.of(x, exposure=t, zeros="missing"))
    assert rule.log_likelihood == pytest.approx(-best.fun, abs=0.1)
    shape, rate = np.exp(best.x)
    assert rule(x, exposure=t) == pytest.approx((shape + x) / (rate + t), rel=0.03)


@pytest.mark.parametrize("method", ["gamma", "priorformer"])
def test_with_and_without_the_zeros_the_list_is_nearly_the_same(method: str) -> None:
    """A table of 1,300 units stands for one of 3,000; if nobody says so, the list is four times as long."""
    x, t = pairs()
    seen = x > 0
    whole = eb.estimator(method)(eb.Tally.of(x, exposure=t))
    part = eb.estimator(method)(eb.Tally.of(x[seen], exposure=t[seen], zeros="missing"))
    ignored = eb.estimator(method)(eb.Tally.of(x[seen], exposure=t[seen]))
    lists = [
        set(np.flatnonzero(rule.posterior(x[seen], exposure=t[seen]).exceeds(1.5) > 0.7))
        for rule in (whole, part, ignored)
    ]
    assert len(lists[0] ^ lists[1]) <= 0.1 * len(lists[0])
    assert len(lists[0] ^ lists[2]) > len(lists[0])


def test_exposures_in_other_units_change_units_alone() -> None:
    x, t = pairs(800)
    x, t = x[x > 0], t[x > 0]
    rates, per_month = (
        eb.estimator("gamma")(eb.Tally.of(x, exposure=scale * t, zeros="missing"))(x, exposure=scale * t)
        for scale in (1.0, 12.0)
    )
    assert per_month == pytest.approx(rates / 12.0, rel=1e-6)


def test_tables_without_zeros_are_fitted_checked_and_saved(tmp_path: Path) -> None:
    x, t = pairs()
    table = pl.DataFrame({"n": x, "expected": t}).filter(pl.col("n") > 0)
    columns = Columns.named("n", exposure="expected", zeros="missing")
    shrunken = shrink_table(source_of(table), columns, eb.Gamma(), Wanted(future=1.0))
    assert shrunken.departures == []
    shrunken.fit.save(tmp_path / "fit.json")
    again = eb.load_fit(tmp_path / "fit.json").apply(table, future=1.0)
    assert again.drop("note").equals(shrunken.rows)
    rule = shrunken.fit.rules[None]
    rule.save(tmp_path / "rule.json")
    loaded = Rule.load(tmp_path / "rule.json")
    assert loaded(x[x > 0], exposure=t[x > 0]) == pytest.approx(rule(x[x > 0], exposure=t[x > 0]))
    with pytest.raises(eb.KnownError, match="unequal exposures"):
        rule(3)
    with pytest.raises(eb.KnownError, match="unequal exposures"):
        eb.unseen(rule)


def test_a_method_without_a_prior_cannot_tell_what_is_missing() -> None:
    with pytest.raises(eb.KnownError, match="has no prior"):
        eb.estimator("mle")(eb.Tally.of([1, 2], exposure=[1.0, 2.0], zeros="missing"))
