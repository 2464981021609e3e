"""The model check in every channel: PITs of the true model are uniform, and fitted models pass."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ebformer.channels import channel_named, channels
from ebformer.channels.base import Channel
from ebformer.channels.beta_prior import BetaPrior
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.channels.normal_prior import NormalPrior
from ebformer.check import model_check, pit_interval
from ebformer.estimators.catalogue import estimator
from ebformer.prior import AnyPrior, Prior
from ebformer.tally import Tally

CONJUGATE = {"poisson": GammaPrior(3.0, 0.5), "binomial": BetaPrior(4.0, 9.0), "normal": NormalPrior(1.0, 2.0)}
KNOWN = {"exposure": (0.3, 5.0), "trials": (1, 400), "se": (0.1, 4.0)}


def drawn(channel: Channel, prior: AnyPrior, n: int, seed: int) -> Tally:
    rng = np.random.default_rng(seed)
    known = rng.uniform(*KNOWN[channel.keyword], n if channel.complete else 1) * np.ones(n)
    known = np.ceil(known) if channel.keyword == "trials" else known
    return Tally.of(channel.draw(prior.draw(n, rng), known, rng), known, channel=channel)


def atoms(channel: Channel) -> Prior:
    """Three atoms in the middle of the domain, a few units of noise apart."""
    low, high = (float(channel.coordinate(np.asarray(end))) for end in channel.domain)
    low, high = max(low, -3.0), min(high, 5.0)
    return Prior(channel.at_coordinate(low + np.array([0.2, 0.45, 0.7]) * (high - low)), [0.3, 0.5, 0.2])


def truths() -> list[tuple[str, AnyPrior]]:
    return [(each.name, prior) for each in channels() for prior in (atoms(each), CONJUGATE.get(each.name)) if prior]


@pytest.mark.parametrize(("name", "prior"), truths(), ids=str)
def test_pits_of_the_true_model_are_uniform(name: str, prior: AnyPrior) -> None:
    tally = drawn(channel_named(name), prior, 4000, seed=0)
    low, high = pit_interval(prior, tally)
    rng = np.random.default_rng(1)
    pits = np.repeat(low, tally.multiplicity) + rng.random(tally.n) * np.repeat(high - low, tally.multiplicity)
    assert np.all((low >= 0) & (low <= high) & (high <= 1))
    assert stats.kstest(pits, "uniform").pvalue > 1e-3


@pytest.mark.parametrize(("name", "prior"), truths(), ids=str)
def test_models_fitted_to_their_own_data_pass(name: str, prior: AnyPrior) -> None:
    of = channel_named(name)
    method = "npmle" if isinstance(prior, Prior) else of.conjugate
    assert method is not None
    passed = 0
    for seed in range(5):
        tally = drawn(of, prior, 600, seed)
        fit = estimator(method)(tally).prior
        assert fit is not None
        passed += model_check(fit, tally, np.random.default_rng(seed)).fits
    assert passed >= 4
