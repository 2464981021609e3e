"""The negative binomial fit: stationary, no worse than a general optimiser, sensible where the likelihood runs off."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from ebformer.bayes.marginal import log_marginal
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.estimators.gamma import Gamma, digamma_minus_log, maximum_likelihood
from ebformer.prior import Prior
from ebformer.tally import Tally

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "royale_belge.json").read_text())


def mean_log_likelihood(prior: GammaPrior | Prior, tally: Tally) -> float:
    return float(tally.multiplicity @ log_marginal(prior, tally.values, tally.known)) / tally.n


def test_the_belgian_claims() -> None:
    rule = Gamma()(Tally(np.arange(8), GOLDEN["counts"]))
    # Three digits, from a public recomputation of Efron and Hastie's table 6.1: golden/README.md.
    assert [float(f"{rate:.3g}") for rate in rule(np.arange(7))] == GOLDEN["gamma"]


@pytest.mark.parametrize("exposed", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_general_optimiser_finds_nothing_better(seed: int, exposed: bool) -> None:
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.2, 5.0, size=80).round(1) if exposed else np.ones(80)
    tally = Tally.of(rng.poisson(t * rng.gamma(1.5, 2.0, size=80)), t)
    prior, convergence = maximum_likelihood(tally)

    def loss(log_parameters: np.ndarray) -> float:
        return -mean_log_likelihood(GammaPrior(*np.exp(log_parameters)), tally)

    found = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000})
    assert convergence.reached
    assert mean_log_likelihood(prior, tally) >= -found.fun - 1e-12
    assert isinstance(prior, GammaPrior)
    assert np.log([prior.shape, prior.rate]) == pytest.approx(found.x, abs=1e-4)


@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from([0.5, 1.0, 3.0])), min_size=1, max_size=30))
def test_no_gamma_nearby_is_likelier(pairs: list[tuple[int, float]]) -> None:
    tally = Tally.of([x for x, _ in pairs], [t for _, t in pairs])
    prior, convergence = maximum_likelihood(tally)
    assert convergence.reached
    best = mean_log_likelihood(prior, tally)
    mean = prior.mean
    for shape in (0.1, 1.0, 10.0, 1000.0):
        for factor in (0.5, 1.0, 2.0):
            if mean > 0:
                assert mean_log_likelihood(GammaPrior(shape, shape / (factor * mean)), tally) <= best + 1e-9


def test_the_fit_recovers_the_prior_that_made_the_counts() -> None:
    truth, rng = GammaPrior(3.0, 0.5), np.random.default_rng(0)
    t = rng.choice([0.5, 1.0, 4.0], size=200_000)
    prior, _ = maximum_likelihood(Tally.of(rng.poisson(t * truth.draw(t.size, rng)), t))
    assert isinstance(prior, GammaPrior)
    assert (prior.shape, prior.rate) == pytest.approx((truth.shape, truth.rate), rel=0.02)


@pytest.mark.parametrize(
    ("x", "t", "atom"),
    [
        ([0, 0, 0], None, 0.0),
        ([5], None, 5.0),
        ([2, 3, 2, 3], None, 2.5),
        ([2, 4, 6], [1.0, 2.0, 3.0], 2.0),
        ([10**6, 10**6 + 1], None, 10**6 + 0.5),
        ([0, 0], [1.0, 2.0], 0.0),
    ],
)
def test_counts_that_spread_less_than_poisson_make_a_point_mass(
    x: list[int], t: list[float] | None, atom: float
) -> None:
    rule = Gamma()(Tally.of(x, t))
    assert rule.prior == Prior([atom], [1.0])
    assert rule.convergence is not None
    assert rule.convergence.reached
    assert rule([0, 7, 10**6], 1.0) == pytest.approx(atom)
    assert str(rule.convergence).endswith("what the likelihood gains from unequal rates = 0")


@pytest.mark.parametrize(("x", "zeros"), [(10**5, 10**9), (9 * 10**15, 10)])
def test_a_single_large_count_among_zeros(x: int, zeros: int) -> None:
    prior, convergence = maximum_likelihood(Tally([0, x], [zeros, 1]))
    assert convergence.reached
    assert prior.mean == pytest.approx(x / (zeros + 1))


@pytest.mark.parametrize("mean", [1e6, 1e10, 9e15])
def test_large_counts_shrink_by_their_spread_beside_the_noise(mean: float) -> None:
    """Rates that spread twice as far as the noise keep 4/5 of a distance from the mean, however large the counts."""
    x = np.rint(mean + np.sqrt(5 * mean) * np.array([-1.5, -0.5, 0.5, 1.5]) / np.sqrt(1.25)).astype(np.int64)
    kept = (Gamma()(Tally.of(x))(x) - mean) / (x - mean)
    assert kept == pytest.approx(0.8, abs=2e-3)


def test_a_common_exposure_divides_the_answer() -> None:
    tally = Tally.of([0, 1, 1, 4, 9])
    exposed = Gamma()(Tally(tally.values, tally.multiplicity, 4.0))
    assert exposed([0, 9]) == pytest.approx(Gamma()(tally)([0, 9]) / 4)
    assert exposed(9, exposure=8.0) < exposed(9)


@given(st.floats(-3.0, 12.0))
def test_what_is_left_of_digamma_obeys_its_recurrence(log_z: float) -> None:
    """psi(z + 1) = psi(z) + 1 / z, to the last digits of psi(z) - log(z), not of psi(z), which is far larger."""
    z = 10.0**log_z
    here, next_one = digamma_minus_log(z), digamma_minus_log(z + 1.0)
    assert next_one - here == pytest.approx(1 / z - np.log1p(1 / z), rel=0, abs=1e-13 * abs(here))


@pytest.mark.parametrize("n", [100, 10_000])
def test_rare_events_do_not_look_like_one_rate(n: int) -> None:
    """Few of these counts exceed 1, and yet no prior is likelier than the likeliest, the true one included."""
    truth, rng = GammaPrior(0.7, 4.0), np.random.default_rng(1)
    for _ in range(50):
        tally = Tally.of(rng.poisson(truth.draw(n, rng)))
        best = mean_log_likelihood(maximum_likelihood(tally)[0], tally)
        assert best >= mean_log_likelihood(truth, tally) - 1e-12


@pytest.mark.parametrize("mean", [0.2, 5.0])
@pytest.mark.parametrize("shape", [0.01, 1.0, 100.0, 1e4, 1e6])
def test_counts_in_the_proportions_of_a_negative_binomial_are_fitted_by_its_gamma(shape: float, mean: float) -> None:
    """At large shapes these are Poisson counts but for a share of 1 / shape: what remains must not be rounding."""
    truth, x = GammaPrior(shape, shape / mean), np.arange(40_000)
    units = np.rint(1e15 * np.exp(log_marginal(truth, x))).astype(np.int64)
    prior, convergence = maximum_likelihood(Tally(x, units))
    assert convergence.reached
    assert isinstance(prior, GammaPrior)
    assert (prior.shape, prior.mean) == pytest.approx((shape, mean), rel=1e-2)


@pytest.mark.parametrize(
    ("counts", "exposures"),
    [
        (np.append(np.random.default_rng(0).poisson(25 * np.linspace(0.1, 2.5, 100)), 50_000), [500.0] * 100 + [1e6]),
        ([1, 3, 4, 0, 2], [1e-9, 2.0, 3.0, 1.0, 2.0]),
        (np.random.default_rng(1).poisson(np.geomspace(1e-3, 1e5, 30) ** 0.9), np.geomspace(1e-3, 1e5, 30)),
    ],
    ids=["one unit as large as all others", "one unit hardly watched", "eight decades"],
)
def test_the_highest_of_several_maxima_is_found(counts: np.ndarray, exposures: list[float]) -> None:
    """Where exposures differ by decades the likelihood has several maxima, and a point mass may be one of them."""
    x, t = np.asarray(counts), np.asarray(exposures)
    found = float(log_marginal(Gamma()(Tally.of(x, t)).prior, x, t).sum())
    pooled = x.sum() / t.sum()
    assert found >= float(log_marginal(Prior([pooled], [1.0]), x, t).sum()) - 1e-9
    for shape, mean in itertools.product(np.geomspace(1e-3, 1e4, 22), pooled * np.geomspace(1e-2, 1e9, 45)):
        assert found >= float(log_marginal(GammaPrior(shape, shape / mean), x, t).sum()) - 1e-9
