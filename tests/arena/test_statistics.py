"""Intervals, paired tests and Plackett-Luce against independent computations and closed forms."""

import numpy as np
import pytest
from scipy import stats

from ebformer.arena.losses import Loss
from ebformer.arena.paired_t import PairedT, paired_t, show_p
from ebformer.arena.plackett_luce import plackett_luce
from ebformer.arena.summary import Cell, Interval, Paired, interval, pair, ranks
from ebformer.errors import InputError


def table(*columns, names="abcdef"):
    values = np.column_stack(columns).astype(float)
    return Paired(tuple(names[: values.shape[1]]), tuple(range(len(values))), values)


def test_repeats_are_averaged_within_their_prior_and_unpaired_priors_left_out():
    rows = [Loss("w", 9, prior, r, "a", 1.0 + r, 0, 0, 0) for prior in range(3) for r in range(2)]
    rows += [Loss("w", 9, prior, 0, "b", 4.0, 0, 0, 0) for prior in range(2)]
    paired = pair(rows)[Cell("w", 9)]
    assert paired.priors == (0, 1)
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


def test_one_who_always_wins_is_labelled_not_identified():
    rng = np.random.default_rng(5)
    losses = draw_rankings([0.0, 0.3, 0.0], 50, rng)
    losses[:, 2] = losses[:, :2].min(axis=1) - 1
    fit = plackett_luce(Paired(("mle", "b", "winner"), tuple(range(50)), losses))
    assert not fit.identified
    assert fit.tiers == (("winner",), ("mle", "b"))
    assert "winner over mle, b" in fit.note
    assert "regularised" in fit.note
    assert np.isfinite(fit.coefficients).all()
    assert fit["winner"] > max(fit["b"], 0)


def test_a_missing_reference_is_named():
    with pytest.raises(InputError, match="reference mle"):
        plackett_luce(table([1, 2], [2, 1]))
