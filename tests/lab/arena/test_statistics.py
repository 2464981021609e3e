"""Intervals, paired tests and Plackett-Luce against independent computations and closed forms."""

from itertools import permutations

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ebformer.errors import InputError
from ebformer.lab.arena.losses import Loss
from ebformer.lab.arena.paired_t import PairedT, paired_t, show_p
from ebformer.lab.arena.plackett_luce import plackett_luce
from ebformer.lab.arena.summary import Cell, Interval, Paired, interval, pair, ranks


def table(*columns, names="abcdef"):
    values = np.column_stack(columns).astype(float)
    return Paired(tuple(names[: values.shape[1]]), tuple(range(len(values))), values)


def test_repeats_are_averaged_within_their_prior_and_unpaired_priors_left_out():
    rows = [Loss("w", 9, prior, r, "a", 1.0 + r) for prior in range(3) for r in range(2)]
    rows += [Loss("w", 9, prior, 0, "b", 4.0) for prior in range(2)]
    paired = pair(rows)[Cell("w", 9)]
    assert paired.cases == (0, 1)
    assert paired["a"].tolist() == [1.5, 1.5]
    with pytest.raises(InputError, match="not in the table"):
        paired["c"]


def test_the_interval_is_students_and_covers():
    rng = np.random.default_rng(0)
    sample = rng.normal(5, 2, 30)
    expected = stats.t.interval(0.95, 29, sample.mean(), stats.sem(sample))
    assert interval(sample)[1:3] == pytest.approx(expected, rel=1e-12)
    assert interval(sample).half_width == pytest.approx(expected[1] - sample.mean(), rel=1e-12)
    covered = [low <= 5 <= high for _, low, high, _ in (interval(rng.normal(5, 2, 10)) for _ in range(2000))]
    assert np.mean(covered) == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 2000))


def test_one_prior_has_a_mean_and_nothing_more():
    alone = interval(np.array([3.0]))
    assert (alone.mean, alone.units) == (3.0, 1)
    assert np.isnan(alone.half_width)
    assert show_p(paired_t(table([1.0], [2.0]), "a", "b")) == "-"


def test_the_paired_test_is_scipys_one_sided_one():
    rng = np.random.default_rng(1)
    a, b = rng.gamma(2, size=40), rng.gamma(2.2, size=40)
    ours, theirs = paired_t(table(a, b), "a", "b"), stats.ttest_rel(a, b, alternative="less")
    assert (ours.t, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-10)
    assert paired_t(table(a, b), "b", "a").p == pytest.approx(1 - ours.p, rel=1e-9)


def test_tiny_and_huge_p_values_are_printed_as_such():
    for t, shown in ((-8.0, f"{stats.t.cdf(-8, 40):.3g}"), (1.0, "0.838"), (6.0, f"1 - {stats.t.sf(6, 40):.2g}")):
        p = float(stats.t.cdf(t, 40))
        assert show_p(PairedT("a", "b", Interval(0, 0, 0, 41), t, p, np.log10(p))) == shown
    rng = np.random.default_rng(2)
    a, b = rng.normal(0, 1e-3, 400), rng.normal(5, 1e-3, 400)
    assert show_p(paired_t(table(a, b), "a", "b")) == "< 1e-100"
    assert paired_t(table(a, b), "a", "b").log10_p < -300
    assert show_p(paired_t(table(a, b), "b", "a")) == "> 1 - 1e-100"
    assert show_p(paired_t(table(a, a), "a", "b")) == "-"


def test_ranks_share_ties():
    assert ranks(table([1, 2], [1, 1], [3, 0])).tolist() == [[1.5, 1.5, 3.0], [3.0, 2.0, 1.0]]


def draw_rankings(strength, count, rng):
    """The Gumbel trick: sorting strength + Gumbel noise gives Plackett-Luce rankings; losses are minus that."""
    return -(np.asarray(strength) + rng.gumbel(size=(count, len(strength))))


def test_plackett_luce_recovers_the_strengths_that_made_the_rankings():
    strength = [0.0, 1.0, 2.5, -0.5]
    losses = draw_rankings(strength, 4000, np.random.default_rng(3))
    fit = plackett_luce(Paired(("mle", "b", "c", "d"), tuple(range(4000)), losses))
    assert fit.identified
    assert fit["mle"] == 0
    assert fit.coefficients == pytest.approx(strength, abs=0.15)


def test_plackett_luce_does_not_depend_on_the_order_of_the_estimators():
    losses = draw_rankings([0.0, 0.7, -0.4], 200, np.random.default_rng(4))
    one = plackett_luce(Paired(("mle", "b", "c"), tuple(range(200)), losses))
    two = plackett_luce(Paired(("c", "b", "mle"), tuple(range(200)), losses[:, ::-1]))
    assert [two[name] for name in one.estimators] == pytest.approx(one.coefficients, abs=1e-6)


def test_ties_count_half_each_way():
    fit = plackett_luce(Paired(("mle", "b"), (0, 1, 2), np.array([[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]])))
    assert fit.identified
    assert fit["b"] == pytest.approx(0.0, abs=1e-9)
    fit = plackett_luce(Paired(("mle", "b"), (0, 1), np.array([[1.0, 1.0], [2.0, 1.0]])))  # 3 halves to 1
    assert fit["b"] == pytest.approx(np.log(3), abs=1e-6)


@settings(max_examples=50)
@given(st.integers(2, 5), st.integers(1, 12), st.randoms(use_true_random=False))
def test_permuting_the_estimators_permutes_the_answer_whatever_is_tied(size, cases, random):
    losses = np.array([[random.randint(1, 3) for _ in range(size)] for _ in range(cases)], dtype=float)
    names = ("mle", "b", "c", "d", "e")[:size]
    one = plackett_luce(Paired(names, tuple(range(cases)), losses))
    order = random.sample(range(size), size)
    two = plackett_luce(Paired(tuple(names[i] for i in order), tuple(range(cases)), losses[:, order]))
    assert [two[name] for name in names] == pytest.approx(one.coefficients, abs=1e-6)
    assert {frozenset(tier) for tier in one.tiers} == {frozenset(tier) for tier in two.tiers}


def test_all_tied_are_equally_strong():
    fit = plackett_luce(Paired(("mle", "b", "c", "d"), tuple(range(20)), np.ones((20, 4))))
    assert fit.coefficients == pytest.approx([0.0] * 4, abs=1e-12)


@pytest.mark.parametrize("always_first", [False, True])
def test_coefficients_are_those_of_choix_for_every_order_of_the_tied(always_first):
    losses = draw_rankings([0.0, 0.7, -0.4, 1.1], 60, np.random.default_rng(6))
    losses[:30, 1:] = np.round(losses[:30, 1:2])  # three tied in half of the rankings
    losses[30:50] = np.round(losses[30:50])
    if always_first:
        losses[:, 2] = losses.min(axis=1) - 1
    orders = []
    for row in losses:
        strict = [order for order in permutations(range(4)) if all(np.diff(row[list(order)]) >= 0)]
        orders += [order for order in strict for _ in range(24 // len(strict))]
    # 24 copies of every ranking: choix adds alpha to sums that are 24 times ours.
    alpha = 24 * 0.01 if always_first else 0.0
    expected = choix.ilsr_rankings(4, orders, alpha=alpha, max_iter=1000)
    fit = plackett_luce(Paired(("mle", "b", "c", "d"), tuple(range(60)), losses))
    assert fit.identified is not always_first
    assert fit.coefficients == pytest.approx(expected - expected[0], abs=1e-6)


def test_losses_that_differ_by_rounding_are_tied():
    ones = np.ones((3, 3))
    ones[0, 1] += 1e-13
    fit = plackett_luce(Paired(("mle", "b", "c"), (0, 1, 2), ones * 1e-7))
    assert fit.identified
    assert fit.coefficients == pytest.approx([0.0] * 3, abs=1e-12)


def test_rare_upsets_among_many_are_fitted_and_not_lost_in_rounding():
    losses = np.tile(np.arange(12.0) + 1, (1000, 1))
    for upset in range(11):
        losses[upset, [upset, upset + 1]] = losses[upset, [upset + 1, upset]]
    fit = plackett_luce(Paired(("mle", *"bcdefghijkl"), tuple(range(1000)), losses))
    assert fit.identified
    assert np.diff(fit.coefficients) == pytest.approx(-np.log(999), abs=0.01)  # lost once in 1000


def test_one_who_always_wins_is_labelled_not_identified():
    rng = np.random.default_rng(5)
    losses = draw_rankings([0.0, 0.3, 0.0], 50, rng)
    losses[:, 2] = losses[:, :2].min(axis=1) - 1
    fit = plackett_luce(Paired(("mle", "b", "winner"), tuple(range(50)), losses))
    assert not fit.identified
    assert fit.tiers == (("winner",), ("mle", "b"))
    assert "the order is always winner over mle, b" in fit.note
    assert "regularised" in fit.note
    assert np.isfinite(fit.coefficients).all()
    assert fit["winner"] > max(fit["b"], 0)


def test_a_missing_reference_is_named():
    with pytest.raises(InputError, match="reference mle"):
        plackett_luce(table([1, 2], [2, 1]))
