"""Laws that hold in every world."""

import numpy as np
import pytest

from ebformer.bayes.marginal import bayes_rule, log_marginal
from ebformer.channels import channel_named
from ebformer.errors import InputError
from ebformer.lab.worlds import MEASURING, WORLDS, Dirichlet, GammaWorld, LogNormal, Neural, PaperThetaMax
from ebformer.lab.worlds.rates import Edged

RANDOM = [world for name, world in WORLDS.items() if name != "least-favourable"]
UNBOUNDED = ("gammas", "tails", "groups", "alike")
OF_RATES = {name: world for name, world in WORLDS.items() if world.channel == "poisson"}
BOUNDED = {name: world for name, world in OF_RATES.items() if name not in UNBOUNDED}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_priors_are_distributions_on_the_domain_of_their_channel(world):
    low, high = channel_named(world.channel).domain
    priors = world(theta_max=min(7.5, high)).draw_many(np.random.default_rng(1), 20)
    assert priors.atoms.shape == priors.weights.shape
    assert priors.theta_max.tolist() == [min(7.5, high)] * 20
    assert np.isfinite(priors.atoms).all()
    assert low <= priors.atoms.min() <= priors.atoms.max() <= high
    assert priors.weights.min() >= 0
    assert priors.weights.sum(axis=1) == pytest.approx(np.ones(20), abs=1e-12)


@pytest.mark.parametrize("world", BOUNDED.values(), ids=BOUNDED)
def test_theta_max_bounds_the_rates_of_all_but_a_few_worlds(world):
    assert world(theta_max=7.5).draw_many(np.random.default_rng(1), 20).atoms.max() <= 7.5 * (1 + 1e-12)


@pytest.mark.parametrize("name", UNBOUNDED)
def test_tails_without_end_are_cut_where_one_unit_in_ten_thousand_is_left(name):
    """In a prior to measure on; the mean hardly moves unless the tail is so heavy that it has none."""
    world = WORLDS[name](theta_max=7.5)
    for seed in range(8):
        whole, cut = world.draw_many(np.random.default_rng(seed), 1)[0], world.draw(np.random.default_rng(seed))
        assert whole.weights[whole.atoms > cut.atoms[-1]].sum() <= 1.01e-4
        assert cut.weights[-1] >= 0.99e-4
        assert set(cut.atoms) <= set(whole.atoms)


def test_edges_matter():
    """An edged prior ends at theta_max and has mass there, or nothing about edges is learnt from it."""
    rng = np.random.default_rng(5)
    for top in PaperThetaMax(floor=0.05).draw(rng, 200):
        atoms, weights = Edged().shape(rng, top)
        assert atoms.max() == pytest.approx(top)
        assert weights[2 * np.sqrt(atoms) > 2 * np.sqrt(top) - 3].sum() > 0.05 * weights.sum()


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_no_prior_at_all_can_be_drawn_so_that_a_mixture_may_pass_a_world_by(world):
    assert len(world().draw_many(np.random.default_rng(0), 0)) == 0


@pytest.mark.parametrize("world", RANDOM)
def test_equal_seeds_give_equal_priors_bit_for_bit_and_others_differ(world):
    first, again, other = (world().draw(np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert first == again
    assert first != other
    many, more = (world().draw_many(np.random.default_rng(5), 8) for _ in range(2))
    assert np.array_equal(many.atoms, more.atoms)
    assert np.array_equal(many.weights, more.weights)


@pytest.mark.parametrize("world", [world for world in RANDOM if world in BOUNDED.values()])
def test_a_random_theta_max_stretches_the_priors(world):
    priors = world(theta_max=PaperThetaMax(floor=2.0)).draw_many(np.random.default_rng(2), 30)
    assert len(np.unique(priors.theta_max)) > 20
    assert (priors.atoms <= priors.theta_max[:, None] * (1 + 1e-12)).all()
    assert priors.weights.sum(axis=1) == pytest.approx(np.ones(30), abs=1e-12)


@pytest.mark.parametrize(
    ("world", "finer"),
    # A network has fineness^4 points, so that 24 stands for five times as many; elsewhere they grow in proportion.
    [(Neural, 24), (Dirichlet, 2 * MEASURING), (GammaWorld, 2 * MEASURING), (LogNormal, 2 * MEASURING)],
)
def test_twice_the_points_move_the_bayes_rule_by_less_than_a_thousandth(world, finer):
    for seed in range(8):
        prior = world(theta_max=50.0).draw(np.random.default_rng(seed))
        doubled = world(theta_max=50.0).draw(np.random.default_rng(seed), fineness=finer)
        assert len(doubled) > len(prior)
        x = np.arange(120)
        likely = x[np.exp(log_marginal(doubled, x)) > 1e-5]
        assert np.abs(bayes_rule(prior, likely) - bayes_rule(doubled, likely)).max() < 1e-3


def test_one_row_is_the_prior_it_came_from():
    priors = Dirichlet(theta_max=3.0).draw_many(np.random.default_rng(0), 4)
    prior = priors[2]
    assert prior.mean == pytest.approx(priors.atoms[2] @ priors.weights[2], rel=1e-12)
    assert [each.mean for each in priors][2] == prior.mean


def test_the_papers_theta_max():
    drawn = PaperThetaMax(floor=1.0).draw(np.random.default_rng(0), 200_000)
    assert drawn.min() == 1.0
    assert drawn.max() == 500.0
    for c in (10.0, 30.0, 50.0, 100.0, 250.0):
        # 3/4 Uniform(0, 200) + 1/8 Exponential(mean 50) + 1/8 Cauchy(50, 10)
        expected = 0.75 * min(c / 200, 1) - np.expm1(-c / 50) / 8 + (0.5 + np.arctan((c - 50) / 10) / np.pi) / 8
        assert np.mean(drawn <= c) == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 200_000))


def test_impossible_theta_max_is_refused():
    for bad in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(InputError, match="theta_max is"):
            Neural(theta_max=bad)
    with pytest.raises(InputError, match="floor"):
        PaperThetaMax(floor=0.0)
