"""Beta and normal priors by maximum likelihood: against general optimisers, against all others, and at the edges."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize
from scipy.special import betaln

from ebformer.bayes import log_marginal
from ebformer.channels.beta_prior import BetaPrior
from ebformer.channels.normal_prior import NormalPrior
from ebformer.distributions import Floats
from ebformer.estimators.beta import Beta
from ebformer.estimators.normal import NormalMeans
from ebformer.prior import AnyPrior, Prior
from ebformer.tally import Tally


def mean_log_likelihood(prior: AnyPrior, tally: Tally) -> float:
    return float(tally.multiplicity @ log_marginal(prior, tally.x, tally.known, channel=tally.channel)) / tally.n


def beta_binomial(tally: Tally, a: float, b: float) -> float:
    """The same for a beta prior, by its formula."""
    x, m = tally.x, tally.known
    log_choose = -np.log1p(m) - betaln(x + 1, m - x + 1)
    return float(tally.multiplicity @ (log_choose + betaln(a + x, b + m - x) - betaln(a, b))) / tally.n


def normal_normal(tally: Tally, centre: float, spread: float) -> float:
    """The same for a normal prior, by scipy."""
    return float(tally.multiplicity @ stats.norm.logpdf(tally.x, centre, np.hypot(spread, tally.known))) / tally.n


def batters(rng: np.random.Generator, n: int = 150, a: float = 20.0, b: float = 60.0, most: int = 500) -> Tally:
    trials = rng.integers(1, most + 1, n)
    return Tally.of(rng.binomial(trials, rng.beta(a, b, n)), trials=trials)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("a", "b"), [(20.0, 60.0), (0.2, 0.4), (1.0, 30.0)])
def test_a_general_optimiser_finds_no_better_beta(seed: int, a: float, b: float) -> None:
    tally = batters(np.random.default_rng(seed), a=a, b=b)
    rule = Beta()(tally)
    assert rule.convergence is not None
    assert rule.convergence.reached
    prior = rule.prior
    assert isinstance(prior, BetaPrior)
    start = np.log([prior.mean, 1 - prior.mean])
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
    found = minimize(lambda p: -beta_binomial(tally, *np.exp(p)), start, method="Nelder-Mead", options=options)
    assert mean_log_likelihood(prior, tally) >= -found.fun - 1e-11
    assert np.log([prior.a, prior.b]) == pytest.approx(found.x, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("decades", [0.0, 1.0, 2.0])
def test_a_general_optimiser_finds_no_better_normal(seed: int, decades: float) -> None:
    rng = np.random.default_rng(seed)
    s = 10 ** rng.uniform(-decades / 2, decades / 2, 120)
    tally = Tally.of(rng.normal(rng.normal(3.0, 0.8, s.size), s), se=s)
    rule = NormalMeans()(tally)
    prior = rule.prior
    assert isinstance(prior, NormalPrior)
    assert rule.convergence is not None
    assert rule.convergence.reached
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
    found = minimize(
        lambda p: -normal_normal(tally, p[0], np.exp(p[1])), [0.0, 0.0], method="Nelder-Mead", options=options
    )
    assert mean_log_likelihood(prior, tally) >= -found.fun - 1e-11
    assert (prior.centre, np.log(prior.spread)) == pytest.approx(tuple(found.x), abs=1e-4)


pairs = st.tuples(st.integers(1, 40), st.integers(0, 40)).map(lambda two: (min(two), max(two)))


@settings(max_examples=30)
@given(st.lists(pairs, min_size=1, max_size=25), st.sampled_from([1, 1000]))
def test_no_beta_whatever_is_likelier(observed: list[tuple[int, int]], copies: int) -> None:
    """Sizes over 14 decades and means over the unit interval: the fit, or its limit, beats them all."""
    x, trials = (np.array(one) for one in zip(*observed, strict=True))
    tally = Tally(x, np.append(np.full(x.size - 1, copies), 1), trials=trials)
    rule = Beta()(tally)
    assert rule.convergence is not None
    assert rule.convergence.reached
    best = mean_log_likelihood(rule.prior, tally)
    for log_size, mean in product(np.arange(-16.0, 17.0, 4.0), (0.02, 0.2, 0.5, 0.8, 0.98)):
        size = np.exp(log_size)
        assert mean_log_likelihood(BetaPrior(size * mean, size * (1 - mean)), tally) <= best + 1e-9
    for theta in (0.1, 0.5, 0.9):
        assert mean_log_likelihood(Prior([theta], [1.0]), tally) <= best + 1e-9


effects = st.floats(-20, 20, allow_subnormal=False)


@settings(max_examples=40)
@given(st.lists(st.tuples(effects, st.sampled_from([0.01, 0.2, 1.0, 7.0])), min_size=1, max_size=25))
def test_no_normal_whatever_is_likelier(observed: list[tuple[float, float]]) -> None:
    x, s = (np.array(one) for one in zip(*observed, strict=True))
    tally = Tally.of(x, se=s)
    rule = NormalMeans()(tally)
    best = mean_log_likelihood(rule.prior, tally)
    for spread, centre in product(10 ** np.arange(-3.0, 2.5, 0.5), np.quantile(x, [0, 0.2, 0.5, 0.8, 1])):
        assert mean_log_likelihood(NormalPrior(float(centre), float(spread)), tally) <= best + 1e-9
    for centre in np.quantile(x, [0, 0.5, 1]):
        assert mean_log_likelihood(Prior([centre], [1.0]), tally) <= best + 1e-9


@pytest.mark.parametrize(
    ("x", "trials", "atom"),
    [
        ([0, 0, 0], 10, 0.0),
        ([10, 7], [10, 7], 1.0),
        ([5], 20, 0.25),
        ([5, 5, 5, 5], 10, 0.5),
        ([2, 4, 6], [10, 20, 30], 0.2),
        ([0, 1, 1, 0, 1], 1, 0.6),
        ([100_000, 100_100], 10**6, 0.10005),
    ],
)
def test_successes_that_spread_no_more_than_one_probability_explains_have_one(
    x: list[int], trials: list[int] | int, atom: float
) -> None:
    rule = Beta()(Tally.of(x, trials=trials))
    assert isinstance(rule.prior, Prior)
    assert rule.prior.atoms.tolist() == pytest.approx([atom])
    assert rule([0, 1], trials=1).tolist() == pytest.approx([atom, atom])


@pytest.mark.parametrize("trials", [[3, 8, 8, 2, 5], [8, 8, 8, 8, 8], [1, 1, 1, 1, 2]])
def test_units_that_show_all_or_none_have_atoms_at_both_ends(trials: list[int]) -> None:
    x = np.where([True, True, False, False, True], trials, 0)
    rule = Beta()(Tally.of(x, trials=trials))
    assert isinstance(rule.prior, Prior)
    assert rule.prior.atoms.tolist() == [0.0, 1.0]
    assert rule.prior.weights.tolist() == pytest.approx([0.4, 0.6])
    for size in (1e-6, 1e-3, 1.0, 1e3):
        assert mean_log_likelihood(BetaPrior(0.6 * size, 0.4 * size), rule.tally) < mean_log_likelihood(
            rule.prior, rule.tally
        )


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9])
def test_one_unit_of_many_that_shows_some_but_not_all_keeps_the_fit_from_the_ends(n: int) -> None:
    """Half of n units show both of two trials, half none, and one shows one: then a + b is about 2 / n."""
    prior = Beta()(Tally([0, 2, 1], [n // 2, n // 2, 1], trials=2)).prior
    assert isinstance(prior, BetaPrior)
    # At mean a half and c = a + b, log f(1) = log c and log f(0) = log f(2) = -c / 2, up to constants and c^2.
    assert (prior.a + prior.b) * n == pytest.approx(2, rel=5 / n + 1e-6)
    assert prior.mean == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize(
    ("x", "se"), [([0.5, -0.5], 1.0), ([3.0], 2.0), ([0.1, 0.1, 0.1], [0.5, 2.0, 0.3]), ([4.0, 5.0], [1.0, 3.0])]
)
def test_effects_that_spread_no_more_than_their_errors_have_one_value(x: list[float], se: list[float] | float) -> None:
    rule = NormalMeans()(Tally.of(x, se=se))
    assert isinstance(rule.prior, Prior)
    s = np.broadcast_to(se, len(x))
    assert rule.prior.atoms.tolist() == pytest.approx([np.sum(x / s**2) / np.sum(1 / s**2)])


@given(st.lists(effects, min_size=2, max_size=30), st.floats(0.1, 10))
def test_equal_errors_have_the_fit_in_closed_form(x: list[float], s: float) -> None:
    """centre = mean x, spread^2 = max(0, var x - s^2): and the posterior mean is that of James and Stein's kind."""
    rule = NormalMeans()(Tally.of(x, se=s))
    spread = max(0.0, float(np.var(x)) - s**2)
    assert rule.prior.mean == pytest.approx(np.mean(x), abs=1e-9)
    assert rule.prior.variance == pytest.approx(spread, rel=1e-6, abs=1e-6)
    share = spread / (spread + s**2)
    assert rule(x) == pytest.approx(np.mean(x) + share * (np.array(x) - np.mean(x)), abs=1e-6)


def test_few_precise_effects_set_the_spread_among_many_imprecise_ones() -> None:
    """Ten effects from -10 to 10 with error 0.1; 100,000 equal ones with error 1000 hardly speak."""
    x, s = np.append(np.linspace(-10, 10, 10), 0.0), np.append(np.full(10, 0.1), 1000.0)
    tally = Tally(x, np.append(np.ones(10, dtype=int), 100_000), se=s)
    prior = NormalMeans()(tally).prior
    assert isinstance(prior, NormalPrior)
    grid = np.linspace(0.1, 20.0, 400)
    likeliest = grid[np.argmax([normal_normal(tally, 0.0, float(spread)) for spread in grid])]
    assert prior.spread == pytest.approx(likeliest, abs=0.05)


def profile(tally: Tally, log_spreads: Floats) -> Floats:
    """The log-likelihood at the best centre, for each spread."""
    values = []
    for log_spread in log_spreads:
        v = np.exp(2 * log_spread) + tally.known**2
        centre = np.average(tally.x, weights=tally.multiplicity / v)
        values.append(normal_normal(tally, float(centre), float(np.exp(log_spread))))
    return np.array(values)


def test_of_several_local_maxima_the_normal_fit_takes_the_highest() -> None:
    """Precise units that agree and imprecise ones that do not ask for a small and for a large spread."""
    log_spreads, several = np.linspace(-6, 6, 400), 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        s = np.repeat([0.01, 1.0], [rng.integers(2, 12), rng.integers(2, 12)])
        x = np.where(s < 1, rng.normal(0, 0.05, s.size), rng.normal(0, 10 ** rng.uniform(0, 1.5), s.size))
        tally = Tally.of(x, se=s)
        values = profile(tally, log_spreads)
        peaks = np.flatnonzero((values[1:-1] > values[:-2]) & (values[1:-1] > values[2:]))
        several += peaks.size > 1
        assert mean_log_likelihood(NormalMeans()(tally).prior, tally) >= values.max() - 1e-12
    assert several >= 3


def test_of_several_local_maxima_the_beta_fit_takes_the_highest() -> None:
    """A point mass is a maximum too where many trials agree and few do not."""
    rng, several = np.random.default_rng(0), 0
    sizes = np.exp(np.linspace(-8, 16, 120))
    for _ in range(30):
        few, many = rng.integers(2, 10), rng.integers(1, 6)
        trials = np.repeat([3, 2000], [few, many])
        x = np.where(trials == 3, rng.choice([0, 3], trials.size), rng.binomial(trials, 0.5))
        tally = Tally.of(x, trials=trials)
        values = []
        for size in sizes:
            # The best mean of each size, on a grid.
            mean = np.linspace(0.05, 0.95, 91)[:, None]
            a, b = size * mean, size * (1 - mean)
            log_f = betaln(a + tally.x, b + tally.known - tally.x) - betaln(a, b)
            values.append((log_f @ tally.multiplicity).max())
        curve = np.array(values)
        peaks = np.flatnonzero((curve[1:-1] > curve[:-2] + 1e-9) & (curve[1:-1] > curve[2:] + 1e-9))
        several += peaks.size + int(curve[-1] > curve[-2] + 1e-12) > 1
        rule = Beta()(tally)
        constant = tally.n * mean_log_likelihood(BetaPrior(1.0, 1.0), tally) - float(
            tally.multiplicity @ (betaln(1 + tally.x, 1 + tally.known - tally.x) - betaln(1, 1))
        )
        assert tally.n * mean_log_likelihood(rule.prior, tally) >= curve.max() + constant - 1e-6
    assert several >= 3
