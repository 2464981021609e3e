"""From scores to answers: mean gain over the MLE with its interval, rankings, tests, pairing with published scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from ebformer.errors import InputError
from ebformer.lab.arena.paired_t import PairedT, paired_t
from ebformer.lab.arena.plackett_luce import PlackettLuce, plackett_luce
from ebformer.lab.arena.summary import Interval, Paired, interval
from ebformer.lab.fielddata.holdout import Holdout
from ebformer.lab.fielddata.scoring import Score
from ebformer.lab.fielddata.sources import FilePath, read_columns

ERRORS = ("rmse", "mae")
"""What methods are ranked and tested by, as in the paper."""


def pair(scores: Iterable[Score], column: str = "rmse") -> dict[str, Paired]:
    """For each data set, one number per case and method; the case is the unit of every interval and test.

    A case without a number for any method, as all gains are where the MLE's error is 0, is left out, unless all are.
    """
    by_data: dict[str, dict[str, dict[str, float]]] = {}
    for score in scores:
        by_data.setdefault(score.data, {}).setdefault(score.case, {})[score.estimator] = getattr(score, column)
    tables = {}
    for data, cases in by_data.items():
        names = tuple(next(iter(cases.values())))
        values = np.array([[case[name] for name in names] for case in cases.values()])
        known = ~np.isnan(values).all(axis=1)
        values = values[known] if known.any() else values
        tables[data] = Paired(names, tuple(range(len(values))), values)
    return tables


def means(scores: Iterable[Score], column: str = "rmse_improvement") -> dict[str, dict[str, Interval]]:
    """Mean over cases with 95 % interval, by data set and method.

    >>> of = {"1990": 2.0, "1991": 4.0}
    >>> scores = [Score("nhl all", case, "erm", 9, 1, 1, of[case], 1, 1, 1, 1) for case in of]
    >>> means(scores)["nhl all"]["erm"].mean
    3.0
    """
    return {
        data: {name: interval(paired[name]) for name in paired.estimators}
        for data, paired in pair(scores, column).items()
    }


def rankings(scores: Iterable[Score], column: str = "rmse") -> dict[str, PlackettLuce]:
    """Plackett-Luce coefficients of each data set, the MLE at 0."""
    return {data: plackett_luce(paired) for data, paired in pair(scores, column).items()}


def paired_tests(
    scores: Iterable[Score], challengers: Sequence[str], rivals: Sequence[str], column: str = "rmse"
) -> dict[str, list[PairedT]]:
    """Paired one-sided t-tests: is the challenger's error below the rival's?"""
    return {
        data: [paired_t(paired, challenger, rival) for challenger in challengers for rival in rivals]
        for data, paired in pair(scores, column).items()
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


Published = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Others' scores by data set, method and case."""


def read_published(path: FilePath, holdouts: Iterable[Holdout], column: str = "rmse_improvement") -> Published:
    """Others' scores (columns data, case, estimator and `column`), or an `InputError` if none is of a holdout here."""
    table = read_columns([path], ["data", "case", "estimator", column])
    theirs: dict[str, dict[str, dict[str, float]]] = {}
    for data, case, name, number in zip(*(entries.tolist() for entries in table.values()), strict=True):
        by_case = theirs.setdefault(str(data), {}).setdefault(str(name), {})
        if by_case.setdefault(str(case), float(number)) != float(number):
            raise InputError(f"{path} has two scores of {name} on {data}, {case}: leave one of them out")
    if not any(one.case in by_case for one in holdouts for by_case in theirs.get(one.data, {}).values()):
        raise InputError(f"{path} has none of the cases to be scored here: it has {', '.join(theirs)}")
    return theirs


def against(scores: Iterable[Score], theirs: Published, column: str = "rmse_improvement") -> list[Against]:
    """Pair our scores with others', over the cases in both."""
    ours: dict[str, dict[str, dict[str, float]]] = {}
    for score in scores:
        ours.setdefault(score.data, {}).setdefault(score.estimator, {})[score.case] = getattr(score, column)
    rows = []
    for data in ours:
        for (name, by_case), (other, of) in product(ours[data].items(), theirs.get(data, {}).items()):
            if both := sorted(by_case.keys() & of.keys()):
                rows.append(Against(data, name, other, interval(np.array([by_case[c] - of[c] for c in both]))))
    return rows
