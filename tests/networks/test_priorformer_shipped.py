"""What the shipped priorformer promises its users."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ebformer.bayes.marginal import bayes_rule, log_marginal
from ebformer.estimators.npmle_em import NpmleEm
from ebformer.estimators.priorformer import Priorformer
from ebformer.lab.worlds.everyday import FewAtoms, GammaWorld
from ebformer.lab.worlds.neural import Neural
from ebformer.prior import Prior
from ebformer.tally import Tally

NETWORK = Priorformer()


@pytest.mark.parametrize("world", [Neural(), GammaWorld()], ids=lambda world: world.name)
@pytest.mark.parametrize("n", [200, 5000])
def test_closer_to_the_oracle_than_early_stopped_npmle(world: Neural | GammaWorld, n: int) -> None:
    """On fresh priors, in the mean; its card says by how much.

    This also guards the extent of the grid: a network whose grid ends elsewhere than in training loses tenfold.
    """
    rng = np.random.default_rng(n)
    regrets = []
    for _ in range(15):
        truth = world.draw(rng, 6)
        tally = Tally.of(rng.poisson(truth.draw(n, rng)))
        exact = bayes_rule(truth, tally.values)
        regrets.append(
            [tally.multiplicity @ (method(tally)(tally.values) - exact) ** 2 / n for method in (NETWORK, NpmleEm())]
        )
    own, other = np.mean(regrets, axis=0)
    assert own < 0.9 * other


@pytest.mark.parametrize("world", [Neural(), FewAtoms()], ids=lambda world: world.name)
def test_regret_keeps_falling_beyond_the_sizes_of_training(world: Neural | FewAtoms) -> None:
    """From 10^4 to 10^6 to 10^8 units, on the same priors: by half at least, and then further."""
    rng = np.random.default_rng(3)
    priors = [world.draw(rng, 6) for _ in range(6)]
    x = np.arange(150)
    regrets = []
    for n in (10**4, 10**6, 10**8):
        tallies = [Tally(x, rng.multinomial(n, normalised(np.exp(log_marginal(truth, x))))) for truth in priors]
        regrets.append(
            np.mean(
                [
                    tally.multiplicity @ (NETWORK(tally)(tally.values) - bayes_rule(truth, tally.values)) ** 2 / n
                    for truth, tally in zip(priors, tallies, strict=True)
                ]
            )
        )
    assert regrets[1] < regrets[0] / 2
    assert regrets[2] < regrets[1]


def normalised(mass: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(mass / mass.sum())


def test_one_outlier_widens_the_grid_and_leaves_ordinary_units_alone() -> None:
    rng = np.random.default_rng(7)
    counts = rng.poisson(rng.gamma(3.0, 2.0, 3000))
    x = np.arange(15)
    ordinary, outlier = NETWORK(Tally.of(counts))(x), NETWORK(Tally.of(np.append(counts, 900)))(x)
    np.testing.assert_allclose(outlier, ordinary, rtol=0.03, atol=0.05)


def test_a_common_rate_is_recovered() -> None:
    """With one rate for all units the answer is close to a point mass: estimates hardly depend on x."""
    x = np.random.default_rng(8).poisson(12.0, 20_000)
    estimates = NETWORK(Tally.of(x))(np.arange(6, 19))
    np.testing.assert_allclose(estimates, 12.0, atol=0.5)


@pytest.mark.parametrize("n", [10**4, 10**6, 10**9])
def test_rare_events_keep_their_mean(n: int) -> None:
    """The prior's mean agrees with the mean count, however rare the events."""
    events = int(3e-4 * n)
    prior = NETWORK(Tally([0, 1], [n - events, events])).prior
    assert isinstance(prior, Prior)
    assert abs(prior.mean - events / n) <= 1.01 * np.sqrt(max(events, 1)) / n


@pytest.mark.parametrize("events", [1, 3, 9])
@pytest.mark.parametrize("trials", [2.0, 10.0, 1000.0])
def test_a_handful_of_successes_keeps_its_mean(events: int, trials: float) -> None:
    """The mean agrees within a standard error, and where successes are the rule so does that of failures."""
    x = np.repeat([0.0, 1.0], [40 - events, events])
    few, many = (NETWORK(Tally.of(seen, trials=trials)).prior for seen in (x, trials - x))
    assert isinstance(few, Prior)
    assert isinstance(many, Prior)
    assert abs(40 * trials * few.mean - events) <= 1.01 * np.sqrt(events)
    assert few.mean == pytest.approx(1.0 - many.mean, rel=1e-3)


@pytest.mark.parametrize("trials", [None, 1.0, 50.0])
@pytest.mark.parametrize("n", [5, 20, 2000])
def test_where_nothing_happened_the_upper_end_is_near_the_exact_bound(n: int, trials: float | None) -> None:
    """Of one common theta, of which n zeros are as likely as 5 %: at least that, and less than twice as much."""
    words = {} if trials is None else {"trials": trials}
    _, upper = NETWORK(Tally.of(np.zeros(n), **words)).posterior(0, **words).interval(0.9)
    exact = np.log(20.0) / n if trials is None else 1.0 - 0.05 ** (1.0 / (n * trials))
    assert exact <= upper < 2.0 * exact


def test_exposure_is_used() -> None:
    """Units of large exposure are shrunk less, and both kinds land between their own rate and the mean of all."""
    rng = np.random.default_rng(9)
    theta = rng.gamma(4.0, 1.0, 4000)
    t = np.where(np.arange(4000) % 2, 0.2, 20.0)
    rule = NETWORK(Tally.of(rng.poisson(t * theta), t))
    rough, exact = rule([2], [0.2]), rule([200], [20.0])  # both show a rate of 10
    assert 4.0 < rough[0] < exact[0] < 10.2
    assert abs(exact[0] - 10.0) < 0.5 < abs(rough[0] - 10.0)
