"""The exact NPMLE: against an independent convex solver, an independent certificate, and its own laws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from convex_npmle import convex_program, independent_gap, kernel
from ebformer.bayes.marginal import bayes_rule, log_marginal
from ebformer.errors import InputError
from ebformer.estimators.npmle.estimator import Npmle
from ebformer.estimators.npmle.lattice import Lattice
from ebformer.estimators.npmle.parts import independent_parts, maximise_by_parts
from ebformer.estimators.npmle.sample import SILENT, Sample
from ebformer.estimators.npmle.solver import maximise
from ebformer.prior import Prior
from ebformer.tally import Tally


def tolerance(tally: Tally) -> float:
    return min(1e-6, 0.01 / tally.n)


def random_tally(rng: np.random.Generator, n: int | None = None) -> Tally:
    """Counts from a prior of random shape and scale."""
    size = int(10 ** rng.uniform(0, 4)) if n is None else n
    scale = 10 ** rng.uniform(-1, 2)
    atoms = scale * rng.gamma(rng.uniform(0.2, 3.0), size=int(rng.integers(1, 9)))
    theta = rng.choice(atoms, size=size) * rng.choice([1.0, rng.gamma(5.0) / 5], size=size)
    return Tally.of(rng.poisson(theta))


def test_the_gap_is_what_an_independent_fine_grid_finds() -> None:
    rng = np.random.default_rng(2025)
    for _ in range(300):
        tally = random_tally(rng)
        rule = Npmle()(tally)
        assert rule.convergence.reached
        assert independent_gap(tally, rule.prior) <= max(rule.convergence.gap, 0.0) + 1e-11 <= tolerance(tally)


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_an_independent_convex_solver(seed: int) -> None:
    tally = random_tally(np.random.default_rng(seed), n=300)
    prior = Npmle()(tally).prior
    grid = np.linspace(np.sqrt(tally.values.min()), np.sqrt(tally.values.max()), 60) ** 2
    points = np.unique(np.concatenate([prior.atoms, grid]))
    q = tally.multiplicity / tally.n
    weights, objective = convex_program(kernel(tally, points), q)
    assert q @ np.log(kernel(tally, prior.atoms) @ prior.weights) == pytest.approx(objective, abs=1e-8)
    theirs = Prior(points, weights)
    # Their interior-point weights leave crumbs on neighbours; the posterior mean at the data is what both pin down.
    assert Npmle()(tally)(tally.values) == pytest.approx(bayes_rule(theirs, tally.values), abs=1e-5, rel=1e-5)


def test_closed_form_of_two_values_that_merge() -> None:
    """Two counts within one standard deviation of their mean share one atom: the mean (D'' <= 0 there)."""
    prior = Npmle()(Tally([8, 10], [3, 3])).prior
    assert prior.atoms.tolist() == pytest.approx([9.0])


def test_closed_form_of_zeros_and_one_positive_value() -> None:
    """A fraction q of counts x far from 0, the rest 0: atoms 0 and s, the latter with weight v.

    D(0) = 1 gives f(0) = 1 - q, which is 1 - v (1 - e^-s); D'(s) = 0 then gives s / (1 - e^-s) = x.
    """
    q, x = 0.25, 6
    s = brentq(lambda s: s / -np.expm1(-s) - x, 1.0, 7.0, xtol=1e-15)
    prior = Npmle()(Tally([0, x], [3, 1])).prior
    assert prior.atoms == pytest.approx([0.0, s], abs=1e-9)
    assert prior.weights == pytest.approx([1 + q / np.expm1(-s), -q / np.expm1(-s)], abs=1e-9)


def test_all_zeros_one_value_and_one_unit() -> None:
    for tally, atom in ((Tally([0], [1000]), 0.0), (Tally([7], [12]), 7.0), (Tally([3], [1]), 3.0)):
        rule = Npmle()(tally)
        assert rule.prior == Prior([atom], [1.0])
        assert rule.convergence.reached
        assert rule([0, 5, 100]).tolist() == [atom] * 3


@pytest.mark.parametrize(
    "tally",
    [
        Tally([0, 10**5], [10**9, 1]),
        Tally([0, 1], [10**9, 1]),
        Tally([0, 2**53 - 1], [3, 1]),
        Tally([99_000, 99_400, 100_000], [5, 10**8, 7]),
    ],
    ids=["0 and 1e5", "0 and 1", "largest count", "large and close"],
)
def test_extreme_tallies_are_certified(tally: Tally) -> None:
    assert Npmle()(tally).convergence.reached


@pytest.mark.parametrize("theta_max", [np.inf, 2e4])
@pytest.mark.parametrize("unequal", [False, True])
def test_parts_on_their_own_are_the_whole(unequal: bool, theta_max: float) -> None:
    """Rates over seven decades: part by part and all at once give the same prior, and its certificate holds for all."""
    rng = np.random.default_rng(11)
    t = 10 ** rng.uniform(-1, 1, 60) if unequal else np.ones(60)
    tally = Tally.of(rng.poisson(t * 10 ** rng.uniform(-1, 6, 60)), t)
    sample = Sample.of(tally, theta_max)
    assert len(independent_parts(sample)) > 2
    parts, whole = maximise_by_parts(sample, tolerance(tally)), maximise(sample, tolerance(tally))
    assert max(parts.gap, whole.gap) <= tolerance(tally)
    x = tally.values
    assert bayes_rule(parts.prior, x, tally.known) == pytest.approx(
        bayes_rule(whole.prior, x, tally.known), rel=1e-5, abs=1e-6
    )
    atoms = np.maximum(parts.atoms, sample.low)  # 0 is represented by a theta beside it
    assert Lattice.of(sample).peaks(atoms, parts.weights)[1].max() - 1 <= parts.gap + 1e-12


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(0, 10**5), min_size=1, max_size=12),
    logs=st.lists(st.floats(-4, 4), min_size=12, max_size=12),
    theta_max=st.none() | st.floats(0.1, 1e5),
)
def test_between_parts_every_observation_is_silent(
    counts: list[int], logs: list[float], theta_max: float | None
) -> None:
    sample = Sample.of(Tally.of(counts, np.exp(logs[: len(counts)])), theta_max)
    parts = independent_parts(sample)
    assert sorted(np.concatenate(parts).tolist()) == list(range(sample.x.size))
    best = sample.nearest / sample.known
    for left, right in itertools.pairwise(parts):
        between = np.linspace(np.sqrt(best[left].max()), np.sqrt(best[right].min()), 4001) ** 2
        assert sample.kernel(between).max(axis=0).min() <= np.exp(-SILENT)


@pytest.mark.parametrize("n", [10**6, 10**9])
def test_a_billion_units_are_certified_too(n: int) -> None:
    rng = np.random.default_rng(4)
    for _ in range(4):
        x = np.arange(120)
        truth = Prior(50 * rng.beta(0.7, 0.9, size=400), np.full(400, 1 / 400))
        f = np.exp(log_marginal(truth, x))
        tally = Tally(x, rng.multinomial(n, f / f.sum()))
        rule = Npmle()(tally)
        assert rule.convergence.reached
        assert rule.convergence.gap <= 0.01 / n
        assert independent_gap(tally, rule.prior) <= 0.01 / n + 1e-13


def test_exposures_over_six_decades_are_certified() -> None:
    rng = np.random.default_rng(5)
    t = 10 ** rng.uniform(-2, 4, 200)
    tally = Tally.of(rng.poisson(t * rng.gamma(1.0, 2.0, 200)), t)
    rule = Npmle()(tally)
    assert rule.convergence.reached
    assert len(rule.prior) < len(tally)
    assert rule.prior.atoms[-1] <= (tally.values / tally.known).max()


def test_exposure_gap_is_what_an_independent_grid_finds() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        t = rng.integers(1, 12, 150).astype(float)
        tally = Tally.of(rng.poisson(t * rng.gamma(1.0, 2.0, 150)), t)
        rule = Npmle()(tally)
        assert independent_gap(tally, rule.prior) <= tolerance(tally)


@settings(max_examples=40, deadline=None)
@given(
    counts=st.lists(st.integers(0, 60), min_size=1, max_size=30),
    exponent=st.integers(-3, 3),
)
def test_units_of_exposure_do_not_matter(counts: list[int], exponent: int) -> None:
    """Every exposure times c divides every rate by c."""
    c = 2.0**exponent
    t = 1.0 + np.arange(len(counts)) % 3
    one, other = Npmle()(Tally.of(counts, t)), Npmle()(Tally.of(counts, c * t))
    x = np.array([0, 3, 40])
    assert other(x, exposure=2 * c) == pytest.approx(one(x, exposure=2.0) / c, rel=1e-4, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(counts=st.lists(st.integers(0, 200), min_size=1, max_size=40), copies=st.integers(2, 1000))
def test_conditions_of_kiefer_and_wolfowitz(counts: list[int], copies: int) -> None:
    """D = 1 at every atom, the fitted mean is the mean of the data, and copies of the data change nothing."""
    tally = Tally.of(counts)
    prior = Npmle()(tally).prior
    weight = (tally.multiplicity / tally.n) / (kernel(tally, prior.atoms) @ prior.weights)
    assert weight @ kernel(tally, prior.atoms) == pytest.approx(1.0, abs=1e-6)
    assert prior.mean == pytest.approx(np.mean(counts), abs=1e-4 * (1 + np.mean(counts)))
    assert len(prior) <= len(tally)
    again = Npmle()(Tally(tally.values, copies * tally.multiplicity))
    assert again(tally.values) == pytest.approx(bayes_rule(prior, tally.values), rel=1e-4, abs=1e-6)


def test_theta_max_bounds_the_atoms_and_is_optimal_there() -> None:
    rng = np.random.default_rng(8)
    for _ in range(30):
        tally = random_tally(rng)
        bound = float(rng.uniform(0.1, 1.2) * (tally.values.max() + 1))
        rule = Npmle(theta_max=bound)(tally)
        assert rule.prior.atoms[-1] <= bound
        assert independent_gap(tally, rule.prior, theta_max=bound) <= tolerance(tally) + 1e-11


@pytest.mark.parametrize("far", [10**4, 2**53 - 1])
def test_counts_of_which_theta_max_can_explain_next_to_nothing(far: int) -> None:
    """p(far | 5) underflows, but relative to theta = 5 it is 0 elsewhere: one atom there holds the share of `far`."""
    rule = Npmle(theta_max=5.0)(Tally([0, far], [3, 1]))
    assert rule.convergence.reached
    assert rule.prior.atoms.tolist() == [0.0, 5.0]
    # D(0) = 1 gives f(0) = 3/4 = 1 - v (1 - e^-5).
    assert rule.prior.weights[1] == pytest.approx(0.25 / -np.expm1(-5.0), abs=1e-9)


def test_theta_max_is_per_unit_of_exposure() -> None:
    counts = [0, 4, 9, 30]
    half = Npmle(theta_max=5.0)(Tally.of(counts, exposure=2.0))
    whole = Npmle(theta_max=10.0)(Tally.of(counts))
    assert half.prior.atoms == pytest.approx(whole.prior.atoms / 2)


@pytest.mark.parametrize("theta_max", [0.0, -1.0, np.nan, np.inf])
def test_theta_max_must_be_positive(theta_max: float) -> None:
    with pytest.raises(InputError, match="theta_max"):
        Npmle(theta_max=theta_max)(Tally.of([1, 4]))
