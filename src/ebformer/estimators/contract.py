"""The laws that every estimator obeys, checked on a few tallies: ours in the tests, and anybody's own."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ebformer.channels import channel_named
from ebformer.channels.base import Channel
from ebformer.errors import ContractError, EbformerError, KnownError, NoPriorError
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import find
from ebformer.rule import Rule
from ebformer.tally import Tally

MOST_SUMMED = 100_000
"""Probabilities that are added up."""
DRAWS = 2_000
"""Draws from each posterior, whose shares are within five deviations of what they should be."""


def check_estimator(method: str | Estimator) -> tuple[str, ...]:
    """Hold a method to the laws of this module, in every channel it serves; a `ContractError` tells the broken ones.

    >>> from ebformer.estimators.mle import Mle
    >>> for law in check_estimator(Mle())[:3]:
    ...     print(law)
    the order of the units does not matter
    k units with the same observation are one of multiplicity k
    the same tally gets the same answer
    """
    estimator, broken = find(method), dict[str, str]()
    with warnings.catch_warnings():
        # Some of the tallies are outside what a network was trained on, which is its business to say, not a breach.
        warnings.simplefilter("ignore", UserWarning)
        for name in estimator.channels:
            cases = [Case(estimator, example) for example in examples(channel_named(name))]
            for law, holds in LAWS.items():
                for case in cases:
                    try:
                        holds(case)
                    except Exception as error:  # a stranger's method may fail in any way, and that too is an answer
                        reason = str(error).partition("\n")[0]
                        if not reason or not isinstance(error, AssertionError | EbformerError):
                            reason = f"{type(error).__name__} {reason}".strip()
                        broken.setdefault(law, f"{law}, but of {case.example.tally()!r}: {reason}")
                        break
    if broken:
        raise ContractError(f"{estimator!r} breaks {len(broken)} of {len(LAWS)} laws: " + "; ".join(broken.values()))
    return tuple(LAWS)


class Example(NamedTuple):
    """Observations x [n] of units about which the same is `known`."""

    channel: Channel
    x: np.ndarray
    known: float

    def tally(self) -> Tally:
        return Tally.of(self.x, self.known, channel=self.channel)

    def distinct(self) -> np.ndarray:
        return np.unique(self.x)


def examples(channel: Channel) -> list[Example]:
    """Observations with gaps, ties, extremes only, one value only and one unit only."""
    rng, (low, high) = np.random.default_rng(0), channel.domain
    known = 1.0 if bool(channel.possible_known(np.ones(1))[0]) and not np.isfinite(high) else 20.0
    theta = rng.gamma(2.0, 3.0, size=200) if np.isinf(high) else rng.beta(2.0, 3.0, size=200)
    theta = theta if np.isfinite(low) else theta - 5.0
    spread = channel.draw(theta, np.full(200, known), rng)
    spread = spread.astype(np.int64) if channel.whole else spread
    least = np.zeros(5, dtype=spread.dtype)
    gap = np.append(spread[:40], 60 if np.isinf(high) else 20)
    several = [spread, gap, least, np.full(7, 4, dtype=spread.dtype), np.array([3], dtype=spread.dtype)]
    return [Example(channel, x, known) for x in several if bool(channel.possible(x.astype(np.float64)).all())]


@dataclass(frozen=True)
class Case:
    """A method and what it is given."""

    estimator: Estimator
    example: Example

    @cached_property
    def rule(self) -> Rule:
        """The method's answer, which all laws about one answer look at."""
        return self.estimator(self.example.tally())


def _order(case: Case) -> None:
    shuffled = case.example._replace(x=np.random.default_rng(1).permutation(case.example.x))
    _equal(case.rule, case.estimator(shuffled.tally()), case.example)


def _copies(case: Case) -> None:
    example, (values, multiplicity) = case.example, np.unique(case.example.x, return_counts=True)
    tally = Tally(values, 3 * multiplicity, example.known, channel=example.channel)
    repeated = example._replace(x=np.repeat(example.x, 3)).tally()
    _equal(case.estimator(repeated), case.estimator(tally), example)


def _split(case: Case) -> None:
    example, (values, multiplicity) = case.example, np.unique(case.example.x, return_counts=True)
    parts = np.concatenate([multiplicity // 2, multiplicity - multiplicity // 2])
    tally = Tally(np.tile(values, 2), parts, example.known, channel=example.channel)
    _equal(case.rule, case.estimator(tally), example)


def _repeatable(case: Case) -> None:
    _equal(case.rule, case.estimator(case.example.tally()), case.example)


def _finite(case: Case) -> None:
    example = case.example
    _possible(case.rule(example.distinct()), example.distinct(), example.channel)


def _unseen(case: Case) -> None:
    if case.estimator.answers_unseen:
        asked = _beyond(case.example)
        _possible(case.rule(asked), asked, case.example.channel)


def _monotone(case: Case) -> None:
    if case.estimator.monotone:
        asked = _beyond(case.example) if case.estimator.answers_unseen else case.example.distinct()
        answers = case.rule(asked)
        falls = np.flatnonzero(np.diff(answers) < -1e-9 * np.abs(answers[1:]))
        assert falls.size == 0, f"from x = {asked[falls[0]]} to {asked[falls[0] + 1]} the estimate falls"


def _shape(case: Case) -> None:
    x = case.example.x[0]
    for asked in (x, [x], [[x, x], [x, x]], np.zeros((0,))):
        answers = case.rule(asked)
        assert isinstance(answers, np.ndarray), f"the answer is a {type(answers).__name__}, not an array"
        assert answers.dtype == np.float64, f"the answer is of {answers.dtype}, not float64"
        assert answers.shape == np.shape(asked), f"x of shape {np.shape(asked)} is answered in shape {answers.shape}"


def _symmetry(case: Case) -> None:
    estimator, example = case.estimator, case.example
    equal = np.full(example.x.size, example.known)
    _symmetric(estimator, example, equal, case.rule)
    if estimator.unequal_known and example.channel.complete:
        unequal = equal * (1.0 + np.arange(example.x.size) % 3)
        plain = estimator(Tally.of(example.x, unequal, channel=example.channel))
        _symmetric(estimator, example, unequal, plain)


def _symmetric(estimator: Estimator, example: Example, known: np.ndarray, rule: Rule) -> None:
    asked = example.x.astype(np.float64)
    plain = rule(asked, known)
    # Digits are of the largest estimate and, where theta has no end to be counted from, of the standard errors.
    size = float(np.abs(plain).max()) + (0.0 if np.isfinite(example.channel.domain[0]) else float(known.max()))
    for symmetry in example.channel.symmetries():
        if symmetry.scale == 1.0 and estimator.in_units(2.0) != estimator:
            continue  # an option in units of theta has an origin and labels of its own
        moved, about = symmetry.observation(asked, known)
        method = estimator.in_units(float(1.0 / symmetry.scale))
        found = method(Tally.of(moved, about, channel=example.channel))(moved, about)
        expected = symmetry.theta(plain)
        # Units are changed before a method sees them; what it does with another origin or label it must find itself.
        relative, absolute = (1e-6, 1e-6 * size) if symmetry.scale == 1.0 else (1e-9, 1e-12 * size)
        off = np.flatnonzero(~np.isclose(found, expected, rtol=relative, atol=absolute))
        assert off.size == 0, (
            f"{symmetry.name}: at x = {moved[off[0]]:g} it is {found[off[0]]:.9g}, not {expected[off[0]]:.9g}"
        )


def _unequal_known(case: Case) -> None:
    estimator, example = case.estimator, case.example
    if example.x.size < 2 or not example.channel.complete:
        return
    known = example.known * (1.0 + np.arange(example.x.size) % 3)
    try:
        rule = estimator(Tally.of(example.x, known, channel=example.channel))
    except KnownError:
        assert not estimator.unequal_known, "they are refused"
        return
    assert estimator.unequal_known, "they are accepted and no promise covers them"
    _possible(rule(example.x, known), example.x, example.channel)


def _posterior(case: Case) -> None:
    rule, asked = case.rule, case.example.distinct()
    if rule.prior is not None:
        assert np.allclose(rule.posterior(asked).mean, rule(asked), rtol=1e-9, atol=1e-12), "its mean differs"
        return
    try:
        rule.posterior(asked)
    except NoPriorError:
        return
    raise AssertionError("there is no prior, and yet a posterior")


def _coherent(case: Case) -> None:
    rule, asked = case.rule, case.example.distinct()
    if rule.prior is None:
        return
    after = rule.posterior(asked)
    low, high = after.interval(0.999)
    # A rare large theta may take the mean beyond what 0.9995 lies below, by sqrt(0.0005 / 0.9995) deviations at most.
    slack = np.sqrt(0.0005 / 0.9995 * after.variance) + 1e-9 * (np.abs(low) + np.abs(high))
    bad = np.flatnonzero((after.mean < low - slack) | (after.mean > high + slack))
    assert bad.size == 0, (
        f"at x = {asked[bad[0]]} the mean is {after.mean[bad[0]]:g}, from {low[bad[0]]} to {high[bad[0]]}"
    )
    above = after.exceeds(np.sort(after.mean))
    assert bool(np.all((above >= 0) & (above <= 1))), "a probability is none"
    assert bool(np.all(np.diff(above, axis=-1) <= 1e-12)), "P(theta > c) grows with c"


def _draws(case: Case) -> None:
    rule, asked = case.rule, case.example.distinct()
    if rule.prior is None:
        return
    after = rule.posterior(asked)
    drawn = after.sample(DRAWS, np.random.default_rng(2))
    assert drawn.shape == (*asked.shape, DRAWS), f"{DRAWS} draws for x of shape {asked.shape} have shape {drawn.shape}"
    for draws in drawn:
        _possible(draws, draws, case.example.channel)
    levels = np.sort(after.mean)
    share, chance = (drawn[:, None, :] > levels[:, None]).mean(axis=-1), after.exceeds(levels)
    off = np.argwhere(np.abs(share - chance) > 2.5 / np.sqrt(DRAWS))
    for i, j in off[:1]:
        told = f"{share[i, j]:.3g} of its draws exceed {levels[j]:g}, and should with probability {chance[i, j]:.3g}"
        raise AssertionError(f"at x = {asked[i]} a share of {told}")


def _pmf(case: Case) -> None:
    rule, asked = case.rule, case.example.distinct()
    if rule.prior is None:
        return
    ahead = rule.predict(asked, future=case.example.known)
    if not ahead.whole:
        levels = np.array([0.01, 0.5, 0.99])
        total = np.array([ahead.cdf(ends)[i] for i, ends in enumerate(ahead.quantile(levels))])
        assert np.allclose(total, levels, rtol=1e-6), "its distribution function does not undo its quantiles"
        return
    last = int(ahead.quantile(1 - 1e-9).max())
    if last < MOST_SUMMED:
        sums = ahead.pmf(np.arange(last + 1)).sum(axis=-1)
        off = np.flatnonzero(np.abs(sums - 1.0) > 2e-9)
        assert off.size == 0, f"at x = {asked[off[0]]} it adds up to {sums[off[0]]:.12g}"


def _saved(case: Case) -> None:
    example = case.example
    rule = case.estimator(Tally.of(example.x, 2.0 * example.known, channel=example.channel))
    with tempfile.TemporaryDirectory() as folder:
        try:
            rule.save(Path(folder) / "rule.json")
        except EbformerError:
            return  # A rule may refuse to be written, such as one of a network that is not shipped.
        _equal(Rule.load(Path(folder) / "rule.json"), rule, example)


def _equal(one: Rule, other: Rule, example: Example) -> None:
    asked = example.distinct()
    a, b = one(asked), other(asked)
    at = np.flatnonzero(a != b)
    assert at.size == 0, f"at x = {asked[at[0]]} it answers {a[at[0]]:.17g} and {b[at[0]]:.17g}"


def _possible(answers: np.ndarray, asked: np.ndarray, channel: Channel) -> None:
    low, high = channel.domain
    bad = np.flatnonzero(~((answers >= low) & (answers <= high) & np.isfinite(answers)))
    assert bad.size == 0, f"at x = {asked[bad[0]]} it answers {answers[bad[0]]:g}"


def _beyond(example: Example) -> np.ndarray:
    """Observations from the least to well beyond those seen, as far as the channel admits them."""
    low, high = float(example.x.min()), float(example.x.max())
    asked = np.arange(min(low - 5.0, 0.0), 2.0 * abs(high) + 10.0)
    known = np.full(asked.size, example.known)
    return asked[example.channel.possible(asked) & example.channel.possible_pair(asked, known)]


LAWS: dict[str, Callable[[Case], None]] = {
    "the order of the units does not matter": _order,
    "k units with the same observation are one of multiplicity k": _copies,
    "the same tally gets the same answer": _repeatable,
    "a tally that was split and put together again gets the same answer": _split,
    "estimates are finite and possible": _finite,
    "estimates at unseen observations are finite and possible, where promised": _unseen,
    "estimates never fall as the observation grows, where promised": _monotone,
    "answers are float64 arrays in the shape of the question": _shape,
    "estimates follow a change of units, origin or labels": _symmetry,
    "unequal exposures, trials or errors are used where promised and refused elsewhere": _unequal_known,
    "the posterior mean is the estimate, where there is a prior, and refused elsewhere": _posterior,
    "the posterior's mean, interval and probabilities agree, where there is a prior": _coherent,
    "draws from the posterior are as its probabilities say, where there is a prior": _draws,
    "the probabilities of the next observation add up to 1, where there is a prior": _pmf,
    "a rule that was saved and loaded answers the same": _saved,
}
"""Each law and its check, which raises an `AssertionError` with the counter-example."""
