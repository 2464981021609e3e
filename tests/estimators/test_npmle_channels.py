"""The certified NPMLE in every channel: certificate and likelihood found apart from the package, and its laws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from convex_npmle import COORDINATE, convex_program, independent_gap, kernel, log_likelihood, log_marginal, objective
from ebformer.channels import channel_named
from ebformer.estimators.npmle import sample
from ebformer.estimators.npmle.estimator import Npmle
from ebformer.estimators.npmle.lattice import Lattice
from ebformer.estimators.npmle.parts import maximise_by_parts
from ebformer.estimators.npmle.sample import Sample
from ebformer.prior import Prior
from ebformer.tally import Tally
from random_tallies import CHANNELS, random_tally

EVERY = pytest.mark.parametrize("name", CHANNELS)


def promised(tally: Tally) -> float:
    return min(1e-6, 0.01 / tally.n)


def test_likelihoods_written_apart_from_the_package_are_those_of_scipy() -> None:
    theta = np.array([0.01, 0.3, 0.7, 0.99])
    count, exposure = np.array([1, 4, 30]), np.array([0.3, 2.0, 50.0])
    mean = exposure[:, None] * theta
    poisson = stats.poisson.logpmf(count[:, None], mean)
    for tally, expected in (
        (Tally.of(count, exposure=exposure), poisson),
        (Tally.of(count, exposure=exposure, zeros="missing"), poisson - np.log1p(-np.exp(-mean))),
        (Tally.of(count, trials=[1, 7, 90]), stats.binom.logpmf(count[:, None], [[1], [7], [90]], theta)),
        (Tally.of(count, se=exposure), stats.norm.logpdf(count[:, None], theta, exposure[:, None])),
    ):
        np.testing.assert_allclose(log_likelihood(tally, theta), expected, rtol=1e-12, atol=1e-13)


@EVERY
def test_the_gap_is_what_an_independent_fine_grid_finds(name: str) -> None:
    rng = np.random.default_rng(2026)
    for _ in range(30):
        tally = random_tally(name, rng, most=2000)
        rule = Npmle()(tally)
        assert rule.convergence.reached
        assert independent_gap(tally, rule.prior) <= rule.convergence.gap + 1e-11 <= promised(tally)


@EVERY
@pytest.mark.parametrize("seed", range(3))
def test_no_convex_solver_finds_a_likelier_prior(name: str, seed: int) -> None:
    """clarabel, given our atoms and a grid, reaches the same likelihood, and marginals, which the data pin down."""
    tally = random_tally(name, np.random.default_rng(seed), most=400)
    prior = Npmle()(tally).prior
    (there, back), mle = COORDINATE[name], tally.channel.mle(tally.x, tally.known)
    points = np.union1d(prior.atoms, back(np.linspace(*there(np.array([mle.min(), mle.max()])), 60)))
    weights, _ = convex_program(kernel(tally, points), tally.multiplicity / tally.n)
    theirs = Prior(points, weights)
    assert objective(tally, prior) == pytest.approx(objective(tally, theirs), abs=1e-8)
    assert log_marginal(tally, prior) == pytest.approx(log_marginal(tally, theirs), abs=1e-4)


@EVERY
def test_symmetries_of_the_channel_are_symmetries_of_the_prior(name: str) -> None:
    """Normal: shift, scale and reflection. Binomial: successes and failures. Counts: units of exposure.

    The prior of changed data and the changed prior give the same marginals, which is what data can tell of a prior.
    """
    rng = np.random.default_rng(3)
    for _ in range(5):
        tally = random_tally(name, rng, most=500)
        prior = Npmle()(tally).prior
        for symmetry in channel_named(name).symmetries():
            x, known = symmetry.observation(tally.x, tally.known)
            changed = Tally(x, tally.multiplicity, known, channel=tally.channel)
            theirs, ours = Npmle()(changed).prior, Prior(symmetry.theta(prior.atoms), prior.weights)
            assert log_marginal(changed, theirs) == pytest.approx(log_marginal(changed, ours), abs=1e-7)
            assert theirs.mean == pytest.approx(ours.mean, rel=1e-6, abs=1e-6)


@EVERY
def test_a_sample_in_blocks_has_the_prior_of_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where they speak, with D interpolated, and from fewer observations to start with: the end is the same."""
    rng = np.random.default_rng(5)
    for _ in range(6):
        tally = random_tally(name, rng, most=3000)
        whole = maximise_by_parts(Sample.of(tally), promised(tally))
        with monkeypatch.context() as patched:
            patched.setattr(sample, "WHOLE", 3000)
            patched.setattr(sample, "ROWS", 20)
            pieces = maximise_by_parts(Sample.of(tally), promised(tally))
        assert max(whole.gap, pieces.gap) <= promised(tally)
        assert log_marginal(tally, pieces.prior) == pytest.approx(log_marginal(tally, whole.prior), abs=1e-6)
        assert independent_gap(tally, pieces.prior) <= promised(tally)


@EVERY
def test_layers_interpolate_the_gradient(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(9)
    monkeypatch.setattr(sample, "WHOLE", 3000)
    monkeypatch.setattr(sample, "ROWS", 20)
    layered = 0
    for _ in range(12):
        some = Sample.of(random_tally(name, rng, most=1000))
        c = some.q * np.exp(rng.normal(size=some.q.size))
        exact = c @ some.kernel(some.lattice)
        lattice = Lattice.of(some)
        assert lattice.pull(c) == pytest.approx(exact, abs=1e-6 * exact.max())
        layered += bool(lattice.layers)
    assert layered > 0


def test_few_observations_far_apart_are_one_block_in_the_order_given() -> None:
    """Two hundred effects hang together over a range that needs more points than there is room for."""
    x = np.random.default_rng(1).permutation(np.cumsum(np.random.default_rng(2).uniform(14, 17, 250)))
    tally = Tally.of(np.repeat(x, 2) + np.tile([0.0, 0.3], 250), se=1.0)
    assert len(Sample.of(tally).lattice) * len(tally) > sample.WHOLE
    rule = Npmle()(tally)
    assert rule.convergence.reached
    assert independent_gap(tally, rule.prior) <= promised(tally)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["binomial", "normal"])
def test_twenty_thousand_unlike_observations_are_certified(name: str) -> None:
    rng = np.random.default_rng(6)
    if name == "binomial":
        trials = np.floor(10 ** rng.uniform(0, np.log10(5000), 20_000))
        tally = Tally.of(rng.binomial(trials.astype(int), rng.beta(2, 5, 20_000)), trials=trials)
    else:
        errors = 10 ** rng.uniform(-1, 1, 20_000)
        tally = Tally.of(rng.normal(rng.normal(0, 3, 20_000), errors), se=errors)
    assert len(tally) > 9000
    rule = Npmle()(tally)
    assert rule.convergence.reached
    assert independent_gap(tally, rule.prior, spacing=0.25) <= promised(tally)


def test_one_trial_each_leaves_the_mean_and_nothing_else() -> None:
    """With one trial per unit any prior of the right mean is likeliest: the answer is one of them, and certified."""
    rule = Npmle()(Tally([0, 1], [70, 30], trials=1))
    assert rule.convergence.reached
    assert rule.prior.mean == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize("failures", [0, 3])
def test_probabilities_of_0_and_1_are_atoms(failures: int) -> None:
    """Units that always succeed, and units that never do: nothing in between explains either."""
    rule = Npmle()(Tally([failures, 5000], [2, 2], trials=5000))
    assert rule.prior.atoms == pytest.approx([failures / 5000, 1.0], abs=1e-12)
    assert rule.prior.atoms[-1] == 1.0
    assert rule.prior.weights == pytest.approx([0.5, 0.5])


def test_effects_far_from_each_other_are_their_own_atoms() -> None:
    rule = Npmle()(Tally.of([-1e9, 3.0, 1e12], se=[2.0, 0.1, 1e4]))
    assert rule.prior.atoms.tolist() == [-1e9, 3.0, 1e12]
    assert rule.prior.weights == pytest.approx(np.full(3, 1 / 3))
