"""Decisions keep their promises: exact on small cases, and in simulated worlds where the truth is known."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ebformer as eb
from ebformer.channels import channel_named
from ebformer.distributions import DiscretePosterior
from ebformer.selection import Bar, Side, error, grades, lfsr, p_above, p_below, selected

ATOMS = np.array([-1.0, 0.0, 2.0])
AFTER = DiscretePosterior(ATOMS, np.array([[0.1, 0.5, 0.4], [0.9, 0.1, 0.0], [0.0, 0.0, 1.0]]))


def test_what_lies_at_the_bar_is_neither_above_nor_below() -> None:
    at = AFTER.weights[:, 1]
    np.testing.assert_allclose(p_above(AFTER, 0.0) + at + p_below(AFTER, 0.0), 1.0)
    np.testing.assert_allclose(lfsr(AFTER, 0.0), [0.6, 0.1, 0.0])


def test_the_sign_error_is_that_of_the_favoured_side() -> None:
    rule = eb.estimator("normal")(eb.Tally.of([-2.0, 0.1, 3.0, 5.0], se=1.0))
    after = rule.posterior([-2.0, 3.0])
    np.testing.assert_allclose(lfsr(after, 0.5), np.minimum(after.exceeds(0.5), 1.0 - after.exceeds(0.5)))


errors = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8)


@given(errors, st.floats(0.01, 0.99), st.integers(1, 4))
def test_no_longer_list_keeps_the_promise(chances: list[float], fdr: float, times: int) -> None:
    chance, units = np.array(chances), np.full(len(chances), times)
    listed = selected(chance, units, fdr)
    if listed.any():
        assert chance[listed].mean() <= fdr * (1 + 1e-12)
    ranked = np.sort(chance)
    longest = sum(1 for k in range(1, ranked.size + 1) if ranked[:k].mean() <= fdr)
    # Units with equal chances stay together, so that only a list that would part them is shorter.
    assert listed.sum() == longest or np.isclose(ranked[longest - 1], ranked[min(longest, ranked.size - 1)])
    assert selected(np.repeat(chance, times), np.ones(times * chance.size, int), fdr).sum() == times * listed.sum()


WORLDS: list[tuple[str, str, Any, Side, str]] = [
    ("poisson", "npmle-em", eb.Prior([1.0, 2.0, 6.0], [0.6, 0.3, 0.1]), "above", "1.5x"),
    ("poisson", "full-bayes", eb.GammaPrior(2.0, 1.0), "above", "1.5x"),
    ("binomial", "npmle-em", eb.Prior([0.1, 0.2, 0.35], [0.6, 0.3, 0.1]), "above", "1.25x"),
    ("binomial", "full-bayes", eb.BetaPrior(2.0, 9.0), "below", "0.15"),
    ("normal", "full-bayes", eb.NormalPrior(0.5, 1.5), "apart", "0"),
]


@pytest.mark.parametrize(("name", "method", "prior", "side", "text"), WORLDS)
def test_lists_have_no_more_false_discoveries_than_stated(
    name: str, method: str, prior: Any, side: Side, text: str
) -> None:
    channel, rng, shares = channel_named(name), np.random.default_rng(0), []
    known = {"poisson": 3.0, "binomial": 60.0, "normal": 1.0}[name]
    for _ in range(20):
        theta = prior.draw(400, rng)
        x = channel.draw(theta, np.full(400, known), rng)
        tally = eb.Tally.of(x, known, channel=channel)
        bar = Bar.of(text).at(tally.mean).number
        after = eb.estimator(method)(tally).posterior(x, known)
        listed = selected(error(after, side, bar), np.ones(400, dtype=np.int64), 0.1)
        sign = {"above": 1.0, "below": -1.0, "apart": np.where(after.exceeds(bar) > 0.5, 1.0, -1.0)}[side]
        false = (sign * (theta - bar) <= 0)[listed]
        shares.append(false.mean() if false.size else 0.0)
    assert np.mean(shares) <= 0.1 + 2 * np.std(shares, ddof=1) / np.sqrt(20)


def test_the_probability_of_being_above_is_what_happens() -> None:
    prior, rng = eb.GammaPrior(2.0, 1.0), np.random.default_rng(1)
    theta = prior.draw(20_000, rng)
    x = rng.poisson(theta)
    said = p_above(eb.estimator("full-bayes")(eb.Tally.of(x)).posterior(x), 2.5)
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        those = (said >= low) & (said < high)
        assert np.mean(theta[those] > 2.5) == pytest.approx(said[those].mean(), abs=4 / np.sqrt(those.sum()) / 2)


def test_a_grade_ends_where_its_first_is_told_from_the_next() -> None:
    means = np.array([9.0, 8.9, 5.0, 4.9, 0.0])
    cells = np.array([np.exp(-0.5 * (np.linspace(-5, 14, 400) - mean) ** 2) for mean in means])
    cells /= cells.sum(axis=1, keepdims=True)
    assert grades(cells, np.arange(5.0)).tolist() == [1, 1, 2, 2, 3]
    shuffled = np.array([3, 0, 4, 2, 1])
    assert grades(cells[shuffled], np.arange(5.0)[shuffled]).tolist() == [2, 1, 3, 2, 1]
    assert grades(cells, np.arange(5.0), level=0.9999999).max() == 2  # who asks for more certainty has fewer grades


def test_the_first_of_a_grade_is_truly_ahead_as_often_as_stated() -> None:
    from ebformer.ranking import cells, expected_rank

    rng, ahead = np.random.default_rng(2), []
    for _ in range(40):
        theta = rng.gamma(4.0, 3.0, 60)
        x = rng.poisson(theta)
        each = np.ones(60, dtype=np.int64)
        weights = cells([eb.GammaPrior(4.0, 1 / 3).posterior(x.astype(float), np.ones(60))], each)
        ranks = expected_rank(weights, each)
        grade = grades(weights, ranks)
        first = [np.flatnonzero(grade == g)[np.argmin(ranks[grade == g])] for g in range(1, grade.max() + 1)]
        ahead += [theta[one] > theta[behind] for one, behind in pairwise(first)]
    assert np.mean(ahead) >= 0.9 - 2 * np.sqrt(0.09 / len(ahead))


@pytest.mark.parametrize("bar", ["1.5y", "x", "-1x", "nan", True, None, "inf"])
def test_bars_that_say_nothing_are_refused(bar: object) -> None:
    with pytest.raises(eb.InputError, match="the bar is"):
        Bar.of(bar)  # type: ignore[arg-type]


@pytest.mark.parametrize("fdr", [0.0, 1.0, "0.1", np.nan])
def test_shares_of_errors_lie_between_0_and_1(fdr: object) -> None:
    with pytest.raises(eb.InputError, match="share of false discoveries"):
        selected(np.array([0.1]), np.array([1]), fdr)  # type: ignore[arg-type]
