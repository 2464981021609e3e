"""Effects that are exactly the null have no sign: lists count them where a table has evidence of any, only there."""

from __future__ import annotations

import numpy as np
import polars
import pytest
from scipy.optimize import check_grad
from scipy.stats import norm

import ebformer as eb
from ebformer.bayes.marginal import posterior
from ebformer.channels import POISSON, channel_named
from ebformer.point_null import BELLS, EVIDENCE, PointNull, _Seen, evidence, point_null, sign_error
from ebformer.selection import lfsr

NORMAL = channel_named("normal")
X, SE = np.linspace(-6.0, 6.0, 25), np.full(25, 0.8)
SCHOOLS = eb.Tally.of([28.0, 8, -3, 7, -1, 1, 18, 12], se=[15.0, 10, 16, 11, 9, 11, 10, 18])


def test_a_point_at_the_null_is_an_atom_of_the_prior() -> None:
    atoms, weights = np.array([-3.0, -0.2, 0.4, 2.0]), np.array([0.1, 0.4, 0.2, 0.3])
    mixed = PointNull(0.1, 0.6, eb.Prior(atoms, weights), NORMAL)
    whole = eb.Prior(np.append(atoms, 0.1), np.append(0.4 * weights, 0.6))
    after = posterior(whole, X, SE, channel=NORMAL)
    np.testing.assert_allclose(mixed.sign_error(X, SE), lfsr(after, 0.1), rtol=0.0, atol=1e-15)
    at = after.weights[:, whole.atoms == 0.1].sum(axis=1)
    np.testing.assert_allclose(mixed.probability(X, SE), at, rtol=0.0, atol=1e-15)


def effects(theta: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    se = np.exp(rng.uniform(np.log(0.3), np.log(3.0), theta.size))
    return rng.normal(theta, se), se


def test_a_normal_law_has_the_density_of_a_normal() -> None:
    seen = _Seen(X, SE, np.ones(25))
    expected = norm.logpdf(X, 0.5, np.hypot(SE, 2.0)) + 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(seen.smooth(BELLS[0], 0.5, 2.0)[0], expected, rtol=1e-12)


@pytest.mark.parametrize("shape", BELLS)
def test_derivatives_are_those_of_the_density(shape: tuple[np.ndarray, np.ndarray]) -> None:
    seen = _Seen(X, SE, np.ones(25))
    wrong = check_grad(
        lambda at: seen.smooth(shape, at[0], np.exp(at[1]))[0].sum(),
        lambda at: np.array([each.sum() for each in seen.smooth(shape, at[0], np.exp(at[1]))[1:]]),
        np.array([0.3, 0.2]),
    )
    assert wrong < 1e-5


@pytest.mark.parametrize("draw", ["normal", "laplace", "logistic"])
def test_a_smooth_prior_has_no_point(draw: str) -> None:
    x, se = effects(getattr(np.random.default_rng(1), draw)(0.5, 2.0, 1000), 1)
    rule = eb.estimator("priorformer")(eb.Tally.of(x, se=se))
    np.testing.assert_array_equal(sign_error(rule, x, se, 0.0), lfsr(rule.posterior(x, se), 0.0))


@pytest.mark.parametrize("method", ["priorformer", "full-bayes", "npmle-smooth"])
def test_eight_schools_are_no_evidence_of_zeros(method: str) -> None:
    rule = eb.estimator(method)(SCHOOLS)
    found = sign_error(rule, SCHOOLS.x, SCHOOLS.known, 0.0)
    np.testing.assert_array_equal(found, lfsr(rule.posterior(SCHOOLS.x, se=SCHOOLS.known), 0.0))
    assert found.min() > 0.0
    assert found.max() < 0.45


def test_where_the_null_lies_does_not_matter() -> None:
    theta = np.where(np.arange(600) < 500, 0.0, 3.0)
    x, se = effects(theta, 0)
    at_zero = eb.estimator("npmle")(eb.Tally.of(x, se=se))
    moved = eb.Prior(2.0 * at_zero.prior.atoms + 7.0, at_zero.prior.weights)
    there = eb.Tally.of(2.0 * x + 7.0, se=2.0 * se)
    one = point_null(at_zero.prior, at_zero.tally, NORMAL, 0.0)
    other = point_null(moved, there, NORMAL, 7.0)
    assert one.share == pytest.approx(5 / 6, abs=0.05)
    assert other.share == pytest.approx(one.share, rel=1e-3)


def test_a_null_that_no_theta_can_be_leaves_the_prior_alone() -> None:
    prior = eb.Prior([0.1, 3.0], [0.9, 0.1])
    assert point_null(prior, eb.Tally.of([0, 0, 1, 4]), POISSON, -1.0).share == 0.0


@pytest.mark.parametrize("known", [{"trials": 40}, {"exposure": 40.0}])
def test_fair_coins_are_found_in_any_channel(known: dict[str, float]) -> None:
    rng = np.random.default_rng(0)
    theta = np.where(np.arange(800) < 600, 0.5, rng.beta(2.0, 2.0, 800))
    x = rng.binomial(40, theta) if "trials" in known else rng.poisson(40.0 * theta)
    gain, share = evidence(eb.Tally.of(x, **known), 0.5)  # type: ignore[arg-type]
    assert gain > EVIDENCE
    assert share == pytest.approx(0.75, abs=0.1)


def test_units_that_are_all_at_the_null_have_no_sign() -> None:
    x, se = effects(np.zeros(400), 5)
    rule = eb.estimator("npmle")(eb.Tally.of(x, se=se))
    assert sign_error(rule, x, se, 0.0).min() > 0.5


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
