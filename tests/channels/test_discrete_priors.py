"""Exact Bayes for priors on atoms, in every channel, against sums written out."""

from __future__ import annotations

import numpy as np
import pytest

from ebformer.bayes import bayes_rule, log_marginal, log_predictive, marginal_cdf, mmse, posterior, predictive
from ebformer.channels import channel_named, channels
from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.prior import GridPrior, Prior

EVERY = pytest.mark.parametrize("channel", channels(), ids=lambda channel: channel.name)
KNOWN = {"exposure": [0.7, 3.0, 12.0], "trials": [1.0, 9.0, 60.0], "se": [0.4, 1.0, 2.5]}
LEVELS = np.array([0.02, 0.26, 0.5, 0.83, 0.98])


def prior(channel: Channel, seed: int = 0) -> Prior:
    """Six atoms, some nearer to each other than the noise, and weights over two decades."""
    rng = np.random.default_rng(seed)
    low, high = (float(channel.coordinate(np.asarray(end))) for end in channel.domain)
    low, high = max(low, -4.0), min(high, 6.0)
    atoms = channel.at_coordinate(low + np.sort(rng.uniform(0.02, 0.98, 6)) * (high - low))
    weights = 10 ** rng.uniform(-2, 0, 6)
    return Prior(atoms, weights / weights.sum())


def asked(channel: Channel, prior: Prior) -> tuple[Floats, Floats]:
    """Observations to ask about, likely and unlikely."""
    rng = np.random.default_rng(1)
    known = np.repeat(KNOWN[channel.keyword], 12)
    return channel.draw(rng.choice(prior.atoms, known.size), known, rng), known


def likelihood(channel: Channel, x: Floats, known: Floats, atoms: Floats) -> Floats:
    return np.exp(channel.log_likelihood(np.asarray(x)[..., None], atoms, np.asarray(known)[..., None]))


@EVERY
def test_marginal_and_posterior_are_sums_over_atoms(channel: Channel) -> None:
    g = prior(channel)
    x, known = asked(channel, g)
    joint = likelihood(channel, x, known, g.atoms) * g.weights
    f = joint.sum(axis=1)
    w = joint / f[:, None]
    assert log_marginal(g, x, known, channel=channel) == pytest.approx(np.log(f), rel=1e-10, abs=1e-10)
    below = channel.cdf(x[:, None], g.atoms, known[:, None]) @ g.weights
    assert marginal_cdf(g, channel, x, known) == pytest.approx(below, abs=1e-12)
    after = posterior(g, x, known, channel=channel)
    mean = w @ g.atoms
    assert after.mean == pytest.approx(mean, rel=1e-10)
    assert bayes_rule(g, x, known, channel=channel) == pytest.approx(mean, rel=1e-10)
    assert after.variance == pytest.approx(w @ g.atoms**2 - mean**2, rel=1e-6, abs=1e-12)
    for c in (*g.atoms, *(g.atoms[1:] + g.atoms[:-1]) / 2):
        assert after.exceeds(c) == pytest.approx(w[:, g.atoms > c].sum(axis=1), abs=1e-12)
    for level in LEVELS:
        first = (np.cumsum(w, axis=1) >= level).argmax(axis=1)
        assert after.quantile(level).tolist() == g.atoms[first].tolist()


@EVERY
def test_a_grid_has_the_means_of_its_atoms_and_wider_intervals(channel: Channel) -> None:
    g = prior(channel)
    x, known = asked(channel, g)
    points = posterior(g, x, known, channel=channel)
    cells = posterior(GridPrior(g.atoms, g.weights, channel), x, known, channel=channel)
    assert cells.mean == pytest.approx(points.mean, rel=1e-12)
    (low, high), (inner_low, inner_high) = cells.interval(0.8), points.interval(0.8)
    assert np.all((low <= inner_low) & (inner_high <= high))
    assert np.all((channel.domain[0] <= low) & (high <= channel.domain[1]))


@EVERY
@pytest.mark.parametrize("which", [0, 2])
def test_predictions_are_sums_over_atoms(channel: Channel, which: int) -> None:
    g = prior(channel)
    x, known = asked(channel, g)
    ahead = channel.next_look
    future = KNOWN[channel.keyword][which]
    joint = likelihood(channel, x, known, g.atoms) * g.weights
    w = joint / joint.sum(axis=1, keepdims=True)
    y, weight = ahead.nodes(float(g.atoms[0]), float(g.atoms[-1]), future)
    p = w @ likelihood(ahead, y, np.full(y.size, future), g.atoms).T
    below = w @ ahead.cdf(y, g.atoms[:, None], np.asarray(future))
    next_one = predictive(g, x, known, future, channel=channel)
    assert next_one.log_density(y) == pytest.approx(np.log(np.maximum(p, 1e-300)), rel=1e-8, abs=1e-8)
    assert (next_one.pmf(y) if ahead.whole else next_one.pdf(y)) == pytest.approx(p, rel=1e-9, abs=1e-300)
    assert next_one.cdf(y) == pytest.approx(below, abs=1e-12)
    assert next_one.mean == pytest.approx((p * weight) @ y, rel=1e-9, abs=1e-9)
    assert next_one.variance == pytest.approx((p * weight) @ y**2 - ((p * weight) @ y) ** 2, rel=1e-6, abs=1e-9)
    found = log_predictive(g, x[:, None], known[:, None], y, future, channel)
    assert np.exp(found) == pytest.approx(p, rel=1e-9, abs=1e-300)
    if ahead.whole:
        expected = y[(below[:, None, :] >= LEVELS[:, None]).argmax(axis=2)]
        assert next_one.quantile(LEVELS).tolist() == expected.tolist()
    else:
        reached = np.array([next_one.cdf(q).diagonal() for q in next_one.quantile(LEVELS).T])
        assert reached == pytest.approx(np.tile(LEVELS[:, None], x.size), abs=1e-11)


@EVERY
def test_mmse_is_the_mean_posterior_variance_and_what_the_bayes_rule_pays(channel: Channel) -> None:
    """E (theta - theta_G(x))^2 = E theta^2 - E theta_G(x)^2: two sums that share nothing but the likelihood."""
    g = prior(channel)
    for known in KNOWN[channel.keyword]:
        x, weight = channel.nodes(float(g.atoms[0]), float(g.atoms[-1]), known)
        joint = likelihood(channel, x, np.full(x.size, known), g.atoms) * g.weights * weight[:, None]
        f = joint.sum(axis=1)
        mean = np.divide(joint @ g.atoms, f, out=np.zeros(x.size), where=f > 0)
        expected = g.weights @ g.atoms**2 - f @ mean**2
        assert mmse(g, known, channel=channel) == pytest.approx(expected, rel=1e-9)


def test_atoms_at_the_ends_of_the_domain_are_certain_of_what_is_next() -> None:
    g, binomial = Prior([0.0, 0.4, 1.0], [0.2, 0.5, 0.3]), channel_named("binomial")
    assert np.exp(log_marginal(g, [0, 3, 5], 5, channel=binomial)) == pytest.approx(
        [0.2 + 0.5 * 0.6**5, 0.5 * 10 * 0.4**3 * 0.6**2, 0.3 + 0.5 * 0.4**5], rel=1e-12
    )
    none_or_some = 0.2 / (0.2 + 0.5 * 0.6**5)
    ahead = predictive(g, 0, 5, 3, channel=binomial)
    assert float(ahead.pmf(0)) == pytest.approx(none_or_some + (1 - none_or_some) * 0.6**3, rel=1e-12)
    assert posterior(g, 3, 5, channel=binomial).mean == pytest.approx(0.4, rel=1e-14)
    assert predictive(Prior([1.0], [1.0]), 5, 5, 7, channel=binomial).quantile(0.01) == 7
    assert predictive(Prior([0.0], [1.0]), 0, 5, 7, channel=binomial).quantile(0.99) == 0
    assert np.isneginf(ahead.log_density([-1, 0.5, 4])).all()


@pytest.mark.parametrize(("name", "atom"), [("poisson", -0.1), ("binomial", 1.1), ("binomial", -0.1)])
def test_atoms_outside_the_domain_are_refused(name: str, atom: float) -> None:
    with pytest.raises(InputError, match="no prior of"):
        posterior(Prior([atom], [1.0]), 1, KNOWN[channel_named(name).keyword][1], channel=channel_named(name))


def test_the_name_of_a_method_is_no_prior() -> None:
    with pytest.raises(InputError, match="'gamma' is no prior of rates here: give a gamma prior or atoms"):
        posterior("gamma", [0, 1])  # type: ignore[arg-type]
