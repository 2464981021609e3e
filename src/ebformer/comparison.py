"""Which method predicts best on these counts: thinning makes held-out counts from the counts themselves."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ebformer.bayes.marginal import Floats
from ebformer.bayes.predictive import log_predictive
from ebformer.binning import coarsened, distinct_rows
from ebformer.errors import EbformerError, InputError
from ebformer.estimators.base import Estimator
from ebformer.rule import Rule
from ebformer.tally import Tally

FOLDS = 5
MOST_UNITS = 1_000_000
"""Larger tables are compared on a million units drawn from their tally."""
ASSUMPTION = (
    "Thinning makes the parts of a count independent only if counts are Poisson given the rate; "
    "bursty counts flatter the methods that shrink least."
)


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


def thinned(counts: NDArray[np.int64], folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Split every count into `folds` parts, x_k ~ Poisson(t theta / folds) independent given theta: [folds, n].

    Each event goes to a part at random (Poisson thinning; Neufeld et al. 2024 call it count splitting).

    >>> thinned(np.array([7, 0]), 5, np.random.default_rng(0)).sum(axis=0).tolist()
    [7, 0]
    """
    return np.ascontiguousarray(rng.multinomial(counts, np.full(folds, 1 / folds)).T)


def compare(
    tally: Tally,
    methods: Mapping[str, Estimator],
    rng: np.random.Generator,
    fitted: Callable[[str], object] = lambda name: None,
) -> list[Score]:
    """Fit each method on all but a part of every count and score it on that part, for each in turn; best first.

    With x the whole count, y one of its FOLDS parts, s = t / FOLDS its exposure and theta' the estimate,
    theta'^2 - 2 theta' y / s + x (x - 1) / t^2 has mean (theta' - theta)^2: what a method is worth against the hidden
    rates, without knowing them. (The last term is the mean of y (y - 1) / s^2 over all ways to thin x, so that the risk
    hardly hangs on the seed.) `fitted` is told the name of every method that is through.

    >>> from ebformer.estimators.catalogue import CATALOGUE
    >>> counts = np.random.default_rng(0).poisson(np.random.default_rng(1).gamma(2.0, 1.0, 500))
    >>> methods = {name: CATALOGUE[name] for name in ("mle", "gamma")}
    >>> [score.method for score in compare(Tally.of(counts), methods, np.random.default_rng(2))]
    ['gamma', 'mle']
    """
    if not methods:
        raise InputError("there is nothing to compare: name at least one method")
    if tally.n > MOST_UNITS:
        tally = Tally(tally.values, rng.multinomial(MOST_UNITS, tally.multiplicity / tally.n), tally.exposures)
    if tally.n < 2:
        raise InputError(f"a comparison needs at least 2 units, and this table has {tally.n}: add rows")
    units = np.repeat(np.arange(len(tally)), tally.multiplicity)
    parts, exposure = thinned(tally.values[units], FOLDS, rng), tally.exposures[units]
    weight = exposure / exposure.mean()
    losses: dict[str, Floats] = {}
    log_scores: dict[str, float | None] = {}
    refused = []
    for name, method in methods.items():
        try:
            with _warning_once():
                outcomes = [_fold(method, parts, k, exposure) for k in range(FOLDS)]
        except EbformerError as error:
            refused.append(Score(name, refusal=str(error)))
        else:
            losses[name] = weight * np.mean([loss for loss, _ in outcomes], axis=0)
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


def _fold(method: Estimator, parts: NDArray[np.int64], k: int, exposure: Floats) -> tuple[Floats, float | None]:
    """Each unit's loss and the mean log score when part k is held out."""
    folds = parts.shape[0]
    kept, held = parts.sum(axis=0) - parts[k], parts[k]
    t, s = exposure * (1 - 1 / folds), exposure / folds
    rule = method(coarsened(Tally.of(kept, t)))
    first, which = distinct_rows(kept, t)
    estimate = rule(kept[first], t[first])[which]
    whole = kept + held.astype(np.float64)
    loss = estimate * (estimate - 2 * held / s) + whole * (whole - 1) / exposure**2
    return loss, _log_score(rule, kept, t, held, s)


def _log_score(rule: Rule, kept: NDArray[np.int64], t: Floats, held: NDArray[np.int64], s: Floats) -> float | None:
    """Mean log P(held | kept), from the joint marginal of the two parts."""
    if rule.prior is None:
        return None
    first, which = distinct_rows(kept, held, t)
    logs = log_predictive(rule.prior, kept[first], t[first], held[first], s[first])
    return float(logs[which].mean())
