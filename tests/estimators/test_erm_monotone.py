"""The monotone minimiser, against a convex solver, and against the wrong estimator that drops what pulls upwards."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, isotonic_regression, minimize

from ebformer.estimators.erm_monotone import ErmMonotone, pool_adjacent_violators
from ebformer.estimators.robbins import Robbins
from ebformer.tally import Tally

counts = st.lists(st.integers(0, 25), min_size=1, max_size=60)


def risk(g: np.ndarray, tally: Tally) -> float:
    """sum_x N(x) g(x)^2 - 2 (x+1) N(x+1) g(x), for g on 0, 1, ..., as the lemma has it."""
    frequency = np.zeros(g.size + 1)
    frequency[tally.values] = tally.multiplicity
    x = np.arange(g.size)
    return float(frequency[:-1] @ g**2 - 2 * ((x + 1) * frequency[1:]) @ g)


@given(counts)
def test_the_rule_is_monotone_and_not_negative(x: list[int]) -> None:
    answers = ErmMonotone()(Tally.of(x))(np.arange(60))
    assert np.all(np.diff(answers) >= 0)
    assert np.all(answers >= 0)
    assert np.all(answers <= max(x))


@given(counts, st.integers(0, 2**32 - 1))
def test_no_other_monotone_rule_has_a_smaller_empirical_risk(x: list[int], seed: int) -> None:
    tally = Tally.of(x)
    best = ErmMonotone()(tally)(np.arange(30))
    rng = np.random.default_rng(seed)
    other = np.sort(best + rng.normal(scale=rng.choice([0.01, 0.3, 3.0]), size=30))
    assert risk(best, tally) <= risk(np.maximum(other, 0), tally) + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_a_general_convex_solver_finds_the_same_minimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tally = Tally.of(rng.poisson(rng.gamma(2.0, 2.0, size=40)))
    size = int(tally.values[-1]) + 1
    rising = LinearConstraint(np.diff(np.eye(size), axis=0), 0, np.inf)
    start = np.arange(size, dtype=float)
    found = minimize(risk, start, args=(tally,), method="SLSQP", constraints=[rising], options={"maxiter": 500})
    assert risk(ErmMonotone()(tally)(np.arange(size)), tally) == pytest.approx(found.fun, rel=1e-6)


def test_dropping_the_x_that_nobody_showed_gives_another_and_worse_estimator() -> None:
    tally = Tally([0, 1, 6], [5, 2, 2])
    seen = Robbins("plain")(tally)(tally.values)
    dropped = isotonic_regression(seen, weights=tally.multiplicity.astype(float)).x
    ours = ErmMonotone()(tally)(tally.values)
    assert ours == pytest.approx([2 / 7, 2 / 7, 6.0])
    assert dropped == pytest.approx([2 / 9, 2 / 9, 2 / 9])


def test_where_nothing_pulls_the_rule_stays_flat() -> None:
    rule = ErmMonotone()(Tally([2, 3, 9], [4, 3, 2]))
    knots = rule([1, 2, 3, 8, 9])
    assert rule([0, 5, 7, 10, 10**9]).tolist() == [knots[0], knots[2], knots[2], knots[4], knots[4]]


@pytest.mark.parametrize(("x", "answer"), [([0, 0, 0], 0.0), ([5], 5.0), ([4, 4, 4], 4.0), ([10**6], 1e6)])
def test_one_distinct_value(x: list[int], answer: float) -> None:
    assert ErmMonotone()(Tally.of(x))(x[0]) == pytest.approx(answer)


@given(st.lists(st.tuples(st.floats(0.1, 9), st.floats(-5, 5)), min_size=1, max_size=30))
def test_pooling_is_isotonic_regression_where_all_weights_are_positive(pairs: list[tuple[float, float]]) -> None:
    weight, mean = np.array(pairs).T
    expected = isotonic_regression(mean, weights=weight).x
    assert pool_adjacent_violators(weight, weight * mean) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_what_nothing_bounds_is_infinite() -> None:
    assert pool_adjacent_violators([1, 0], [2, 3]).tolist() == [2.0, np.inf]
