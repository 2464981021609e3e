"""The oldest two: the count itself, and Robbins' formula."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebformer.bayes.marginal import bayes_rule, log_marginal
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.errors import InputError, KnownError
from ebformer.estimators.mle import Mle
from ebformer.estimators.robbins import Robbins
from ebformer.tally import Tally

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "royale_belge.json").read_text())
counts = st.lists(st.integers(0, 30), min_size=1, max_size=60)


@given(st.lists(st.integers(0, 10**6), min_size=1), st.floats(0.1, 10))
def test_the_mle_is_the_count_per_exposure(x: list[int], t: float) -> None:
    assert Mle()(Tally.of(x))(x).tolist() == x
    assert Mle()(Tally.of(x, exposure=t))(x) == pytest.approx(np.array(x) / t)
    assert Mle()(Tally.of(x))(x, exposure=t) == pytest.approx(np.array(x) / t)


def test_robbins_on_the_belgian_claims() -> None:
    rule = Robbins("plain")(Tally(np.arange(8), GOLDEN["counts"]))
    # The row is the formula (x + 1) N(x + 1) / N(x) on the published counts, to three digits: golden/README.md.
    assert [float(f"{rate:.3g}") for rate in rule(np.arange(7))] == GOLDEN["robbins"]


@given(counts)
def test_the_variants_are_their_formulas(x: list[int]) -> None:
    tally, frequency = Tally.of(x), {value: x.count(value) for value in range(40)}
    for value in x:
        above, here = (value + 1) * frequency[value + 1], frequency[value]
        assert Robbins("plain")(tally)(value) == pytest.approx(above / here)
        assert Robbins()(tally)(value) == pytest.approx(above / (here + 1))
        clipped = min(above / here, 6.0) if value < 9 else 6.0
        assert Robbins("clipped", d=9, M=6.0)(tally)(value) == pytest.approx(clipped)


@given(counts)
def test_the_plain_formula_is_unbiased_for_the_total(x: list[int]) -> None:
    # sum_i theta(x_i) = sum_x (x + 1) N(x + 1) over the x that were seen: all counts whose predecessor was seen.
    expected = sum(value for value in x if value > 0 and value - 1 in x)
    assert Robbins("plain")(Tally.of(x))(x).sum() == pytest.approx(expected)


def test_with_exact_frequencies_robbins_is_the_bayes_rule() -> None:
    prior, x = GammaPrior(3.0, 1.0), np.arange(15)
    frequency = np.round(1e12 * np.exp(log_marginal(prior, np.arange(16)))).astype(np.int64)
    assert Robbins()(Tally(np.arange(16), frequency))(x) == pytest.approx(bayes_rule(prior, x), rel=1e-6)


def test_unseen_counts() -> None:
    tally = Tally.of([0, 0, 5])
    assert np.isnan(Robbins("plain")(tally)([4, 9])).all()
    assert Robbins()(tally)([4, 9]).tolist() == [5.0, 0.0]
    assert Robbins("clipped", d=20, M=7.0)(tally)([4, 9, 25]).tolist() == [7.0, 0.0, 7.0]


def test_the_bound_is_on_the_rate_whatever_the_exposure() -> None:
    rule = Robbins("clipped", d=50, M=2.0)(Tally.of([0, 1, 1, 1, 1], exposure=2.0))
    assert rule(0) == pytest.approx(2.0)
    assert rule(60) == pytest.approx(2.0)


@pytest.mark.parametrize(
    "options",
    [
        {"variant": "improved"},
        {"variant": "clipped"},
        {"variant": "clipped", "d": 3},
        {"variant": "clipped", "d": 0, "M": 2.0},
        {"variant": "clipped", "d": 3, "M": float("nan")},
        {"d": 3, "M": 2.0},
        {"d": 3},
        {"variant": "plain", "M": 2.0},
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Robbins(**options)  # type: ignore[arg-type]


def test_unequal_exposures_are_refused_in_one_sentence() -> None:
    with pytest.raises(KnownError, match=r"robbins treats all units alike .* such as priorformer, npmle or gamma"):
        Robbins()(Tally.of([1, 2], exposure=[1.0, 2.0]))
