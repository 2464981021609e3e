"""Lemma `npmle_cont`, checked: the clipped NPMLE is continuous, escaping mass included, except at a sample of zeros."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebformer.channel import Poisson
from ebformer.tally import Tally
from ebformer.transformer.clipped_npmle import bounded_npmle, clipped_npmle

M, D = 10.0, 12
X = np.arange(14)
P = 0.5 * np.exp(Poisson().log_pmf(X, 1.5)) + 0.5 * np.exp(Poisson().log_pmf(X, 6.0))
P = P / P.sum()


def beyond(share: float, x: float) -> tuple[np.ndarray, np.ndarray]:
    """P with a share of the units moved to the value x."""
    return np.append(X, x), np.append((1 - share) * P, share)


@settings(max_examples=25, deadline=None)
@given(
    number=st.dictionaries(st.integers(0, 30), st.integers(1, 500), min_size=1, max_size=12),
    M=st.sampled_from([0.5, 3.0, 12.0, 40.0]),
)
def test_no_other_prior_on_the_interval_is_likelier(number: dict[int, int], M: float) -> None:
    x, q = np.array(list(number)), np.array(list(number.values())) / sum(number.values())
    prior = bounded_npmle(x, q, M)
    fitted = np.exp(Poisson().log_pmf(x[:, None], prior.atoms)) @ prior.weights
    # The derivative towards a point mass at theta is sum_x q(x) p(x | theta) / f(x) - 1: nowhere positive on [0, M].
    rival = np.linspace(0, np.sqrt(M), 301) ** 2
    rise = (q / fitted) @ np.exp(Poisson().log_pmf(x[:, None], np.minimum(rival, M))) - 1
    assert rise.max() < 2e-6
    assert prior.atoms[-1] <= M


def test_it_is_the_npmle_of_the_catalogue_where_the_bound_does_not_bind() -> None:
    npmle = pytest.importorskip("ebformer.estimators.npmle")
    tally = Tally(X, np.round(1e4 * P).astype(int) + 1)
    ours = clipped_npmle(tally.values, tally.multiplicity / tally.n, D, 13.0)
    np.testing.assert_allclose(ours, npmle.Npmle()(tally)(np.arange(D + 1)), atol=0.02)


def test_mass_that_escapes_to_infinity_acts_like_mass_that_only_M_can_produce() -> None:
    limit = clipped_npmle(X, 0.9 * P, D, M, escaped=0.1)
    distance = [np.abs(clipped_npmle(*beyond(0.1, x), D, M) - limit).max() for x in (15, 20, 30, 50, 1e3, 1e9)]
    assert distance[0] < 0.05
    assert distance[1] < 1e-2
    assert max(distance[3:]) < 1e-6
    # The printed proof says that no mass can be left at infinity; leaving it out would be another estimator.
    assert np.abs(limit - clipped_npmle(X, P, D, M)).max() > 1


def test_mass_that_escapes_and_vanishes_leaves_no_trace() -> None:
    whole = clipped_npmle(X, P, D, M)
    distance = [np.abs(clipped_npmle(*beyond(1 / n, n**2), D, M) - whole).max() for n in (10**2, 10**4, 10**6)]
    assert distance == sorted(distance, reverse=True)
    assert distance[-1] < 0.01


def test_small_changes_of_shares_make_small_changes() -> None:
    whole, rng = clipped_npmle(X, P, D, M), np.random.default_rng(0)
    for size in (1e-3, 1e-5, 1e-7):
        moved = np.abs(P + size * rng.uniform(-1, 1, P.size) * P)
        # The mixing distribution moves like a root of the data, its Bayes rule still goes to 0.
        assert np.abs(clipped_npmle(X, moved / moved.sum(), D, M) - whole).max() < 5 * np.sqrt(size)


def test_at_a_sample_of_zeros_there_is_no_continuous_extension() -> None:
    # Both samples show a 2 and tend to all zeros, but their estimates at 2 tend to different numbers.
    for n in (10**3, 10**5):
        alone = clipped_npmle([0, 2], [1 - 1 / n, 1 / n], 3, M)[2]
        beside_sixes = clipped_npmle([0, 2, 6], [1 - 6 / n, 1 / n, 5 / n], 3, M)[2]
        assert alone == pytest.approx(1.6, abs=0.05)
        assert beside_sixes == pytest.approx(5.3, abs=0.05)
