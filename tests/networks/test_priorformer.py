"""What priorformer's grid, EM track and forward pass must satisfy whatever its weights are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import poisson

from ebformer.bayes.marginal import bayes_rule
from ebformer.channels import POISSON, channel_named
from ebformer.channels.normal_prior import NormalPrior
from ebformer.errors import InputError
from ebformer.networks import grid, zoo
from ebformer.networks.em_track import EmTrack, em_factor
from ebformer.networks.grid import Grid
from ebformer.networks.likelihood import NEGLIGIBLE, Likelihood, relative_likelihood, strides
from ebformer.networks.priorformer import PriorformerNetwork, smoothed
from ebformer.networks.priorformer_block import QUERIES, PriorformerBlock, PriorformerConfig
from ebformer.networks.weights import Weights, load, save
from ebformer.prior import UncertainPrior
from ebformer.tally import Tally

CONFIG = PriorformerConfig(blocks=2, width=16, em_steps=6)


def random_weights(config: PriorformerConfig = CONFIG, seed: int = 0) -> Weights[PriorformerConfig]:
    rng = np.random.default_rng(seed)
    return Weights(config, {name: 0.2 * rng.standard_normal(shape) for name, shape in config.shapes().items()})


def network(seed: int = 0) -> PriorformerNetwork:
    return PriorformerNetwork(random_weights(seed=seed), np.float64)


def gamma_tally(n: int, rng: np.random.Generator, mean: float = 6.0) -> Tally:
    return Tally.of(rng.poisson(rng.gamma(2.0, mean / 2, n)))


def count_grid(x: NDArray[np.float64], exposure: NDArray[np.float64] | float = 1.0) -> Grid:
    return Grid.of(POISSON, x, np.broadcast_to(np.asarray(exposure, dtype=np.float64), x.shape), np.ones(x.shape))


def some_tally(channel: str, n: int, rng: np.random.Generator) -> Tally:
    """Units that differ in what is known of them."""
    if channel == "normal":
        errors = rng.choice([0.3, 1.0, 2.0], n)
        return Tally.of(rng.normal(rng.normal(0.4, 2.0, n), errors), se=errors)
    if channel == "binomial":
        trials = rng.choice([3, 20, 60], n)
        return Tally.of(rng.binomial(trials, rng.beta(2.0, 9.0, n)), trials=trials)
    exposure = rng.choice([0.5, 1.0, 3.0], n)
    return Tally.of(rng.poisson(exposure * rng.gamma(2.0, 3.0, n)), exposure=exposure)


@pytest.mark.parametrize(
    ("channel", "known"), [("poisson", 1.0), ("poisson", 7.0), ("binomial", 1.0), ("binomial", 80.0)]
)
def test_theta_and_u_are_inverse_up_to_the_ends_of_the_domain(channel: str, known: float) -> None:
    whole = Grid.whole(channel_named(channel), np.array([known]), np.ones(1))
    u = np.linspace(-2.0, min(60.0, whole.length + 2.0), 500)
    inverse = whole.u_of(whole.theta_at(u))
    far = whole.length - whole.v(u) > 1e-2  # near theta = 1 a float64 has no more digits
    np.testing.assert_allclose(inverse[far], u[far], atol=1e-6)


@pytest.mark.parametrize("channel", ["poisson", "binomial", "normal"])
def test_atoms_are_even_in_the_noise(channel: str) -> None:
    tally = some_tally(channel, 300, np.random.default_rng(0))
    found = Grid.of(tally.channel, tally.x, tally.known, tally.multiplicity)
    noise = np.sqrt(1 / np.average(tally.channel.noise(tally.known) ** -2.0, weights=tally.multiplicity))
    assert found.noise == pytest.approx(noise, rel=0.1)
    steps = np.diff(tally.channel.coordinate(found.theta)) / found.noise
    np.testing.assert_allclose(steps[np.isclose(steps, grid.SPACING, rtol=1e-6)], grid.SPACING)
    assert np.isclose(steps, grid.SPACING, rtol=1e-6).sum() >= len(steps) - 45  # all but those near an end
    assert len(found.theta) == grid.PER_CELL * (found.last - found.first)


@pytest.mark.parametrize("trials", [1, 2, 9, 60, 1000])
def test_a_grid_of_proportions_is_the_same_from_either_end(trials: int) -> None:
    m = np.full(2, float(trials))
    whole = Grid.of(channel_named("binomial"), np.array([0.0, trials]), m, np.ones(2))
    np.testing.assert_allclose(whole.theta, 1 - whole.theta[::-1], atol=1e-12)
    assert whole.theta[[0, -1]].tolist() == [0.0, 1.0]
    np.testing.assert_allclose(whole.edges(), whole.reflected_edges(), atol=1e-9)


def test_relative_likelihood_is_the_poisson_likelihood_up_to_its_maximum() -> None:
    x, t, theta = np.array([0, 1, 7, 40]), np.array([1.0, 0.3, 2.0, 1.0]), np.array([0.4, 3.0, 35.0])
    expected = poisson.pmf(x, theta[:, None] * t) / poisson.pmf(x, x)
    found = relative_likelihood(POISSON, x, theta, t)
    np.testing.assert_allclose(found, np.maximum(expected, NEGLIGIBLE), rtol=1e-9)


@pytest.mark.parametrize("x", [0.9e9, 4e12, 2.0**53])
def test_the_likelihood_of_a_large_count_is_nearly_normal(x: float) -> None:
    deviations = np.linspace(-5, 5, 11)
    found = relative_likelihood(POISSON, np.array([x]), x + deviations * np.sqrt(x), np.ones(1))[:, 0]
    np.testing.assert_allclose(found, np.exp(-(deviations**2) / 2), rtol=50 / np.sqrt(x) + 1e-5)


@pytest.mark.parametrize("counts", [[0], [5], [0, 0, 0], [100_000], [0, 3, 90_000]])
def test_every_observation_lies_well_inside_the_grid(counts: list[int]) -> None:
    theta, root = count_grid(np.array(counts, dtype=np.float64)).theta, 2 * np.sqrt(counts)
    assert 2 * np.sqrt(theta[-1]) >= root.max() + grid.MARGIN - grid.SPACING
    assert theta[0] == 0 or 2 * np.sqrt(theta[0]) <= root.min() - grid.MARGIN + grid.SPACING


def test_likelihood_in_pieces_is_the_whole_one() -> None:
    rng = np.random.default_rng(0)
    x = np.unique(rng.integers(0, 9000, 1500)).astype(np.float64)
    t = np.ones(len(x))
    on = count_grid(x)
    theta, pieces = on.theta, Likelihood.of(on, x, t, np.float64)
    assert len(pieces.pieces) > 3
    assert sum(piece.matrix.size for piece in pieces.pieces) < 0.5 * len(x) * len(theta)
    whole = relative_likelihood(POISSON, x, theta, t)
    weights, ratio = rng.dirichlet(np.ones(len(theta))), rng.random(len(x))
    np.testing.assert_allclose(pieces.marginal(weights), weights @ whole, rtol=1e-9)
    np.testing.assert_allclose(pieces.pull_back(ratio), whole @ ratio, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(pieces.squared.pull_back(ratio), whole**2 @ ratio, rtol=1e-9, atol=1e-12)


def test_likelihood_of_small_exposures_in_groups_is_nearly_the_whole_one() -> None:
    """A group spans at most a 64th of the noise of its units and of its distance from 0, in u."""
    rng = np.random.default_rng(0)
    t = np.concatenate([10 ** rng.uniform(-7, 0, 300), np.ones(50)])
    x = rng.poisson(np.concatenate([rng.gamma(2.0, 1.0, 300), rng.gamma(2.0, 500.0, 50)])).astype(np.float64)
    bottom, top = Grid(POISSON, 1.0).spoken_of(x, t)
    on = Grid(POISSON, 1.0).between(float(bottom.min()), float(top.max()))
    order = Likelihood.order(on, x, t)
    x, t, theta = x[order], t[order], on.theta
    pieces, whole = Likelihood.of(on, x, t, np.float64), relative_likelihood(POISSON, x, theta, t)
    assert strides(t**-0.5 / on.noise).max() >= 64
    assert sum(piece.matrix.size for piece in pieces.pieces) < 0.1 * len(x) * len(theta)
    smooth = np.exp(-(((on.u_of(theta) - 500) / 300) ** 2)) + 1e-3
    points = [np.where(np.arange(len(theta)) == at, 1.0, 0.0) for at in (40, len(theta) // 7)]
    for weights in (smooth / smooth.sum(), *points):
        heard_of = weights @ whole > 1e-12
        np.testing.assert_allclose(pieces.marginal(weights)[heard_of], (weights @ whole)[heard_of], rtol=0.15)
    np.testing.assert_allclose(pieces.marginal(smooth), smooth @ whole, rtol=2e-3)
    share = np.full(len(x), 1 / len(x))
    ratio = share / (smooth @ whole)
    np.testing.assert_allclose(pieces.pull_back(ratio), whole @ ratio, rtol=0.05)


def test_a_later_count_where_no_unit_was_is_left_nearly_alone() -> None:
    """No unit speaks there, so the count alone does: between 9 and 5,000 a count of 1,500 must stay about 1,500."""
    prior = PriorformerNetwork(zoo.load("priorformer")).prior(Tally([0, 1, 2, 3, 9, 5_000], [20, 20, 10, 5, 1, 1]))
    x = np.geomspace(500, 3_300, 200).astype(np.int64)
    assert (np.abs(bayes_rule(prior, x) - x) < 2 * np.sqrt(x)).all()


def test_within_two_decades_of_exposure_no_atoms_are_taken_together() -> None:
    assert (strides(np.array([0.05, 1.0, 5.0]) ** -0.5) == 1).all()


def test_attention_in_stretches_is_dense_attention_within_reach() -> None:
    rng = np.random.default_rng(1)
    block = PriorformerBlock.of(random_weights(), 0, np.float64)
    cells, d, heads, reach = 2 * QUERIES + 17, CONFIG.width, CONFIG.heads, CONFIG.reach
    qkv = rng.standard_normal((cells, 3 * d))
    q, k, v = qkv.reshape(cells, 3, heads, d // heads).transpose(1, 2, 0, 3)
    offset = np.arange(cells) - np.arange(cells)[:, None]
    nearness = random_weights().arrays["blocks.0.nearness"][:, np.clip(offset, -reach, reach) + reach]
    logits = np.where(np.abs(offset) <= reach, q @ k.transpose(0, 2, 1) + nearness, -np.inf)
    dense = (softmax(logits, axis=-1) @ v).transpose(1, 0, 2).reshape(cells, d)
    np.testing.assert_allclose(block.attend(qkv), dense, atol=1e-12)


@pytest.mark.parametrize("n", [300, 30_000, 10_000_000])
def test_em_track_satisfies_the_optimality_condition_of_the_npmle(n: int) -> None:
    """At the maximum of the likelihood D_j <= 1 for all atoms; n (max D - 1) bounds what is missing (Lindsay 1983)."""
    rng = np.random.default_rng(n)
    theta = np.array([2.0, 9.0, 25.0])
    x = np.arange(80)
    tally = rng.multinomial(n, poisson.pmf(x, theta[:, None]).mean(axis=0) / 1.0)
    x, share = x[tally > 0].astype(np.float64), tally[tally > 0] / n
    likelihood = Likelihood.of(count_grid(x), x, np.ones(len(x)), np.float64)
    start = np.full(likelihood.shape[1], -np.log(likelihood.shape[1]))
    track = EmTrack(likelihood, share, start)

    def log_likelihood(log_weights: NDArray[np.float64]) -> float:
        return float(n * share @ np.log(likelihood.marginal(np.exp(log_weights))))

    plain = start
    for _ in range(120):
        plain = plain + np.log(em_factor(likelihood, share, plain)[2])
    accelerated = track.advance(120)
    assert log_likelihood(accelerated) > log_likelihood(plain)
    late = track.advance(3000)
    gap = float(em_factor(likelihood, share, late)[2].max() - 1)
    assert gap < 1e-3
    assert log_likelihood(late) >= log_likelihood(accelerated)


@pytest.mark.parametrize("n", [1, 500, 5_000])
def test_smoothing_widens_by_what_n_units_cannot_tell(n: int) -> None:
    """Variances of convolutions add: 2 a SPACING^2 in u, for a part a given to either neighbour; zeros are no rates."""
    on = Grid(POISSON, 1.0, 0, 40)
    u = on.u_of(on.theta)
    weights = np.exp(-0.5 * ((u - 10) / 0.7) ** 2)
    weights *= 0.8 / weights[1:].sum()
    weights[0] = 0.2
    after = smoothed(on, weights, n)

    def moments(w: NDArray[np.float64]) -> tuple[float, float]:
        mean = np.average(u[1:], weights=w[1:])
        return mean, np.average((u[1:] - mean) ** 2, weights=w[1:])

    assert after.sum() == pytest.approx(1)
    assert after[0] == pytest.approx(0.2)
    (mean, variance), (mean_after, variance_after) = moments(weights), moments(after)
    assert mean_after == pytest.approx(mean, abs=1e-9)
    assert variance_after - variance == pytest.approx(2 * min(0.3, 200 / n) * grid.SPACING**2, rel=1e-6)


def test_equal_exposures_give_the_unexposed_answer_in_other_units() -> None:
    tally = gamma_tally(200, np.random.default_rng(2))
    bare = network().prior(tally)
    exposed = network().prior(Tally(tally.values, tally.multiplicity, np.full(len(tally), 2.5)))
    np.testing.assert_allclose(exposed.atoms, bare.atoms / 2.5, rtol=1e-12)
    np.testing.assert_allclose(exposed.weights, bare.weights, rtol=1e-9)


def moved(tally: Tally, x: NDArray[np.float64], known: NDArray[np.float64]) -> Tally:
    return Tally(x, tally.multiplicity, known, channel=tally.channel)


@pytest.mark.parametrize("seed", range(8))
def test_other_units_and_another_origin_change_nothing_else(seed: int) -> None:
    """By construction, and not by training: the network here has random weights, in single precision."""
    rng, one = np.random.default_rng(seed), PriorformerNetwork(random_weights(seed=seed))
    factor, constant = np.exp(rng.normal(0.0, 5.0)), rng.normal(0.0, 100.0)
    effects = some_tally("normal", 200, rng)
    here = one.prior(effects)
    there = one.prior(moved(effects, factor * (effects.x + constant), factor * effects.known))
    np.testing.assert_allclose(there.atoms, factor * (here.atoms + constant), rtol=1e-9, atol=1e-9 * factor)
    np.testing.assert_allclose(there.weights, here.weights, atol=1e-9)
    counts = some_tally("poisson", 200, rng)
    here, there = one.prior(counts), one.prior(moved(counts, counts.x, factor * counts.known))
    np.testing.assert_allclose(there.atoms, here.atoms / factor, rtol=1e-9)
    np.testing.assert_allclose(there.weights, here.weights, atol=1e-9)


@pytest.mark.parametrize("channel", ["normal", "binomial"])
@pytest.mark.parametrize("seed", range(4))
def test_effects_and_successes_may_be_turned_round(channel: str, seed: int) -> None:
    rng, one = np.random.default_rng(seed), PriorformerNetwork(random_weights(seed=seed))
    tally = some_tally(channel, 100, rng)
    end = 1.0 if channel == "binomial" else 0.0
    other = moved(tally, (tally.known if end else 0.0) - tally.x, tally.known)
    here, there = one.prior(tally), one.prior(other)
    np.testing.assert_allclose(there.atoms, end - here.atoms[::-1], atol=1e-9)
    np.testing.assert_allclose(there.weights, here.weights[::-1], atol=1e-9)


@pytest.mark.parametrize(
    ("x", "known"),
    [
        ([-2.0, -0.5, 0.0, 0.5, 2.0], {"se": [0.7, 1.0, 1.0, 1.0, 0.7]}),
        ([3.1], {"se": 2.0}),
        ([1, 5, 6], {"trials": 8}),
        ([1, 7, 4, 11, 29], {"trials": [8, 8, 8, 40, 40]}),
    ],
    ids=["its own mirror image", "one", "half, one tail longer", "half, its own mirror image"],
)
def test_tables_without_a_side_may_be_turned_round_too(x: list[float], known: Any) -> None:
    """As many successes as failures, or effects that no other direction tells apart."""
    end = 1.0 if "trials" in known else 0.0
    about = np.broadcast_to(np.asarray(next(iter(known.values())), dtype=np.float64), len(x))
    tally = Tally.of(x, **known)
    other = Tally.of(end * about - np.array(x), **known)
    here, there = (PriorformerNetwork(random_weights()).prior(each) for each in (tally, other))
    np.testing.assert_allclose(there.atoms, (end - here.atoms)[::-1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(there.weights, here.weights[::-1], rtol=1e-9)


def test_many_distinct_effects_are_read_in_bins_and_answered_as_they_are() -> None:
    rng, one = np.random.default_rng(0), PriorformerNetwork(zoo.load("priorformer"))
    theta, errors = rng.normal(0.0, 2.0, 3000), np.exp(rng.uniform(-0.7, 0.7, 3000))
    tally = Tally.of(rng.normal(theta, errors), se=errors)
    binned = bayes_rule(one.prior(tally), tally.x, se=tally.known)
    exactly = PriorformerNetwork(zoo.load("priorformer"))
    x, known, origin, scale = tally.channel.reduced(tally.x, tally.known, tally.multiplicity)
    on = Grid.of(tally.channel, x, known, tally.multiplicity)
    prior = UncertainPrior(origin + scale * on.theta, exactly.read(on, x, known, tally.multiplicity), tally.channel)
    difference = binned - bayes_rule(prior, tally.x, se=tally.known)
    regret = np.mean((binned - bayes_rule(NormalPrior(0.0, 2.0), tally.x, se=tally.known)) ** 2)
    assert np.mean(difference**2) < 0.2 * regret


def test_splitting_the_exposures_slightly_moves_the_answer_slightly() -> None:
    """Continuity: the answer for nearly equal exposures is nearly that for equal ones."""
    rng = np.random.default_rng(3)
    counts = rng.poisson(rng.gamma(2.0, 3.0, 300))
    bare, split = (network().prior(Tally.of(counts, t)) for t in (None, 1 + 1e-7 * rng.standard_normal(300)))
    x = np.arange(20)
    np.testing.assert_allclose(bayes_rule(bare, x), bayes_rule(split, x), rtol=1e-4)


@pytest.mark.parametrize(
    "tally",
    [
        Tally([0], [1]),
        Tally([7], [1]),
        Tally([0], [10**9]),
        Tally([0, 1], [10**9 - 1, 1]),
        Tally([100_000], [3]),
        Tally([0, 100_000], [1, 1]),
        Tally([0, 1, 2, 60], [10**8, 10**7, 10**6, 1]),
        Tally([1, 4], [1, 1], [1e-6, 1e6]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_tallies_get_a_prior(tally: Tally, dtype: type) -> None:
    prior = PriorformerNetwork(random_weights(), dtype).prior(tally)
    assert prior.weights.sum() == pytest.approx(1)
    assert np.isfinite(bayes_rule(prior, tally.values, 1.0 if tally.exposure is None else tally.exposure)).all()


def test_single_and_double_precision_agree() -> None:
    tally, x = gamma_tally(2048, np.random.default_rng(4)), np.arange(30)
    single, double = (PriorformerNetwork(random_weights(), dtype).prior(tally) for dtype in (np.float32, np.float64))
    np.testing.assert_allclose(bayes_rule(single, x), bayes_rule(double, x), rtol=1e-4)


def test_counts_beyond_any_grid_are_refused() -> None:
    with pytest.raises(InputError, match="too wide a range"):
        network().prior(Tally([0, 2**52], [1, 1]))


def test_weights_survive_a_file(tmp_path: object) -> None:
    path = f"{tmp_path}/own.safetensors"
    save(path, random_weights())
    again = load(path)
    assert again.config == CONFIG
    assert all(np.array_equal(again.arrays[name], array) for name, array in random_weights().arrays.items())


def test_config_round_trips_and_refuses_strangers() -> None:
    assert PriorformerConfig.from_description(CONFIG.describe()) == CONFIG
    with pytest.raises(InputError, match="unknown"):
        PriorformerConfig.from_description({"depth": 3})
    with pytest.raises(InputError, match="heads"):
        PriorformerConfig(width=10, heads=4)
