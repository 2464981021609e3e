"""The neural world against its published description, simulated plainly."""

import numpy as np
import pytest
from scipy import stats

from ebformer.lab.worlds import Neural
from ebformer.lab.worlds.neural import ACTIVATIONS, OVERWRITING, gather, push_forward, quadrature


def test_overwriting_three_times_with_probability_a_quarter_gives_the_mixture_weights():
    rng = np.random.default_rng(0)
    network = np.zeros(400_000, dtype=int)
    for later in (1, 2, 3):
        network[rng.random(network.size) < 0.25] = later
    share = np.bincount(network) / network.size
    assert share == pytest.approx(OVERWRITING, abs=4 * np.sqrt(0.25 / network.size))


def test_activations_are_the_published_ones():
    functional = pytest.importorskip("torch.nn.functional")
    torch = pytest.importorskip("torch")
    z = np.linspace(-3, 3, 61)
    names = ["gelu", "gelu", "relu", "selu", "celu", "silu", "tanh", "tanhshrink"]
    for name, ours in zip(names, ACTIVATIONS, strict=True):
        theirs = torch.tanh if name == "tanh" else getattr(functional, name)
        assert ours(z) == pytest.approx(theirs(torch.from_numpy(z)).numpy(), abs=1e-12)


def test_networks_generate_what_the_published_description_does():
    """sigmoid(10 (v . activation(W u + b) + c)), all weights uniform on [-1/2, 1/2], one network at a time."""
    rng, point = np.random.default_rng(2), np.array([0.1, 0.9, 0.4, 0.7])
    plain = []
    for _ in range(5000):
        weight, bias, readout = (rng.uniform(-0.5, 0.5, size) for size in ((4, 4), 4, 4))
        hidden = ACTIVATIONS[rng.integers(8)](weight @ point + bias)
        plain.append(1 / (1 + np.exp(-10 * (readout @ hidden + rng.uniform(-0.5, 0.5)))))
    ours = push_forward(np.random.default_rng(3), 5000, point[:, None])[:, 0]
    assert stats.ks_2samp(plain, ours).pvalue > 1e-3


def test_the_prior_has_the_moments_of_what_its_networks_generate():
    draws = np.random.default_rng(1).random((4, 100_000))
    for seed in range(5):
        prior = Neural(theta_max=50.0).draw(np.random.default_rng(seed))
        theta = 50 * push_forward(np.random.default_rng(seed), 4, draws)
        for power in (1, 2, 3):
            per_network, noise = (theta**power).mean(axis=1), (theta**power).std(axis=1) / np.sqrt(draws.shape[1])
            error = 4 * np.sqrt((OVERWRITING**2) @ noise**2) + 1e-6
            assert prior.weights @ prior.atoms**power == pytest.approx(OVERWRITING @ per_network, abs=error)


def test_quadrature_is_exact_for_polynomials():
    points, weights = quadrature(3)
    assert weights.sum() == pytest.approx(1.0, rel=1e-14)
    assert weights @ (points[0] ** 5 * points[3] ** 2) == pytest.approx(1 / 18, rel=1e-13)


def test_gathering_keeps_mass_and_mean_of_every_prior():
    rng = np.random.default_rng(0)
    atoms, weights = rng.random((3, 500)), rng.dirichlet(np.ones(500), size=3)
    fewer, mass = gather(atoms, weights, 40)
    assert fewer.shape == (3, 40)
    assert mass.sum(axis=1) == pytest.approx(np.ones(3), rel=1e-12)
    assert (fewer * mass).sum(axis=1) == pytest.approx((atoms * weights).sum(axis=1), rel=1e-12)
