"""Lemma `npmle_cont`, checked: the clipped NPMLE is continuous, escaping mass included, except at a sample of zeros."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

from convex_npmle import convex_program
from ebformer.bayes.marginal import bayes_rule
from ebformer.channels.poisson import Poisson
from ebformer.errors import InputError
from ebformer.estimators.npmle.estimator import Npmle
from ebformer.lab.theorems.clipped_npmle import bounded_npmle, clipped_npmle
from ebformer.prior import Prior
from ebformer.tally import Tally

M, D = 10.0, 12
X = np.arange(14)
P = 0.5 * np.exp(Poisson().log_likelihood(X, 1.5)) + 0.5 * np.exp(Poisson().log_likelihood(X, 6.0))
P = P / P.sum()


def beyond(share: float, x: float) -> tuple[np.ndarray, np.ndarray]:
    """P with a share of the units moved to the value x."""
    return np.append(X, x), np.append((1 - share) * P, share)


def rows(x: np.ndarray, theta: np.ndarray, M: float) -> np.ndarray:
    """p(x | theta) / max over [0, M], written apart from the package: [values, rates]."""
    x, best = np.asarray(x, dtype=float)[:, None], np.minimum(x, M)[:, None]
    return np.exp(xlogy(x, theta / np.maximum(best, 1e-300)) - theta + best)


@settings(max_examples=60, deadline=None)
@given(
    number=st.dictionaries(st.integers(0, 30) | st.sampled_from([200, 10**5]), st.integers(1, 500), min_size=1),
    M=st.sampled_from([0.5, 3.0, 12.0, 40.0]),
    escaped=st.sampled_from([0.0, 1e-9, 1e-3, 0.4]),
)
def test_no_other_prior_on_the_interval_is_likelier(number: dict[int, int], M: float, escaped: float) -> None:
    """The derivative towards a point mass at theta is sum_x q(x) p(x | theta) / f(x) - 1, plus escaped / Q({M}) at M.

    Q is the maximiser if and only if it is nowhere positive on [0, M], for the objective is concave.
    """
    x, q = np.array(list(number)), (1 - escaped) * np.array(list(number.values())) / sum(number.values())
    prior = bounded_npmle(x, q, M, escaped)
    # Counts far above M tell rates apart that are as close to it as M / x.
    rival = np.concatenate([np.linspace(0, np.sqrt(M), 3000) ** 2, M * (1 - np.geomspace(1e-9, 0.1, 1000)), [M]])
    rise = (q / (rows(x, prior.atoms, M) @ prior.weights)) @ rows(x, np.minimum(rival, M), M) - 1
    if escaped:
        rise[rival >= M] += escaped / prior.weights[prior.atoms == M].item()
    assert rise.max() < 1e-8
    assert prior.atoms[-1] <= M


@pytest.mark.parametrize(
    ("x", "share", "M"),
    [([0], [1.0], 0.0), ([0], [1.0], np.nan), ([], [], 5.0), ([0, 1], [1.0], 5.0), ([-1], [1.0], 5.0)]
    + [([0, 1], share, 5.0) for share in ([0.0, 0.0], [-0.5, 1.5], [0.5, np.nan])],
)
def test_what_is_no_sample_is_refused(x: list[int], share: list[float], M: float) -> None:
    with pytest.raises(InputError, match=r"M is|do not match"):
        bounded_npmle(x, share, M)


def test_it_is_the_npmle_of_the_catalogue_where_the_bound_does_not_bind() -> None:
    tally = Tally(X, np.round(1e4 * P).astype(int) + 1)
    ours = clipped_npmle(tally.values, tally.multiplicity / tally.n, D, 13.0)
    np.testing.assert_allclose(ours, Npmle()(tally)(np.arange(D + 1)), atol=1e-6)


@pytest.mark.parametrize(
    ("x", "share", "escaped"),
    [(X, P, 0.0), (*beyond(0.1, 20), 0.0), (X, 0.9 * P, 0.1), (*beyond(1e-4, 1e8), 0.0), (*beyond(1e-8, 1e16), 0.0)],
    ids=["whole", "a tenth at 20", "a tenth escaped", "1e-4 at 1e8", "1e-8 at 1e16"],
)
def test_an_independent_convex_solver_agrees(x: np.ndarray, share: np.ndarray, escaped: float) -> None:
    prior = bounded_npmle(x, share, M, escaped)
    points = np.unique(np.concatenate([prior.atoms, np.linspace(0, np.sqrt(M), 60)[:-1] ** 2, [M]]))
    kernel = np.vstack([rows(x, points, M), points == M])
    used = np.append(share, escaped) > 0
    weights, _ = convex_program(kernel[used], np.append(share, escaped)[used])
    theirs = bayes_rule(Prior(points, weights), np.arange(D + 1))
    np.testing.assert_allclose(bayes_rule(prior, np.arange(D + 1)), theirs, atol=1e-5)


def test_mass_that_escapes_to_infinity_acts_like_mass_that_only_M_can_produce() -> None:
    limit = clipped_npmle(X, 0.9 * P, D, M, escaped=0.1)
    distance = [np.abs(clipped_npmle(*beyond(0.1, x), D, M) - limit).max() for x in (15, 20, 30, 50, 1e3, 1e9)]
    assert distance[0] < 0.05
    assert distance[1] < 1e-2
    assert max(distance[3:]) < 1e-6
    # The printed proof says that no mass can be left at infinity; leaving it out would be another estimator.
    assert np.abs(limit - clipped_npmle(X, P, D, M)).max() > 1


def test_mass_that_escapes_and_vanishes_leaves_no_trace() -> None:
    """A share of 1/n at n^2 puts a mass of order 1/n on M, and the estimates move in proportion."""
    whole = clipped_npmle(X, P, D, M)
    distance = [np.abs(clipped_npmle(*beyond(1 / n, n**2), D, M) - whole).max() for n in (10**2, 10**4, 10**6, 10**8)]
    assert distance == sorted(distance, reverse=True)
    assert distance[-1] < 1e-4
    assert distance[-1] == pytest.approx(distance[-2] / 100, rel=0.01)


def test_small_changes_of_shares_make_small_changes() -> None:
    """Where the derivative is negative off the atoms, as here, atoms and weights are smooth in the shares."""
    whole, rng = clipped_npmle(X, P, D, M), np.random.default_rng(0)
    for size in (1e-3, 1e-5, 1e-7):
        moved = P * (1 + size * rng.uniform(-1, 1, P.size))
        assert np.abs(clipped_npmle(X, moved / moved.sum(), D, M) - whole).max() < 5 * size


def test_at_a_sample_of_zeros_there_is_no_continuous_extension() -> None:
    # Both samples show a 2 and tend to all zeros, but their estimates at 2 tend to different numbers.
    for n in (10**3, 10**5):
        alone = clipped_npmle([0, 2], [1 - 1 / n, 1 / n], 3, M)[2]
        beside_sixes = clipped_npmle([0, 2, 6], [1 - 6 / n, 1 / n, 5 / n], 3, M)[2]
        assert alone == pytest.approx(1.6, abs=0.05)
        assert beside_sixes == pytest.approx(5.3, abs=0.05)
