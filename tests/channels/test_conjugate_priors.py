"""Closed forms of the gamma, beta and normal priors against exact arithmetic and numerical integration, to 1e-10."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, getcontext
from functools import cached_property
from itertools import accumulate
from math import comb, factorial

import numpy as np
import pytest
from scipy.special import expit, logit, ndtri

from ebformer.bayes import log_marginal, log_predictive, marginal_cdf, mmse, posterior, predictive
from ebformer.channels import beta_prior, channel_named
from ebformer.channels.base import Channel
from ebformer.channels.beta_prior import BetaPosterior, BetaPrior, beta_binomial_log_pmf
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.channels.normal_prior import NormalPrior
from ebformer.distributions import Floats
from ebformer.prior import ConjugatePrior

LEVELS = np.array([0.001, 0.05, 0.31, 0.5, 0.77, 0.95, 0.999])
getcontext().prec = 60
RISING: dict[Decimal, list[Decimal]] = {}


def rising(a: Decimal, n: int) -> Decimal:
    """a (a + 1) ... (a + n - 1)."""
    products = RISING.setdefault(a, [Decimal(1)])
    while len(products) <= n:
        products.append(products[-1] * (a + len(products) - 1))
    return products[n]


@dataclass(frozen=True)
class Counts:
    """A conjugate pair whose moments E theta^i (1 - theta)^j or E theta^i exp(-t theta) are products: exact sums."""

    prior: ConjugatePrior
    known: float

    @property
    def channel(self) -> Channel:
        return channel_named("poisson" if isinstance(self.prior, GammaPrior) else "binomial")

    def joint(self, x: int, y: int = 0, future: float = 0.0) -> Decimal:
        """P(x, then y) by its definition, an integral over theta."""
        if isinstance(self.prior, GammaPrior):
            shape, rate, t, f = (Decimal(n) for n in (self.prior.shape, self.prior.rate, self.known, future))
            events = t**x * (f**y if y else 1) / factorial(x) / factorial(y)
            moment = rising(shape, x + y) / (rate + t + f) ** (x + y)
            return events * moment * (rate / (rate + t + f)) ** shape
        assert isinstance(self.prior, BetaPrior)
        a, b, m, k = Decimal(self.prior.a), Decimal(self.prior.b), int(self.known), int(future)
        return comb(m, x) * comb(k, y) * rising(a, x + y) * rising(b, m + k - x - y) / rising(a + b, m + k)

    def moment(self, x: int, power: int) -> Decimal:
        """E theta^power | x, as a theta more is an event more, of a known chance."""
        if isinstance(self.prior, GammaPrior):
            chosen = factorial(x + power) // factorial(x) / Decimal(self.known) ** power
            return chosen * self.joint(x + power) / self.joint(x)
        more = Counts(self.prior, self.known + power)
        m = int(self.known)
        chosen = Decimal(factorial(x + power) // factorial(x)) / (factorial(m + power) // factorial(m))
        return chosen * more.joint(x + power) / self.joint(x)


GAMMAS = [
    GammaPrior(2.0, 0.5),
    GammaPrior(1e-3, 2e-3),
    GammaPrior(1e8, 3e7),
    GammaPrior(0.4, 1e5),
    GammaPrior(300.0, 20.0),
]
BETAS = [
    BetaPrior(1.0, 1.0),
    BetaPrior(99.0, 308.0),
    BetaPrior(1e-3, 2e-3),
    BetaPrior(2.5e7, 7.5e7),
    BetaPrior(1e-3, 5e7),
    BetaPrior(4e4, 0.02),
]
PAIRS = [
    *[Counts(prior, known) for prior in GAMMAS for known in (0.3, 1.0, 40.0)],
    *[Counts(prior, known) for prior in BETAS for known in (1.0, 12.0, 300.0)],
]
COUNTS = pytest.mark.parametrize("pair", PAIRS, ids=str)


def observations(pair: Counts) -> list[int]:
    """Some likely and some unlikely counts."""
    if isinstance(pair.prior, BetaPrior):
        m = int(pair.known)
        return sorted({0, m, m // 2, round(m * pair.prior.mean), min(m, 3)})
    return sorted({0, 1, 7, round(pair.known * pair.prior.mean), 250})


@COUNTS
def test_marginals_are_exact(pair: Counts) -> None:
    x = observations(pair)
    exact = np.array([float(pair.joint(k).ln()) for k in x])
    found = log_marginal(pair.prior, x, pair.known, channel=pair.channel)
    assert found == pytest.approx(exact, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("prior", BETAS, ids=str)
def test_marginals_of_many_trials_are_exact(prior: BetaPrior) -> None:
    pair = Counts(prior, 20_000.0)
    for x in (0, 1, round(20_000 * prior.mean), 19_000, 20_000):
        found = float(log_marginal(prior, x, pair.known, channel=pair.channel))
        assert found == pytest.approx(float(pair.joint(x).ln()), rel=1e-10, abs=1e-10)


@COUNTS
def test_posterior_means_and_variances_are_exact(pair: Counts) -> None:
    x = observations(pair)
    first, second = ([pair.moment(k, power) for k in x] for power in (1, 2))
    mean = np.array([float(one) for one in first])
    variance = np.array([float(two - one * one) for one, two in zip(first, second, strict=True)])
    after = posterior(pair.prior, x, pair.known, channel=pair.channel)
    assert after.mean == pytest.approx(mean, rel=1e-10)
    assert after.variance == pytest.approx(variance, rel=1e-10, abs=0.0)


@COUNTS
@pytest.mark.parametrize("future", [1.0, 9.0])
def test_predictions_are_exact(pair: Counts, future: float) -> None:
    x = observations(pair)
    for seen in x:
        ahead = predictive(pair.prior, seen, pair.known, future, channel=pair.channel)
        most = int(future) if isinstance(pair.prior, BetaPrior) else int(ahead.mean + 12 * np.sqrt(ahead.variance)) + 40
        if most > 800:
            continue
        y = np.arange(most + 1)
        marginal = pair.joint(seen)
        joint = [pair.joint(seen, int(k), future) / marginal for k in y]
        log_p = np.array([float(p.ln()) for p in joint])
        below = np.array([float(total) for total in accumulate(joint)])
        assert ahead.log_density(y) == pytest.approx(log_p, rel=1e-10, abs=1e-10)
        assert ahead.pmf(y) == pytest.approx(np.exp(log_p), rel=1e-9, abs=1e-300)
        assert ahead.cdf(y) == pytest.approx(below, abs=1e-10)
        assert ahead.cdf(y + 0.5) == pytest.approx(below, abs=1e-10)
        clear = LEVELS[[np.abs(below - level).min() > 1e-9 for level in LEVELS]]
        assert ahead.quantile(clear).tolist() == np.searchsorted(below, clear).tolist()
        found = log_predictive(pair.prior, seen, pair.known, y, future, pair.channel)
        assert found == pytest.approx(log_p, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if isinstance(pair.prior, BetaPrior)], ids=str)
def test_beta_binomial_sums_are_exact_in_both_tails(pair: Counts) -> None:
    m = int(pair.known)
    total, below = Decimal(0), []
    for k in range(m + 1):
        total += pair.joint(k)
        below.append(float(total))
    x = np.arange(m + 1.0)
    assert marginal_cdf(pair.prior, pair.channel, x, np.full(m + 1, pair.known)) == pytest.approx(
        np.array(below), abs=1e-10
    )


@pytest.mark.parametrize(("a", "b"), [(9.0, 1e-15), (1e-15, 1e-15), (1e14, 1.0), (1e17, 1.0), (1e20, 3.0)])
def test_beta_binomials_keep_their_digits_at_either_end(a: float, b: float) -> None:
    """Their probabilities add up to 1, and are the same of failures, though 1 - a / (a + b) is nothing but rounding."""
    y = np.arange(21.0)
    logs = beta_binomial_log_pmf(y, a, b, 20.0)
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(logs, beta_binomial_log_pmf(20.0 - y, b, a, 20.0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("a", "b"), [(1e17, 1e17), (9e15, 1.8e19), (1e20, 1e19)])
def test_large_betas_are_normal(a: float, b: float) -> None:
    after = BetaPosterior(np.array([a]), np.array([b]))
    at = after.mean + np.sqrt(after.variance) * ndtri(LEVELS)
    np.testing.assert_allclose(after.quantile(LEVELS)[0], at, rtol=1e-14)
    middle = after.mean.item()
    assert after.exceeds(middle).item() + after.below(middle).item() == pytest.approx(1.0)
    assert 0.4 < after.exceeds(middle).item() < 0.6


def test_nearly_nothing_is_0_at_every_level() -> None:
    low, high = BetaPrior(1e-20, 1.0).posterior(np.zeros(1), np.full(1, 9.0)).interval(0.999)
    assert (low.item(), high.item()) == (0.0, 0.0)


@COUNTS
@pytest.mark.parametrize("future", [0.5, 9.0])
def test_predicted_means_and_variances_follow_from_those_of_theta(pair: Counts, future: float) -> None:
    """Var y = E Var[y | theta] + Var E[y | theta]."""
    future = max(future, 1.0) if isinstance(pair.prior, BetaPrior) else future
    for x in observations(pair):
        first, second = float(pair.moment(x, 1)), float(pair.moment(x, 2))
        spread = float(pair.moment(x, 2) - pair.moment(x, 1) ** 2)
        within = first - second if isinstance(pair.prior, BetaPrior) else first
        ahead = predictive(pair.prior, x, pair.known, future, channel=pair.channel)
        assert float(ahead.mean) == pytest.approx(future * first, rel=1e-10)
        assert float(ahead.variance) == pytest.approx(future * within + future**2 * spread, rel=1e-9)


def countable(pair: Counts) -> bool:
    """Whether few enough counts have all but 1e-16 of the probability."""
    if isinstance(pair.prior, BetaPrior):
        return True
    assert isinstance(pair.prior, GammaPrior)
    return 40 / np.log1p(pair.prior.rate / pair.known) + 10 * pair.prior.mean * pair.known < 500


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if countable(pair)], ids=str)
def test_mmse_is_the_mean_posterior_variance(pair: Counts) -> None:
    most = int(pair.known) if isinstance(pair.prior, BetaPrior) else 600
    total = sum(pair.joint(x) * (pair.moment(x, 2) - pair.moment(x, 1) ** 2) for x in range(most + 1))
    assert mmse(pair.prior, pair.known, channel=pair.channel) == pytest.approx(float(total), rel=1e-10, abs=0.0)


POINTS, WEIGHTS = np.polynomial.legendre.leggauss(20)


@dataclass(frozen=True)
class Density:
    """theta(d) with a log-density in d, 0 at d = 0, which is below -45 outside [left, right]; smooth on `scale`."""

    theta: Callable[[Floats], Floats]
    inverse: Callable[[Floats], Floats]
    log_density: Callable[[Floats], Floats]
    left: float
    right: float
    scale: float

    def over(self, low: float, high: float, function: Callable[[Floats], Floats] = np.ones_like) -> float:
        """The integral of function(theta) times the density, by Gauss's rule on panels of the scale."""
        low, high = np.clip([low, high], -self.left, self.right)
        if not low < high:
            return 0.0
        edges = np.linspace(low, high, 2 + int((high - low) / self.scale))
        half = 0.5 * np.diff(edges)[:, None]
        d = edges[:-1, None] + half * (POINTS + 1)
        return float((half * WEIGHTS * np.exp(self.log_density(d)) * function(self.theta(d))).sum())

    @cached_property
    def total(self) -> float:
        return self.over(-np.inf, np.inf)

    def mean(self, function: Callable[[Floats], Floats]) -> float:
        return self.over(-np.inf, np.inf, function) / self.total

    def below(self, c: float) -> float:
        with np.errstate(divide="ignore"):
            return self.over(-np.inf, float(self.inverse(np.asarray(c)))) / self.total


def density(prior: ConjugatePrior, x: float, known: float) -> Density:
    """Prior times likelihood: of log theta, of logit theta, or of theta, from its peak on."""
    if isinstance(prior, GammaPrior):
        shape, rate = prior.shape + x, prior.rate + known
        sd, peak = 1 / np.sqrt(shape), np.log(shape / rate)
        return Density(
            lambda d: np.exp(peak + d),
            lambda theta: np.log(theta) - peak,
            lambda d: shape * (d - np.expm1(d)),
            12 * sd + 45 / shape,
            min(12 * sd, 1 + 2 * np.log1p(60 / shape)),
            min(sd, 1.0),
        )
    if isinstance(prior, BetaPrior):
        a, b = prior.a + x, prior.b + known - x
        share, sd = a / (a + b), np.sqrt((a + b) / a / b)
        peak = np.log(a) - np.log(b)
        return Density(
            lambda d: expit(peak + d),
            lambda theta: logit(theta) - peak,
            lambda d: a * d - (a + b) * (np.log1p(share * np.expm1(np.minimum(d, 600))) + np.maximum(d - 600, 0)),
            12 * sd + 45 / a,
            12 * sd + 45 / b,
            min(sd, 1.0),
        )
    assert isinstance(prior, NormalPrior)
    precision = prior.spread**-2 + known**-2
    peak, sd = (prior.centre * prior.spread**-2 + x * known**-2) / precision, precision**-0.5
    return Density(
        lambda d: peak + d,
        lambda theta: theta - peak,
        lambda d: (
            -0.5 * ((peak + d - prior.centre) / prior.spread) ** 2
            - 0.5 * ((peak + d - x) / known) ** 2
            + 0.5 * ((peak - prior.centre) / prior.spread) ** 2
            + 0.5 * ((peak - x) / known) ** 2
        ),
        12 * sd,
        12 * sd,
        sd,
    )


NORMALS = [NormalPrior(0.0, 1.0), NormalPrior(-3.0, 1e-3), NormalPrior(100.0, 50.0)]
TRIPLES = [
    *[(pair.prior, float(x), pair.known) for pair in PAIRS for x in observations(pair)],
    *[(prior, prior.centre + z * s, s) for prior in NORMALS for z in (-3.0, 0.1, 20.0) for s in (0.01, 1.0, 30.0)],
]
"""A prior, an observation, and what is known of it."""


def of(prior: ConjugatePrior) -> Channel:
    return channel_named({"gamma": "poisson", "beta": "binomial", "normal": "normal"}[prior.name])


@pytest.mark.parametrize(("prior", "x", "known"), TRIPLES, ids=str)
def test_posteriors_are_prior_times_likelihood(prior: ConjugatePrior, x: float, known: float) -> None:
    after, brute = posterior(prior, x, known, channel=of(prior)), density(prior, x, known)
    mean = brute.mean(lambda theta: theta)
    assert after.mean == pytest.approx(mean, rel=1e-10, abs=1e-13)
    assert after.variance == pytest.approx(brute.mean(lambda theta: (theta - mean) ** 2), rel=1e-9, abs=0.0)
    for level in LEVELS:
        quantile = float(after.quantile(level))
        if abs(quantile) > 1e-290 and abs(quantile - 1) > 1e-6:  # where a float can say it, and its logit
            assert brute.below(quantile) == pytest.approx(level, abs=1e-10)
            assert float(after.exceeds(quantile)) == pytest.approx(1 - level, abs=1e-10)
    c = mean + 0.4 * float(np.sqrt(after.variance))
    if of(prior).domain[0] < c < of(prior).domain[1]:
        assert float(after.exceeds(c)) == pytest.approx(1 - brute.below(c), abs=1e-10)


@pytest.mark.parametrize(("prior", "x", "known"), [triple for triple in TRIPLES if triple[0] in NORMALS], ids=str)
def test_normal_predictions_carry_the_posterior_through_the_channel(prior: NormalPrior, x: float, known: float) -> None:
    normal, brute = channel_named("normal"), density(prior, x, known)
    for future in (0.2, 5.0):
        ahead = predictive(prior, x, known, future, channel=normal)
        for y in ahead.mean + np.sqrt(ahead.variance) * np.array([-2.0, 0.0, 0.7]):
            # Where the noise is narrower than the posterior, panels are narrower too.
            fine = Density(
                brute.theta, brute.inverse, brute.log_density, brute.left, brute.right, min(brute.scale, future)
            )

            def likelihood(theta: Floats, y: float = float(y), future: float = future) -> Floats:
                return np.exp(normal.log_likelihood(y, theta, future))

            def below(theta: Floats, y: float = float(y), future: float = future) -> Floats:
                return normal.cdf(np.asarray(y), theta, np.asarray(future))

            assert float(ahead.pdf(y)) == pytest.approx(fine.mean(likelihood), rel=1e-10)
            assert float(ahead.cdf(y)) == pytest.approx(fine.mean(below), abs=1e-10)
            found = log_predictive(prior, x, known, y, future, normal)
            assert np.exp(found) == pytest.approx(fine.mean(likelihood), rel=1e-10)
        assert ahead.cdf(ahead.quantile(LEVELS)) == pytest.approx(LEVELS, abs=1e-10)


@pytest.mark.parametrize("prior", NORMALS, ids=str)
@pytest.mark.parametrize("s", [0.01, 1.0, 30.0])
def test_normal_marginal_and_mmse_are_integrals_over_theta(prior: NormalPrior, s: float) -> None:
    normal = channel_named("normal")
    alone = Density(
        lambda d: prior.centre + d,
        lambda theta: theta - prior.centre,
        lambda d: -0.5 * (d / prior.spread) ** 2,
        12 * prior.spread,
        12 * prior.spread,
        min(prior.spread, s),
    )
    for x in prior.centre + np.hypot(prior.spread, s) * np.array([-3.0, 0.0, 1.3]):
        expected = alone.mean(lambda theta, x=float(x): np.exp(normal.log_likelihood(x, theta, s)))
        assert np.exp(log_marginal(prior, x, s, channel=normal)) == pytest.approx(expected, rel=1e-10)
        below = alone.mean(lambda theta, x=float(x): normal.cdf(np.asarray(x), theta, np.asarray(s)))
        assert marginal_cdf(prior, normal, np.array([x]), np.array([s]))[0] == pytest.approx(below, abs=1e-10)
    rule = posterior(prior, 0.0, s, channel=normal)
    assert mmse(prior, s, channel=normal) == pytest.approx(float(rule.variance), rel=1e-12)


def test_long_sums_and_integrals_agree_whatever_the_parameters() -> None:
    rng, n = np.random.default_rng(0), 500
    m = np.floor(10 ** rng.uniform(3.7, 7.0, n))
    x = np.floor(rng.uniform(200.0, 2000.0, n))
    a, b = 10 ** rng.uniform(-6.0, 7.0, (2, n))
    below = x + 0.5 <= m * a / (a + b)  # the shorter tail, which is the one that is summed
    x, a, b, m = x[below], a[below], b[below], m[below]
    summed = np.exp(beta_binomial_log_pmf(x, a, b, m)) * beta_prior._relative_tail(x, a, b, m)
    np.testing.assert_allclose(beta_prior.beta_exceeds(x + 1.0, m - x, a, b), summed, rtol=1e-9, atol=1e-12)


def test_sums_without_an_end_in_sight_agree_with_those_of_the_other_side(monkeypatch) -> None:
    rng, n = np.random.default_rng(1), 300
    m = np.floor(10 ** rng.uniform(4.5, 6.0, n))
    x = m - np.floor(rng.uniform(1.0, 200.0, n))
    a, b = 10 ** rng.uniform(-1.0, 6.0, n), 10 ** rng.uniform(-4.0, 1.0, n)
    assert np.isnan(beta_prior._relative_tail(x, a, b, m)).sum() > n / 4
    found = beta_prior.beta_binomial_cdf(x, a, b, m)
    monkeypatch.setattr(beta_prior, "ENOUGH", 10**6)
    np.testing.assert_allclose(beta_prior.beta_binomial_cdf(x, a, b, m), found, rtol=1e-10, atol=0)
