"""What a probe can and cannot read, on activations whose content is known."""

import numpy as np

from ebformer.channel import Poisson
from ebformer.posterior import log_marginal
from ebformer.prior import Prior
from ebformer.probes.experiment import draw_tally, probe, transformer_activations, untrained
from ebformer.probes.linear import ceiling, fit, fit_linear, gelu, gelu_slope, normalised, r_squared
from ebformer.probes.targets import targets
from ebformer.tally import Tally
from ebformer.transformer.architecture import Architecture
from ebformer.worlds import FewAtoms


def test_the_linear_probe_solves_the_normal_equations():
    rng = np.random.default_rng(0)
    h, y, weight = rng.normal(size=(200, 6)), rng.normal(size=200), rng.random(200)
    residual = fit_linear(h, y, weight)(h) - y
    design = np.column_stack([normalised(h), np.ones(200)])
    assert np.abs(design.T @ (weight * residual)).max() < 1e-9


def test_the_slope_of_gelu_is_its_derivative():
    x = np.linspace(-4, 4, 41)
    assert np.allclose(gelu_slope(x), (gelu(x + 1e-6) - gelu(x - 1e-6)) / 2e-6, atol=1e-8)


def test_the_fitted_probe_is_no_worse_than_any_other_map_through_the_gelu():
    rng = np.random.default_rng(1)
    h, weight = rng.normal(size=(300, 5)), np.ones(300)
    y = np.abs(rng.normal(size=300)) + h[:, 0]
    best = fit(h, y, weight)
    error = np.mean((best(h) - y) ** 2)
    for _ in range(20):
        moved = best.slope + 0.05 * rng.normal(size=5)
        other = type(best)(moved, best.intercept + 0.05 * rng.normal(), best.scale, linear=False)
        assert np.mean((other(h) - y) ** 2) >= error - 1e-9


def test_what_is_not_in_the_activations_has_no_r_squared_on_fresh_rows():
    rng = np.random.default_rng(2)
    h, y, weight = rng.normal(size=(4000, 4)), rng.normal(size=4000) ** 2, np.ones(2000)
    found = fit(h[:2000], y[:2000], weight)
    assert abs(r_squared(found(h[2000:]), y[2000:], weight)) < 0.02


def test_the_conditional_mean_reaches_the_ceiling_and_nothing_passes_it():
    rng = np.random.default_rng(3)
    mean, spread, weight = rng.normal(size=500), rng.random(500), rng.random(500)
    bound = ceiling(mean, weight, spread)
    assert 0 < bound < 1
    for _ in range(10):
        assert r_squared(mean + 0.1 * rng.normal(size=500), mean, weight, spread) < bound


def test_the_moments_of_the_atom_weight_agree_with_drawn_units():
    prior, rng = Prior([1.0, 4.0, 9.0], [0.5, 0.3, 0.2]), np.random.default_rng(4)
    at = rng.choice(3, size=400_000, p=prior.weights)
    x = Poisson().draw(prior.atoms[at], rng)
    tally = Tally.of(x)
    found = targets(tally, prior)["atom weight"]
    for i in np.flatnonzero(tally.multiplicity > 5000):
        weights = prior.weights[at[x == tally.values[i]]]
        assert abs(weights.mean() - found.value[i]) < 0.01
        assert abs(weights.var() - found.spread[i]) < 0.005


def test_drawn_tallies_follow_the_marginal():
    prior = Prior([0.5, 6.0], [0.4, 0.6])
    tally = draw_tally(prior, 10**6, np.random.default_rng(5))
    assert tally.n == 10**6
    common = tally.multiplicity > 10_000
    expected = 10**6 * np.exp(log_marginal(prior, tally.values[common]))
    assert np.abs(tally.multiplicity[common] / expected - 1).max() < 0.05


def test_an_untrained_network_still_carries_x_but_knows_no_bayes_rule_better_than_x_does():
    network = untrained(Architecture(layers=2, width=16, heads=4), np.random.default_rng(0))
    found = probe("untrained", transformer_activations(network), FewAtoms(20.0), seed=0, n=256, tallies=40)
    assert {finding.layer for finding in found} == {0, 1, 2}
    best = {name: max(f.r2 for f in found if f.target == name) for name in ("value", "bayes")}
    assert best["value"] > 0.95
    assert best["bayes"] < best["value"]
