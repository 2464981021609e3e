"""The next count: its distribution agrees with itself, with Bayes' theorem and with simulation."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ebformer.bayes.marginal import log_marginal, posterior
from ebformer.bayes.prediction import predictive
from ebformer.channels import channel_named
from ebformer.channels.base import Channel
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.errors import InputError
from ebformer.levels import whole_quantile
from ebformer.prior import Prior

POISSON, BINOMIAL, NORMAL = map(channel_named, ("poisson", "binomial", "normal"))
PRIORS = [Prior([0.2, 3.0, 9.0], [0.5, 0.3, 0.2]), GammaPrior(2.0, 0.7)]


@pytest.mark.parametrize("prior", PRIORS)
def test_probabilities_add_up_to_the_moments(prior: Prior | GammaPrior) -> None:
    y = np.arange(400)
    after = predictive(prior, [0, 4], exposure=2.0, future=1.5)
    pmf = after.pmf(y)
    assert pmf.shape == (2, 400)
    assert pmf.sum(axis=-1) == pytest.approx(1, abs=1e-12)
    assert pmf @ y == pytest.approx(after.mean, rel=1e-10)
    assert pmf @ y**2 - after.mean**2 == pytest.approx(after.variance, rel=1e-9)
    assert np.cumsum(pmf, axis=-1) == pytest.approx(after.cdf(y), abs=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
def test_seeing_two_counts_at_once_or_one_after_the_other(prior: Prior | GammaPrior) -> None:
    # P(x, then y) = P(x + y over both exposures) times the binomial chance of that split.
    x, y, t, s = 3, 5, 2.0, 1.5
    one_by_one = np.exp(log_marginal(prior, x, t)) * predictive(prior, x, t, s).pmf(y)
    together = np.exp(log_marginal(prior, x + y, t + s)) * stats.binom.pmf(x, x + y, t / (t + s))
    assert one_by_one == pytest.approx(together, rel=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
@given(q=st.floats(0, 0.9999))
def test_a_quantile_is_the_smallest_count_that_reaches_the_level(prior: Prior | GammaPrior, q: float) -> None:
    after = predictive(prior, 2)
    at = after.quantile(q)
    assert after.cdf(at) >= q * (1 - 1e-13)
    assert at == 0 or after.cdf(at - 1) < q


@pytest.mark.parametrize("prior", PRIORS)
def test_a_quantile_does_not_depend_on_the_others_that_are_asked_for(prior: Prior | GammaPrior) -> None:
    after, levels = predictive(prior, [0, 9]), [0.0, 0.3, 0.99]
    assert after.quantile(levels).T.tolist() == [after.quantile(level).tolist() for level in levels]
    assert after.quantile(levels)[:, 0].tolist() == [0, 0]


@pytest.mark.parametrize("prior", PRIORS)
def test_over_a_long_time_quantiles_of_the_next_count_are_those_of_the_rate(prior: Prior | GammaPrior) -> None:
    assert predictive(prior, 4, future=1e17).quantile([0.2, 0.99]) / 1e17 == pytest.approx(
        posterior(prior, 4).quantile([0.2, 0.99]), rel=1e-7
    )


def test_a_negative_binomial_has_the_published_quantiles() -> None:
    after = predictive(GammaPrior(2.0, 1.0), np.arange(6), future=3.0)
    levels = np.array([0.05, 0.5, 0.95, 0.999])
    expected = stats.nbinom.ppf(levels, 2.0 + np.arange(6)[:, None], 2.0 / 5.0)
    assert after.quantile(levels).tolist() == expected.astype(int).tolist()


@pytest.mark.parametrize("prior", PRIORS)
def test_intervals_hold_the_next_count(prior: Prior | GammaPrior) -> None:
    rng = np.random.default_rng(0)
    theta = prior.draw(40_000, rng)
    x, y = rng.poisson(theta), rng.poisson(2.0 * theta)
    low, high = predictive(prior, x, future=2.0).interval(0.8)
    assert np.mean((low <= y) & (y <= high)) > 0.8 - 0.01


@pytest.mark.parametrize("prior", PRIORS)
def test_what_is_no_count_has_probability_zero(prior: Prior | GammaPrior) -> None:
    after = predictive(prior, 1)
    assert after.pmf([-1.0, 0.5, -0.5]).tolist() == [0.0, 0.0, 0.0]
    assert after.cdf(-1.0) == 0.0
    assert after.cdf(2.7) == after.cdf(2.0)


@pytest.mark.parametrize("prior", PRIORS)
def test_shapes_follow_the_question(prior: Prior | GammaPrior) -> None:
    after = predictive(prior, 1, future=[1.0, 2.0, 3.0])
    assert after.mean == pytest.approx(posterior(prior, 1).mean * np.array([1.0, 2.0, 3.0]))
    assert after.pmf([[0, 1], [2, 3]]).shape == (3, 2, 2)
    assert after.quantile([0.1, 0.9]).shape == (3, 2)
    assert predictive(prior, 1).mean.shape == ()


@pytest.mark.parametrize("prior", PRIORS)
def test_many_units_are_answered_as_each_would_be_alone(prior: Prior | GammaPrior) -> None:
    x, t, future = np.array([[0, 3], [7, 12]]), np.array([1.0, 2.5]), np.array([[0.5], [4.0]])
    y, levels = np.array([[0, 1], [6, 40]]), np.array([0.0, 0.3, 0.95])
    after = predictive(prior, x, t, future)
    for at in np.ndindex(x.shape):
        one = predictive(prior, x[at], t[at[1]], future[at[0], 0])
        assert after.mean[at] == pytest.approx(one.mean, rel=1e-12)
        assert after.variance[at] == pytest.approx(one.variance, rel=1e-12)
        assert after.pmf(y)[at] == pytest.approx(np.vectorize(one.pmf)(y), rel=1e-11)
        assert after.cdf(y)[at] == pytest.approx(np.vectorize(one.cdf)(y), rel=1e-11)
        assert after.quantile(levels)[at].tolist() == [one.quantile(level) for level in levels]
        assert [end[at] for end in after.interval(0.8)] == list(one.interval(0.8))


@pytest.mark.parametrize("prior", PRIORS)
def test_no_count_is_certain_to_be_enough(prior: Prior | GammaPrior) -> None:
    with pytest.raises(InputError, match="level of a quantile is 1"):
        predictive(prior, 1).quantile(1.0)


class Moments(NamedTuple):
    """What a search begins with."""

    mean: np.float64
    variance: np.ndarray


def wide(channel: Channel, kind: str) -> Prior:
    """Far more atoms than the noise can tell apart: evenly spread, or nearly all in a narrow peak and some far away."""
    if channel.name == "normal":
        atoms = np.linspace(-30.0, 30.0, 4001)
    else:
        atoms = channel.at_coordinate(np.linspace(0.0, 3.1 if channel.name == "binomial" else 12.0, 4001))
    peak = np.exp(-0.5 * ((np.arange(4001) - 700) / 9.0) ** 2)
    weights = np.ones(4001) if kind == "even" else peak + 1e-6
    return Prior(atoms, weights / weights.sum())


@pytest.mark.parametrize("kind", ["even", "peak"])
@pytest.mark.parametrize(
    ("channel", "x", "known", "future"),
    [
        (POISSON, [0, 3, 40, 3], [1.0, 0.1, 2.0, 50.0], [0.01, 1.0, 7.0, 300.0]),
        (BINOMIAL, [0, 3, 140, 3], [1, 10, 200, 5000], [1, 7, 90, 4000]),
        (NORMAL, [0.0, -8.0, 12.0, 0.1], [1.0, 0.2, 9.0, 30.0], [0.01, 1.0, 20.0, 400.0]),
    ],
)
def test_a_wide_grid_is_summed_to_all_digits(
    kind: str, channel: Channel, x: list[float], known: list[float], future: list[float]
) -> None:
    prior, f = wide(channel, kind), np.array(future)
    after, ahead = posterior(prior, x, known, channel=channel), predictive(prior, x, known, f, channel=channel)
    levels = np.array([1e-6, 0.05, 0.5, 0.95, 1 - 1e-6])
    found = ahead.quantile(levels)
    for y, step in ((found, 0), (found - 1, 1)):
        below = channel.cdf(y[..., None], prior.atoms, f[:, None, None])
        summed = np.einsum("uqk,uk->uq", below, after.weights)
        assert np.stack([ahead.cdf(at)[unit] for unit, at in enumerate(y)]) == pytest.approx(summed, abs=1e-12)
        if channel.name != "normal":
            assert np.all(summed < levels if step else summed >= levels)
        elif not step:
            assert summed == pytest.approx(np.broadcast_to(levels, summed.shape), abs=1e-12)


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 9)), min_size=1, max_size=6),
    st.lists(st.floats(0, 1 - 1e-9), min_size=1, max_size=3),
)
def test_quantiles_of_any_law_are_found_from_its_moments(law: list[tuple[int, int]], q: list[float]) -> None:
    places, weights = np.array(law, dtype=np.float64).T
    weights, levels = weights / weights.sum(), np.array(q)

    def cdf(y: np.ndarray) -> np.ndarray:
        return np.asarray(((places <= y[..., None]) * weights).sum(axis=-1))

    found = whole_quantile(cdf, levels, Moments(weights @ places, np.cov(places, aweights=weights, ddof=0)))
    order = np.argsort(places)
    total = np.cumsum(weights[order])
    near = np.abs(total[:, None] - levels).min(axis=0) < 1e-12
    expected = places[order][np.minimum(np.searchsorted(total, levels), len(places) - 1)]
    assert np.where(near | (levels == 0), 0, found).tolist() == np.where(near | (levels == 0), 0, expected).tolist()


@pytest.mark.parametrize(
    ("future", "complaint"),
    [
        (0.0, "is 0"),
        (-1.0, "is -1"),
        (float("nan"), "is nan"),
        ([1.0, float("inf")], "is inf"),
        ("soon", "must be numbers"),
        ([1.0, 2.0, 3.0], "must be numbers whose shape fits"),
    ],
)
def test_future_exposure_is_checked(future: object, complaint: str) -> None:
    with pytest.raises(InputError, match=f"the future exposure {complaint}"):
        predictive(PRIORS[0], [1, 2], future=future)  # type: ignore[arg-type]


@pytest.mark.parametrize("prior", [GammaPrior(2.0, 0.5), Prior([1.0, 4.0], [0.5, 0.5])], ids=["gamma", "atoms"])
def test_counts_that_no_integer_holds_are_refused(prior: Prior | GammaPrior) -> None:
    assert predictive(prior, 3, 1.0, 1e17).quantile(0.9) > 10**17
    with pytest.raises(InputError, match=r"a next count may reach \de\+\d+, more than can be written"):
        predictive(prior, 3, 1.0, 1e20).interval(0.9)
