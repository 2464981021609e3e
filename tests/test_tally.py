"""A tally forgets the order and nothing else; what is not a count is refused by name and place."""

import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebformer.errors import InputError
from ebformer.tally import Tally

counts = st.lists(st.integers(0, 200), min_size=1, max_size=60)


@given(counts, st.randoms(use_true_random=False))
def test_order_does_not_matter(x: list[int], random: object) -> None:
    shuffled = list(x)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert Tally.of(shuffled) == Tally.of(x)
    assert hash(Tally.of(shuffled)) == hash(Tally.of(x))


@given(counts)
def test_a_tally_is_the_histogram(x: list[int]) -> None:
    tally = Tally.of(x)
    assert tally.n == len(x)
    assert np.repeat(tally.values, tally.multiplicity).tolist() == sorted(x)


@given(counts, st.integers(1, 9))
def test_copies_are_multiplicity(x: list[int], k: int) -> None:
    tally = Tally.of(x)
    assert Tally.of(x * k) == Tally(tally.values, k * tally.multiplicity)


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0.5, 1.0, 2.0])), min_size=1, max_size=40))
def test_observations_are_pairs_where_exposures_differ(pairs: list[tuple[int, float]]) -> None:
    tally = Tally.of([x for x, _ in pairs], [t for _, t in pairs])
    found = zip(tally.values.tolist(), tally.known.tolist(), tally.multiplicity.tolist(), strict=True)
    assert {(x, t): m for x, t, m in found} == {pair: pairs.count(pair) for pair in pairs}


def test_tallies_are_equal_only_if_all_their_parts_are() -> None:
    tally = Tally([0, 3], [2, 1], [1.0, 2.0])
    assert tally == Tally([3, 0, 0], [1, 1, 1], [2.0, 1.0, 1.0])
    for other in (
        Tally([0, 4], [2, 1], [1.0, 2.0]),
        Tally([0, 3], [2, 2], [1.0, 2.0]),
        Tally([0, 3], [2, 1], [1.0, 4.0]),
        Tally([0, 3], [2, 1]),
    ):
        assert tally != other


def test_exposure_one_is_no_exposure() -> None:
    assert Tally.of([1, 2], exposure=1.0) == Tally.of([1, 2])
    assert Tally.of([1, 2], exposure=1.0).exposure is None


def test_what_units_share_is_told_and_what_differs_is_not() -> None:
    assert Tally.of([1, 2], exposure=3.0).common == 3.0
    assert Tally.of([1, 2], exposure=[1.0, 2.0]).common is None


def test_a_billion_units_and_huge_counts_fit() -> None:
    tally = Tally([0, 2**53], [10**9, 1])
    assert tally.n == 10**9 + 1
    assert Tally.of([2**53, 0]).values.tolist() == [0, 2**53]


def test_a_tally_cannot_be_changed_and_survives_pickling() -> None:
    tally = Tally.of([3, 1])
    with pytest.raises(ValueError, match="read-only"):
        tally.values[0] = 7
    with pytest.raises(AttributeError):
        tally.values = np.zeros(2)  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(tally)) == tally


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([1, -2], r"counts\[1\] is -2"),
        ([1, 2.5], r"counts\[1\] is 2.5"),
        ([0, 1, float("nan")], r"counts\[2\] is nan"),
        ([float("inf")], r"counts\[0\] is inf"),
        ([1, "two"], r"counts\[1\] is 'two', not a number"),
        (np.array(["1", "2"]), r"counts\[0\] is '1', not a number"),
        ([1, None], r"counts\[1\] is None, not a number"),
        ([], "counts is empty"),
        ([[1, 2]], "counts has 2 dimensions"),
        ([2**53 + 2], r"counts\[0\] is 9007199254740994: give whole numbers of at most 2\^53"),
        ([2**53 + 1], r"counts\[0\] is 9007199254740993: give whole numbers of at most 2\^53"),
        ([10**30], r"counts\[0\] is 1e\+30: give whole numbers of at most 2\^53"),
        (np.array(["2020-01-01"], dtype="datetime64[ns]"), r"counts\[0\] .* not a number"),
        (np.ma.array([1, 2], mask=[False, True]), r"counts\[1\] is masked"),
        ([[1], [2, 3]], "counts has entries of several lengths"),
        (np.array([True, None], dtype=object), r"counts\[1\] is None, not a number"),
        ([1j], r"counts\[0\] is 1j, not a number"),
    ],
)
def test_what_is_not_a_count_is_named(given: object, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Tally.of(given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        [3.0, 0.0],
        (3, 0),
        [Decimal(3), Decimal(0)],
        [Fraction(3), 0],
        np.array([3, 0], dtype=np.uint8),
        np.array([3, 0], dtype=np.float16),
        np.array([3, False], dtype=object),
    ],
)
def test_whole_numbers_of_any_type_are_counts(given: object) -> None:
    assert Tally.of(given) == Tally([0, 3], [1, 1])  # type: ignore[arg-type]


def test_yes_and_no_are_counts() -> None:
    assert Tally.of(np.array([True, False, True])) == Tally([0, 1], [1, 2])


@pytest.mark.parametrize(
    ("exposure", "complaint"),
    [
        ([1.0, 0.0], r"exposure\[1\] is 0"),
        ([-1.0, 1.0], r"exposure\[0\] is -1"),
        ([1.0, float("nan")], r"exposure\[1\] is nan"),
        ([1.0, float("inf")], r"exposure\[1\] is inf"),
        ([1.0, "x"], r"exposure\[1\] is 'x', not a number"),
        ([1.0, 2.0, 3.0], "exposure has 3 entries but counts has 2"),
    ],
)
def test_what_is_not_an_exposure_is_named(exposure: list[float], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Tally.of([1, 2], exposure)


@pytest.mark.parametrize(
    ("values", "multiplicity", "complaint"),
    [
        ([0, 1], [0, 0], "every multiplicity is zero"),
        ([0, 1], [1], "multiplicity has 1 entries but values has 2"),
        ([0, 1], [1, -1], r"multiplicity\[1\] is -1"),
        ([5] * 2000, [2**53] * 2000, r"more than 2\^53 units"),
    ],
)
def test_what_is_not_a_multiplicity_is_named(values: list[int], multiplicity: list[int], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Tally(values, multiplicity)


def test_one_observation_is_not_called_observations() -> None:
    assert repr(Tally.of([3, 3])) == "Tally(n=2, 1 distinct count, 3)"
    assert repr(Tally.of([3, 3], [1.0, 2.0])) == "Tally(n=2, 2 distinct counts from 3 to 3, with exposure)"
