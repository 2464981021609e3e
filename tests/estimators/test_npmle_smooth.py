"""The smooth NPMLE: its certificate, what nested widths imply, its limits, and intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest
from tests.random_tallies import random_tally

from ebformer.channels import channel_named
from ebformer.errors import InputError
from ebformer.estimators.npmle.estimator import Npmle
from ebformer.estimators.npmle.smooth import CentreLattice, Observed, likeliest
from ebformer.estimators.npmle_smooth import NpmleSmooth
from ebformer.tally import Tally

CHANNELS = "poisson", "binomial", "normal"


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("seed", range(8))
def test_no_centre_on_a_dense_grid_speaks_against_the_certificate(name: str, seed: int) -> None:
    tally = random_tally(name, np.random.default_rng([seed, 5]), most=3000)
    rule = NpmleSmooth()(tally)
    assert rule.convergence.reached
    if len(rule.prior) == 1 and not hasattr(rule.prior, "parts"):
        return  # all units showed an end of the domain
    channel, raw = tally.channel, tally.channel.mle(tally.x, tally.known)
    first, *rest = rule.prior.parameters()["weights"], *rule.prior.part(slice(None)).law.parameters()
    width = _width(name, rest)
    u = np.linspace(*channel.coordinate(np.array([raw.min(), raw.max()])), 1501)
    edges = np.array(channel.domain)
    inside = 1e-9 if np.isfinite(edges[0]) else 0.0
    centres = np.clip(channel.at_coordinate(u), edges[0] + inside, edges[1] - inside)
    logs = channel.log_around(tally.x[:, None], tally.known[:, None], centres, np.asarray(width))
    d = (tally.multiplicity / tally.n) @ np.exp(logs - rule.prior.log_marginal(tally.x, tally.known)[:, None])
    assert len(first) == len(rule.prior)
    assert d.max() - 1 <= min(1e-6, 0.01 / tally.n) * 1.01 + 1e-9


def _width(name: str, parameters: list[np.ndarray]) -> float:
    """The common width, read off the parameters of the components, which must share it."""
    one, two = parameters
    size = two if name == "poisson" else one + two
    widths = two if name == "normal" else 1 / np.sqrt(size + (name == "binomial"))
    assert widths == pytest.approx(widths[0], rel=1e-9)
    return float(widths[0])


def test_a_maximum_beside_a_centre_on_the_lattice_is_seen() -> None:
    """The table that showed it: from either side, the same likelihood."""
    multiplicity = [3, 1, 2, 3, 5, 3, 2, 2, 3]
    x, trials = np.repeat(np.repeat([0, 1, 2], 3), multiplicity), np.repeat(np.tile([2, 4, 6], 3), multiplicity)
    sides = Tally.of(x, trials=trials), Tally.of(trials - x, trials=trials)
    width = 0.2208357994079238
    one, other = (likeliest(Observed.of(side), width, 0.01 / 24) for side in sides)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-7)
    assert one.centres == pytest.approx(1.0 - other.centres[::-1], abs=1e-6)


def test_two_centres_that_meet_are_one_component() -> None:
    """Two effects about which one component says all: whatever the origin, as many components are counted."""
    effects = np.array([1.4116741874254113, 0.05261411570041683])
    for width in 0.71 * 2.0 ** (-0.5 * np.arange(9)):
        for origin in np.linspace(0.0, 10.0, 41):
            found = likeliest(Observed.of(Tally.of(effects + origin, se=1.03)), float(width), 0.025)
            assert found.weights.size == 1


@pytest.mark.parametrize("name", CHANNELS)
def test_the_likelihood_rises_as_components_get_narrower_up_to_that_of_the_npmle(name: str) -> None:
    rng = np.random.default_rng(3)
    tally = {
        "poisson": Tally.of(rng.poisson(rng.gamma(1.0, 4.0, 300))),
        "binomial": Tally.of(rng.binomial(20, rng.beta(2, 3, 300)), trials=20),
        "normal": Tally.of(rng.normal(rng.standard_t(3, 300), 1.0), se=rng.uniform(0.8, 1.2, 300)),
    }[name]
    observed, noise = Observed.of(tally), float(channel_named(name).noise(tally.known).min())
    heights = [likeliest(observed, width * noise, 1e-7).log_likelihood for width in (1.0, 0.5, 0.2, 0.05, 0.002)]
    npmle = Npmle()(tally).log_likelihood / tally.n
    assert np.all(np.diff(heights) >= -1e-6)
    assert heights[-1] <= npmle + 1e-6
    assert heights[-1] == pytest.approx(npmle, abs=1e-3)


def test_derivatives_of_the_likelihood_are_those_of_differences() -> None:
    lattice = CentreLattice.of(Observed.of(Tally.of([0, 1, 1, 4, 9, 30])), 0.4)
    u, step = np.array([0.3, 2.0, 7.77]), 1e-4
    a, first, second = lattice.jet(u)
    above, below = lattice.jet(u + step)[0], lattice.jet(u - step)[0]
    assert first == pytest.approx((above - below) / (2 * step), abs=1e-6)
    assert second == pytest.approx((above - 2 * a + below) / step**2, abs=1e-4)


def test_units_of_one_conjugate_prior_get_one_component_that_is_the_likeliest() -> None:
    rng = np.random.default_rng(0)
    tally = Tally.of(rng.normal(rng.normal(4.0, 2.0, 3000), 1.0), se=1.0)
    prior = NpmleSmooth()(tally).prior
    assert len(prior) == 1
    assert prior.mean == pytest.approx(tally.mean, abs=1e-6)
    assert prior.variance == pytest.approx(4.0, rel=0.15)


@pytest.mark.parametrize("name", CHANNELS)
def test_intervals_cover_what_they_say(name: str) -> None:
    rng, held = np.random.default_rng(1), []
    for _ in range(6):
        n = 500
        theta = {"poisson": rng.gamma(2.0, 1.5, n), "binomial": rng.beta(4, 12, n), "normal": rng.standard_t(5, n)}[
            name
        ]
        known = {"poisson": rng.uniform(0.5, 2.0, n), "binomial": rng.integers(10, 60, n), "normal": np.ones(n)}[name]
        x = channel_named(name).draw(theta, known.astype(float), rng)
        rule = NpmleSmooth()(Tally.of(x, known, channel=channel_named(name)))
        low, high = rule.posterior(x, known).interval(0.9)
        held.append(np.mean((low <= theta) & (theta <= high)))
    assert np.mean(held) == pytest.approx(0.9, abs=0.03)


def test_all_zeros_are_a_point_and_one_unit_is_not() -> None:
    assert NpmleSmooth()(Tally.of([0, 0, 0]))([0, 5]).tolist() == [0.0, 0.0]
    low, high = NpmleSmooth()(Tally.of([7])).posterior(7).interval(0.9)
    assert low < 7 < high


def test_nearly_only_successes_are_nearly_only_failures_turned_round() -> None:
    failures = np.array([0, 0, 1, 2, 0, 1, 4, 0, 2, 1])
    few, many = (NpmleSmooth()(Tally.of(x, trials=1e9)) for x in (failures, 1e9 - failures))
    np.testing.assert_allclose(1e9 - 1e9 * many(1e9 - failures), 1e9 * few(failures), rtol=1e-5)


def test_what_no_lattice_holds_is_refused_in_a_sentence() -> None:
    """Exposures over thirty decades asked for 34 gigabytes."""
    rng = np.random.default_rng(1)
    tally = Tally.of(rng.poisson(2, 40), exposure=10.0 ** rng.uniform(-14.9, 15, 40))
    with pytest.raises(InputError, match="lie too far apart for npmle-smooth"):
        NpmleSmooth()(tally)
