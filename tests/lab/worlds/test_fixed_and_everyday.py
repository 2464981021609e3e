"""The other worlds against closed forms."""

import numpy as np
import pytest
from scipy import stats

from ebformer.bayes.marginal import bayes_rule
from ebformer.errors import InputError
from ebformer.estimators.least_favourable import least_favourable
from ebformer.lab.worlds import (
    Dirichlet,
    FewAtoms,
    GammaWorld,
    LeastFavourable,
    LogNormal,
    MixtureOfWorlds,
    Multinomial,
    Neural,
    PointMass,
    Priors,
    Universal,
    ZeroInflated,
    Zipf,
)
from ebformer.lab.worlds.everyday import by_cells
from ebformer.prior import Prior


def test_multinomial_has_the_published_atoms_and_uniform_weights():
    priors = Multinomial(theta_max=50.0).draw_many(np.random.default_rng(0), 2000)
    assert priors.atoms.shape == (2000, 500)
    assert priors.atoms[0] == pytest.approx(np.linspace(0.1, 50, 500), rel=1e-12)
    # A coordinate of Dirichlet(1, ..., 1) in 500 dimensions has mean 1/500 and variance 499 / (500^2 501).
    squares = (priors.weights - 1 / 500) ** 2
    assert squares.mean() == pytest.approx(499 / (500**2 * 501), rel=0.02)


def test_multinomial_with_random_ends_pads_with_empty_atoms():
    world = Multinomial()
    atoms, weights = world.sample(np.random.default_rng(0), np.array([1.0, 4.0]), 1)
    assert (weights > 0).sum(axis=1).tolist() == [10, 40]
    assert atoms[0, :10] == pytest.approx(np.linspace(0.1, 1.0, 10), rel=1e-12)
    short = Multinomial(theta_max=0.04).draw(np.random.default_rng(0))  # less than half of the way to the first atom
    assert (short.atoms.tolist(), short.weights.tolist()) == ([0.04], [1.0])


def test_universal_priors_have_atoms_anywhere_and_uniform_weights():
    priors = Universal(theta_max=50.0).draw_many(np.random.default_rng(0), 4000)
    assert priors.atoms.shape == (4000, 10)
    assert priors.atoms.mean() == pytest.approx(25.0, abs=4 * 50 / np.sqrt(12 * 40_000))
    # A coordinate of Dirichlet(1, ..., 1) in 10 dimensions has mean 1/10 and variance 9 / (100 * 11).
    assert ((priors.weights - 0.1) ** 2).mean() == pytest.approx(9 / 1100, rel=0.05)
    with pytest.raises(InputError, match="at least 1"):
        Universal(size=0)


def test_the_least_favourable_world_holds_that_prior_alone_at_every_end():
    ends = np.array([0.1, 4.0, 1.0])
    atoms, weights = LeastFavourable().sample(np.random.default_rng(0), ends, 1)
    for row, prior in enumerate(Priors(atoms, weights, ends)):
        assert prior == least_favourable(float(ends[row]))[0]


def test_mixture_draws_each_prior_whole_from_one_world_with_equal_chances():
    priors = MixtureOfWorlds(theta_max=50.0).draw_many(np.random.default_rng(0), 2000)
    widths = (priors.weights > 0).sum(axis=1)
    dirichlet = widths > Neural().draw_many(np.random.default_rng(0), 1).atoms.shape[1]
    assert set(widths[dirichlet]) == {Dirichlet().draw_many(np.random.default_rng(0), 1).atoms.shape[1]}
    assert dirichlet.mean() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(2000))


def test_cells_of_an_exponential_law_give_its_conjugate_bayes_rule():
    theta_max = np.array([60.0])
    atoms, weights = by_cells(lambda c: -np.expm1(-c), lambda c: -np.expm1(-c) - c * np.exp(-c), theta_max, fineness=8)
    x = np.arange(12)
    assert bayes_rule(Prior(atoms[0], weights[0]), x) == pytest.approx((x + 1) / 2, abs=2e-4)


def test_gamma_priors_have_the_moments_of_their_law():
    shape = np.exp(np.random.default_rng(7).uniform(np.log(0.5), np.log(8), 200))
    rng = np.random.default_rng(7)
    rng.random(200)
    mean = 50 * rng.uniform(0.02, 0.4, 200)
    priors = GammaWorld(theta_max=50.0).draw_many(np.random.default_rng(7), 200)
    whole = stats.gamma.sf(50.0, shape, scale=mean / shape) < 1e-9
    assert whole.sum() > 5
    for row in np.flatnonzero(whole):
        assert priors[row].mean == pytest.approx(mean[row], rel=1e-6)
        assert priors[row].variance == pytest.approx(mean[row] ** 2 / shape[row], rel=1e-3)


def test_lognormal_priors_have_the_moments_of_their_law():
    """The drawn medians and log-sds, cut off at theta_max: moments by scipy's integrals."""
    rng = np.random.default_rng(7)
    median = 50 * np.exp(rng.uniform(np.log(0.02), np.log(0.4), 12))
    sigma = rng.uniform(0.3, 1.5, 12)
    priors = LogNormal(theta_max=50.0).draw_many(np.random.default_rng(7), 12, fineness=16)
    for row, (scale, s) in enumerate(zip(median, sigma, strict=True)):
        below, below_square = (stats.lognorm(s, scale=scale).expect(lambda c, p=p: c**p, ub=50.0) for p in (1, 2))
        whole = stats.lognorm.cdf(50.0, s, scale=scale)
        assert priors[row].mean == pytest.approx(below / whole, rel=1e-6)
        assert priors[row].variance == pytest.approx(below_square / whole - (below / whole) ** 2, rel=1e-3)


def test_zero_inflated_priors_put_their_share_on_zero():
    priors = ZeroInflated().draw_many(np.random.default_rng(0), 500)
    assert (priors.atoms[:, 0] == 0).all()
    assert stats.kstest(priors.weights[:, 0], stats.uniform(0.2, 0.7).cdf).pvalue > 1e-3
    # What is not zero is a gamma prior, with mean uniform on [0.02, 0.4] theta_max where nothing is cut off.
    rest = (priors.atoms * priors.weights).sum(axis=1) / (1 - priors.weights[:, 0])
    assert np.quantile(rest, 0.5) == pytest.approx(0.21 * 50, rel=0.1)


def test_few_atoms_are_two_to_five_anywhere_and_in_any_proportion():
    """Uniform on the simplex of k groups, E sum w^2 = 2 / (k + 1)."""
    priors = FewAtoms(theta_max=1.0).draw_many(np.random.default_rng(0), 4000)
    count, square = (priors.weights > 0).sum(axis=1), (priors.weights**2).sum(axis=1)
    assert set(count) == {2, 3, 4, 5}
    for k in (2, 3, 4, 5):
        of_k = square[count == k]
        assert of_k.size == pytest.approx(1000, abs=4 * np.sqrt(750))
        assert of_k.mean() == pytest.approx(2 / (k + 1), abs=4 * of_k.std() / np.sqrt(of_k.size))
    assert stats.kstest(priors.atoms[:, 0], "uniform").pvalue > 1e-3


def test_a_point_mass_is_anywhere_on_the_interval():
    priors = PointMass(theta_max=4.0).draw_many(np.random.default_rng(0), 1000)
    assert stats.kstest(priors.atoms[:, 0] / 4, "uniform").pvalue > 1e-3


def test_zipf_ranks_fall_on_a_line_in_logarithms():
    atoms = Zipf(theta_max=50.0).draw_many(np.random.default_rng(0), 1).atoms[0]
    slope = np.diff(np.log(atoms)) / np.diff(np.log(np.arange(1, 1001)))
    assert np.ptp(slope) < 1e-9
    second = Zipf(theta_max=1.0).draw_many(np.random.default_rng(1), 1000).atoms[:, 1]
    assert stats.kstest(-np.log2(second), stats.uniform(0.5, 1.5).cdf).pvalue > 1e-3
