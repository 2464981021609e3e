"""How well each method predicts the second look: errors, gain over the MLE, and how good its predictive law is."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ebformer.bayes.prediction import PredictiveMixture, log_predictive
from ebformer.binning import distinct_rows
from ebformer.distributions import Floats, Predictive
from ebformer.drift import Drift
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.lab.arena.losses import Loss
from ebformer.lab.fielddata.holdout import Holdout
from ebformer.networks.estimates import OutsideTrainingRange
from ebformer.rule import Rule

LEVEL = 0.9
"""The level of the predictive intervals whose coverage is reported."""
BATCH = 16
"""Holdouts that are one piece of work for a process."""


def score(
    holdout: Holdout,
    rule: Rule,
    name: str | None = None,
    seconds: float = math.nan,
    drift: Drift | None = None,
) -> Loss:
    """Judge a rule fitted to `holdout.tally` by the counts it has not seen, predicted with a drift where there is one.

    >>> from ebformer.prior import Prior
    >>> from ebformer.rule import BayesRule
    >>> score(Holdout.of([0, 4], [2, 2]), BayesRule("two", Prior([2.0], [1.0]))).rmse_improvement
    100.0
    """
    y = holdout.after / holdout.future
    log_score = coverage = math.nan
    if drift is not None:
        ahead, cell = predicted(rule, holdout, drift)
        estimate = ahead.mean[cell] / holdout.future
        log_score, coverage = (
            _mean(_log_moved(ahead, cell, holdout), holdout),
            _mean(covered(ahead, cell, holdout), holdout),
        )
    else:
        first, cell = distinct_rows(holdout.before, holdout.known)
        estimate = rule(holdout.before[first], holdout.known[first])[cell]
        if rule.prior is not None:
            log_score = _mean(log_predictive(rule.prior, *_looks(holdout), rule.channel), holdout)
            coverage = _mean(covered(*predicted(rule, holdout), holdout), holdout)
    rmse, mae = _errors(estimate - y, holdout)
    mle_rmse, mle_mae = _errors(holdout.before / holdout.known - y, holdout)
    return Loss(
        *holdout.key,
        name or rule.method,
        rmse=rmse,
        mae=mae,
        rmse_improvement=100 * (1 - rmse / mle_rmse) if mle_rmse > 0 else math.nan,
        mae_improvement=100 * (1 - mae / mle_mae) if mle_mae > 0 else math.nan,
        log_score=log_score,
        coverage=coverage,
        seconds=seconds,
    )


def count_error(holdout: Holdout, rule: Rule, drift: Drift) -> float:
    """The RMSE of the later counts themselves, whatever is known of their exposures."""
    ahead, cell = predicted(rule, holdout, drift)
    return math.sqrt(_mean((ahead.mean[cell] - holdout.after) ** 2, holdout))


def predicted(rule: Rule, holdout: Holdout, drift: Drift | None = None) -> tuple[Predictive, NDArray[np.intp]]:
    """What is predicted for every distinct first look, and which of them each pair has."""
    first, cell = distinct_rows(holdout.before, holdout.known, holdout.future)
    x, known, future = holdout.before[first], holdout.known[first], holdout.future[first]
    return rule.predict(x, known, future, drift=drift), cell


def _log_moved(ahead: Predictive, cell: NDArray[np.intp], holdout: Holdout) -> Floats:
    """log p(y | x) of every pair."""
    assert isinstance(ahead, PredictiveMixture)
    found = []
    for rows in np.array_split(np.arange(cell.size), 1 + cell.size // 1000):
        y, future = holdout.after[rows, None].astype(np.float64), holdout.future[rows, None]
        with np.errstate(divide="ignore"):
            log_weights = np.log(ahead.after.weights[cell[rows]])
        found.append(logsumexp(log_weights + ahead.channel.log_likelihood(y, ahead.after.atoms, future), axis=1))
    return np.concatenate(found)


def covered(ahead: Predictive, cell: NDArray[np.intp], holdout: Holdout) -> Floats:
    """1 where y lies in the predictive interval of its x, else 0; float64 [m]."""
    low, high = ahead.interval(LEVEL)
    return ((holdout.after >= low[cell]) & (holdout.after <= high[cell])).astype(np.float64)


def _looks(holdout: Holdout) -> tuple[Floats, Floats, Floats, Floats]:
    before, after = holdout.before.astype(np.float64), holdout.after.astype(np.float64)
    return before, holdout.known, after, holdout.future


def _errors(difference: Floats, holdout: Holdout) -> tuple[float, float]:
    """Errors of rates, units weighted by the exposure of their second look: what it tells of a rate goes with it."""
    weight = holdout.future / (holdout.multiplicity @ holdout.future / holdout.n)
    return math.sqrt(_mean(weight * difference**2, holdout)), _mean(weight * np.abs(difference), holdout)


def _mean(per_pair: Floats, holdout: Holdout) -> float:
    return float(holdout.multiplicity @ per_pair / holdout.n)


def evaluate(holdouts: Sequence[Holdout], estimators: Mapping[str, Estimator], jobs: int = 1) -> Iterator[list[Loss]]:
    """Fit and score every method on every holdout; yields the scores of up to BATCH holdouts at a time, in order.

    Holdouts are independent, so `jobs` processes (joblib) share them; the answer does not depend on how many. Two of
    one name are refused: in every summary one would stand for both.
    """
    if not estimators or not holdouts:
        raise InputError("there is nothing to score: give at least one estimator and one holdout")
    for (data, case), times in Counter((holdout.data, holdout.case) for holdout in holdouts).items():
        if times > 1:
            raise InputError(f"{data} has {times} cases called {case!r}: give each of them once, or rename its file")
    batches = [holdouts[i : i + BATCH] for i in range(0, len(holdouts), BATCH)]
    if jobs == 0:
        raise InputError("jobs is 0: give a number of processes, or -1 for one per core")
    if jobs == 1:
        return (_score_batch(some, estimators) for some in batches)
    try:
        from joblib import Parallel, delayed
    except ImportError as error:
        raise InputError("more than one process needs joblib: pip install 'ebformer[arena]', or use one job") from error
    scored: Iterator[list[Loss]] = Parallel(n_jobs=jobs, return_as="generator")(
        delayed(_score_batch)(some, estimators) for some in batches
    )
    return scored


def _score_batch(holdouts: Sequence[Holdout], estimators: Mapping[str, Estimator]) -> list[Loss]:
    tallies = [holdout.tally for holdout in holdouts]
    scores = []
    for name, estimator in estimators.items():
        started = time.perf_counter()
        with warnings.catch_warnings():  # what a network is worth beyond its range is for the scores to say
            warnings.simplefilter("ignore", OutsideTrainingRange)
            rules = [estimator(tally) for tally in tallies]
        seconds = (time.perf_counter() - started) / len(tallies)
        scores.append([score(holdout, rule, name, seconds) for holdout, rule in zip(holdouts, rules, strict=True)])
    return [of_method[i] for i in range(len(holdouts)) for of_method in scores]
