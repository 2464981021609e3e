"""The stable formulas against exact arithmetic, and the naive one beside them where it fails."""

from decimal import Decimal, getcontext
from math import lgamma, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ebformer.channels.gamma_prior import negative_binomial_cdf, negative_binomial_log_pmf
from ebformer.channels.poisson import Poisson, deviance

getcontext().prec = 60


def exact_log_pmf(x: int, mean: float) -> Decimal:
    """x log(mean) - mean - log x!, in 60 digits."""
    log_factorial = sum((Decimal(k).ln() for k in range(2, x + 1)), Decimal(0))
    return x * Decimal(mean).ln() - Decimal(mean) - log_factorial


@pytest.mark.parametrize("x", [0, 1, 2, 7, 63, 64, 65, 66, 500, 3000])
@pytest.mark.parametrize("ratio", [1e-20, 0.01, 0.499, 0.501, 0.99, 1.0, 1.01, 3.0, 100.0])
def test_log_pmf_equals_exact_arithmetic(x: int, ratio: float) -> None:
    mean = ratio * max(x, 1)
    exact = float(exact_log_pmf(x, mean))
    assert Poisson().log_likelihood(x, mean) == pytest.approx(exact, rel=1e-14, abs=1e-14)


def test_the_naive_formula_loses_digits_where_counts_are_large() -> None:
    x, mean = 10**12, 1e12 + 3e6
    exact = float(x * (Decimal(mean) / x).ln() - (Decimal(mean) - x))
    naive = (x * log(mean) - mean) - (x * log(x) - x)
    assert float(-deviance(x, mean)) == pytest.approx(exact, rel=1e-9)
    assert abs(naive - exact) > 1e-4


@given(st.integers(0, 300), st.floats(0.01, 300), st.floats(0.1, 10))
def test_exposure_multiplies_the_rate(x: int, theta: float, t: float) -> None:
    assert Poisson().log_likelihood(x, theta, t) == pytest.approx(Poisson().log_likelihood(x, theta * t), rel=1e-12)


@given(st.floats(1e-3, 60))
def test_probabilities_add_up_and_have_the_mean(theta: float) -> None:
    x = np.arange(200)
    p = np.exp(Poisson().log_likelihood(x, theta))
    assert p.sum() == pytest.approx(1, abs=1e-13)
    assert p @ x == pytest.approx(theta, rel=1e-12)


def test_rate_zero_is_a_point_mass_at_zero() -> None:
    assert np.exp(Poisson().log_likelihood([0, 1, 2], 0.0)).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("shape", [0.03, 1.0, 17.5, 900.0])
@pytest.mark.parametrize("mean", [0.1, 3.0, 200.0])
def test_negative_binomial_is_the_gamma_mixture(shape: float, mean: float) -> None:
    x = np.arange(400)
    expected = stats.nbinom.logpmf(x, shape, shape / (shape + mean))
    assert negative_binomial_log_pmf(x, shape, mean) == pytest.approx(expected, rel=1e-10)
    assert negative_binomial_cdf(x, shape, mean) == pytest.approx(np.cumsum(np.exp(expected)), rel=1e-10)


def test_negative_binomial_tends_to_poisson() -> None:
    x, shape = np.arange(20), 1e12
    limit = Poisson().log_likelihood(x, 3.0)
    naive = [lgamma(k + shape) - lgamma(shape) - lgamma(k + 1) - 3.0 + k * log(3.0 / shape) for k in x]
    assert negative_binomial_log_pmf(x, shape, 3.0) == pytest.approx(limit, rel=1e-9)
    assert np.abs(np.array(naive) - limit).max() > 1e-6
    assert negative_binomial_cdf(x, shape, 3.0) == pytest.approx(np.cumsum(np.exp(limit)), rel=1e-9)
