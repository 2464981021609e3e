"""From losses to answers: one number per case, means with intervals, ranks."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.lab.arena.losses import Loss

Group = TypeVar("Group", bound=Hashable)


class Cell(NamedTuple):
    """A world and a size: one row of the paper's tables."""

    world: str
    n: int


@dataclass(frozen=True, eq=False)
class Paired:
    """One loss per case and estimator, repeats averaged: the case is the unit of every interval and test.

    values: float64 [cases, estimators], only cases that every estimator has played.
    """

    estimators: tuple[str, ...]
    cases: tuple[int | str, ...]
    values: Floats

    def __getitem__(self, estimator: str) -> Floats:
        if estimator not in self.estimators:
            raise InputError(f"{estimator} is not in the table: choose among {', '.join(self.estimators)}")
        return np.asarray(self.values[:, self.estimators.index(estimator)])


def pair(losses: Iterable[Loss], column: str = "regret") -> dict[Cell, Paired]:
    """Group the losses by world and size, and pair the estimators prior by prior.

    >>> rows = [Loss("w", 9, prior, 0, name, cost) for prior in (0, 1) for name, cost in zip("ab", (1.0, 2.0))]
    >>> paired = pair(rows)[Cell("w", 9)]
    >>> paired.estimators, paired["b"].tolist()
    (('a', 'b'), [2.0, 2.0])
    """
    tables = _paired(((Cell(loss.data, loss.n), loss) for loss in losses), column)
    return {cell: tables[cell] for cell in sorted(tables)}


def pair_by_data(losses: Iterable[Loss], column: str) -> dict[str, Paired]:
    """The same by data set: in real data every case has a number of units of its own."""
    return _paired(((loss.data, loss) for loss in losses), column)


def _paired(grouped: Iterable[tuple[Group, Loss]], column: str) -> dict[Group, Paired]:
    """Groups, estimators and cases in the order in which they come.

    A case without a number for any method, as all gains are where the MLE's error is 0, is left out, unless all are.
    """
    groups: dict[Group, dict[str, dict[int | str, list[float]]]] = {}
    for group, loss in grouped:
        by_case = groups.setdefault(group, {}).setdefault(loss.estimator, {})
        by_case.setdefault(loss.case, []).append(getattr(loss, column))
    tables = {}
    for group, of in groups.items():
        first, *others = of.values()
        cases = [case for case in first if all(case in other for other in others)]
        values = np.array([[np.mean(by_case[case]) for by_case in of.values()] for case in cases])
        values = values.reshape(len(cases), len(of))
        known = ~np.isnan(values).all(axis=1)
        known |= not known.any()
        kept = tuple(case for case, each in zip(cases, known, strict=True) if each)
        tables[group] = Paired(tuple(of), kept, values[known])
    return tables


class Interval(NamedTuple):
    """A mean and its 95 % Student interval, over so many cases."""

    mean: float
    low: float
    high: float
    units: int

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


def interval(values: Floats) -> Interval:
    """mean -+ t sd / sqrt(n), t the 97.5 % point of Student's law with n - 1 degrees; one unit has no interval.

    >>> interval(np.array([1.0, 2.0, 3.0]))
    Interval(mean=2.0, low=-0.484..., high=4.484..., units=3)
    """
    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return Interval(mean, np.nan, np.nan, n)
    half = float(stats.t.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n))
    return Interval(mean, mean - half, mean + half, n)


def ranks(paired: Paired) -> NDArray[np.float64]:
    """Rank of every estimator on every case, 1 for the lowest loss, ties sharing their mean: [cases, estimators].

    >>> ranks(Paired(("a", "b"), (0, 1), np.array([[1.0, 2.0], [5.0, 5.0]]))).tolist()
    [[1.0, 2.0], [1.5, 1.5]]
    """
    return np.asarray(stats.rankdata(paired.values, axis=1))
