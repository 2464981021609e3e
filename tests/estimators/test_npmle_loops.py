"""loops.c computes what numpy does, from many threads too, and nobody needs it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from c_libraries import library_of
from ebformer.channels import POISSON
from ebformer.estimators.npmle import loops, newton
from ebformer.estimators.npmle.columns import Columns
from ebformer.estimators.npmle.estimator import Npmle
from ebformer.estimators.npmle.newton import Mixture
from ebformer.estimators.npmle.sample import Sample
from ebformer.estimators.npmle.solver import sparse_start
from ebformer.estimators.npmle.weights import em_steps, reweigh
from random_tallies import CHANNELS, random_tally

same_fixture = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    loaded = loops.load(library_of(loops.SOURCE, tmp_path_factory.mktemp("loops")))
    if loaded is None:
        pytest.skip("this processor has no AVX2, which loops.c needs on x86-64")
    return loaded


@pytest.fixture
def both(library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], Iterator[object]]:
    """What a function answers with loops.c, and what it answers without."""

    def run(function: Callable[[], object]) -> Iterator[object]:
        for found in (library, None):
            monkeypatch.setattr(loops, "library", lambda found=found: found)
            yield function()

    return run


def problem(seed: int, u: int, k: int) -> tuple[Sample, np.ndarray]:
    """Counts and exposures of random shares, and points, of which some suit each observation."""
    rng = np.random.default_rng(seed)
    t = 10 ** rng.uniform(-1, 1, u)
    x = rng.poisson(t * rng.gamma(1.0, 5.0, u)).astype(float)
    sample = Sample.of_shares(POISSON, x, t, rng.dirichlet(np.ones(u)))
    return sample, np.union1d(np.maximum(x / t, sample.low), rng.uniform(sample.low, sample.high, k))


sizes = {"seed": st.integers(0, 10**6), "u": st.integers(1, 90), "k": st.integers(1, 60)}


@same_fixture
@given(**sizes, steps=st.integers(0, 20))
def test_em_steps(both, seed: int, u: int, k: int, steps: int) -> None:  # type: ignore[no-untyped-def]
    sample, points = problem(seed, u, k)
    columns, flat = Columns.of(sample, points), np.full(points.size, 1 / points.size)
    ours, numpys = both(lambda: em_steps(columns, sample.q, flat, steps))
    np.testing.assert_allclose(ours, numpys, rtol=1e-10, atol=1e-300)


@same_fixture
@given(**sizes)
def test_reweigh(both, seed: int, u: int, k: int) -> None:  # type: ignore[no-untyped-def]
    """Weights can be indifferent, but the likelihood, what it is at every point and its convergence are not."""
    sample, points = problem(seed, u, k)
    columns = Columns.of(sample, points)
    dense = em_steps(columns, sample.q, np.full(points.size, 1 / points.size), 15)
    ours, numpys = both(lambda: reweigh(columns, sample.q, dense, sparse_start(dense), 1e-10, 60)[0])
    assert ours.sum() == pytest.approx(1.0)
    assert (ours >= 0).all()
    f, expected = columns.mix(ours), columns.mix(numpys)
    assert sample.q @ np.log(f) == pytest.approx(sample.q @ np.log(expected), abs=1e-10)
    assert columns.pull(sample.q / f).max() <= 1 + 1e-9


@same_fixture
@given(**sizes, damping=st.sampled_from([0.0, 1e-6, 1.0]))
def test_a_mixture_and_newtons_step(both, seed: int, u: int, k: int, damping: float) -> None:  # type: ignore[no-untyped-def]
    sample, _ = problem(seed, u, 2)
    rng = np.random.default_rng(seed)
    theta = np.sort(np.clip(rng.gamma(1.0, 5.0, min(k, u)), sample.low, sample.high))
    theta = theta[np.append(True, np.diff(theta) > 0.5)]
    w = rng.dirichlet(np.ones(theta.size))
    ours, numpys = both(lambda: Mixture.of(sample, theta, w))
    for one, other in zip(ours, numpys, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11 * np.abs(other).max())
    ours, again = both(lambda: newton.newton_step(sample, numpys, damping))
    condition = np.linalg.cond(newton.QuadraticModel.of(numpys).gram) if damping == 0 else 1e6
    for one, other in zip(ours, again, strict=True):
        if condition < 1e7:
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7 * np.abs(other).max())


@pytest.mark.parametrize("name", CHANNELS)
def test_answers_are_the_same_without_a_compiler(both, name: str) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(4)
    for _ in range(25):
        tally = random_tally(name, rng, most=2000)
        ours, numpys = both(lambda tally=tally: Npmle()(tally))
        assert ours.convergence.reached
        assert numpys.convergence.reached
        scale = np.abs(numpys.prior.atoms).max()
        assert ours(tally.x, tally.known) == pytest.approx(numpys(tally.x, tally.known), rel=1e-9, abs=1e-9 * scale)


def test_threads_do_not_disturb_each_other(library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "library", lambda: library)
    tallies = [random_tally("poisson", np.random.default_rng(seed), most=1000) for seed in range(24)]
    alone = [Npmle()(tally).prior for tally in tallies]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda tally: Npmle()(tally).prior, tallies)) == alone
