"""What a probe can and cannot read, on activations whose content is known."""

import numpy as np
from scipy import optimize

from ebformer.lab.probes.experiment import probe, transformer_activations, untrained
from ebformer.lab.probes.linear import Prober, ceiling, gelu, gelu_slope, normalised, r_squared
from ebformer.lab.probes.targets import targets
from ebformer.lab.worlds import FewAtoms, Multinomial
from ebformer.networks.architecture import Architecture, stabilised
from ebformer.prior import Prior
from ebformer.tally import Tally


def test_the_linear_probe_solves_the_normal_equations():
    rng = np.random.default_rng(0)
    h, y, weight = rng.normal(size=(200, 6)), rng.normal(size=200), rng.random(200)
    residual = Prober.of(h, weight).fit_linear(y)(h) - y
    design = np.column_stack([normalised(h), np.ones(200)])
    assert np.abs(design.T @ (weight * residual)).max() < 1e-9


def test_the_slope_of_gelu_is_its_derivative():
    x = np.linspace(-4, 4, 41)
    assert np.allclose(gelu_slope(x), (gelu(x + 1e-6) - gelu(x - 1e-6)) / 2e-6, atol=1e-8)


def test_the_fitted_probe_is_no_worse_than_what_another_optimiser_finds():
    rng = np.random.default_rng(1)
    h, weight = rng.normal(size=(300, 5)), rng.random(300)
    y = np.abs(rng.normal(size=300)) + h[:, 0] - 1.0
    best = Prober.of(h, weight).fit(y)
    rows, share = normalised(h), weight / weight.sum()

    def residual(p):
        return np.sqrt(share) * (best.lowest + best.scale * gelu(rows @ p[:-1] + p[-1]) - y)

    error = share @ (best(h) - y) ** 2
    for _ in range(5):
        other = optimize.least_squares(residual, rng.normal(size=6))
        assert 2 * other.cost >= error - 1e-7


def test_collinear_activations_are_no_harder_than_their_span():
    rng = np.random.default_rng(6)
    h = rng.normal(size=(400, 3))
    doubled = np.concatenate([h, h, 1e-9 * rng.normal(size=(400, 2))], axis=1)
    y = gelu(normalised(doubled) @ rng.normal(size=8) + 5.0)
    found = Prober.of(doubled, np.ones(400)).fit(y)
    assert r_squared(found(doubled), y, np.ones(400)) > 0.999
    assert np.abs(found.slope).max() < 1e3


def test_what_is_not_in_the_activations_has_no_r_squared_on_fresh_rows():
    rng = np.random.default_rng(2)
    h, y, weight = rng.normal(size=(4000, 4)), rng.normal(size=4000) ** 2, np.ones(2000)
    found = Prober.of(h[:2000], weight).fit(y[:2000])
    assert abs(r_squared(found(h[2000:]), y[2000:], weight)) < 0.02


def test_a_target_below_zero_can_be_read_as_well():
    rng = np.random.default_rng(7)
    h, weight = rng.normal(size=(500, 4)), np.ones(500)
    y = normalised(h) @ np.array([1.0, 0.5, -0.5, 0.0]) - 3.0
    assert r_squared(Prober.of(h, weight).fit(y)(h), y, weight) > 0.99


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
    x = rng.poisson(prior.atoms[at])
    tally = Tally.of(x)
    found = targets(tally, prior)["atom weight"]
    for i in np.flatnonzero(tally.multiplicity > 5000):
        weights = prior.weights[at[x == tally.values[i]]]
        assert abs(weights.mean() - found.value[i]) < 0.01
        assert abs(weights.var() - found.spread[i]) < 0.005


def test_the_correction_takes_x_to_the_bayes_rule():
    prior = Prior([1.0, 4.0, 9.0], [0.5, 0.3, 0.2])
    tally = Tally.of([0, 1, 1, 5, 12])
    found = targets(tally, prior)
    assert np.allclose((stabilised(tally.values) + found["correction"].value) ** 2 / 4, found["bayes"].value)


def test_an_untrained_network_still_carries_x_but_not_what_the_bayes_rule_makes_of_it():
    network = untrained(Architecture(layers=2, width=16, heads=4), np.random.default_rng(0))
    found = probe("untrained", transformer_activations(network), FewAtoms(20.0), seed=0, n=256, tallies=40)
    assert {finding.layer for finding in found} == {0, 1, 2}
    best = {name: max(f.r2 for f in found if f.target == name) for name in ("value", "bayes", "correction")}
    assert best["value"] > 0.95
    assert best["correction"] < best["bayes"] < best["value"]
    assert all(f.ceiling == 1 for f in found)


def test_only_the_multinomial_world_has_atoms_to_weigh():
    network = untrained(Architecture(layers=2, width=8, heads=2), np.random.default_rng(0))
    for world, expected in ((Multinomial(10.0), True), (FewAtoms(10.0), False)):
        found = probe("untrained", transformer_activations(network), world, seed=0, n=64, tallies=6)
        assert ("atom weight" in {finding.target for finding in found}) == expected
        assert all(f.r2 <= f.ceiling for f in found)
