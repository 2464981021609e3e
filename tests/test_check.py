"""The model check speaks when it should, says what to do, and otherwise keeps its peace."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pandas
import pytest
from scipy import stats

import ebformer as eb
from ebformer.bayes import log_marginal
from ebformer.binning import FIT_LIMIT
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.check import ENOUGH, RELEVANT, _moments, model_check, pit_interval
from ebformer.prior import Prior
from ebformer.tables.checking import _check
from ebformer.tally import Tally

SEEDS = range(40)


def checked(tally: Tally, seed: int = 0, method: str = "npmle") -> eb.check.ModelCheck:
    prior = eb.CATALOGUE[method](tally).prior
    assert prior is not None
    return model_check(prior, tally, np.random.default_rng(seed))


def mixed(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.poisson(rng.gamma(2.0, 3.0, n))


def test_the_pit_of_the_true_model_is_uniform() -> None:
    """40 independent checks against the true prior: their p-values are uniform on average (Kolmogorov)."""
    p_values = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        tally = Tally.of(mixed(rng, 2_000))
        p_values.append(model_check(GammaPrior(2.0, 1 / 3.0), tally, rng).p_value)
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3


def test_poisson_mixtures_pass() -> None:
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        assert checked(Tally.of(mixed(rng, 500)), seed).fits


def test_poisson_mixtures_with_exposures_pass() -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        t = rng.choice([0.5, 1.0, 2.0, 8.0], 2_000)
        check = checked(Tally.of(rng.poisson(rng.gamma(2.0, 1.0, 2_000) * t), t), seed)
        assert check.fits, check.sentence


@pytest.mark.parametrize("share", [0.1, 0.3, 0.45, 0.7])
def test_poisson_mixtures_pass_where_half_of_the_units_share_an_exposure(share: float) -> None:
    """Units of one exposure stay on one side of what is compared, whichever way the machine sorts equal numbers."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        t = rng.choice([1.0, 4.0], 2_000, p=[share, 1 - share])
        check = checked(Tally.of(rng.poisson(rng.gamma(2.0, 1.0, 2_000) * t), t), seed, method="gamma")
        assert check.fits, check.sentence


def test_of_few_units_no_fit_is_claimed_but_a_gross_departure_is_told() -> None:
    for n in (1, 3, ENOUGH - 1):
        check = checked(Tally.of(mixed(np.random.default_rng(n), n)))
        assert check.sentence == "too few rows to tell whether Poisson with a mixing distribution fits"
    assert "fits (PIT p" in checked(Tally.of(mixed(np.random.default_rng(0), ENOUGH))).sentence
    assert not checked(Tally.of([4] * (ENOUGH - 1))).fits  # all the same: less spread than Poisson counts have


def no_zeros(rng: np.random.Generator, units: int = 6_000) -> Tally:
    counts = rng.poisson(rng.gamma(1.0, 1.5, units))
    return Tally.of(counts[counts > 0])


def bursts(rng: np.random.Generator) -> Tally:
    """Poisson many bursts of three events each: spread grows like exposure, not like its square."""
    t = rng.choice([1.0, 10.0], 3_000)
    return Tally.of(3 * rng.poisson(2.0 * t / 3), t)


def rates_that_grow(rng: np.random.Generator) -> Tally:
    t = np.exp(rng.uniform(0.0, 3.0, 3_000)).round(1)
    return Tally.of(rng.poisson(rng.gamma(4.0, 0.25, 3_000) * t**1.6), t)


def rates_that_fall(rng: np.random.Generator) -> Tally:
    t = np.exp(rng.uniform(0.0, 3.0, 3_000)).round(1)
    return Tally.of(rng.poisson(rng.gamma(4.0, 0.25, 3_000) * t**0.4), t)


@pytest.mark.parametrize(
    ("counts", "advice"),
    [
        (lambda rng: Tally.of(rng.binomial(10, 0.8, 2_000)), "vary less than Poisson"),
        (lambda rng: Tally.of(rng.binomial(4, 0.9, 1_000)), "vary less than Poisson"),  # zeros are not all they lack
        (lambda rng: Tally.of([3] * 300), "vary less than Poisson"),
        (no_zeros, "no unit has count 0"),
        (lambda rng: no_zeros(rng, 250), "no unit has count 0"),
        (lambda rng: Tally.of(10 * rng.integers(1, 12, 2_000)), "most counts are multiples of 10"),
        (bursts, "bursts"),
        (rates_that_grow, "units with more exposure have higher rates"),
        (rates_that_fall, "units with more exposure have lower rates"),
        (lambda rng: Tally.of(5 * (2 * rng.integers(0, 8, 2_000) + 1)), "most counts are multiples of 5"),
    ],
)
def test_each_trouble_has_its_sentence(counts: Callable[[np.random.Generator], Tally], advice: str) -> None:
    for seed in range(3):
        check = checked(counts(np.random.default_rng(seed)), seed)
        assert not check.fits
        assert advice in check.sentence
        assert "\n" not in check.sentence


def test_a_trifle_is_not_reported_however_many_units_show_it() -> None:
    """10^8 units whose prior is off by one percent: significant, and irrelevant."""
    tally = Tally(np.arange(40), np.round(1e8 * np.exp(log_marginal(GammaPrior(2.0, 0.5), np.arange(40)))))
    check = model_check(GammaPrior(2.0, 0.5 * 1.01), tally, np.random.default_rng(0))
    assert check.p_value < 1e-6
    assert check.distance < RELEVANT
    assert check.fits


def test_a_trifling_trend_is_not_reported_either() -> None:
    """Ten million units whose rates are a percent higher where the exposure is 4, of which chance is no explanation."""
    x, half = np.arange(160), []
    for prior, t in ((GammaPrior(2.0, 0.5), 1.0), (GammaPrior(2.0, 0.5 / 1.01), 4.0)):
        half.append(np.round(5e6 * np.exp(log_marginal(prior, x, t))))
    tally = Tally(np.tile(x, 2), np.concatenate(half), np.repeat([1.0, 4.0], x.size))
    check = model_check(GammaPrior(2.0, 0.5), tally, np.random.default_rng(0))
    assert check.fits, check.sentence


def test_what_is_wrong_at_every_exposure_alike_is_no_matter_of_exposure() -> None:
    """All rates are twice as high as the prior says, in either half of the units."""
    x = np.arange(80)
    units = np.round(5e4 * np.exp(log_marginal(GammaPrior(2.0, 0.5), x)))
    tally = Tally(np.tile(x, 2), np.tile(units, 2), np.repeat([1.0, 1.0001], x.size))
    check = model_check(GammaPrior(2.0, 1.0), tally, np.random.default_rng(0))
    assert "do not look like a mixture of Poisson counts" in check.sentence


@pytest.mark.parametrize(("n", "rate"), [(4_000, 6.0), (100, 3.2)])
def test_a_want_of_zeros_may_be_chance_or_too_small_to_matter(n: int, rate: float) -> None:
    """4,000 units should have 10 zeros, 0.2 percent of them; 100 units 4, and none with probability 2 percent."""
    counts = stats.poisson.ppf((np.arange(n) + 0.5) / n, rate).astype(int)
    check = model_check(Prior([rate], [1.0]), Tally.of(np.maximum(counts, 1)), np.random.default_rng(0))
    assert check.fits, check.sentence


@pytest.mark.parametrize(("n", "bins"), [(5, 4), (79, 7), (3_000, 20)])
def test_the_numbers_of_a_check_are_those_of_its_histogram(n: int, bins: int) -> None:
    """Pearson's chi-square and the total variation distance, from bins of at least 10 units where there are enough."""
    rng = np.random.default_rng(1)
    check = model_check(Prior([4.0], [1.0]), Tally.of(rng.poisson(4.6, n)), rng)
    assert check.pit.size == bins
    assert check.p_value == pytest.approx(stats.chisquare(np.rint(n * check.pit)).pvalue, rel=1e-9)
    assert check.distance == pytest.approx(np.maximum(check.pit - 1 / bins, 0).sum())


def test_the_moments_of_uniform_pits_are_standardised() -> None:
    """z-scores of u - 1/2 and (u - 1/2)^2 have mean 0 and variance 1 under the uniform law (by Gauss-Legendre)."""
    u, w = (0.5 * a + b for a, b in zip(np.polynomial.legendre.leggauss(8), (0.5, 0.0), strict=True))
    mean, spread = np.array([_moments(np.array([at]), np.array([at]), np.array([1])) for at in u]).T
    assert [w @ mean, w @ spread] == pytest.approx([0, 0], abs=1e-12)
    assert [w @ mean**2, w @ spread**2] == pytest.approx([1, 1])
    # Units between two values of u count with the average in between, and n units with sqrt(n) of one.
    some = 0.2 + 0.6 * u
    between = _moments(np.array([0.2]), np.array([0.8]), np.array([9]))
    points = [_moments(np.array([at]), np.array([at]), np.array([1])) for at in some]
    assert between == pytest.approx(3 * (w @ np.array(points)), abs=1e-12)


def test_the_pit_interval_is_the_step_of_the_marginal() -> None:
    prior, tally = Prior([1.0, 6.0], [0.5, 0.5]), Tally([0, 1, 2, 3, 4], [1] * 5)
    low, high = pit_interval(prior, tally)
    np.testing.assert_allclose(low, np.concatenate([[0.0], high[:-1]]), atol=1e-12)
    np.testing.assert_allclose(high, np.cumsum(np.exp(log_marginal(prior, np.arange(5)))), atol=1e-12)


def test_the_memory_of_a_check_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of distinct counts against a prior of thousands of atoms: never all of them at once."""
    prior = Prior(np.linspace(1, 3_000, 2_000), np.full(2_000, 1 / 2_000))
    tally = Tally(np.arange(1, 2_001), np.ones(2_000, dtype=int), np.linspace(1, 2, 2_000))
    monkeypatch.setattr("ebformer.bayes.marginal.CACHED", 20_000)
    tracemalloc.start()
    model_check(prior, tally, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * prior.weights.nbytes * len(tally)


def test_impossible_counts_do_not_break_the_check() -> None:
    check = model_check(Prior([1e-3], [1.0]), Tally.of([0] * 50 + [400] * 50), np.random.default_rng(0))
    assert not check.fits
    assert check.pit.sum() == pytest.approx(1.0)


def verdict(tally: Tally, method: str = "gamma", seed: int = 0) -> str:
    """What a reader of a fitted table is told."""
    return _check(eb.estimator(method)(tally), tally, np.random.default_rng(seed)).sentence


def test_tries_are_told_from_exposures() -> None:
    """Many tries of few each: so many counts above their exposure are expected that none is a sign."""
    advice = eb.Poisson().advice
    for seed in range(5):
        rng = np.random.default_rng(seed)
        tries = rng.integers(1, 6, 500)
        assert verdict(Tally.of(rng.binomial(tries, rng.beta(5.0, 5.0, 500)), exposure=tries)) == advice.tries


def test_rates_that_rise_with_whole_exposures_may_be_tries_and_are_not_fitted_apart() -> None:
    """Batters who bat more bat better; in groups of like at-bats a .354 batter came out at .274."""
    rng = np.random.default_rng(0)
    at_bats = rng.integers(5, 300, 1_500)
    hits = rng.binomial(at_bats, rng.beta(80.0, 240.0, 1_500) * (0.6 + 0.4 * at_bats / 300))
    assert verdict(Tally.of(hits, exposure=at_bats)) == eb.Poisson().advice.tries


def test_more_tries_than_a_fit_holds_apart_are_told_from_exposures() -> None:
    """Exposures are put into bins where they are many, and bins are no whole numbers."""
    rng = np.random.default_rng(0)
    at_bats = rng.integers(5, 300, 12_000)
    hits = rng.binomial(at_bats, rng.beta(80.0, 240.0, 12_000) * (0.6 + 0.4 * at_bats / 300))
    assert len(Tally.of(hits, exposure=at_bats)) > FIT_LIMIT
    with pytest.warns(eb.ModelWarning, match="if these are successes out of so many tries, use --trials"):
        eb.shrink(pandas.DataFrame({"hits": hits, "at_bats": at_bats}), "hits", "at_bats", method="gamma")


def test_honest_counts_are_not_taken_for_tries_nor_for_tables_without_zeros() -> None:
    """0 of 800 such tables with other seeds were, of 30 to 1,500 units."""
    advice = eb.Poisson().advice
    for seed in range(40):
        rng = np.random.default_rng(seed)
        mean, n = rng.uniform(0.05, 0.8), int(rng.choice([30, 100, 400]))
        rates = [rng.gamma(3.0, mean / 3, n), np.full(n, mean), rng.uniform(0.0, 2 * mean, n)][seed % 3]
        games = [rng.integers(1, 40, n), rng.integers(20, 500, n), rng.integers(1, 4, n)][seed // 3 % 3]
        tally = Tally.of(rng.poisson(rates * games), exposure=games)
        assert verdict(tally, seed=seed) not in (advice.tries, advice.no_zeros)


@pytest.mark.parametrize("unequal", [False, True])
def test_zeros_left_out_are_told_whatever_the_exposures(unequal: bool) -> None:
    """With expected counts far below 1, as of drugs and events, rates seem to fall with exposure: that is not it."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        t = np.exp(rng.normal(-1.0, 1.5, 4_000)) if unequal else np.ones(4_000)
        x = rng.poisson(rng.gamma(1.5, 0.7, 4_000) * t)
        assert verdict(Tally.of(x, exposure=t), seed=seed) != eb.Poisson().advice.no_zeros
        assert verdict(Tally.of(x[x > 0], exposure=t[x > 0]), seed=seed) == eb.Poisson().advice.no_zeros


def test_successes_out_of_equal_tries_are_not_sent_to_another_method() -> None:
    """Counts out of ten vary less than any prior allows: another prior is no help."""
    for seed in range(15):
        x = np.random.default_rng(seed).binomial(10, 0.5, 200)
        assert "use npmle" not in verdict(Tally.of(x), "priorformer", seed)


def test_a_handful_of_units_is_too_few_to_tell() -> None:
    prior, rng = Prior([1.0], [1.0]), np.random.default_rng(0)
    six, seven = (model_check(prior, Tally.of([90] * n), rng) for n in (6, 7))
    assert six.fits
    assert six.sentence.startswith("too few rows")
    assert not seven.fits
