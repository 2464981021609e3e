"""Which method predicts best on these units: every observation is split, and one part held out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ebformer.bayes import log_predictive
from ebformer.binning import coarsened, distinct_rows
from ebformer.channels.base import Channel, Parts
from ebformer.distributions import Floats
from ebformer.errors import EbformerError, InputError
from ebformer.estimators.base import Estimator
from ebformer.levels import check_draws
from ebformer.tally import Tally

FOLDS = 5
MOST_UNITS = 1_000_000
"""Larger tables are compared on a million units drawn from their tally."""
FEW_UNITS = 1_000
"""Below so many units methods are ranked by log score, which is less noisy than the risk and picks better ones."""
RESAMPLED, BLOCKS = 400, 1_000
"""How many tables are resampled to see how sure a ranking is, from so many blocks of units at most."""


@dataclass(frozen=True)
class Score:
    """How well one method predicted the held-out parts.

    `risk` estimates the mean of (estimate - theta)^2, weighted by exposure; `log_score` is the mean log-probability of
    the held-out counts, for methods with a prior. Methods are ranked by risk or, where units are few, by log score:
    `excess` is the paired difference to the best method, by what it is `ranked_by`, and `excess_se` its standard error
    over units. `first` is the share of resampled tables in which the method is the best: how sure the ranking is.
    `refusal` says why a method could not take part.
    """

    method: str
    risk: float = np.nan
    excess: float = np.nan
    excess_se: float = np.nan
    log_score: float | None = None
    refusal: str | None = None
    first: float = 0.0
    ranked_by: Literal["risk", "log score"] = "risk"


def compare(
    tally: Tally,
    methods: Mapping[str, Estimator],
    rng: np.random.Generator,
    fitted: Callable[[str], object] = lambda name: None,
) -> list[Score]:
    """Fit each method on all but a part of every observation and score it on that part, for each in turn; best first.

    The channel splits observations in parts that are independent given theta. With y the theta that the held part of a
    unit speaks for, whose mean is theta, q an estimate of theta^2 without bias and theta' the method's answer,
    theta'^2 - 2 theta' y + q has mean (theta' - theta)^2: what a method is worth against the hidden thetas, without
    knowing them. (q is read off the whole observation, so that the risk hardly hangs on the seed.) `fitted` is told the
    name of every method that is through.

    >>> from ebformer.estimators.catalogue import CATALOGUE
    >>> counts = np.random.default_rng(0).poisson(np.random.default_rng(1).gamma(2.0, 1.0, 500))
    >>> methods = {name: CATALOGUE[name] for name in ("mle", "gamma")}
    >>> [score.method for score in compare(Tally.of(counts), methods, np.random.default_rng(2))]
    ['gamma', 'mle']
    """
    if not isinstance(tally, Tally):
        raise InputError(f"methods are compared on a Tally, not on a {type(tally).__name__}: give Tally.of(counts)")
    if not isinstance(methods, Mapping):
        raise InputError(f"the methods are {methods!r}: give estimators by name, such as {{'gamma': Gamma()}}")
    check_draws(FOLDS, rng)
    if not methods:
        raise InputError("there is nothing to compare: name at least one method")
    channel = tally.channel
    if tally.n > MOST_UNITS:
        drawn = rng.multinomial(MOST_UNITS, tally.multiplicity / tally.n)
        tally = Tally(tally.values, drawn, tally.known, channel=channel)
    if tally.n < 2:
        raise InputError(f"a comparison needs at least 2 units, and this table has {tally.n}: add rows")
    units = np.repeat(np.arange(len(tally)), tally.multiplicity)
    x, known = tally.x[units], tally.known[units]
    weight, square = channel.noise(known) ** -2.0, channel.unbiased_square(x, known)
    if np.isnan(square).all():
        raise InputError(f"no unit has {channel.words.xs} that can be split in two: a comparison needs such units")
    folds = [_Fold.of(channel, parts) for parts in channel.split(x, known, FOLDS, rng)]
    losses: dict[str, Floats] = {}
    log_losses: dict[str, Floats] = {}
    refused = []
    for name, method in methods.items():
        try:
            with _warning_once():
                outcomes = [fold.outcome(method, square) for fold in folds]
        except EbformerError as error:
            refused.append(Score(name, refusal=str(error)))
        else:
            losses[name] = _weighted(weight, np.array([loss for loss, _ in outcomes]))
            logs = [log for _, log in outcomes if log is not None]
            if logs:
                log_losses[name] = -_weighted(np.ones(weight.size), np.array(logs))
        fitted(name)
    if not losses:
        raise InputError(f"no method could be fitted to this table: {refused[0].refusal}")
    few = tally.n < FEW_UNITS and bool(log_losses)
    return _ranked(losses, log_losses, rng, by_log=few) + refused


@contextmanager
def _warning_once() -> Iterator[None]:
    """Of warnings of one kind pass the first on: the folds of a table differ little, and so do theirs."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield
    for each in {warning.category: warning for warning in reversed(heard)}.values():
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


def margin(scores: Sequence[Score]) -> str:
    """How far the best of ranked scores is ahead, to follow "... predicts best"; nothing where it is alone.

    >>> margin([Score("gamma", 1.0, 0.0, 0.0), Score("mle", 1.3, 0.3, 0.1), Score("npmle", 1.4, 0.4, 0.5)])
    '; npmle within two standard errors'
    """
    rivals = [score for score in scores if score.refusal is None and not np.isnan(score.excess)][1:]
    close = ", ".join(score.method for score in rivals if score.excess <= 2 * score.excess_se)
    if not rivals:
        return ""
    return f"; {close} within two standard errors" if close else ", more than two standard errors ahead"


def _ranked(
    losses: Mapping[str, Floats], log_losses: Mapping[str, Floats], rng: np.random.Generator, by_log: bool
) -> list[Score]:
    """Best first, each paired unit by unit with the best; losses [n] by method."""
    judged = log_losses if by_log else losses
    mean = {name: float(np.mean(of)) for name, of in judged.items()}
    order = sorted(mean, key=lambda name: mean[name])
    unjudged = sorted((name for name in losses if name not in judged), key=lambda name: float(np.mean(losses[name])))
    first = dict(zip(order, _first(np.array([judged[name] for name in order]), rng), strict=True))
    scores = []
    for name in [*order, *unjudged]:
        excess = judged[name] - judged[order[0]] if name in judged else np.full(2, np.nan)
        spread = float(excess.std(ddof=1)) if np.isfinite(excess).all() else np.nan
        scores.append(
            Score(
                name,
                risk=float(np.mean(losses[name])),
                excess=float(excess.mean()),
                excess_se=float(spread / np.sqrt(excess.size)),
                log_score=-float(np.mean(log_losses[name])) if name in log_losses else None,
                first=first.get(name, 0.0),
                ranked_by="log score" if by_log else "risk",
            )
        )
    return scores


def _first(losses: Floats, rng: np.random.Generator) -> list[float]:
    """In what share of resampled tables each method has the lowest mean loss, from losses [method, n]; ties go first.

    >>> _first(np.array([[0.0, 0.0], [1.0, np.inf]]), np.random.default_rng(0))
    [1.0, 0.0]
    """
    # Which units come together in a block is left to chance: tallies are sorted.
    blocks = np.array_split(losses[:, rng.permutation(losses.shape[1])], min(BLOCKS, losses.shape[1]), axis=1)
    # A method that held an observation impossible loses in every table that has it, and in no other.
    sums = np.minimum([block.sum(axis=1) for block in blocks], 1e300)
    drawn = rng.multinomial(len(blocks), np.full(len(blocks), 1.0 / len(blocks)), size=RESAMPLED)
    best = np.argmin(drawn @ sums, axis=1)
    return [float(share) for share in np.bincount(best, minlength=len(losses)) / RESAMPLED]


def _weighted(weight: Floats, losses: Floats) -> Floats:
    """The mean loss of each unit over the folds [f, n] in which it has one, by weight; units without any are left out.

    >>> _weighted(np.array([1.0, 3.0, 9.0]), np.array([[2.0, 4.0, np.nan], [4.0, np.nan, np.nan]])).tolist()
    [1.5, 6.0]
    """
    told = ~np.isnan(losses)
    seen = told.any(axis=0)
    mean = np.where(told, losses, 0.0).sum(axis=0)[seen] / told.sum(axis=0)[seen]
    return np.asarray(mean * weight[seen] / weight[seen].mean())


@dataclass(frozen=True, eq=False)
class _Fold:
    """One way to hold a part of every observation out: distinct parts [d], and which of them are each unit's [n].

    What does not hang on the method is computed once.
    """

    channel: Channel
    parts: Parts
    which: NDArray[np.intp]

    @classmethod
    def of(cls, channel: Channel, parts: Parts) -> _Fold:
        first, which = distinct_rows(*parts)
        return cls(channel, Parts(*(part[first] for part in parts)), which)

    @cached_property
    def kept(self) -> NDArray[np.bool_]:
        """Where a part is kept, [d]."""
        return ~np.isnan(self.parts.kept_known)

    @cached_property
    def tally(self) -> Tally:
        """What is kept, for methods to fit."""
        x, known, units = self.parts.kept[self.kept], self.parts.kept_known[self.kept], np.bincount(self.which)
        return coarsened(Tally(x, units[self.kept], known, channel=self.channel))

    @cached_property
    def asked(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Distinct rows among what is kept."""
        return distinct_rows(self.parts.kept[self.kept], self.parts.kept_known[self.kept])

    @cached_property
    def raw(self) -> Floats:
        """The theta that each held part speaks for, [d]; NaN where it is empty."""
        held, raw = ~np.isnan(self.parts.held_known), np.full(self.kept.size, np.nan)
        raw[held] = self.channel.mle(self.parts.held[held], self.parts.held_known[held])
        return raw

    def outcome(self, method: Estimator, square: Floats) -> tuple[Floats, Floats | None]:
        """Each unit's loss, where `square` [n] estimates theta^2, and its log score for methods with a prior.

        They are NaN where a part of it is empty.
        """
        parts, kept = self.parts, self.kept
        rule = method(self.tally)
        first, among = self.asked
        estimate = np.full(kept.size, np.nan)
        estimate[kept] = rule(parts.kept[kept][first], parts.kept_known[kept][first])[among]
        logs = None
        if rule.prior is not None:
            both, scores = kept & ~np.isnan(parts.held_known), np.full(kept.size, np.nan)
            x, known, held, future = (part[both] for part in parts)
            scores[both] = log_predictive(rule.prior, x, known, held, future, rule.channel)
            logs = scores[self.which]
        return (estimate * (estimate - 2 * self.raw))[self.which] + square, logs
