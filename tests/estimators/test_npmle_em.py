"""The early-stopped EM: the definition, its monotone likelihood and the published regrets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson

from ebformer.bayes.marginal import log_marginal
from ebformer.estimators.npmle.estimator import Npmle
from ebformer.estimators.npmle_em import NpmleEm, expectation_maximisation
from ebformer.tally import Tally

ARENA = Path(__file__).parents[3] / "shared" / "arena"


def test_the_definition_written_out() -> None:
    """300 nodes even in sqrt(theta), weights by width in theta, plain EM until the L1 change is below 10^-3.5."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(2.0, 4.0, 500))
    nodes = np.linspace(np.sqrt(counts.min()), np.sqrt(counts.max()), 300) ** 2
    weights = np.gradient(nodes) / np.gradient(nodes).sum()
    p = poisson.pmf(counts[:, None], nodes)  # one row per unit: no tally here
    moved = []
    while not moved or moved[-1] >= 10**-3.5:
        responsibility = p * weights / (p @ weights)[:, None]
        previous, weights = weights, responsibility.mean(axis=0)
        moved.append(np.abs(weights - previous).sum())
    rule = NpmleEm()(Tally.of(counts))
    assert rule.convergence.iterations == len(moved)
    assert rule.prior.atoms == pytest.approx(nodes)
    assert rule.prior.weights == pytest.approx(weights, abs=1e-10)


@settings(max_examples=25, deadline=None)
@given(counts=st.lists(st.integers(0, 80), min_size=2, max_size=40))
def test_the_likelihood_never_falls_and_never_passes_the_npmle(counts: list[int]) -> None:
    tally = Tally.of(counts)
    q = tally.multiplicity / tally.n
    best = float(q @ log_marginal(Npmle()(tally).prior, tally.values))
    values = [
        float(q @ log_marginal(NpmleEm(tolerance=0.0, steps=steps)(tally).prior, tally.values))
        for steps in (1, 2, 5, 20, 100)
    ]
    assert np.all(np.diff(values) >= -1e-13)
    assert values[-1] <= best + 1e-6


def test_em_preserves_the_sum_of_the_weights() -> None:
    rng = np.random.default_rng(1)
    weights, moved, steps = expectation_maximisation(rng.random((5, 7)), np.full(5, 0.2), np.full(7, 1 / 7), 1e-3, 50)
    assert weights.sum() == pytest.approx(1.0)
    assert moved < 1e-3 or steps == 50


def test_one_distinct_rate_needs_no_steps() -> None:
    rule = NpmleEm()(Tally.of([4, 4, 2], exposure=[2.0, 2.0, 1.0]))
    assert rule.prior.atoms.tolist() == [2.0]
    assert rule.convergence.reached


def test_stopping_at_the_limit_is_reported() -> None:
    assert not NpmleEm(steps=3)(Tally.of([0, 1, 5, 30])).convergence.reached


def test_units_of_exposure_do_not_matter() -> None:
    counts, t = [0, 3, 8, 1, 20], np.array([1.0, 2.0, 2.0, 0.5, 4.0])
    one, other = NpmleEm()(Tally.of(counts, t)), NpmleEm()(Tally.of(counts, 8 * t))
    assert other(counts, exposure=8 * t) == pytest.approx(one(counts, exposure=t) / 8)


@pytest.mark.data
@pytest.mark.skipif(not ARENA.exists(), reason="needs ../shared/arena")
@pytest.mark.parametrize(("estimator", "within"), [(NpmleEm(), 1e-9), (Npmle(), 0.02)])
def test_published_regrets_tally_by_tally(estimator: NpmleEm | Npmle, within: float) -> None:
    """The regrets published with the tallies; those of the exact NPMLE carry the slack of their own certificate."""
    import pyarrow.parquet as parquet

    regrets = parquet.read_table(
        ARENA / "published_regret.parquet", filters=[("estimator", "==", estimator.name), ("tally", "in", [0, 200])]
    ).to_pylist()
    tallies = parquet.read_table(ARENA / "tallies.parquet", filters=[("tally", "in", [0, 200])]).to_pandas()
    differences = []
    for row in regrets:
        cell = tallies[
            (tallies.world == row["world"]) & (tallies.n == row["n"]) & (tallies.tally == row["tally"])
        ].sort_values("x")
        x, m = cell.x.to_numpy(), cell.multiplicity.to_numpy()
        regret = (m / m.sum()) @ (estimator(Tally(x, m))(x) - cell.bayes.to_numpy()) ** 2
        differences.append(abs(regret / row["regret"] - 1))
    assert len(differences) == 42
    assert max(differences) < within
    assert np.median(differences) < 1e-8


def test_exposures_may_differ_by_ten_decades() -> None:
    with pytest.warns(UserWarning, match="take npmle"):
        rule = NpmleEm()(Tally.of([0, 3, 2, 5, 1, 4], exposure=10.0 ** np.array([-5, -3, -1, 1, 3, 5])))
    assert np.all(np.isfinite(rule([0, 1, 100], 1.0)))
    assert np.all(np.diff(rule([0, 1, 100], 1.0)) >= 0)


def test_nodes_further_apart_than_the_noise_are_said_to_be_too_few() -> None:
    with pytest.warns(UserWarning, match="300 nodes, more than a deviation of the noise apart: .* take npmle"):
        NpmleEm()(Tally.of([0, 1, 2, 3, 5, 8, 2, 1, 0, 4, 10**7]))
