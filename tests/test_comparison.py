"""Thinning: its parts are what theory says, and it ranks methods as the hidden rates would."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

import ebformer as eb
from ebformer.bayes.prediction import log_predictive, predictive
from ebformer.channels.beta_prior import BetaPrior
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.channels.normal_prior import NormalPrior
from ebformer.comparison import Score, compare, margin
from ebformer.errors import InputError
from ebformer.prior import Prior
from ebformer.tally import Tally


def test_risk_is_the_distance_to_the_hidden_rates() -> None:
    """With gamma rates the Bayes rule on 0.8 of the exposure has risk shape / (rate (rate + 0.8)).

    The tolerance is four standard deviations of the estimate at this size.
    """
    rng = np.random.default_rng(1)
    counts = rng.poisson(rng.gamma(3.0, 2.0, 200_000))
    (score,) = compare(Tally.of(counts), {"oracle": eb.Oracle(GammaPrior(3.0, 0.5))}, rng)
    assert score.risk == pytest.approx(3.0 / (0.5 * (0.5 + 0.8)), rel=0.05)


def test_the_risk_of_an_answer_that_never_changes_does_not_hang_on_the_seed() -> None:
    """It is (c^2 - 2 c x / t + x (x - 1) / t^2) in the mean, however counts are thinned: no noise but the counts' own.

    Where most counts are 0, the noise of thinning used to be as large as the risk itself.
    """
    rng = np.random.default_rng(5)
    t = rng.choice([0.25, 1.0, 2.0], 300)
    x = rng.poisson(0.1 * t)
    expected = np.average(0.3**2 - 2 * 0.3 * x / t + x * (x - 1) / t**2, weights=t)
    for seed in range(3):
        (score,) = compare(Tally.of(x, t), {"c": eb.Oracle(Prior([0.3], [1.0]))}, np.random.default_rng(seed))
        assert score.risk == pytest.approx(expected, rel=1e-9)


def test_the_better_method_wins_and_the_difference_is_paired() -> None:
    """The standard error of the difference stays far below that of either risk, since the noise is shared."""
    rng = np.random.default_rng(2)
    theta = rng.gamma(2.0, 1.0, 20_000)
    t = rng.choice([1.0, 3.0], theta.size)
    methods = {"oracle": eb.Oracle(GammaPrior(2.0, 1.0)), "vague": eb.Oracle(GammaPrior(0.2, 0.1))}
    best, other = compare(Tally.of(rng.poisson(theta * t), t), methods, rng)
    assert (best.method, other.method) == ("oracle", "vague")
    assert best.excess == 0
    assert other.excess > 4 * other.excess_se > 0
    assert best.log_score > other.log_score


def test_of_units_without_events_everything_is_known() -> None:
    """All parts are 0: to take all rates for c errs by c^2, and a part of exposure t / 5 has chance e^(-c t / 5)."""
    methods = {f"{c:g}": eb.Oracle(Prior([c], [1.0])) for c in (2.0, 0.5, 1.0)}
    for times in (1, 300):  # ranked by log score and by risk
        t = np.repeat([0.5, 1.0, 3.0, 8.0], times)
        scores = compare(Tally.of(np.zeros(t.size, int), t), methods, np.random.default_rng(0))
        assert [(score.method, score.first) for score in scores] == [("0.5", 1.0), ("1", 0.0), ("2", 0.0)]
        for c, score in zip((0.5, 1.0, 2.0), scores, strict=True):
            assert score.risk == pytest.approx(c**2)
            assert score.log_score == pytest.approx(-c * t.mean() / 5)
            assert score.ranked_by == ("log score" if times == 1 else "risk")
            excess = (c - 0.5) * t / 5 if times == 1 else (c**2 - 0.25) * t / t.mean()
            assert score.excess == pytest.approx(excess.mean())
            assert score.excess_se == pytest.approx(stats.sem(excess))


def test_few_units_are_ranked_by_log_score_and_those_without_one_come_last() -> None:
    rng = np.random.default_rng(4)
    counts = Tally.of(rng.poisson(rng.gamma(2.0, 1.0, 100)))
    scores = compare(counts, {name: eb.CATALOGUE[name] for name in ("mle", "gamma", "npmle", "full-bayes")}, rng)
    logs = [score.log_score for score in scores]
    assert scores[-1].method == "mle"
    assert logs[-1] is None
    assert logs[:-1] == sorted(logs[:-1], reverse=True)  # type: ignore[type-var]
    assert sum(score.first for score in scores) == pytest.approx(1.0)


def test_the_predictive_probability_agrees_with_the_posterior_route() -> None:
    y = np.arange(12)
    for prior in (Prior([0.5, 2.0, 5.0], [0.2, 0.5, 0.3]), GammaPrior(1.5, 0.7)):
        direct = np.log(predictive(prior, 4, 0.8, 0.2).pmf(y))
        np.testing.assert_allclose(log_predictive(prior, np.full(12, 4), 0.8, y, 0.2), direct, atol=1e-10)


def test_the_best_is_said_to_be_ahead_only_by_more_than_noise() -> None:
    best, far, near = Score("a", 1.0, 0.0, 0.0), Score("b", 2.0, 1.0, 0.4), Score("c", 3.0, 2.0, 1.1)
    out = Score("d", refusal="d cannot use unequal exposures")
    assert margin([best, far, out]) == ", more than two standard errors ahead"
    assert margin([best, far, near, out]) == "; c within two standard errors"
    assert margin([best, out]) == ""


def test_a_network_warns_once_of_a_range_that_every_fold_leaves() -> None:
    """Each fold has another largest count, so that no two warnings were the same."""
    counts = Tally.of(np.random.default_rng(0).poisson(4_000.0, 200))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        compare(counts, {name: eb.CATALOGUE[name] for name in ("T24r", "L24r", "mle")}, np.random.default_rng(0))
    said = [str(warning.message) for warning in heard]
    assert ["T24r" in said[0], "L24r" in said[1], len(said)] == [True, True, 2], said


def test_a_method_that_cannot_take_part_is_named() -> None:
    rng = np.random.default_rng(3)
    t = rng.choice([1.0, 2.0], 200)
    methods, through = {name: eb.CATALOGUE[name] for name in ("robbins", "npmle")}, []
    scores = compare(Tally.of(rng.poisson(3.0 * t), t), methods, rng, fitted=through.append)
    assert through == ["robbins", "npmle"]
    assert scores[0].method == "npmle"
    assert scores[-1].method == "robbins"
    assert "unequal exposures" in str(scores[-1].refusal)


@pytest.mark.parametrize(
    ("counts", "methods", "complaint"),
    [
        ([3], ["npmle"], "at least 2 units, and this table has 1"),
        ([3, 4], [], "name at least one method"),
        ([3, 4, 0, 9], ["robbins", "erm"], "no method could be fitted to this table: robbins treats all units alike"),
    ],
)
def test_what_cannot_be_compared_is_said(counts: list[int], methods: list[str], complaint: str) -> None:
    tally = Tally.of(counts, exposure=1.0 + np.arange(len(counts)))
    with pytest.raises(InputError, match=complaint):
        compare(tally, {name: eb.CATALOGUE[name] for name in methods}, np.random.default_rng(0))


def test_a_table_of_a_billion_units_is_compared_on_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eb.comparison, "MOST_UNITS", 1_000)
    rng = np.random.default_rng(4)
    scores = compare(Tally([0, 1, 2, 5], [10**9, 10**8, 10**7, 10**6]), {"npmle": eb.CATALOGUE["npmle"]}, rng)
    assert np.isfinite(scores[0].risk)


@pytest.mark.parametrize("channel", ["binomial", "normal"])
def test_the_risk_in_other_channels_is_the_distance_to_the_hidden_thetas(channel: str) -> None:
    """The oracle keeps four fifths of a unit: its risk is the posterior variance then, weighted by precision.

    The tolerance is four standard deviations of the estimate at this size.
    """
    rng, n = np.random.default_rng(4), 20_000
    if channel == "binomial":
        prior, trials = BetaPrior(8.0, 24.0), rng.integers(2, 60, n)
        tally = Tally.of(rng.binomial(trials, prior.draw(n, rng)), trials=trials)
        weight, left = trials / trials.mean(), prior.variance * 32.0 / (32.0 + 0.8 * trials)
    else:
        prior, se = NormalPrior(1.0, 2.0), np.exp(rng.uniform(-1.0, 1.0, n))
        tally = Tally.of(rng.normal(prior.draw(n, rng), se), se=se)
        weight, left = se**-2.0 / np.mean(se**-2.0), 1.0 / (1.0 / 4.0 + 0.8 / se**2)
    scores = compare(tally, {"oracle": eb.Oracle(prior), "mle": eb.estimator("mle")}, rng)
    assert [score.method for score in scores] == ["oracle", "mle"]
    assert scores[0].risk == pytest.approx(float(np.mean(weight * left)), rel=0.03)


def test_counts_without_zeros_cannot_be_held_out() -> None:
    with pytest.raises(InputError, match="can be split in two"):
        compare(Tally.of([1, 4, 2], zeros="missing"), {"mle": eb.estimator("mle")}, np.random.default_rng(0))


def test_units_that_cannot_be_split_do_not_weigh_on_the_risk_of_the_others() -> None:
    rng = np.random.default_rng(8)
    several = rng.binomial(100, rng.beta(8.0, 24.0, 2_000))
    oracle = {"oracle": eb.Oracle(BetaPrior(8.0, 24.0))}
    (alone,) = compare(Tally.of(several, trials=100), oracle, np.random.default_rng(0))
    mixed = Tally.of(np.append(several, np.ones(2_000)), trials=np.repeat([100, 1], 2_000))
    (among,) = compare(mixed, oracle, np.random.default_rng(0))
    assert among.risk == pytest.approx(alone.risk, rel=0.05)
