"""From scores to answers: mean gain over the MLE with its interval, rankings, tests, pairing with published scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from ebformer.lab.arena.losses import Loss
from ebformer.lab.arena.paired_t import PairedT, paired_t
from ebformer.lab.arena.plackett_luce import PlackettLuce, plackett_luce
from ebformer.lab.arena.summary import Interval, interval, pair_by_data

ERRORS = ("rmse", "mae")
"""What methods are ranked and tested by, as in the paper."""


def means(scores: Iterable[Loss], column: str = "rmse_improvement") -> dict[str, dict[str, Interval]]:
    """Mean over cases with 95 % interval, by data set and method.

    >>> of = {"1990": 2.0, "1991": 4.0}
    >>> scores = [Loss("nhl all", 9, case, 0, "erm", rmse_improvement=of[case]) for case in of]
    >>> means(scores)["nhl all"]["erm"].mean
    3.0
    """
    return {
        data: {name: interval(paired[name]) for name in paired.estimators}
        for data, paired in pair_by_data(scores, column).items()
    }


def rankings(scores: Iterable[Loss], column: str = "rmse") -> dict[str, PlackettLuce]:
    """Plackett-Luce coefficients of each data set, the MLE at 0."""
    return {data: plackett_luce(paired) for data, paired in pair_by_data(scores, column).items()}


def paired_tests(
    scores: Iterable[Loss], challengers: Sequence[str], rivals: Sequence[str], column: str = "rmse"
) -> dict[str, list[PairedT]]:
    """Paired one-sided t-tests: is the challenger's error below the rival's?"""
    return {
        data: [paired_t(paired, challenger, rival) for challenger in challengers for rival in rivals]
        for data, paired in pair_by_data(scores, column).items()
    }


class Against(NamedTuple):
    """Our method minus theirs in percent of improvement, case by case; `below` when worse beyond the 95 % interval."""

    data: str
    ours: str
    theirs: str
    difference: Interval

    @property
    def below(self) -> bool:
        return self.difference.high < 0


def against(ours: Iterable[Loss], theirs: Iterable[Loss], column: str = "rmse_improvement") -> list[Against]:
    """Pair our scores with others', over the cases in both."""
    published = _by_case(theirs, column)
    rows = []
    for data, methods in _by_case(ours, column).items():
        for (name, mine), (other, of) in product(methods.items(), published.get(data, {}).items()):
            if both := [case for case in mine if case in of]:
                rows.append(Against(data, name, other, interval(np.array([mine[c] - of[c] for c in both]))))
    return rows


def _by_case(losses: Iterable[Loss], column: str) -> dict[str, dict[str, dict[int | str, float]]]:
    """The numbers by data set, method and case."""
    numbers: dict[str, dict[str, dict[int | str, float]]] = {}
    for loss in losses:
        numbers.setdefault(loss.data, {}).setdefault(loss.estimator, {})[loss.case] = getattr(loss, column)
    return numbers
