"""Given tallies with their exact Bayes rule, and published regrets on them: comparisons paired tally by tally."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.errors import InputError
from ebformer.lab.arena.losses import Case, Key, Loss, Truth
from ebformer.tables.arrays import FilePath, read_columns
from ebformer.tally import Tally


@dataclass(frozen=True, eq=False)
class GivenTrial:
    """One tally with the exact Bayes rule at every observed value; the tally's number stands for its prior."""

    case: Case

    @property
    def keys(self) -> list[Key]:
        return [self.case.key]

    def cases(self, wanted: Iterable[Key]) -> Iterator[Case]:
        return (self.case for _ in wanted)


def read_trials(path: FilePath) -> list[GivenTrial]:
    """Tallies from a Parquet or CSV file with columns world, n, tally, x, multiplicity and bayes."""
    world, n, number, x, multiplicity, bayes = _sorted(path, "world", "n", "tally", "x", "multiplicity", "bayes")
    new = (world[1:] != world[:-1]) | (n[1:] != n[:-1]) | (number[1:] != number[:-1])
    trials = []
    for first, end in pairwise([0, *(np.flatnonzero(new) + 1).tolist(), len(x)]):
        key = Key(str(world[first]), int(n[first]), int(number[first]), 0)
        tally = Tally(x[first:end], multiplicity[first:end])
        if tally.n != key.n or len(tally) != end - first:
            raise InputError(
                f"{path}: tally {key.prior} of {key.world} has {tally.n} units at {len(tally)} distinct x in "
                f"{end - first} rows; give one row per x and {key.n} units"
            )
        trials.append(GivenTrial(Case(key, tally, Truth(tally.values, bayes[first:end].astype(np.float64)))))
    return trials


def read_published(path: FilePath, ours: Iterable[Loss]) -> list[Loss]:
    """Regrets that others measured on the tallies of `ours`: columns world, n, tally, estimator, regret.

    An estimator that has a name of ours is called NAME (published).
    """
    losses = list(ours)
    played, names = {loss.key for loss in losses}, {loss.estimator for loss in losses}
    published = []
    for world, n, tally, name, regret in zip(*_sorted(path, "world", "n", "tally", "estimator", "regret"), strict=True):
        if (key := Key(str(world), int(n), int(tally), 0)) in played:
            label = f"{name} (published)" if name in names else str(name)
            published.append(Loss(*key, label, float(regret), np.nan, np.nan, np.nan))
    if not published:
        raise InputError(f"{path} has no regret on the tallies that were played: give the file that belongs to them")
    return published


def _sorted(path: FilePath, *names: str) -> list[NDArray[Any]]:
    """Columns of a Parquet or CSV file, sorted by all of them from the left."""
    columns = read_columns([path], names)
    order = np.lexsort([columns[name] for name in reversed(names)])
    return [columns[name][order] for name in names]
