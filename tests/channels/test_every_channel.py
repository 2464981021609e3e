"""What every channel promises in `channels/base.py`, stated as laws and checked at random thetas."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from ebformer.binning import coarsened
from ebformer.channels import channels
from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.tally import Tally


def over(among: list[Channel]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("channel", among, ids=lambda channel: channel.name)


EVERY = over(channels())

KNOWN: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "exposure": lambda rng, n: 10 ** rng.uniform(-1, 1.5, n),
    "trials": lambda rng, n: np.floor(10 ** rng.uniform(0, 2.7, n)),
    "se": lambda rng, n: 10 ** rng.uniform(-1, 1, n),
}
SCIPY = {
    "poisson": lambda theta, t: stats.poisson(t * theta),
    "binomial": lambda theta, m: stats.binom(m, theta),
    "normal": lambda theta, s: stats.norm(theta, s),
}


class Cases(NamedTuple):
    """Thetas, what is known, and an observation of each: vectors of one length."""

    theta: Floats
    known: Floats
    x: Floats


def thetas(channel: Channel, known: Floats, rng: np.random.Generator) -> Floats:
    """Thetas even in the stable coordinate: over the whole domain, or within 20 sd of the noise of its end."""
    low, high = (float(channel.coordinate(np.asarray(end))) for end in channel.domain)
    noise = channel.noise(known)
    near, far = np.maximum(low, -10 * noise), np.minimum(high, 20 * noise)
    return channel.at_coordinate(near + rng.uniform(1e-3, 1 - 1e-3, known.size) * (far - near))


def cases(channel: Channel, count: int = 60, seed: int = 0) -> Cases:
    rng = np.random.default_rng(seed)
    known = KNOWN[channel.keyword](rng, count)
    theta = thetas(channel, known, rng)
    return Cases(theta, known, channel.draw(theta, known, rng))


def deviation(channel: Channel, theta: Floats, known: Floats) -> Floats:
    """How far theta moves as its stable coordinate moves by one sd of the noise, up or down."""
    u, noise = channel.coordinate(theta), channel.noise(known)
    return 0.5 * (channel.at_coordinate(u + noise) - channel.at_coordinate(u - noise))


@EVERY
def test_probabilities_add_up_and_have_the_mean_and_the_variance(channel: Channel) -> None:
    for theta, known, _ in zip(*cases(channel), strict=True):
        u, noise = channel.coordinate(np.asarray(theta)), channel.noise(np.asarray(known))
        for reach in (0.0, 3.0):  # the nodes of a prior on an interval serve every theta in it
            ends = (float(channel.at_coordinate(u + side * reach * noise)) for side in (-1, 1))
            x, weight = channel.nodes(*(theta, theta) if reach == 0 else ends, known)
            p = weight * np.exp(channel.log_likelihood(x, theta, known))
            mean, variance = channel.mean(theta, known), channel.variance(theta, known)
            assert p.sum() == pytest.approx(1, abs=1e-12)
            assert p @ x == pytest.approx(float(mean), rel=1e-11, abs=1e-11 * float(np.sqrt(variance)))
            assert p @ (x - mean) ** 2 == pytest.approx(float(variance), rel=1e-10)


@over([channel for channel in channels() if channel.name in SCIPY])
def test_log_likelihood_and_cdf_are_those_of_scipy(channel: Channel) -> None:
    theta, known, x = cases(channel, 500)
    reference = SCIPY[channel.name](theta, known)
    log_p = reference.logpmf(x) if channel.whole else reference.logpdf(x)
    assert channel.log_likelihood(x, theta, known) == pytest.approx(log_p, rel=1e-11, abs=1e-11)
    for shift in (-1.0, 0.0, 0.5, 1.0):
        assert channel.cdf(x + shift, theta, known) == pytest.approx(reference.cdf(x + shift), abs=1e-12)


@EVERY
def test_the_cdf_is_the_running_sum_of_the_likelihood(channel: Channel) -> None:
    points, weights = np.polynomial.legendre.leggauss(24)
    for theta, known, seen in zip(*cases(channel, 30), strict=True):
        if channel.whole:
            x, _ = channel.nodes(theta, theta, known)
            running = np.cumsum(np.exp(channel.log_likelihood(x, theta, known)))
            assert channel.cdf(x, theta, known) == pytest.approx(running, abs=1e-12)
            assert channel.cdf(x + 0.5, theta, known) == pytest.approx(running, abs=1e-12)
            assert channel.cdf(x[0] - 0.5, theta, known) == pytest.approx(0, abs=1e-14)
        else:
            at = seen + 0.5 * known * (points + 1)
            rise = 0.5 * known * (weights @ np.exp(channel.log_likelihood(at, theta, known)))
            rose = channel.cdf(seen + known, theta, known) - channel.cdf(seen, theta, known)
            assert rose == pytest.approx(rise, abs=1e-12)


@EVERY
def test_the_likelihood_is_highest_at_the_mle(channel: Channel) -> None:
    theta, known, x = cases(channel, 500)
    best = channel.mle(x, known)
    assert channel.deviance(x, best, known) == pytest.approx(0, abs=1e-12)
    assert channel.log_peak(x, known) == pytest.approx(channel.log_likelihood(x, best, known), abs=1e-11)
    other = thetas(channel, known, np.random.default_rng(1))
    assert np.all(channel.deviance(x, other, known) >= 0)
    most = np.maximum(theta, other)
    best = np.minimum(best, most)
    difference = channel.log_likelihood(x, best, known) - channel.log_likelihood(x, other, known)
    assert channel.fall(x, other, known, best) == pytest.approx(difference, rel=1e-9, abs=1e-9)


@EVERY
def test_derivatives_are_finite_differences(channel: Channel) -> None:
    theta, known, x = cases(channel, 500)
    h = 2e-3 * np.minimum(deviation(channel, theta, known), np.abs(theta - channel.domain[0]))
    h = np.minimum(h, 0.1 * np.abs(channel.domain[1] - theta))
    there = channel.log_likelihood(x, theta, known)
    # p(theta + k h) / p(theta) for k from -2 to 2: errors are of order h^4.
    down2, down, up, up2 = (np.exp(channel.log_likelihood(x, theta + k * h, known) - there) for k in (-2, -1, 1, 2))
    slope, bend = channel.derivatives(x, theta, known)
    scale = 1 + np.abs(h * slope)
    assert (h * slope) / scale == pytest.approx((8 * (up - down) - (up2 - down2)) / 12 / scale, abs=1e-9)
    bend_found = (16 * (up + down) - (up2 + down2) - 30) / 12
    assert h**2 * bend / scale**2 == pytest.approx(bend_found / scale**2, abs=1e-9)


@EVERY
def test_scores_have_mean_zero(channel: Channel) -> None:
    """As p adds up to 1 whatever theta is, p' and p'' add up to 0."""
    for theta, known, _ in zip(*cases(channel), strict=True):
        x, weight = channel.nodes(theta, theta, known)
        p = weight * np.exp(channel.log_likelihood(x, theta, known))
        slope, bend = channel.derivatives(x, np.asarray(theta), np.asarray(known))
        assert p @ slope == pytest.approx(0, abs=1e-10 * (p @ np.abs(slope)))
        assert p @ bend == pytest.approx(0, abs=1e-10 * (p @ np.abs(bend)) + 1e-300)


@EVERY
def test_the_likelihood_bends_down_only_where_it_is_said_to(channel: Channel) -> None:
    _, known, x = cases(channel, 4000)
    theta = thetas(channel, known, np.random.default_rng(2))
    low, high = channel.concave(x, known)
    outside = (theta < low) | (theta > high)
    bend = channel.derivatives(x, theta, known)[1] * deviation(channel, theta, known) ** 2
    assert outside.any()
    assert np.all(bend[outside] >= -1e-9)


@EVERY
@pytest.mark.parametrize("depth", [0.5, 5.0, 40.0])
def test_thetas_beyond_an_interval_have_a_larger_deviance(channel: Channel, depth: float) -> None:
    _, known, x = cases(channel, 4000)
    theta = thetas(channel, known, np.random.default_rng(3))
    low, high = channel.within(x, known, depth)
    beyond = (theta < low) | (theta > high)
    assert np.all(channel.deviance(x, theta, known)[beyond] > depth)
    assert np.all((low <= channel.mle(x, known)) & (channel.mle(x, known) <= high))


@EVERY
def test_the_stable_coordinate_rises_and_has_an_inverse(channel: Channel) -> None:
    theta, known, _ = cases(channel, 500)
    u = channel.coordinate(theta)
    assert channel.at_coordinate(u) == pytest.approx(theta, rel=1e-12)
    assert np.all(np.diff(channel.coordinate(np.sort(theta))) >= 0)
    noise = channel.noise(known)
    low, high = channel.domain
    for reach in (-1e3, 1e3):  # beyond the end of the coordinate lies the end of the domain
        assert np.all((channel.at_coordinate(u + reach * noise) >= low) & (channel.at_coordinate(u - reach) <= high))


@EVERY
def test_the_deviance_is_that_of_a_normal_of_twice_the_noise_at_least(channel: Channel) -> None:
    _, known, x = cases(channel, 4000)
    theta = thetas(channel, known, np.random.default_rng(4))
    apart = (channel.coordinate(theta) - channel.coordinate(channel.mle(x, known))) / channel.noise(known)
    assert np.all(channel.deviance(x, theta, known) >= apart**2 / 8 * (1 - 1e-9) - 1e-12)


@EVERY
def test_noise_is_the_sd_of_the_estimated_coordinate_far_from_the_ends(channel: Channel) -> None:
    theta, known, _ = cases(channel, 400)
    u, noise = channel.coordinate(theta), channel.noise(known)
    low, high = (channel.coordinate(np.asarray(end)) for end in channel.domain)
    far = np.flatnonzero((u - low > 9 * noise) & (high - u > 9 * noise))
    assert far.size > 50
    for i in far[:50]:
        x, weight = channel.nodes(theta[i], theta[i], known[i])
        p = weight * np.exp(channel.log_likelihood(x, theta[i], known[i]))
        estimated = channel.coordinate(channel.mle(x, known[i]))
        sd = np.sqrt(p @ (estimated - p @ estimated) ** 2)
        assert sd == pytest.approx(noise[i], rel=0.05)


@EVERY
def test_draws_follow_the_cdf(channel: Channel) -> None:
    n, rng = 20_000, np.random.default_rng(5)
    for theta, known, _ in zip(*cases(channel, 8, seed=1), strict=True):
        drawn = np.sort(channel.draw(np.full(n, theta), np.full(n, known), rng))
        assert np.all(channel.possible(drawn) & channel.possible_pair(drawn, np.full(n, known)))
        at = np.unique(drawn)
        shares = np.searchsorted(drawn, at, side="right") / n
        # Kolmogorov's bound, which is missed once in 10^4 tries.
        assert np.abs(shares - channel.cdf(at, theta, known)).max() < 2.23 / np.sqrt(n)


@EVERY
def test_all_units_taken_together_have_the_pooled_theta(channel: Channel) -> None:
    rng = np.random.default_rng(6)
    for seed in range(20):
        known = KNOWN[channel.keyword](rng, 12)
        theta = float(cases(channel, 1, seed).theta[0])
        x, weight = channel.draw(np.full(12, theta), known, rng), rng.uniform(0.1, 1.0, 12)
        best = np.asarray(channel.pooled(x, known, weight))
        loss = weight @ channel.deviance(x, best, known)
        for step in (-1e-3, 1e-3):
            beside = channel.at_coordinate(channel.coordinate(best) + step * channel.noise(known).min())
            assert weight @ channel.deviance(x, beside, known) >= loss * (1 - 1e-12) - 1e-12


@EVERY
def test_natural_units_change_the_likelihood_by_a_factor_free_of_theta(channel: Channel) -> None:
    theta, known, x = cases(channel, 40)
    for i in range(theta.size):
        other, natural, worth = channel.standard(x[i : i + 1], float(known[i]))
        before = channel.log_likelihood(x[i], theta[i] * np.array([0.5, 0.7, 0.9]), known[i])
        after = channel.log_likelihood(other, theta[i] * np.array([0.5, 0.7, 0.9]) / worth, natural)
        assert np.ptp(after - before) == pytest.approx(0, abs=1e-9 * (1 + np.abs(before).max()))


@EVERY
def test_symmetries_change_the_likelihood_by_a_factor_free_of_theta(channel: Channel) -> None:
    theta, known, x = cases(channel, 200)
    other = thetas(channel, known, np.random.default_rng(7))
    for symmetry in channel.symmetries():
        y, about = symmetry.observation(x, known)
        assert np.all(channel.possible(y) & channel.possible_known(about) & channel.possible_pair(y, about))
        before = channel.log_likelihood(x, theta, known) - channel.log_likelihood(x, other, known)
        moved, moved_other = symmetry.theta(theta), symmetry.theta(other)
        after = channel.log_likelihood(y, moved, about) - channel.log_likelihood(y, moved_other, about)
        assert after == pytest.approx(before, rel=1e-9, abs=1e-9)
        assert np.abs(moved - moved_other) == pytest.approx(symmetry.scale * np.abs(theta - other), rel=1e-9)


@over([channel for channel in channels() if channel.complete])
def test_a_function_of_x_has_the_square_of_theta_for_its_mean(channel: Channel) -> None:
    found = 0
    for theta, known, _ in zip(*cases(channel), strict=True):
        x, weight = channel.nodes(theta, theta, known)
        square = channel.unbiased_square(x, np.full(x.size, known))
        if not np.isnan(square).any():
            p = weight * np.exp(channel.log_likelihood(x, theta, known))
            assert p @ square == pytest.approx(theta**2, rel=1e-9, abs=1e-9 * (p @ np.abs(square)))
            found += 1
        else:
            assert np.isnan(square).all()
    assert found > 0 or not channel.complete


@over([channel for channel in channels() if channel.complete])
@pytest.mark.parametrize("folds", [2, 5])
def test_parts_are_independent_observations_that_add_up(channel: Channel, folds: int) -> None:
    """Split 40,000 observations of one theta: moments of the parts are theirs, within five standard errors.

    A part of an observation that was kept for what it showed is no observation of its own, so not all channels have it.
    """
    n, rng = 40_000, np.random.default_rng(8)
    for theta, one_known, _ in zip(*cases(channel, 6, seed=2), strict=True):
        known = np.full(n, one_known)
        x = channel.draw(np.full(n, theta), known, rng)
        parts = channel.split(x, known, folds, rng)
        assert len(parts) == folds
        for part in parts:
            both = np.isfinite(part.kept_known) & np.isfinite(part.held_known)
            for seen, about in ((part.kept, part.kept_known), (part.held, part.held_known)):
                some = np.isfinite(about)
                assert np.all(channel.possible_pair(seen[some], about[some]))
                off = (seen - channel.mean(np.asarray(theta), about))[some]
                variance = channel.variance(np.asarray(theta), about)[some]
                if some.any():
                    assert abs(off.sum()) <= 5 * np.sqrt(variance.sum()) + 1e-9
                    assert off @ off == pytest.approx(variance.sum(), rel=0.1, abs=5 * np.sqrt(variance.sum()) + 1e-9)
            if both.any():
                kept = (part.kept - channel.mean(np.asarray(theta), part.kept_known))[both]
                held = (part.held - channel.mean(np.asarray(theta), part.held_known))[both]
                assert abs(kept @ held) <= 5 * np.sqrt((kept**2) @ (held**2)) + 1e-9
                # A part and its rest tell together what the whole told.
                for i in np.flatnonzero(both)[:50]:
                    two, about = (
                        np.array([part.kept[i], part.held[i]]),
                        np.array([part.kept_known[i], part.held_known[i]]),
                    )
                    together = channel.pooled(two, about, np.ones(2))
                    assert together == pytest.approx(float(channel.mle(x, known)[i]), rel=1e-9, abs=1e-9)


@EVERY
@pytest.mark.parametrize("width", [2.0**-10, 2.0**-5, 0.25])
def test_merged_observations_move_by_no_more_than_a_share_of_their_noise(channel: Channel, width: float) -> None:
    _, known, x = cases(channel, 3000)
    units = np.random.default_rng(9).integers(1, 5, x.size)
    y, about = channel.merge(x, known, units, width)
    assert np.all(channel.possible(y) & channel.possible_known(about) & channel.possible_pair(y, about))
    rounding = 0.5 if channel.whole and np.all(known == np.floor(known)) else 0.0
    assert np.all(np.abs(about - known) <= known * np.expm1(width) * (1 + 1e-9) + rounding)
    best = channel.mle(x, known)
    expected, noise = channel.mean(best, about), np.sqrt(channel.variance(best, about))
    assert np.all(np.abs(y - expected) <= (0.5 if channel.whole else 0.0) + width * (noise + 1e-6 * np.abs(y)))
    before = Tally(x, units, known, channel=channel)
    after = Tally(y, units, about, channel=channel)
    assert after.n == before.n
    assert len(after) <= len(before)


TOTALS: dict[str, Callable[[Floats, Floats, Floats], tuple[tuple[float, float], ...]]] = {
    "poisson": lambda x, known, units: ((units @ known, 1e-12),),
    "binomial": lambda x, known, units: ((units @ known, 0.5 * units.sum() / (units @ known)),),
    "normal": lambda x, known, units: ((units @ known**2, 1e-12), (units @ x, 1e-9)),
}
"""What merging keeps, and to what precision: exposures add up to the same; trials stay whole numbers."""


@over([channel for channel in channels() if channel.name in TOTALS])
def test_merging_keeps_totals(channel: Channel) -> None:
    _, known, x = cases(channel, 3000)
    units = np.random.default_rng(10).integers(1, 5, x.size).astype(np.float64)
    y, about = channel.merge(x, known, units.astype(np.int64), 2.0**-4)
    kept, found = TOTALS[channel.name](x, known, units), TOTALS[channel.name](y, about, units)
    for (before, tolerance), (after, _) in zip(kept, found, strict=True):
        assert after == pytest.approx(before, rel=tolerance)


@EVERY
def test_a_coarser_tally_has_the_same_units(channel: Channel) -> None:
    _, known, x = cases(channel, 6000)
    tally = Tally.of(x, known, channel=channel)
    small = coarsened(tally, limit=500)
    assert small.n == tally.n
    assert small.channel == channel
    assert len(small) <= 500


@EVERY
def test_the_next_look_leaves_no_unit_out(channel: Channel) -> None:
    """p(x | theta) is the next look's, times what the units that were left out made of the others' share."""
    theta, known, x = cases(channel, 200)
    complete = channel.next_look.log_likelihood(x, theta, known) + np.log1p(channel.missed(theta, known))
    assert channel.log_likelihood(x, theta, known) == pytest.approx(complete, rel=1e-9, abs=1e-9)
    assert channel.next_look.complete
