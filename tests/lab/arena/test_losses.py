"""Exact regret is the paper's regret without its noise."""

import numpy as np
import pytest
from scipy import stats

from ebformer.bayes.marginal import bayes_rule, log_marginal, mmse
from ebformer.errors import InputError
from ebformer.estimators.erm_monotone import ErmMonotone
from ebformer.estimators.mle import Mle
from ebformer.estimators.robbins import Robbins
from ebformer.lab.arena import Case, Key, Truth, score
from ebformer.lab.worlds import Multinomial
from ebformer.prior import Prior
from ebformer.tally import Tally

PRIOR = Prior([0.5, 3.0, 8.0], [0.3, 0.5, 0.2])
KEY = Key("three atoms", 40, 0, 0)


def test_mean_regret_is_mse_against_theta_minus_the_oracles():
    truth, rng = Truth.of(PRIOR), np.random.default_rng(0)
    exact, simulated = [], []
    for _ in range(1500):
        theta = PRIOR.draw(40, rng)
        x = rng.poisson(theta)
        tally = Tally.of(x)
        estimates, oracle = Mle()(tally)(x), truth.bayes[np.searchsorted(truth.x, x)]
        exact.append(score(Case(KEY, tally, truth), "mle", Mle()).regret)
        simulated.append(np.mean((estimates - theta) ** 2) - np.mean((oracle - theta) ** 2))
    noise = np.std(np.subtract(simulated, exact)) / np.sqrt(1500)
    assert np.mean(simulated) == pytest.approx(np.mean(exact), abs=4 * noise)
    assert np.std(exact) < np.std(simulated)


def test_mse_is_regret_plus_what_the_oracle_pays():
    truth, rng = Truth.of(PRIOR), np.random.default_rng(1)
    losses = [score(Case(KEY, truth.draw(40, rng), truth), "mle", Mle()) for _ in range(1500)]
    oracle = np.array([loss.mse - loss.regret for loss in losses])
    assert oracle.mean() == pytest.approx(mmse(PRIOR), abs=4 * oracle.std() / np.sqrt(1500))
    # The mean squared error of the MLE is E theta, whatever the prior.
    mse = np.array([loss.mse for loss in losses])
    assert mse.mean() == pytest.approx(PRIOR.mean, abs=4 * mse.std() / np.sqrt(1500))


def test_population_regret_is_the_mean_regret_of_a_fixed_rule_and_closed_form_for_the_mle():
    truth, rng = Truth.of(PRIOR), np.random.default_rng(2)
    losses = [score(Case(KEY, truth.draw(40, rng), truth), "mle", Mle()) for _ in range(1500)]
    population = {round(loss.population_regret, 9) for loss in losses}
    assert len(population) == 1
    assert population.pop() == pytest.approx(PRIOR.mean - mmse(PRIOR), rel=1e-8)
    regret = np.array([loss.regret for loss in losses])
    assert regret.mean() == pytest.approx(losses[0].population_regret, abs=4 * regret.std() / np.sqrt(1500))


def test_population_regret_weighs_every_count_by_its_probability_where_unseen_ones_are_answered():
    truth = Truth.of(PRIOR)
    case, x = Case(KEY, truth.draw(40, np.random.default_rng(3)), truth), np.arange(80)
    off = ErmMonotone()(case.tally)(x) - bayes_rule(PRIOR, x)
    loss = score(case, "erm", ErmMonotone())
    assert loss.population_regret == pytest.approx(np.exp(log_marginal(PRIOR, x)) @ off**2, rel=1e-9)
    assert loss.regret == pytest.approx(case.tally.multiplicity @ off[case.tally.values] ** 2 / 40, rel=1e-9)
    assert np.isnan(score(case, "robbins", Robbins()).population_regret)


def test_tallies_from_the_marginal_are_tallies_of_poisson_counts():
    truth, rng = Truth.of(PRIOR), np.random.default_rng(4)
    n = 200_000
    tally = truth.draw(n, rng)
    counts = rng.poisson(PRIOR.draw(n, rng))
    top = 15
    ours = np.bincount(np.minimum(tally.values, top), tally.multiplicity, top + 1)
    plain = np.bincount(np.minimum(counts, top), minlength=top + 1)
    assert stats.chi2_contingency([ours, plain]).pvalue > 1e-3


def test_ten_million_units_are_one_draw():
    truth = Truth.of(Multinomial(theta_max=50.0).draw(np.random.default_rng(0)))
    tally = truth.draw(10**7, np.random.default_rng(1))
    assert tally.n == 10**7
    loss = score(Case(Key("multinomial", 10**7, 0, 0), tally, truth), "mle", Mle())
    assert loss.regret == pytest.approx(loss.population_regret, rel=5e-3)


def test_a_given_bayes_rule_leaves_unknown_what_it_does_not_determine():
    tally = Tally.of([1, 1, 4])
    truth = Truth(tally.values, np.array([2.0, 3.0]))
    loss = score(Case(KEY, tally, truth), "mle", Mle())
    assert loss.regret == pytest.approx((1 + 1 + 1) / 3)
    assert np.isnan(loss.mse)
    assert np.isnan(loss.population_regret)
    with pytest.raises(InputError, match="only a Bayes rule"):
        truth.draw(3, np.random.default_rng(0))
