"""Moves among priors: what was drawn given a table stays drawn given the table (Geweke 2004, joint distributions)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ebformer.distributions import Floats
from ebformer.lab.arena.losses import Truth
from ebformer.lab.hierarchical import Hierarchical, averaged
from ebformer.lab.moves import metropolis, networks_drawn_again, priors_drawn_again
from ebformer.lab.particles import Particles, Seen
from ebformer.lab.uniform_numbers import dimensions, priors_of
from ebformer.lab.worlds import GammaWorld, Neural, PaperThetaMax, PointMass, Universal, World
from ebformer.tally import Tally

UNITS = 40


def means(world: World, numbers: Floats) -> Floats:
    priors = priors_of(world, numbers)
    return np.asarray((priors.atoms * priors.weights).sum(axis=1))


@pytest.mark.parametrize("move", [metropolis, priors_drawn_again, networks_drawn_again])
def test_priors_that_move_keep_their_joint_law_with_the_table(move: object) -> None:
    world, rng = Neural(20.0), np.random.default_rng(8)
    before, after, seen_mean, still = [], [], [], 0
    for _ in range(250):
        numbers = rng.random((1, dimensions(world)))
        tally = Truth.of(priors_of(world, numbers)[0]).draw(UNITS, rng)
        seen = Seen(tally, 64, 20.0)
        new = move(world, seen, Particles.of(world, seen, numbers), 1.0, rng).numbers  # type: ignore[operator]
        still += bool(np.array_equal(new, numbers))
        before.append(means(world, numbers)[0])
        after.append(means(world, new)[0])
        seen_mean.append(tally.mean)
    assert still < 150
    assert stats.ks_2samp(before, after).pvalue > 1e-3
    squared = (np.array(after) - seen_mean) ** 2 - (np.array(before) - seen_mean) ** 2
    assert abs(squared.mean()) < 4 * squared.std() / np.sqrt(squared.size)


def test_networks_are_drawn_again_where_every_particle_has_its_own_end() -> None:
    world, rng = Neural(PaperThetaMax()), np.random.default_rng(2)
    seen = Seen(Tally([0, 3, 9], [20, 10, 5]), 64, 500.0)
    start = Particles.of(world, seen, rng.random((30, dimensions(world))))
    now = networks_drawn_again(world, seen, start, 1.0, rng)
    assert np.array_equal(now.numbers[:, :4], start.numbers[:, :4])
    assert now.evidence.mean() > start.evidence.mean()


@pytest.mark.parametrize("world", [PointMass(20.0), Universal(20.0, size=1)], ids=["moves", "gibbs"])
def test_priors_that_the_true_one_moves_to_have_the_law_given_the_table(world: World) -> None:
    tally, rng = Tally.of([3, 5, 4, 6, 2, 4]), np.random.default_rng(0)
    after, ends = stats.gamma(25, scale=1 / 6), 20.0
    start = after.rvs(random_state=rng) / ends
    numbers = np.concatenate([[[start]], np.full((1, dimensions(world) - 1), 0.5)], axis=1)
    drawn = averaged(Hierarchical(world, 8000).draws_from(numbers, tally))
    exact = after.expect(lambda theta: theta, lb=0, ub=ends, conditional=True)
    assert drawn.estimates[4] == pytest.approx(exact, abs=5 * float(drawn.errors[4]) + 0.01)
    assert drawn.spread[4] == pytest.approx(after.var(), rel=0.2)


def test_the_two_ways_to_priors_given_a_table_agree() -> None:
    world, rng = GammaWorld(10.0), np.random.default_rng(1)
    numbers = rng.random((1, dimensions(world)))
    tally = Truth.of(priors_of(world, numbers)[0]).draw(200, rng)
    method = Hierarchical(world, 2400)
    one, two = averaged(method.draws_from(numbers, tally)), method.averages(tally, [1.0])[1.0]
    at = tally.values
    assert one.estimates[at] == pytest.approx(two.estimates[at], abs=4 * float(np.sqrt(one.spread[at].max() / 50)))
    assert one.spread[at].mean() == pytest.approx(two.spread[at].mean(), rel=0.4)
