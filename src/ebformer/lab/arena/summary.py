"""From losses to answers: one number per prior, means with intervals, ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ebformer.bayes.marginal import Floats
from ebformer.errors import InputError
from ebformer.lab.arena.losses import Loss


class Cell(NamedTuple):
    """A world and a size: one row of the paper's tables."""

    world: str
    n: int


@dataclass(frozen=True, eq=False)
class Paired:
    """One loss per prior and estimator, repeats averaged: the prior is the unit of every interval and test.

    values: float64 [priors, estimators], only priors that every estimator has played.
    """

    estimators: tuple[str, ...]
    priors: tuple[int, ...]
    values: Floats

    def __getitem__(self, estimator: str) -> Floats:
        if estimator not in self.estimators:
            raise InputError(f"{estimator} is not in the table: choose among {', '.join(self.estimators)}")
        return np.asarray(self.values[:, self.estimators.index(estimator)])


def pair(losses: Iterable[Loss], column: str = "regret") -> dict[Cell, Paired]:
    """Group the losses by world and size, and pair the estimators prior by prior.

    >>> rows = [Loss("w", 9, prior, 0, name, cost, 0, 0, 0) for prior in (0, 1) for name, cost in zip("ab", (1.0, 2.0))]
    >>> paired = pair(rows)[Cell("w", 9)]
    >>> paired.estimators, paired["b"].tolist()
    (('a', 'b'), [2.0, 2.0])
    """
    grouped: dict[Cell, dict[str, dict[int, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for loss in losses:
        grouped[Cell(loss.world, loss.n)][loss.estimator][loss.prior].append(getattr(loss, column))
    tables = {}
    for cell in sorted(grouped):
        by_name = grouped[cell]
        priors = tuple(sorted(set.intersection(*(set(of) for of in by_name.values()))))
        values = np.array([[np.mean(of[prior]) for of in by_name.values()] for prior in priors])
        tables[cell] = Paired(tuple(by_name), priors, values.reshape(len(priors), len(by_name)))
    return tables


class Interval(NamedTuple):
    """A mean and its 95 % Student interval, over so many priors."""

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
    """Rank of every estimator on every prior, 1 for the lowest loss, ties sharing their mean: [priors, estimators].

    >>> ranks(Paired(("a", "b"), (0, 1), np.array([[1.0, 2.0], [5.0, 5.0]]))).tolist()
    [[1.0, 2.0], [1.5, 1.5]]
    """
    return np.asarray(stats.rankdata(paired.values, axis=1))
