"""Scores agree with their definitions, do not depend on how the work is shared, and reproduce published figures."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebformer.bayes.prediction import log_predictive
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.errors import InputError
from ebformer.estimators.mle import Mle
from ebformer.lab.fielddata.holdout import Holdout
from ebformer.lab.fielddata.scoring import covered, evaluate, predicted, score
from ebformer.prior import Prior
from ebformer.rule import BayesRule
from ebformer.tally import Tally

priors = st.sampled_from([Prior([0.0, 0.7, 9.0], [0.3, 0.5, 0.2]), Prior([2.5], [1.0]), GammaPrior(1.3, 0.4)])
ratios = st.sampled_from([0.25, 1.0, 11.5])


@settings(deadline=None)
@given(priors, ratios, st.lists(st.tuples(st.integers(0, 12), st.integers(0, 40)), min_size=1, max_size=12))
def test_predictive_through_two_marginals_equals_the_posterior_mixture(prior, ratio, units):
    holdout = Holdout.of(*zip(*units, strict=True), ratio=ratio)
    predict = BayesRule("oracle", prior).predict
    direct = [
        predict(int(x), future=ratio).pmf(int(y)).item() for x, y in zip(holdout.before, holdout.after, strict=True)
    ]
    found = log_predictive(prior, holdout.before, 1.0, holdout.after, ratio)
    np.testing.assert_allclose(np.exp(found), direct, rtol=1e-9, atol=1e-300)


@given(priors, ratios)
@settings(deadline=None)
def test_coverage_is_what_the_cdf_says(prior, ratio):
    y = np.arange(40)
    holdout = Holdout.of(np.full(40, 3), y, ratio)
    predictive = BayesRule("oracle", prior).predict(3, future=ratio)
    # y is inside the equal-tailed 90 % interval iff P(Y <= y) >= 0.05 and P(Y < y) < 0.95.
    inside = (predictive.cdf(y) >= 0.05) & (np.r_[0.0, predictive.cdf(y[:-1])] < 0.95)
    assert np.array_equal(covered(*predicted(BayesRule("oracle", prior), holdout), holdout), inside)


def test_scores_are_their_definitions_and_count_every_unit():
    rng = np.random.default_rng(0)
    x, y, ratio = rng.poisson(4, 500), rng.poisson(12, 500), 3.0
    rule = BayesRule("gamma", GammaPrior(4.0, 1.0))
    result = score(Holdout.of(x, y, ratio), rule)
    error = rule(x) - y / ratio
    assert result.rmse == pytest.approx(np.sqrt(np.mean(error**2)))
    assert result.mae == pytest.approx(np.mean(np.abs(error)))
    assert result.rmse_improvement == pytest.approx(100 * (1 - result.rmse / np.sqrt(np.mean((x - y / ratio) ** 2))))
    assert result.n == 500


def test_the_true_prior_has_the_best_log_score_and_nominal_coverage():
    rng = np.random.default_rng(3)
    truth = Prior([5.0, 40.0], [0.6, 0.4])
    theta = truth.draw(20_000, rng)
    holdout = Holdout.of(rng.poisson(theta), rng.poisson(9 * theta), 9.0)
    scored = {
        name: score(holdout, BayesRule(name, prior))
        for name, prior in (("true", truth), ("wrong", Prior([5.0, 30.0], [0.5, 0.5])))
    }
    assert scored["true"].log_score > scored["wrong"].log_score
    assert scored["true"].coverage == pytest.approx(0.9, abs=0.02)  # discrete: a little above the level
    assert scored["wrong"].coverage < 0.8


def test_where_the_mle_is_perfect_no_percentage_is_claimed():
    result = score(Holdout.of([1, 2], [2, 4], ratio=2.0), Mle()(Tally.of([1, 2])))
    assert result.rmse == 0
    assert math.isnan(result.rmse_improvement)


def test_a_rule_without_a_prior_has_no_predictive():
    holdout = Holdout.of([1, 2, 5], [2, 2, 3])
    result = score(holdout, Mle()(Tally.of([1, 2, 5])))
    assert result.rmse_improvement == 0
    assert result.mae_improvement == 0
    assert math.isnan(result.log_score)
    assert math.isnan(result.coverage)


def test_two_cases_of_one_name_are_refused():
    season, other = (Holdout.of([x], [2], data="books", case="Dr") for x in (1, 2))
    with pytest.raises(InputError, match="books has 2 cases called 'Dr'"):
        evaluate([season, other], {"mle": Mle()})
