"""The laws that every estimator obeys, checked on a few tallies: ours in the tests, and anybody's own."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ebformer.errors import ContractError, EbformerError, ExposureError, NoPriorError
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import find
from ebformer.rule import Rule
from ebformer.tally import Tally


def check_estimator(method: str | Estimator) -> tuple[str, ...]:
    """Hold a method to the laws of this module; the answer is the laws, a `ContractError` tells the broken ones.

    >>> from ebformer.estimators.mle import Mle
    >>> for law in check_estimator(Mle())[:3]:
    ...     print(law)
    the order of the units does not matter
    k units with the same count are one count of multiplicity k
    the same tally gets the same answer
    """
    estimator, broken = find(method), []
    with warnings.catch_warnings():
        # Some of the tallies are outside what a network was trained on, which is its business to say, not a breach.
        warnings.simplefilter("ignore", UserWarning)
        for law, holds in LAWS.items():
            for counts in _samples():
                try:
                    holds(estimator, counts)
                except Exception as error:  # a stranger's method may fail in any way, and that too is an answer
                    reason = str(error).partition("\n")[0]
                    if not reason or not isinstance(error, AssertionError | EbformerError):
                        reason = f"{type(error).__name__} {reason}".strip()
                    broken.append(f"{law}, but of {Tally.of(counts)!r}: {reason}")
                    break
    if broken:
        raise ContractError(f"{estimator!r} breaks {len(broken)} of {len(LAWS)} laws: " + "; ".join(broken))
    return tuple(LAWS)


def _samples() -> list[np.ndarray]:
    """Counts with gaps, ties, zeros only, one value only and one unit only."""
    rng = np.random.default_rng(0)
    spread = rng.poisson(rng.gamma(2.0, 3.0, size=200))
    return [spread, np.append(spread[:40], 60), np.zeros(5, dtype=np.int64), np.full(7, 4), np.array([3])]


def _order(estimator: Estimator, counts: np.ndarray) -> None:
    shuffled = np.random.default_rng(1).permutation(counts)
    _equal(estimator(Tally.of(counts)), estimator(Tally.of(shuffled)), counts)


def _copies(estimator: Estimator, counts: np.ndarray) -> None:
    values, multiplicity = np.unique(counts, return_counts=True)
    _equal(estimator(Tally.of(np.repeat(counts, 3))), estimator(Tally(values, 3 * multiplicity)), counts)


def _repeatable(estimator: Estimator, counts: np.ndarray) -> None:
    _equal(estimator(Tally.of(counts)), estimator(Tally.of(counts)), counts)


def _finite(estimator: Estimator, counts: np.ndarray) -> None:
    rule = estimator(Tally.of(counts))
    _possible(rule(np.unique(counts)), np.unique(counts))


def _unseen(estimator: Estimator, counts: np.ndarray) -> None:
    if estimator.answers_unseen:
        _possible(estimator(Tally.of(counts))(_beyond(counts)), _beyond(counts))


def _monotone(estimator: Estimator, counts: np.ndarray) -> None:
    if estimator.monotone:
        asked = _beyond(counts) if estimator.answers_unseen else np.unique(counts)
        answers = estimator(Tally.of(counts))(asked)
        falls = np.flatnonzero(np.diff(answers) < -1e-9 * np.abs(answers[1:]))
        assert falls.size == 0, f"from x = {asked[falls[0]]} to {asked[falls[0] + 1]} the estimate falls"


def _shape(estimator: Estimator, counts: np.ndarray) -> None:
    rule, x = estimator(Tally.of(counts)), int(counts[0])
    for asked in (x, [x], [[x, x], [x, x]], np.zeros((0,))):
        answers = rule(asked)
        assert isinstance(answers, np.ndarray), f"the answer is a {type(answers).__name__}, not an array"
        assert answers.dtype == np.float64, f"the answer is of {answers.dtype}, not float64"
        assert answers.shape == np.shape(asked), f"x of shape {np.shape(asked)} is answered in shape {answers.shape}"


def _common_exposure(estimator: Estimator, counts: np.ndarray) -> None:
    asked = np.unique(counts)
    exposed = estimator(Tally.of(counts, exposure=2.5))(asked)
    bare = estimator.at_exposure(2.5)(Tally.of(counts))(asked) / 2.5
    off = np.flatnonzero(~np.isclose(exposed, bare, rtol=1e-9, atol=1e-12))
    assert off.size == 0, f"at x = {asked[off[0]]} it is {exposed[off[0]]:.9g}, not {bare[off[0]]:.9g}"


def _unequal_exposure(estimator: Estimator, counts: np.ndarray) -> None:
    if counts.size < 2:
        return
    exposure = 1.0 + np.arange(counts.size) % 3
    try:
        rule = estimator(Tally.of(counts, exposure))
    except ExposureError:
        assert not estimator.unequal_exposure, "they are refused"
        return
    assert estimator.unequal_exposure, "they are accepted and no promise covers them"
    _possible(rule(counts, exposure), counts)


def _posterior(estimator: Estimator, counts: np.ndarray) -> None:
    rule, asked = estimator(Tally.of(counts)), np.unique(counts)
    if rule.prior is not None:
        assert np.allclose(rule.posterior(asked).mean, rule(asked), rtol=1e-9, atol=1e-12), "its mean differs"
        return
    try:
        rule.posterior(asked)
    except NoPriorError:
        return
    raise AssertionError("there is no prior, and yet a posterior")


def _saved(estimator: Estimator, counts: np.ndarray) -> None:
    rule = estimator(Tally.of(counts, exposure=2.0))
    with tempfile.TemporaryDirectory() as folder:
        try:
            rule.save(Path(folder) / "rule.json")
        except EbformerError:
            return  # A rule may refuse to be written, such as one of a network that is not shipped.
        _equal(Rule.load(Path(folder) / "rule.json"), rule, counts)


def _equal(one: Rule, other: Rule, counts: np.ndarray) -> None:
    asked = np.unique(counts)
    a, b = one(asked), other(asked)
    at = np.flatnonzero(a != b)
    assert at.size == 0, f"at x = {asked[at[0]]} it answers {a[at[0]]:.17g} and {b[at[0]]:.17g}"


def _possible(answers: np.ndarray, asked: np.ndarray) -> None:
    bad = np.flatnonzero(~((answers >= 0) & (answers < np.inf)))
    assert bad.size == 0, f"at x = {asked[bad[0]]} it answers {answers[bad[0]]:g}"


def _beyond(counts: np.ndarray) -> np.ndarray:
    return np.arange(2 * int(counts.max()) + 10)


LAWS: dict[str, Callable[[Estimator, np.ndarray], None]] = {
    "the order of the units does not matter": _order,
    "k units with the same count are one count of multiplicity k": _copies,
    "the same tally gets the same answer": _repeatable,
    "estimates are finite and not negative": _finite,
    "estimates at unseen counts are finite and not negative, where promised": _unseen,
    "estimates never fall as the count grows, where promised": _monotone,
    "answers are float64 arrays in the shape of the question": _shape,
    "a common exposure t divides the unexposed answer by t": _common_exposure,
    "unequal exposures are used where promised and refused elsewhere": _unequal_exposure,
    "the posterior mean is the estimate, where there is a prior, and refused elsewhere": _posterior,
    "a rule that was saved and loaded answers the same": _saved,
}
"""Each law and its check, which raises an `AssertionError` with the counter-example."""
