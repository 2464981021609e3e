"""Bayes' theorem: closed forms, the Tweedie-Robbins identity, and two ways to the same number."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import roots_legendre

from ebformer.bayes.marginal import bayes_rule, likely, log_marginal, mmse, posterior
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.errors import InputError
from ebformer.prior import GridPrior, Prior

GAMMAS = [GammaPrior(0.3, 0.1), GammaPrior(2.0, 1.0), GammaPrior(40.0, 3.0)]


@st.composite
def priors(draw: st.DrawFn) -> Prior:
    atoms = draw(st.lists(st.floats(0, 60), min_size=1, max_size=8))
    weights = np.array(draw(st.lists(st.floats(0.01, 1), min_size=len(atoms), max_size=len(atoms))))
    return Prior(atoms, weights / weights.sum())


@pytest.mark.parametrize("prior", GAMMAS)
@pytest.mark.parametrize("t", [0.5, 1.0, 4.0])
def test_gamma_poisson_closed_form(prior: GammaPrior, t: float) -> None:
    x = np.arange(60)
    after = posterior(prior, x, t)
    assert bayes_rule(prior, x, t) == pytest.approx((prior.shape + x) / (prior.rate + t), rel=1e-12)
    assert after.variance == pytest.approx((prior.shape + x) / (prior.rate + t) ** 2, rel=1e-12)
    assert log_marginal(prior, x, t) == pytest.approx(
        stats.nbinom.logpmf(x, prior.shape, prior.rate / (prior.rate + t)), rel=1e-10
    )


@pytest.mark.parametrize("prior", GAMMAS[1:])
def test_a_finely_quantised_gamma_agrees_with_the_closed_form(prior: GammaPrior) -> None:
    # Two thousand Gauss-Legendre nodes integrate whatever is as smooth as this density to rounding.
    nodes, weights = roots_legendre(2000)
    end = stats.gamma.isf(1e-18, prior.shape, scale=1 / prior.rate)
    theta = (nodes + 1) / 2 * end
    w = weights * stats.gamma.pdf(theta, prior.shape, scale=1 / prior.rate)
    fine = Prior(theta, w / w.sum())
    x = np.arange(30)
    assert bayes_rule(fine, x, 2.0) == pytest.approx(bayes_rule(prior, x, 2.0), rel=1e-10)
    assert log_marginal(fine, x) == pytest.approx(log_marginal(prior, x), abs=1e-10)
    assert mmse(fine) == pytest.approx(mmse(prior), rel=1e-10)


@given(priors(), st.integers(0, 80))
def test_the_bayes_rule_is_a_ratio_of_marginals(prior: Prior, x: int) -> None:
    here, above = np.exp(log_marginal(prior, [x, x + 1]))
    if here > 1e-250:
        assert bayes_rule(prior, x) == pytest.approx((x + 1) * above / here, rel=1e-9, abs=1e-12)


@given(priors(), st.floats(0.1, 10), st.integers(0, 80))
def test_exposure_is_a_change_of_units(prior: Prior, t: float, x: int) -> None:
    assert t * bayes_rule(prior, x, t) == pytest.approx(bayes_rule(prior.scaled(t), x), rel=1e-9, abs=1e-12)


@given(priors())
def test_the_bayes_rule_is_monotone_and_inside_the_support(prior: Prior) -> None:
    answers = bayes_rule(prior, np.arange(200))
    assert np.all(np.diff(answers) >= -1e-12 * answers[1:])
    assert answers.min() >= prior.atoms[0] * (1 - 1e-12)
    assert answers.max() <= prior.atoms[-1] * (1 + 1e-12)


@given(priors())
def test_the_marginal_is_a_distribution_and_the_tower_rule_holds(prior: Prior) -> None:
    x = np.concatenate([x for x, _ in likely(prior)])
    f = np.exp(log_marginal(prior, x))
    assert f.sum() == pytest.approx(1, abs=1e-12)
    assert f @ bayes_rule(prior, x) == pytest.approx(prior.mean, rel=1e-11, abs=1e-12)
    # Var theta = E Var[theta | x] + Var E[theta | x].
    spread = f @ (bayes_rule(prior, x) - prior.mean) ** 2
    assert mmse(prior) + spread == pytest.approx(prior.variance, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("prior", [*GAMMAS, Prior([0.0, 5.0, 6.0], [0.3, 0.5, 0.2])])
@pytest.mark.parametrize("t", [0.2, 7.0])
def test_the_mmse_at_an_exposure_is_that_of_scaled_rates(prior: Prior | GammaPrior, t: float) -> None:
    assert t**2 * mmse(prior, t) == pytest.approx(mmse(prior.scaled(t)), rel=1e-10)


def test_mmse_is_what_the_oracle_pays() -> None:
    prior = Prior([1.0, 5.0, 12.0], [0.3, 0.5, 0.2])
    rng = np.random.default_rng(0)
    theta = prior.draw(400_000, rng)
    loss = (theta - bayes_rule(prior, rng.poisson(theta))) ** 2
    assert mmse(prior) == pytest.approx(loss.mean(), abs=5 * loss.std() / np.sqrt(loss.size))


def test_a_point_mass_learns_nothing() -> None:
    prior = Prior([3.0], [1.0])
    assert bayes_rule(prior, [0, 3, 10**6]).tolist() == [3.0, 3.0, 3.0]
    assert mmse(prior) == 0.0


def test_an_impossible_observation_is_answered_by_the_largest_atom() -> None:
    prior = Prior([0.0], [1.0])
    assert bayes_rule(prior, [0, 5]).tolist() == [0.0, 0.0]
    assert log_marginal(prior, [0, 5]).tolist() == [0.0, -np.inf]


def test_tiny_rates_are_told_apart() -> None:
    assert bayes_rule(Prior([1e-18, 1e-17], [0.5, 0.5]), 1) == pytest.approx((1e-36 + 1e-34) / 1.1e-17, rel=1e-12)


@pytest.mark.parametrize("entries", [1, 1000])
def test_large_arrays_are_answered_in_blocks_with_the_same_numbers(
    entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    prior = Prior(np.linspace(0, 9, 40), np.full(40, 1 / 40))
    x, t = np.arange(30).reshape(5, 6), np.linspace(0.5, 2, 6)
    whole, error, counts = bayes_rule(prior, x, t), mmse(prior), np.concatenate([x for x, _ in likely(prior)])
    marginal = log_marginal(prior, x, t)
    for bound in ("ENTRIES", "CACHED"):
        monkeypatch.setattr(f"ebformer.bayes.marginal.{bound}", entries)
    blocks = [x for x, _ in likely(prior)]
    assert max(map(len, blocks)) <= max(1, entries // 40)
    assert np.array_equal(np.concatenate(blocks), counts)
    np.testing.assert_allclose(bayes_rule(prior, x, t), whole, rtol=1e-14)
    np.testing.assert_allclose(log_marginal(prior, x, t), marginal, rtol=1e-14)
    assert mmse(prior) == pytest.approx(error, rel=1e-13)


@pytest.mark.parametrize("kind", [Prior, GridPrior, GammaPrior])
def test_many_units_are_answered_as_each_would_be_alone(kind: type[Prior] | type[GammaPrior]) -> None:
    """Whatever the shapes of the units and of what is asked about each."""
    prior = GammaPrior(2.0, 0.5) if kind is GammaPrior else kind([0.0, 0.5, 2.0, 8.0], [0.1, 0.2, 0.5, 0.2])
    x, t = np.array([[0, 1, 2], [5, 9, 20]]), np.array([0.5, 1.0, 3.0])
    levels, rates = np.array([[0.0, 0.05], [0.3, 0.99]]), np.array([-0.3, 0.0, 0.4, 2.0, 9.0])
    after = posterior(prior, x, t)
    for at in np.ndindex(x.shape):
        one = posterior(prior, x[at], t[at[1]])
        assert after.mean[at] == pytest.approx(one.mean, rel=1e-14)
        assert after.variance[at] == pytest.approx(one.variance, rel=1e-12)
        assert after.quantile(levels)[at] == pytest.approx(np.vectorize(one.quantile)(levels), rel=1e-12)
        assert after.exceeds(rates)[at] == pytest.approx(np.vectorize(one.exceeds)(rates), rel=1e-12)
        assert np.array(after.interval(0.8))[:, *at] == pytest.approx(np.array(one.interval(0.8)), rel=1e-12)


@given(priors(), st.integers(0, 40), st.floats(0.001, 0.999))
def test_a_quantile_is_where_the_distribution_reaches_the_level(prior: Prior, x: int, q: float) -> None:
    after = posterior(prior, x)
    at = after.quantile(q)
    assert 1 - after.exceeds(at) >= q * (1 - 1e-12)
    assert 1 - after.exceeds(np.nextafter(at, -1)) <= q + 1e-12 or at == prior.atoms[0]


@pytest.mark.parametrize("prior", [*GAMMAS, Prior([0.5, 2.0, 8.0], [0.2, 0.5, 0.3])])
def test_the_parts_of_a_posterior_agree(prior: Prior | GammaPrior) -> None:
    x = np.array([[0, 1, 2], [5, 9, 20]])
    after = posterior(prior, x, 1.5)
    draws = after.sample(50_000, np.random.default_rng(0))
    assert draws.shape == (2, 3, 50_000)
    error = np.sqrt(after.variance / draws.shape[-1])
    assert np.all(np.abs(draws.mean(axis=-1) - after.mean) < 5 * error + 1e-12)
    low, high = after.interval(0.9)
    assert low.shape == high.shape == (2, 3)
    inside = (draws >= low[..., None]) & (draws <= high[..., None])
    assert np.all(inside.mean(axis=-1) > 0.9 - 0.01)
    assert after.quantile([0.1, 0.5]).shape == after.exceeds([1.0, 2.0]).shape == (2, 3, 2)


def test_a_gamma_posterior_is_a_gamma_distribution() -> None:
    after = posterior(GammaPrior(2.0, 1.0), 3, 2.0)
    density = stats.gamma(5.0, scale=1 / 3.0)
    assert after.quantile(0.3) == pytest.approx(density.ppf(0.3), rel=1e-12)
    assert after.exceeds(1.7) == pytest.approx(integrate.quad(density.pdf, 1.7, np.inf)[0], rel=1e-9)


@pytest.mark.parametrize("q", [-0.1, 1.5, float("nan")])
@pytest.mark.parametrize("prior", [GAMMAS[0], Prior([1.0], [1.0])])
def test_levels_outside_the_unit_interval_are_refused(prior: Prior | GammaPrior, q: float) -> None:
    with pytest.raises(InputError, match="give a probability between 0 and 1"):
        posterior(prior, 1).quantile(q)


@pytest.mark.parametrize("prior", [GAMMAS[0], Prior([0.0, 1.0], [0.5, 0.5])])
def test_every_rate_exceeds_a_negative_one_and_none_is_compared_with_nan(prior: Prior | GammaPrior) -> None:
    with pytest.raises(InputError, match="the number to exceed is 'one': give numbers"):
        posterior(prior, 1).exceeds("one")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the level of a quantile is 'half': give numbers"):
        posterior(prior, 1).quantile("half")  # type: ignore[arg-type]
    assert posterior(prior, [0, 3]).exceeds([-1.0, -np.inf]).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    with pytest.raises(InputError, match="to exceed is nan"):
        posterior(prior, 1).exceeds([1.0, np.nan])


@pytest.mark.parametrize("prior", [GAMMAS[0], Prior([1.0, 3.0], [0.5, 0.5])])
@pytest.mark.parametrize("exposure", [0.0, -1.0, np.nan])
def test_the_mmse_needs_an_exposure(prior: Prior | GammaPrior, exposure: float) -> None:
    with pytest.raises(InputError, match="exposure is"):
        mmse(prior, exposure)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, float("nan"), float(np.nextafter(1, 0))])
def test_interval_levels_are_checked(level: float) -> None:
    with pytest.raises(InputError, match="level of an interval"):
        posterior(GAMMAS[0], 1).interval(level)


@pytest.mark.parametrize("prior", [GammaPrior(2.0, 1.0), Prior([1.0, 2.0], [0.5, 0.5])])
def test_what_cannot_be_drawn_is_refused(prior: Prior | GammaPrior) -> None:
    after, rng = posterior(prior, [1, 2]), np.random.default_rng(0)
    for n in (-1, 2.5):
        with pytest.raises(InputError, match=f"the number of draws is {n}: give a whole number"):
            after.sample(n, rng)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="draws need a generator of random numbers, not 0: give"):
        after.sample(3, 0)  # type: ignore[arg-type]
    assert after.sample(0, rng).shape == (2, 0)


@pytest.mark.parametrize(
    ("x", "t", "complaint"),
    [
        (-1, 1.0, "x is -1"),
        (1.5, 1.0, "x is 1.5"),
        (float("nan"), 1.0, "x is nan"),
        ("many", 1.0, "must be numbers"),
        (1, 0.0, "exposure is 0"),
        (1, float("inf"), "exposure is inf"),
        ([1, 2], [1.0, 2.0, 3.0], "shapes"),
        (np.ma.array([1, 2], mask=[False, True]), 1.0, "x has masked entries"),
        (1, np.ma.array([1.0, 2.0], mask=[False, True]), "exposure has masked entries"),
    ],
)
def test_what_is_not_an_observation_is_named(x: object, t: object, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        bayes_rule(GAMMAS[0], x, t)  # type: ignore[arg-type]


def test_the_marginal_bears_an_atom_of_vanishing_weight_at_the_peak():
    # Early-stopped EM leaves weights near 1e-310 on atoms that fit some x best.
    alone = log_marginal(Prior([9.0], [1.0]), [10])
    np.testing.assert_allclose(log_marginal(Prior([9.0, 10.0], [1.0, 1e-310]), [10]), alone, rtol=1e-15)


@given(priors(), st.integers(0, 80), st.floats(0.01, 0.99))
def test_an_interval_on_a_grid_holds_whole_cells_of_at_least_its_level(prior: Prior, x: int, level: float) -> None:
    grid = GridPrior(prior.atoms, prior.weights)
    after, plain = posterior(grid, x), posterior(prior, x)
    low, high = after.interval(level)
    whole = (grid.edges[:-1] >= low) & (grid.edges[1:] <= high)
    mass = [float(plain.exceeds(c) - plain.exceeds(d)) for c, d in zip([-1.0, *prior.atoms], prior.atoms, strict=False)]
    assert np.array(mass)[whole].sum() >= level - 1e-9
    at_atoms = plain.interval(level)
    assert low <= at_atoms[0]
    assert at_atoms[1] <= high
    assert after.mean == plain.mean


@given(priors(), st.integers(0, 80), st.floats(0.001, 0.999))
def test_what_an_atom_of_a_grid_bears_is_spread_over_its_cell(prior: Prior, x: int, q: float) -> None:
    """P(theta > c) runs through the plain one's values at the edges of cells, straight in between; quantiles invert it.

    P(SMR > 1) must not depend on which side of 1 the nearest point of the grid happens to lie.
    """
    grid = GridPrior(prior.atoms, prior.weights)
    assume(grid.atoms[0] > 0)
    assume(len(grid) == 1 or np.diff(np.sqrt(grid.atoms)).min() > 1e-3)  # narrower cells hold few numbers
    after, plain = posterior(grid, x), posterior(prior, x)
    between = (grid.edges[1:] + grid.edges[:-1]) / 2
    assert after.exceeds(grid.edges[1:]) == pytest.approx(plain.exceeds(grid.atoms), abs=1e-9)
    if len(grid) > 1:
        ends = after.exceeds(grid.edges)
        assert after.exceeds(between) == pytest.approx((ends[1:] + ends[:-1]) / 2, abs=1e-9)
        assert 1 - after.exceeds(after.quantile(q)) == pytest.approx(q, abs=1e-9)
    low, high = after.interval(0.9)
    assert low <= after.quantile(0.05) * (1 + 1e-9)
    assert after.quantile(0.95) <= high * (1 + 1e-9)


@pytest.mark.parametrize("kind", [Prior, GridPrior])
def test_no_probability_exceeds_one(kind: type[Prior]) -> None:
    """Hundreds of weights add up to 1 only up to rounding."""
    weights = np.random.default_rng(0).random(400)
    after = posterior(kind(np.linspace(0.5, 20.0, 400), weights / weights.sum()), np.arange(100))
    assert (after.weights.sum(axis=-1) > 1).any()
    assert after.exceeds([-1.0, 0.1]).max() <= 1


def test_a_rate_of_zero_stays_a_point_of_a_grid() -> None:
    """P(theta > 0) is the share of units that can have events at all."""
    after, plain = (posterior(kind([0.0, 0.5, 1.0], [0.6, 0.2, 0.2]), [0, 1]) for kind in (GridPrior, Prior))
    assert after.exceeds([0.0, 1e-6]) == pytest.approx(plain.exceeds([0.0, 1e-6]))
    assert after.quantile(0.5)[0] == 0
    draws = after.sample(10_000, np.random.default_rng(0))
    assert np.mean(draws > 0, axis=-1) == pytest.approx(after.exceeds(0.0), abs=0.02)


def test_a_grid_of_one_point_is_a_point() -> None:
    after = posterior(GridPrior([2.0], [1.0]), [0, 7])
    assert after.exceeds([1.7, 2.0, 2.3]).tolist() == [[1.0, 0.0, 0.0]] * 2
    assert after.quantile([0.0, 0.4, 1.0]).tolist() == [[2.0] * 3] * 2
    assert after.sample(3, np.random.default_rng(0)).tolist() == [[2.0] * 3] * 2
    assert [end.tolist() for end in after.interval(0.9)] == [[2.0, 2.0]] * 2


def test_draws_from_a_grid_follow_its_distribution_function() -> None:
    after = posterior(GridPrior([0.5, 1.0, 2.0, 4.0], [0.2, 0.3, 0.3, 0.2]), 1)
    draws = after.sample(20_000, np.random.default_rng(0))
    assert stats.kstest(draws, lambda c: 1 - after.exceeds(c)).pvalue > 0.01


@given(priors(), st.floats(0.1, 10))
def test_the_cells_of_a_grid_touch_hold_their_atoms_and_scale_with_the_rates(prior: Prior, factor: float) -> None:
    grid = GridPrior(prior.atoms, prior.weights)
    assert np.all(grid.edges[:-1] <= grid.atoms * (1 + 1e-12))
    assert np.all(grid.atoms <= grid.edges[1:] * (1 + 1e-12))
    scaled = grid.scaled(factor)
    assert isinstance(scaled, GridPrior)
    assert scaled.edges == pytest.approx(factor * grid.edges, rel=1e-9, abs=1e-12)
    assert grid == GridPrior(prior.atoms, prior.weights) != prior != grid  # what is equal has equal intervals
