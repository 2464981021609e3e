"""Priors around expectations: rare successes are counts, nothing seen is bounded, and the origin does not matter."""

import warnings

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit

import ebformer as eb
from ebformer.channels import POISSON
from ebformer.channels.binomial import Binomial
from ebformer.channels.normal import Normal
from ebformer.deviations import around_expectations, deviations, prior_around, shifted
from ebformer.rule import BayesRule
from ebformer.tally import Tally


def proportions(n: int = 200, centre: float = -1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Successes, trials and expectations, with deviations of the log-odds of 0.5."""
    rng = np.random.default_rng(0)
    expected, trials = expit(rng.normal(centre, 0.7, n)), rng.integers(5, 300, n).astype(float)
    return rng.binomial(trials.astype(int), expit(logit(expected) + 0.5 * rng.normal(size=n))), trials, expected


def answers(x, known, expected, channel=None) -> np.ndarray:
    """Estimate, 5 % and 95 % quantile of every unit: [n, 3]."""
    channel = channel or Binomial()
    prior, _ = prior_around(channel, x, known, expected, np.ones(x.size))
    rule = BayesRule("around", prior, channel=channel, known=None)
    found = [shifted(rule, e).posterior(x[[i]], known[[i]]) for i, e in enumerate(expected)]
    return np.array([[each.mean[0], *each.quantile([0.05, 0.95])[0]] for each in found])


@pytest.mark.parametrize("channel", ["poisson", "normal"])
def test_the_moved_prior_of_deviations_is_the_prior_of_the_units(channel) -> None:
    """E[theta | x, e] by the moved prior equals e times, or e plus, the Bayes rule of the deviation."""
    of, x, known = {"poisson": POISSON, "normal": Normal()}[channel], np.array([0.0, 3.0, 7.0]), np.array([1.0, 2, 0.5])
    prior = eb.Prior([0.5, 1.0, 2.5], [0.2, 0.5, 0.3])
    rule = BayesRule("oracle", prior, channel=of, known=None)
    for expected in (0.3, 4.0):
        own = rule(*deviations(of, x, known, np.full(3, expected)))
        whole = own * expected if channel == "poisson" else own + expected
        np.testing.assert_allclose(shifted(rule, expected)(x, known), whole, rtol=1e-12)


def test_rare_successes_have_the_answers_of_counts() -> None:
    rng = np.random.default_rng(1)
    expected, trials = np.exp(rng.normal(-13.0, 0.5, 60)), rng.integers(10**5, 10**6, 60).astype(float)
    x = rng.poisson(trials * expected * rng.gamma(2.0, 0.5, 60)).astype(float)
    of_counts = answers(x, trials, expected, POISSON)
    np.testing.assert_allclose(answers(x, trials, expected), of_counts, rtol=1e-3)


@pytest.mark.parametrize(("units", "trials"), [(3, 50), (40, 20), (800, 1), (1000, 1000), (20, 100_000)])
def test_what_never_happened_has_the_upper_end_of_a_common_rate(units, trials) -> None:
    """Between once and thrice the exact bound 1 - 0.05^(1 / all trials), whatever the covariate says."""
    frame = pl.DataFrame({"x": 0, "m": [trials] * units, "team": (["a", "b"] * units)[:units]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = eb.shrink(frame, count="x", trials="m", covariates=["team"])
    bound = 1.0 - 0.05 ** (1.0 / (units * trials))
    assert found["upper"].is_between(bound, 3.0 * bound).all()
    assert (found["estimate"] < found["upper"]).all()


def test_successes_and_failures_change_places() -> None:
    x, trials, expected = proportions()
    one, other = answers(x, trials, expected), answers(trials - x, trials, 1.0 - expected)
    np.testing.assert_allclose(1.0 - other[:, [0, 2, 1]], one, rtol=1e-8)


def test_expectations_that_are_off_by_the_same_odds_change_nothing() -> None:
    x, trials, expected = proportions()
    np.testing.assert_allclose(
        answers(x, trials, expit(logit(expected) - 2.0)), answers(x, trials, expected), rtol=2e-3
    )


def test_many_observations_are_learnt_from_by_those_that_tell() -> None:
    """Of 30,000 distinct observations hardly any has a success; a part of them must tell as much as all."""
    rng = np.random.default_rng(2)
    trials = rng.permutation(np.arange(100.0, 30_100.0))
    expected = np.full(trials.size, 1e-6)
    x = rng.binomial(trials.astype(int), expected * rng.gamma(2.0, 0.5, trials.size)).astype(float)
    prior, _ = prior_around(Binomial(), x, trials, expected, np.ones(x.size))
    rule = BayesRule("around", prior, channel=Binomial(), known=None)
    found = shifted(rule, 1e-6).posterior(np.zeros(1), np.array([100.0]))
    np.testing.assert_allclose(found.mean[0], (x.sum() + 1.0) / trials.sum(), rtol=0.1)


def test_a_saved_rule_of_priors_in_doubt_answers_the_same(tmp_path) -> None:
    x, trials, expected = proportions(30)
    tally = Tally.of(x, trials=trials)
    rule = around_expectations(x, trials, expected, np.ones(30, dtype=np.int64), tally)
    rule.save(tmp_path / "rule.json")
    again = BayesRule.load(tmp_path / "rule.json")
    assert rule.prior.in_doubt > 1
    np.testing.assert_array_equal(again.posterior(x, trials).mean, rule.posterior(x, trials).mean)
