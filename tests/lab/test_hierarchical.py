"""Hierarchical Bayes: closed forms of small worlds, the power of the likelihood, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ebformer.errors import InputError
from ebformer.lab.hierarchical import Averaged, Hierarchical, averaged
from ebformer.lab.tempering import tempered
from ebformer.lab.uniform_numbers import Script, dimensions, priors_of
from ebformer.lab.worlds import GammaWorld, Multinomial, Neural, PaperThetaMax, PointMass, Universal, World
from ebformer.lab.worlds.effects import Bells
from ebformer.lab.worlds.rates import Few
from ebformer.lab.worlds.universal import Universals
from ebformer.tally import Tally

FEW = Tally([0, 1, 2, 3, 7, 9], [9, 6, 2, 1, 4, 3])


def by_particles(world: World, tally: Tally, power: float = 1.0, particles: int = 250) -> Averaged:
    looks = [rules for _, rules in tempered(world, tally, 64, particles, [power], 8, np.random.default_rng(0))]
    return averaged(np.concatenate(looks))


@pytest.mark.parametrize("power", [1.0, 0.5])
@pytest.mark.parametrize("world", [Universal(20.0, size=1), PointMass(20.0)], ids=["gibbs", "tempering"])
def test_one_atom_anywhere_has_a_truncated_gamma_posterior(world: World, power: float) -> None:
    tally = Tally.of([3, 5, 4, 6, 2, 4])
    rule = Hierarchical(world, priors=4000, power=power)(tally)
    after = stats.gamma(power * 24 + 1, scale=1 / (power * 6))
    exact = after.expect(lambda theta: theta, lb=0, ub=20.0, conditional=True)
    assert rule.convergence.reached
    assert np.all(np.abs(rule.estimates[[0, 4, 9]] - exact) < 4 * rule.errors[[0, 4, 9]] + 1e-3)


def test_gibbs_agrees_with_an_integral_over_the_weight_of_two_atoms() -> None:
    tally = Tally([0, 1, 2], [30, 8, 2])
    rule = Hierarchical(Multinomial(0.2), priors=4000)(tally)
    atoms, w = np.array([0.1, 0.2]), (np.arange(2000) + 0.5)[:, None] / 2000
    mixed = np.concatenate([w, 1 - w], axis=1)
    p = stats.poisson.pmf(np.arange(3)[:, None], atoms)
    f = mixed @ p.T
    weight = np.exp(np.log(f) @ tally.multiplicity)
    exact = weight @ ((mixed * atoms) @ p.T / f) / weight.sum()
    assert np.all(np.abs(rule.estimates[:3] - exact) < 4 * rule.errors[:3] + 1e-6)


@pytest.mark.parametrize("power", [1.0, 0.6])
def test_gibbs_and_tempering_agree(power: float) -> None:
    world = Universal(10.0, size=3)
    gibbs = Hierarchical(world, priors=4000).averages(FEW, [power])[power]
    found = by_particles(world, FEW, power)
    at = FEW.values
    assert np.all(np.abs(gibbs.estimates - found.estimates)[at] < 4 * np.hypot(gibbs.errors, found.errors)[at] + 0.02)
    assert found.spread[at] == pytest.approx(gibbs.spread[at], rel=0.5)


def test_tempering_agrees_with_weighed_draws_of_the_world() -> None:
    world, tally = GammaWorld(10.0), Tally.of(np.random.default_rng(3).poisson(2.0, 60))
    priors = world.draw_many(np.random.default_rng(5), 20_000)
    p = [stats.poisson.pmf(x, priors.atoms) * priors.weights for x in tally.values]
    f = np.array([each.sum(axis=1) for each in p])
    rules = np.array([(each * priors.atoms).sum(axis=1) for each in p]) / f
    weight = np.exp(tally.multiplicity @ np.log(f) - np.max(tally.multiplicity @ np.log(f)))
    exact, found = rules @ weight / weight.sum(), by_particles(world, tally)
    spread = (rules - exact[:, None]) ** 2 @ weight / weight.sum()
    assert found.estimates[tally.values] == pytest.approx(exact, abs=4 * float(np.sqrt(spread.max() / 60)))
    assert found.spread[tally.values].mean() == pytest.approx(spread.mean(), rel=0.5)


@pytest.mark.parametrize("world", [Neural(), Neural(PaperThetaMax()), GammaWorld(), Universals(), Multinomial(2.0)])
def test_uniform_numbers_make_priors_as_a_generator_does(world: World) -> None:
    numbers = np.random.default_rng(0).random((400, dimensions(world)))
    made, drawn = priors_of(world, numbers), world.draw_many(np.random.default_rng(1), 400)
    assert made.weights.sum(axis=1) == pytest.approx(np.ones(400))
    means = [(each.atoms * each.weights).sum(axis=1) / each.theta_max.max() for each in (made, drawn)]
    assert stats.ks_2samp(*means).pvalue > 1e-4
    again = priors_of(world, numbers[:7])
    assert again.atoms == pytest.approx(made.atoms[:7, : again.atoms.shape[1]])


def test_what_cannot_be_averaged_is_refused() -> None:
    with pytest.raises(InputError, match="not of normal data"):
        Hierarchical(Bells())
    with pytest.raises(InputError, match="at least 20 priors"):
        Hierarchical(Universal(), priors=5)
    with pytest.raises(InputError, match="one by one"):
        Hierarchical(Few(), priors=40)(FEW)
    with pytest.raises(InputError, match=r"by Generator\.gamma"):
        _ = Script(np.empty((1, 0))).gamma
    assert Script(np.full((2, 3), 0.5)).integers(8, size=2).tolist() == [4, 4]


def test_gibbs_finds_the_atoms_of_many_units() -> None:
    rng = np.random.default_rng(4)
    tally = Tally.of(rng.poisson(np.repeat([2.0, 30.0], 1500)))
    rule = Hierarchical(Universal(50.0, size=4), priors=400)(tally)
    assert rule([2, 30]) == pytest.approx([2.0, 30.0], rel=0.1)
