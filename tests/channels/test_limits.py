"""Channels meet: rare successes are Poisson counts, and far from the ends of its domain every channel is normal."""

from __future__ import annotations

import numpy as np
import pytest

from ebformer.channels import channel_named, channels
from ebformer.channels.base import Channel
from ebformer.channels.beta_prior import BetaPrior
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.channels.normal_prior import NormalPrior
from ebformer.estimators.catalogue import estimator
from ebformer.prior import Prior
from ebformer.tally import Tally

EVERY = pytest.mark.parametrize("channel", channels(), ids=lambda channel: channel.name)


def rare(unequal: bool) -> tuple[np.ndarray, np.ndarray]:
    """Counts of 400 units, and their trials: the odds of a success are about one in ten million."""
    rng = np.random.default_rng(0)
    trials = rng.choice([2e7, 5e7, 1e8], 400) if unequal else np.full(400, 5e7)
    return rng.poisson(trials * 1e-7 * rng.gamma(2.0, 0.5, 400)).astype(float), trials


@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize(("method", "precision"), [("npmle", 1e-5), ("npmle-em", 1e-5), ("mle", 1e-12)])
def test_rare_successes_are_estimated_as_counts(method: str, precision: float, unequal: bool) -> None:
    x, m = rare(unequal)
    binomial, poisson = (estimator(method)(tally) for tally in (Tally.of(x, trials=m), Tally.of(x, exposure=m)))
    assert binomial(x, trials=m) == pytest.approx(poisson(x, exposure=m), rel=precision)
    if method == "mle":
        return
    assert binomial.log_likelihood == pytest.approx(poisson.log_likelihood, abs=1e-3)
    after, expected = binomial.posterior(x, trials=m), poisson.posterior(x, exposure=m)
    assert after.variance == pytest.approx(expected.variance, rel=1e-3)
    for end, expected_end in zip(after.interval(0.9), expected.interval(0.9), strict=True):
        assert np.median(np.abs(end / np.maximum(expected_end, 1e-12) - 1)) < 1e-4
    ahead, expected_ahead = binomial.predict(x, trials=m, future=3e7), poisson.predict(x, exposure=m, future=3e7)
    assert ahead.pmf(np.arange(10)) == pytest.approx(expected_ahead.pmf(np.arange(10)), abs=1e-4)


@pytest.mark.parametrize("unequal", [False, True])
def test_the_beta_of_rare_successes_is_a_gamma(unequal: bool) -> None:
    x, m = rare(unequal)
    beta, gamma = estimator("beta")(Tally.of(x, trials=m)), estimator("gamma")(Tally.of(x, exposure=m))
    a, g = beta.prior, gamma.prior
    assert isinstance(a, BetaPrior)
    assert isinstance(g, GammaPrior)
    assert (a.a, a.a + a.b) == pytest.approx((g.shape, g.rate), rel=1e-5)
    assert beta.log_likelihood == pytest.approx(gamma.log_likelihood, abs=1e-3)
    assert beta(x, trials=m) == pytest.approx(gamma(x, exposure=m), rel=1e-6)
    for end, expected in zip(
        beta.posterior(x, trials=m).interval(0.9), gamma.posterior(x, exposure=m).interval(0.9), strict=True
    ):
        assert end == pytest.approx(expected, rel=1e-5)
    ahead, expected_ahead = beta.predict(x, trials=m, future=3e7), gamma.predict(x, exposure=m, future=3e7)
    assert ahead.cdf(np.arange(12)) == pytest.approx(expected_ahead.cdf(np.arange(12)), abs=1e-6)


FAR = {"exposure": (1e6, 2.0), "trials": (1e6, 1.2), "se": (1e-3, 0.3)}
"""What is known, and a stable coordinate that is a thousand times its noise from the ends of the domain."""


def far(channel: Channel, spread: bool = True) -> tuple[Tally, Tally, np.ndarray, float, float]:
    """Observations far from the ends, the same on the stable scale, and what that scale is."""
    rng = np.random.default_rng(1)
    known, centre = FAR[channel.keyword]
    noise = float(channel.noise(np.asarray(known)))
    about = np.full(300, known)
    u = centre + noise * (rng.choice([-3.0, 0.0, 4.0], 300) if spread else rng.normal(0.0, 2.0, 300))
    x = channel.draw(channel.at_coordinate(u), about, rng)
    stable = (channel.coordinate(channel.mle(x, about)) - centre) / noise
    return Tally.of(x, about, channel=channel), Tally.of(stable, se=1.0), x, centre, noise


@EVERY
@pytest.mark.parametrize("method", ["npmle", "npmle-em", "mle"])
def test_far_from_the_ends_answers_are_those_to_normal_noise_on_the_stable_scale(channel: Channel, method: str) -> None:
    tally, normal, x, centre, noise = far(channel)
    rule, expected = estimator(method)(tally), estimator(method)(normal)
    stable = (channel.coordinate(channel.mle(x, np.full(x.size, tally.common))) - centre) / noise
    found = (channel.coordinate(rule(x)) - centre) / noise
    assert found == pytest.approx(expected(stable), abs=0.02)
    if method == "mle":
        return
    ends, expected_ends = rule.posterior(x).interval(0.9), expected.posterior(stable).interval(0.9)
    for end, expected_end in zip(ends, expected_ends, strict=True):
        assert np.median(np.abs((channel.coordinate(end) - centre) / noise - expected_end)) < 0.05


@pytest.mark.parametrize("name", [each.name for each in channels() if each.conjugate])
def test_far_from_the_ends_the_conjugate_prior_is_normal_on_the_stable_scale(name: str) -> None:
    of = channel_named(name)
    tally, normal, x, centre, noise = far(of, spread=False)
    assert of.conjugate is not None
    rule, expected = estimator(of.conjugate)(tally), estimator("normal")(normal)
    assert isinstance(expected.prior, NormalPrior)
    assert not isinstance(rule.prior, Prior)
    stable = (of.coordinate(of.mle(x, np.full(x.size, tally.common))) - centre) / noise
    assert (of.coordinate(rule(x)) - centre) / noise == pytest.approx(expected(stable), abs=0.02)
    for end, expected_end in zip(
        rule.posterior(x).interval(0.9), expected.posterior(stable).interval(0.9), strict=True
    ):
        assert (of.coordinate(end) - centre) / noise == pytest.approx(expected_end, abs=0.02)
