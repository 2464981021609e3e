"""Given tallies with their exact Bayes rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ebformer.errors import InputError
from ebformer.lab.arena.losses import Case, Key, Truth
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
    names = ("world", "n", "tally", "x", "multiplicity", "bayes")
    columns = read_columns([path], names)
    order = np.lexsort([columns[name] for name in reversed(names)])
    world, n, number, x, multiplicity, bayes = (columns[name][order] for name in names)
    new = (world[1:] != world[:-1]) | (n[1:] != n[:-1]) | (number[1:] != number[:-1])
    trials = []
    for first, end in pairwise([0, *(np.flatnonzero(new) + 1).tolist(), len(x)]):
        key = Key(str(world[first]), int(n[first]), int(number[first]))
        tally = Tally(x[first:end], multiplicity[first:end])
        if tally.n != key.n or len(tally) != end - first:
            raise InputError(
                f"{path}: tally {key.case} of {key.data} has {tally.n} units at {len(tally)} distinct x in "
                f"{end - first} rows; give one row per x and {key.n} units"
            )
        trials.append(GivenTrial(Case(key, tally, Truth(tally.values, bayes[first:end].astype(np.float64)))))
    return trials
