"""Effects that are exactly the null have no sign: how many there are is learnt, and every answer allows for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import pytest
from scipy.optimize import check_grad
from scipy.stats import norm

import ebformer as eb
from ebformer.bayes.marginal import posterior
from ebformer.channels import channel_named
from ebformer.point_null import SHAPES, _Seen, evidence, pointed, with_point
from ebformer.prior import GridPrior, UncertainPrior
from ebformer.selection import lfsr, p_above, p_below, selected

NORMAL = channel_named("normal")
X, SE = np.linspace(-6.0, 6.0, 25), np.full(25, 0.8)
SCHOOLS = eb.Tally.of([28.0, 8, -3, 7, -1, 1, 18, 12], se=[15.0, 10, 16, 11, 9, 11, 10, 18])


def effects(theta: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    se = np.exp(rng.uniform(np.log(0.3), np.log(3.0), theta.size))
    return rng.normal(theta, se), se


def some_zeros(n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Effects of which five of six are exactly 0."""
    return effects(np.where(np.arange(n) < 5 * n // 6, 0.0, 3.0), 0)


def test_what_is_expected_at_the_null_comes_from_what_is_nearest() -> None:
    x, se = some_zeros()
    tally = eb.Tally.of(x, se=se)
    chance, share = evidence(tally, 0.0)
    assert 0.4 < share < 0.85
    found = with_point(eb.Prior([-0.3, 0.1, 3.0], [0.45, 0.4, 0.15]), tally, NORMAL, 0.0)
    at, near, next_to, far = (float(found.weights[found.atoms == atom].sum()) for atom in (0.0, 0.1, -0.3, 3.0))
    assert at == pytest.approx(chance * share, rel=1e-9)
    assert near == pytest.approx((1.0 - chance) * 0.4, abs=1e-12)
    assert next_to == pytest.approx(0.45 - chance * (share - 0.4), rel=1e-9)
    assert far == pytest.approx(0.15, rel=1e-12)


def test_every_version_of_a_prior_gets_its_own_share_at_the_null() -> None:
    x, se = some_zeros()
    rule = eb.estimator("priorformer")(eb.Tally.of(x, se=se))
    found = pointed(rule, 0.0).prior
    assert isinstance(found, UncertainPrior)
    np.testing.assert_allclose(found.versions.sum(axis=1), 1.0, rtol=1e-12)
    assert np.ptp(found.versions[:, found.atoms == 0.0]) > 0.0


@pytest.mark.parametrize("atoms", [[-1.0, -0.4, 0.3, 1.0], [-1.0, 0.0, 1.0]])
def test_a_point_of_a_grid_is_on_neither_side(atoms: list[float]) -> None:
    tally = eb.Tally.of(np.repeat([0.0, 0.5, -0.7, 4.0], [70, 20, 20, 9]), se=1.0)
    flat = np.full(len(atoms), 1.0 / len(atoms))
    found = with_point(GridPrior(atoms, flat, NORMAL), tally, NORMAL, 0.0)
    after = posterior(found, X, SE, channel=NORMAL)
    at = after.weights[:, found.atoms == 0.0][:, 0]
    assert at.min() > 0.0
    np.testing.assert_allclose(p_above(after, 0.0) + p_below(after, 0.0) + at, 1.0, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(lfsr(after), at + np.minimum(p_above(after, 0.0), p_below(after, 0.0)), atol=1e-12)
    assert found.scaled(3.0).point == 0.0
    assert found.scaled(2.0).atoms.tolist() == (2.0 * found.atoms).tolist()


def test_a_rule_with_a_point_survives_being_saved(tmp_path: Path) -> None:
    x, se = some_zeros()
    rule = pointed(eb.estimator("priorformer")(eb.Tally.of(x, se=se)), 0.0)
    rule.save(tmp_path / "rule.json")
    again = eb.Rule.load(tmp_path / "rule.json")
    assert again.prior == rule.prior
    np.testing.assert_allclose(lfsr(again.posterior(x, se)), lfsr(rule.posterior(x, se)), rtol=0.0, atol=1e-12)


def test_a_normal_law_has_the_density_of_a_normal() -> None:
    seen = _Seen(X, SE, np.ones(25))
    expected = norm.logpdf(X, 0.5, np.hypot(SE, 2.0)) + 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(seen.smooth(SHAPES[0], 0.5, 2.0)[0], expected, rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_derivatives_are_those_of_the_density(shape: tuple[np.ndarray, np.ndarray]) -> None:
    seen = _Seen(X, SE, np.ones(25))
    wrong = check_grad(
        lambda at: seen.smooth(shape, at[0], np.exp(at[1]))[0].sum(),
        lambda at: np.array([each.sum() for each in seen.smooth(shape, at[0], np.exp(at[1]))[1:]]),
        np.array([0.3, 0.2]),
    )
    assert wrong < 1e-5


@pytest.mark.parametrize("draw", ["normal", "laplace", "logistic"])
def test_a_smooth_prior_has_hardly_a_point(draw: str) -> None:
    x, se = effects(getattr(np.random.default_rng(1), draw)(0.5, 2.0, 1000), 1)
    chance, share = evidence(eb.Tally.of(x, se=se), 0.0)
    assert chance * share < 0.02


@pytest.mark.parametrize("method", ["priorformer", "full-bayes", "npmle-smooth", "npmle-em", "normal"])
def test_eight_schools_are_neither_sure_of_a_sign_nor_of_zeros(method: str) -> None:
    rule = pointed(eb.estimator(method)(SCHOOLS), 0.0)
    found = lfsr(rule.posterior(SCHOOLS.x, se=SCHOOLS.known), 0.0)
    assert found.min() > 0.01
    assert found.max() < 0.45


def test_a_law_that_is_smooth_by_assumption_stays_so() -> None:
    rule = eb.estimator("full-bayes")(SCHOOLS)
    assert pointed(rule, 0.0) is rule


def test_where_the_null_lies_does_not_matter() -> None:
    x, se = some_zeros()
    one, other = evidence(eb.Tally.of(x, se=se), 0.0), evidence(eb.Tally.of(2.0 * x + 7.0, se=2.0 * se), 7.0)
    assert one[1] == pytest.approx(5 / 6, abs=0.05)
    assert other == pytest.approx(one, rel=1e-3)


@pytest.mark.parametrize("null", [1.0, -1e30])
def test_nobody_is_at_a_null_beyond_all_numbers(null: float) -> None:
    chance, share = evidence(eb.Tally.of([1e-40, 3e-40, -2e-40], se=1e-40), null)
    assert chance == 0.0
    assert 0.0 < share < 1.0


def test_a_null_that_no_theta_can_be_leaves_the_prior_alone() -> None:
    rule = eb.estimator("npmle")(eb.Tally.of([0, 0, 1, 4]))
    assert pointed(rule, -1.0) is rule


@pytest.mark.parametrize("known", [{"trials": 40}, {"exposure": 40.0}])
def test_fair_coins_are_found_in_any_channel(known: dict[str, float]) -> None:
    rng = np.random.default_rng(0)
    theta = np.where(np.arange(800) < 600, 0.5, rng.random(800))
    x = rng.binomial(40, theta) if "trials" in known else rng.poisson(40.0 * theta)
    chance, share = evidence(eb.Tally.of(x, **known), 0.5)  # type: ignore[arg-type]
    assert chance > 0.99
    assert share == pytest.approx(0.75, abs=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_of_units_that_are_all_at_the_null_nobody_is_listed(seed: int) -> None:
    x, se = effects(np.zeros(400), seed)
    rule = pointed(eb.estimator("priorformer")(eb.Tally.of(x, se=se)), 0.0)
    assert not selected(lfsr(rule.posterior(x, se), 0.0), np.ones(400, dtype=np.int64), 0.1).any()


def test_all_answers_of_a_row_come_from_one_prior(tmp_path: Path) -> None:
    x, se = some_zeros()
    table = polars.DataFrame({"x": x, "se": se})
    rule = pointed(eb.estimator("priorformer")(eb.Tally.of(x, se=se)), 0.0)
    after = rule.posterior(x, se)
    rows = eb.shrink(table, effect="x", se="se", method="priorformer", null=0)
    low, high = after.interval(0.9)
    expected = {"estimate": after.mean, "lower": low, "upper": high, "lfsr": lfsr(after)}
    for name, column in expected.items():
        np.testing.assert_allclose(rows[name].to_numpy(), column, rtol=1e-9, atol=1e-12, err_msg=name)
    eb.fit(table, effect="x", se="se", method="priorformer").save(tmp_path / "fit.json")
    again = eb.load_fit(tmp_path / "fit.json").apply(table, null=0)
    for name, column in expected.items():
        np.testing.assert_allclose(again[name].to_numpy(), column, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.filterwarnings("ignore::ebformer.ModelWarning")
def test_a_method_that_has_no_room_for_zeros_says_so() -> None:
    x, se = some_zeros()
    with pytest.warns(eb.ModelWarning, match=r"seem to be exactly 0.*use priorformer"):
        eb.shrink(polars.DataFrame({"x": x, "se": se}), effect="x", se="se", method="normal", null=0)


@pytest.mark.filterwarnings("ignore::ebformer.ModelWarning")
@pytest.mark.parametrize(
    ("known", "mover"),
    [({"covariates": ["side"]}, "covariates"), ({"unit": "unit", "look": "year"}, "earlier looks")],
)
def test_what_leaves_no_room_for_zeros_is_named(known: dict[str, object], mover: str) -> None:
    x, se = some_zeros()
    table = polars.DataFrame({"x": x, "se": se, "side": x > 3.0, "unit": np.arange(x.size)})
    looks = polars.concat([table.with_columns(year=polars.lit(year)) for year in (1, 2)])
    asked = {"effect": "x", "se": "se", **known, "null": 0}
    with pytest.warns(eb.ModelWarning, match=rf"seem to be exactly 0, and with {mover} none is.*leave them out"):
        eb.shrink(table if mover == "covariates" else looks, **asked)


@pytest.mark.filterwarnings("ignore::ebformer.ModelWarning")
def test_lists_among_exact_zeros_keep_their_promise() -> None:
    rng, shares, found, possible = np.random.default_rng(0), [], 0, 0
    truth = eb.Prior(np.append(0.0, np.linspace(-9.0, 9.0, 181)), np.append(0.9, _bell(np.linspace(-9.0, 9.0, 181))))
    for table in range(20):
        theta = np.where(rng.random(500) < 0.9, 0.0, rng.normal(0.0, 3.0, 500))
        x, se = effects(theta, table)
        rows = eb.shrink(polars.DataFrame({"x": x, "se": se}), effect="x", se="se", fdr=0.1)
        right = np.sign(rows["estimate"].to_numpy()) == np.sign(theta)
        chosen = rows["selected"].to_numpy()
        shares.append((~right)[chosen].mean() if chosen.any() else 0.0)
        found += int(right[chosen].sum())
        errors = np.sort(lfsr(posterior(truth, x, se, channel=NORMAL), 0.0))
        possible += int((np.cumsum(errors) / np.arange(1, 501) <= 0.1).sum())
    assert np.mean(shares) <= 0.1 + 2 * np.std(shares, ddof=1) / np.sqrt(20)
    assert found >= 0.9 * 0.9 * possible  # nine tenths of the right ones in the oracle's lists


def _bell(at: np.ndarray) -> np.ndarray:
    weights = np.exp(-0.5 * (at / 3.0) ** 2)
    return np.asarray(0.1 * weights / weights.sum())
