"""Full Bayes against brute force, its known limits, and its promise for a handful of units."""

from typing import Any

import numpy as np
import pytest
from scipy import integrate
from scipy.special import expit

import ebformer as eb
from ebformer.channels.closed_forms import ClosedForm
from ebformer.channels.mixed_prior import MixedPrior
from ebformer.estimators.full_bayes import FullBayes

TABLES = [
    pytest.param(eb.Tally.of([0, 3, 1, 7, 2], exposure=[1.0, 2.0, 0.5, 2.0, 1.0]), id="counts"),
    pytest.param(eb.Tally.of([3, 9, 5, 6], trials=[10, 20, 15, 8]), id="successes"),
    pytest.param(eb.Tally.of([-1.0, 0.4, 3.0, 1.2], se=[0.5, 1.0, 0.7, 2.0]), id="effects"),
]


@pytest.mark.parametrize("tally", TABLES)
def test_the_grid_is_the_integral(tally: eb.Tally) -> None:
    hyper = tally.channel.hyperprior(tally.x, tally.known, tally.multiplicity.astype(float))
    rule = FullBayes()(tally)

    x, known = tally.x[:, None], tally.known[:, None]
    places = hyper.start + np.linspace(-12, 12, 600) * max(1.0, 2 * hyper.scale)
    total, sums = 0.0, np.zeros(len(tally))
    for log_spread in np.log(hyper.scale) + np.linspace(-12, 8, 80):
        prior = hyper.prior(places, np.exp(np.full(places.size, log_spread)))
        log_p = prior.log_marginal(x, known).sum(axis=0) + hyper.log_density(places, np.asarray(log_spread))
        total += np.exp(log_p).sum()
        sums += prior.posterior(x, known).mean @ np.exp(log_p)
    expected = sums / total
    np.testing.assert_allclose(rule(tally.x, tally.known), expected, rtol=2e-3, atol=2e-3)


def test_one_unit_is_its_own_best_guess() -> None:
    # With flat means a single observation says nothing of how far others may lie from it.
    assert FullBayes()(eb.Tally.of([4.2], se=0.7))([4.2]) == pytest.approx(4.2, abs=1e-6)
    low, high = FullBayes()(eb.Tally.of([4.2], se=1.0)).posterior(4.2).interval(0.9)
    assert (low, high) == (pytest.approx(4.2 - 1.645, abs=0.03), pytest.approx(4.2 + 1.645, abs=0.03))
    assert FullBayes()(eb.Tally.of([40]))([40]) == pytest.approx(40, rel=0.02)
    assert FullBayes()(eb.Tally.of([500], trials=1000))([500]) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "prior", "known"),
    [
        ("gamma", eb.GammaPrior(2.0, 0.5), 1.0),
        ("beta", eb.BetaPrior(3.0, 9.0), 30),
        ("normal", eb.NormalPrior(1, 2), 1.0),
    ],
)
def test_many_units_get_the_answers_of_the_likeliest_conjugate_prior(name: str, prior: Any, known: float) -> None:
    rng, channel = np.random.default_rng(0), eb.estimator(name).channels[0]
    theta = prior.draw(4000, rng)
    drawn: dict[str, Any] = {
        "poisson": lambda: rng.poisson(theta * known),
        "binomial": lambda: rng.binomial(int(known), theta),
        "normal": lambda: rng.normal(theta, known).round(2),
    }
    x = drawn[channel]()
    tally = eb.Tally.of(x, known, channel=channel)
    full, plug_in = FullBayes()(tally), eb.estimator(name)(tally)
    np.testing.assert_allclose(full(x[:50]), plug_in(x[:50]), rtol=0.01, atol=0.01)
    np.testing.assert_allclose(
        full.posterior(x[:9]).interval(0.9), plug_in.posterior(x[:9]).interval(0.9), rtol=0.03, atol=0.03
    )


def test_units_that_vary_too_little_do_not_make_a_point() -> None:
    for tally, asked in [
        (eb.Tally.of([2, 3, 2, 3]), 3),
        (eb.Tally.of([0, 0, 0]), 0),
        (eb.Tally.of([5, 5, 5], trials=10), 5),
        (eb.Tally.of([1.0, 1.0, 1.0], se=1.0), 1.0),
    ]:
        low, high = FullBayes()(tally).posterior(asked).interval(0.9)
        assert high - low > 0.05 * max(1.0, float(asked)) / 3


def test_zeros_alone_bound_the_rate_by_about_two_events() -> None:
    # An upper end of 3 / n is what 0 events among n units of one rate allow for; less is known if rates may differ.
    for n in (5, 2000):
        upper = float(FullBayes()(eb.Tally([0], [n])).posterior(0).quantile(0.95))
        assert 1.0 / n < upper < 4.0 / n


def test_estimates_are_linear_in_the_observation() -> None:
    rule = FullBayes()(eb.Tally.of([0, 3, 1, 7, 2, 9]))
    np.testing.assert_allclose(np.diff(rule(np.arange(30)), n=2), 0.0, atol=1e-12)


def test_quantiles_draws_and_predictions_belong_together() -> None:
    rng = np.random.default_rng(0)
    for tally in (each.values[0] for each in TABLES):
        rule = FullBayes()(tally)
        x, known = tally.x[:2], tally.known[:2]
        after = rule.posterior(x, known)
        levels = np.array([0.001, 0.05, 0.5, 0.95])
        quantiles = after.quantile(levels)
        at = np.array([[after.exceeds(quantiles[u, q])[u] for q in range(4)] for u in range(2)])
        np.testing.assert_allclose(at, np.broadcast_to(1 - levels, (2, 4)), atol=1e-9)
        drawn = after.sample(40_000, rng)
        np.testing.assert_allclose(drawn.mean(axis=-1), after.mean, atol=4 * np.sqrt(after.variance.max() / 40_000))
        np.testing.assert_allclose(drawn.var(axis=-1), after.variance, rtol=0.2)
        ahead = rule.predict(x, known, future=3.0)
        y = tally.channel.draw(drawn, np.full(drawn.shape, 3.0), rng)
        np.testing.assert_allclose(ahead.mean, y.mean(axis=-1), atol=5 * np.sqrt(ahead.variance.max() / 40_000))
        low, high = ahead.interval(0.9)
        assert np.mean((y >= low[:, None]) & (y <= high[:, None])) >= 0.89
        np.testing.assert_allclose(ahead.cdf(high)[np.arange(2), np.arange(2)] >= 0.95 - 1e-9, True)


def test_predictive_probabilities_add_up() -> None:
    rule = FullBayes()(eb.Tally.of([3, 9, 5, 6], trials=10))
    assert rule.predict(5, future=7).pmf(np.arange(8)).sum() == pytest.approx(1.0, abs=1e-9)
    effects = FullBayes()(eb.Tally.of([0.1, 2.0, -1.0], se=0.5)).predict(2.0, future=1.0)
    grid = np.linspace(-40, 40, 8001)
    assert integrate.trapezoid(effects.pdf(grid), grid) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("tally", TABLES)
def test_a_saved_rule_is_the_same(tally: eb.Tally, tmp_path: Any) -> None:
    rule = FullBayes()(tally)
    rule.save(tmp_path / "rule.json")
    again = eb.Rule.load(tmp_path / "rule.json")
    assert isinstance(again.prior, MixedPrior)
    assert again.prior == rule.prior
    one, other = (each.posterior(tally.x, tally.known).interval() for each in (again, rule))
    np.testing.assert_array_equal(one, other)


def test_one_success_and_one_failure_change_places() -> None:
    hits = np.array([1, 4, 0, 2])
    one, other = (FullBayes()(eb.Tally.of(x, trials=9)) for x in (hits, 9 - hits))
    low, high = one.posterior(hits).interval()
    mirrored = other.posterior(9 - hits).interval()
    np.testing.assert_allclose(low, 1 - mirrored[1], atol=0.01)
    np.testing.assert_allclose(high, 1 - mirrored[0], atol=0.01)


def test_a_handful_of_units_is_covered() -> None:
    rng, inside = np.random.default_rng(0), []
    for _ in range(30):
        theta = rng.gamma(2.0, 1.5, 20)
        x = rng.poisson(theta)
        low, high = FullBayes()(eb.Tally.of(x)).posterior(x).interval(0.9)
        top = np.argsort(-x)[:2]
        inside.append([np.mean((low <= theta) & (theta <= high)), np.mean(((low <= theta) & (theta <= high))[top])])
    everybody, top_tenth = np.mean(inside, axis=0)
    assert everybody > 0.85
    assert top_tenth > 0.80


def test_places_and_spreads_are_those_of_log_odds() -> None:
    hyper = eb.Tally.of([1], trials=2).channel.hyperprior(np.ones(1), np.full(1, 2.0), np.ones(1))
    prior = hyper.prior(-1.5, 0.4)
    assert prior.mean == pytest.approx(expit(-1.5))
    assert 1 / prior.a + 1 / prior.b == pytest.approx(0.16)


def test_parameters_face_every_level() -> None:
    after = FullBayes()(eb.Tally.of([0, 3])).posterior([0, 3])
    assert isinstance(after.parts, ClosedForm)  # type: ignore[attr-defined]
    assert after.quantile(np.full((2, 3), 0.5)).shape == (2, 2, 3)
    assert after.exceeds(np.zeros((4, 1))).shape == (2, 4, 1)


def test_the_ends_of_a_proportion_that_is_next_to_certain_are_those_of_its_range() -> None:
    after = FullBayes()(eb.Tally.of([2**53, 0], trials=2**53)).posterior([2**53, 0], 2**53)
    assert after.quantile([0.0, 1.0]).tolist() == [[0.0, 1.0]] * 2
    assert np.isfinite(after.quantile([0.01, 0.5])).all()


def test_rates_of_units_seen_for_almost_no_time_have_quantiles() -> None:
    tally = eb.Tally.of(np.random.default_rng(0).poisson(2.0, 40), exposure=np.geomspace(1e-8, 1e8, 40))
    found = FullBayes()(tally).posterior(tally.x, tally.known).quantile([0.0, 0.01, 0.5, 0.99])
    assert (np.diff(found) >= 0).all()
