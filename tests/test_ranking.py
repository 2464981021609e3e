"""Ranks and top lists: closed forms, simulation, and the sums that any ranking must have."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from ebformer.bayes.marginal import posterior
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.prior import GridPrior, Prior
from ebformer.ranking import cells, expected_rank, fewer_others_ahead, p_top


def some_units(rng: np.random.Generator, kinds: int = 5, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    return rng.dirichlet(np.ones(k), size=kinds), rng.integers(1, 4, size=kinds)


def every_outcome(weights: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Expected ranks and top probabilities by going through every joint outcome; one unit per row."""
    n, k = weights.shape
    ranks, top = np.zeros(n), np.zeros(n)
    for outcome in itertools.product(range(k), repeat=n):
        chance = np.prod([weights[i, outcome[i]] for i in range(n)])
        theta = np.array(outcome)
        for i in range(n):
            ahead, tied = int((theta > theta[i]).sum()), int((theta == theta[i]).sum())
            ranks[i] += chance * (ahead + (tied + 1) / 2)
            top[i] += chance * min(max(m - ahead, 0), tied) / tied
    return ranks, top


@pytest.mark.parametrize("m", [1, 2, 4])
def test_ranks_agree_with_going_through_every_outcome(m: int) -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(3), size=6)
    ranks, top = every_outcome(weights, m)
    np.testing.assert_allclose(expected_rank(weights, np.ones(6, int)), ranks, rtol=1e-12)
    np.testing.assert_allclose(p_top(weights, np.ones(6, int), m), top, atol=1e-9)


def test_the_cells_of_a_grid_are_the_cells_that_ranks_are_counted_in() -> None:
    """And groups whose grids lie between one another's points share them out by their length."""
    grid, other = GridPrior([0.0, 1.0, 4.0], [0.2, 0.5, 0.3]), GridPrior([0.0, 0.5, 2.0], [0.2, 0.5, 0.3])
    after = posterior(grid, [0, 3])
    np.testing.assert_allclose(cells([after], np.ones(2, int)), after.weights, atol=1e-15)
    both = cells([after, posterior(other, [1])], np.ones(3, int))
    edges = np.unique([*grid.edges[1:], *other.edges[1:]])
    inside = np.diff(np.minimum(edges, 2.25).clip(0.25), prepend=0.25) / 2.0  # of the cell from 0.25 to 2.25
    np.testing.assert_allclose(both[1][(edges > 0.25) & (edges <= 2.25)], after.weights[1, 1] * inside[inside > 0])


@pytest.mark.parametrize("m", [1, 3, 9])
def test_one_unit_stands_for_its_kind(m: int) -> None:
    """Multiplicities say the same as repeated rows."""
    weights, multiplicity = some_units(np.random.default_rng(1))
    repeated = np.repeat(weights, multiplicity, axis=0)
    ones = np.ones(len(repeated), int)
    for compact, long in (
        (expected_rank(weights, multiplicity), expected_rank(repeated, ones)),
        (p_top(weights, multiplicity, m), p_top(repeated, ones, m)),
    ):
        np.testing.assert_allclose(np.repeat(compact, multiplicity), long, atol=1e-9)


@pytest.mark.parametrize(("n", "m"), [(1_000, 10), (100_000, 500), (10_000_000, 3)])
def test_the_ranks_and_the_places_on_top_add_up(n: int, m: int) -> None:
    """The ranks of n units add up to n (n + 1) / 2 and m places are given away."""
    rng = np.random.default_rng(2)
    weights = rng.dirichlet(np.ones(30), size=200)
    multiplicity = rng.multinomial(n, np.ones(200) / 200)
    assert multiplicity @ expected_rank(weights, multiplicity) == pytest.approx(n * (n + 1) / 2, rel=1e-9)
    assert multiplicity @ p_top(weights, multiplicity, m) == pytest.approx(m, rel=1e-4)


def test_identical_units_share_the_places_equally() -> None:
    weights, multiplicity = np.full((1, 7), 1 / 7), np.array([50])
    assert p_top(weights, multiplicity, 10) == pytest.approx([0.2], abs=1e-6)
    assert expected_rank(weights, multiplicity) == pytest.approx([25.5])


@pytest.mark.parametrize(("n", "m"), [(4_000, 2_000), (400, 399), (300, 300)])
def test_thousands_of_identical_units_have_equal_chances(n: int, m: int) -> None:
    """Though some cells are so high that a place is certain there, and some so low that there is none."""
    weights = np.array([0.02, 0.1, 0.08, 0.15, 0.05, 0.2, 0.1, 0.2, 0.1])
    np.testing.assert_allclose(p_top(weights[None], np.array([n]), m), [m / n], atol=1e-7)


@pytest.mark.parametrize(
    ("n", "m", "chances"),
    [(40, 12, (0.0, 1e-4, 0.3, 0.5, 0.9, 1.0)), (100_000, 85, (1e-4, 9.9e-4, 1.1e-3)), (10**7, 21, (1e-6, 2e-6))],
)
def test_others_ahead_of_one_kind_are_binomial(n: int, m: int, chances: tuple[float, ...]) -> None:
    for p in chances:
        answer = fewer_others_ahead(np.array([[p]]), np.array([n]), np.array([0]), m)
        assert answer[0] == pytest.approx([stats.binom.cdf(m - 1, n - 1, p)], abs=1e-10)


def test_others_ahead_of_many_kinds_add_up_one_by_one() -> None:
    """The distribution of a sum of independent indicators, by adding one at a time."""
    p, multiplicity = np.array([2e-4, 0.03, 0.5, 0.97]), np.array([500, 30, 4, 3])
    for kind in range(4):
        others = np.repeat(p, multiplicity - (np.arange(4) == kind))
        law = np.ones(1)
        for chance in others:
            law = np.convolve(law, [1 - chance, chance])
        for m in (1, 5, 8):
            answer = fewer_others_ahead(p[None], multiplicity, np.array([kind]), m)
            assert answer[0] == pytest.approx([law[:m].sum()], abs=1e-8)


@pytest.mark.parametrize("units", [1, 3, 40])
def test_the_cells_of_continuous_posteriors_hold_all_of_them(units: int) -> None:
    weights = cells([posterior(GammaPrior(2.0, 1.0), np.arange(units))], np.ones(units, int))
    assert weights.min() >= 0
    assert weights.sum(axis=1) == pytest.approx(np.ones(units), abs=1e-12)


def test_gamma_posteriors_rank_as_their_draws_do() -> None:
    rng = np.random.default_rng(3)
    after = posterior(GammaPrior(2.0, 1.0), np.array([0, 2, 3, 9, 12]), np.array([1.0, 1.0, 2.0, 2.0, 3.0]))
    weights = cells([after], np.ones(5, int))
    draws = after.sample(200_000, rng)
    order = (-draws).argsort(axis=0).argsort(axis=0)
    np.testing.assert_allclose(expected_rank(weights, np.ones(5, int)), 1 + order.mean(axis=1), atol=0.02)
    np.testing.assert_allclose(p_top(weights, np.ones(5, int), 2), (order < 2).mean(axis=1), atol=0.01)


def test_groups_with_different_priors_share_one_ladder() -> None:
    low = posterior(Prior([1.0, 2.0], [0.5, 0.5]), np.array([1]))
    high = posterior(Prior([3.0, 4.0], [0.5, 0.5]), np.array([1]))
    weights = cells([low, high], np.ones(2, int))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(expected_rank(weights, np.ones(2, int)), [2.0, 1.0])


def test_a_ladder_of_many_cells_is_thinned_without_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty groups with a grid each: so many cells that ranks took an hour, and few of them say the same."""
    rng = np.random.default_rng(4)
    groups = []
    for _ in range(60):
        points = np.sort(rng.gamma(3.0, 1.0, 30))
        groups.append(posterior(GridPrior(points, rng.dirichlet(np.ones(30))), rng.integers(0, 9, 2)))
    ones, most = np.ones(120, int), 1024
    few = cells(groups, ones)
    monkeypatch.setattr("ebformer.ranking.MOST_CELLS", 10**9)
    many = cells(groups, ones)
    assert few.shape[1] <= most < many.shape[1]
    np.testing.assert_allclose(few.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(expected_rank(few, ones), expected_rank(many, ones), atol=0.05)
    for m in (1, 10):
        np.testing.assert_allclose(p_top(few, ones, m), p_top(many, ones, m), atol=1e-4)


def test_a_cell_that_next_to_nobody_is_in_changes_nothing() -> None:
    weights = np.array([[0.3, 5e-324, 0.7], [0.6, 0.0, 0.4]])
    found = p_top(weights, np.array([1, 2]), 1)
    assert np.allclose(found, p_top(weights[:, [0, 2]], np.array([1, 2]), 1))
