"""The model check in the other channels: silent where the model holds, and plain about what is wrong elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import ebformer as eb
from ebformer.channels import channel_named
from ebformer.check import ModelCheck, model_check

N = 3_000


def checked(tally: eb.Tally, method: str = "npmle") -> ModelCheck:
    prior = eb.estimator(method)(tally).prior
    assert prior is not None
    return model_check(prior, tally, np.random.default_rng(0))


def trials(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(5, 200, N)


def errors(rng: np.random.Generator) -> np.ndarray:
    return np.exp(rng.uniform(-1.0, 1.0, N))


@pytest.mark.parametrize("seed", range(4))
def test_what_the_channel_made_fits_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, s = trials(rng), errors(rng)
    successes = eb.Tally.of(rng.binomial(m, rng.beta(8.0, 24.0, N)), trials=m)
    effects = eb.Tally.of(rng.normal(rng.choice([0.0, 3.0], N), s), se=s)
    counts = rng.poisson(rng.gamma(2.0, 1.5, N))
    for tally in (successes, effects, eb.Tally.of(counts[counts > 0], zeros="missing")):
        check = checked(tally)
        assert check.fits, check.sentence
        assert check.sentence.startswith(tally.channel.advice.fits)


def test_trials_that_go_together_are_told_from_varied_probabilities() -> None:
    rng = np.random.default_rng(0)
    m = trials(rng)
    fives = rng.binomial(m, rng.beta(8.0, 24.0, N)) * 5
    assert checked(eb.Tally.of(fives, trials=5 * m)).sentence == channel_named("binomial").advice.wide


def test_standard_errors_that_are_too_large_are_told() -> None:
    rng = np.random.default_rng(0)
    s = errors(rng)
    tally = eb.Tally.of(rng.normal(rng.normal(size=N), s), se=3.0 * s)
    assert checked(tally, "normal").sentence == channel_named("normal").advice.narrow


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_precision_that_tells_about_the_unit_is_told(sign: float) -> None:
    rng = np.random.default_rng(0)
    s = errors(rng)
    effects = eb.Tally.of(rng.normal(rng.normal(size=N) + 2.0 * sign * np.log(s), s), se=s)
    direction = "lower" if sign > 0 else "higher"
    assert checked(effects).sentence == channel_named("normal").advice.trend.format(direction=direction)
    m = trials(rng)
    p = 1.0 / (1.0 + np.exp(-rng.normal(-1.0, 0.3, N) - sign * np.log(m / 50.0)))
    direction = "higher" if sign > 0 else "lower"
    expected = channel_named("binomial").advice.trend.format(direction=direction)
    assert checked(eb.Tally.of(rng.binomial(m, p), trials=m)).sentence == expected
