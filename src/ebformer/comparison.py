"""Which method predicts best on these units: every observation is split, and one part held out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ebformer.bayes import log_predictive
from ebformer.binning import coarsened, distinct_rows
from ebformer.channels.base import Channel, Parts
from ebformer.distributions import Floats
from ebformer.errors import EbformerError, InputError
from ebformer.estimators.base import Estimator
from ebformer.rule import Rule
from ebformer.tally import Tally

FOLDS = 5
MOST_UNITS = 1_000_000
"""Larger tables are compared on a million units drawn from their tally."""


@dataclass(frozen=True)
class Score:
    """How well one method predicted the held-out parts.

    `risk` estimates the mean of (estimate - theta)^2, weighted by exposure; `excess` is the paired difference to the
    best method's risk and `excess_se` its standard error over units; `log_score` is the mean log-probability of the
    held-out counts, for methods with a prior. `refusal` says why a method could not take part.
    """

    method: str
    risk: float = np.nan
    excess: float = np.nan
    excess_se: float = np.nan
    log_score: float | None = None
    refusal: str | None = None


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
    folds = [_Fold(channel, parts, square) for parts in channel.split(x, known, FOLDS, rng)]
    losses: dict[str, Floats] = {}
    log_scores: dict[str, float | None] = {}
    refused = []
    for name, method in methods.items():
        try:
            with _warning_once():
                outcomes = [fold.outcome(method) for fold in folds]
        except EbformerError as error:
            refused.append(Score(name, refusal=str(error)))
        else:
            losses[name] = _weighted(weight, np.array([loss for loss, _ in outcomes]))
            logs = [log for _, log in outcomes if log is not None]
            log_scores[name] = float(np.mean(logs)) if logs else None
        fitted(name)
    if not losses:
        raise InputError(f"no method could be fitted to this table: {refused[0].refusal}")
    return _ranked(losses, log_scores) + refused


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
    rivals = [score for score in scores if score.refusal is None][1:]
    close = ", ".join(score.method for score in rivals if score.excess <= 2 * score.excess_se)
    if not rivals:
        return ""
    return f"; {close} within two standard errors" if close else ", more than two standard errors ahead"


def _ranked(losses: Mapping[str, Floats], log_scores: Mapping[str, float | None]) -> list[Score]:
    """Best first, each paired unit by unit with the best; losses [n] by method."""
    risk = {name: float(np.mean(of)) for name, of in losses.items()}
    order = sorted(risk, key=lambda name: risk[name])
    scores = []
    for name in order:
        excess = losses[name] - losses[order[0]]
        error = float(excess.std(ddof=1) / np.sqrt(excess.size))
        scores.append(Score(name, risk[name], float(excess.mean()), error, log_scores[name]))
    return scores


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
    """One way to hold a part of every observation out; `square` [n] estimates theta^2."""

    channel: Channel
    parts: Parts
    square: Floats

    def outcome(self, method: Estimator) -> tuple[Floats, float | None]:
        """Each unit's loss, NaN where a part of it is empty, and the mean log score of the others."""
        parts = self.parts
        kept, held = ~np.isnan(parts.kept_known), ~np.isnan(parts.held_known)
        x, known = parts.kept[kept], parts.kept_known[kept]
        rule = method(coarsened(Tally.of(x, known, channel=self.channel)))
        first, which = distinct_rows(x, known)
        estimate = np.full(kept.size, np.nan)
        estimate[kept] = rule(x[first], known[first])[which]
        raw = np.full(held.size, np.nan)
        raw[held] = self.channel.mle(parts.held[held], parts.held_known[held])
        both = kept & held
        log_score = _log_score(rule, Parts(*(part[both] for part in parts)))
        return estimate * (estimate - 2 * raw) + self.square, log_score


def _log_score(rule: Rule, parts: Parts) -> float | None:
    """Mean log p(held | kept), for methods with a prior."""
    if rule.prior is None:
        return None
    first, which = distinct_rows(*parts)
    kept, known, held, future = (part[first] for part in parts)
    logs = log_predictive(rule.prior, kept, known, held, future, rule.channel)
    return float(logs[which].mean())
