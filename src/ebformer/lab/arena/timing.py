"""Seconds per data set: fit and answer, single-threaded, warm, the median of several tallies."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.lab.arena.trials import draw_trials
from ebformer.lab.worlds.base import World
from ebformer.tally import Tally


class Timing(NamedTuple):
    """The median of so many data sets, in seconds."""

    estimator: str
    n: int
    seconds: float
    datasets: int


def time_estimators(
    estimators: Mapping[str, Estimator], world: World, sizes: Sequence[int], datasets: int = 9, seed: int = 0
) -> list[Timing]:
    """Time every estimator on the same tallies; one untimed run per estimator loads its weights and fills its caches.

    >>> from ebformer.estimators.mle import Mle
    >>> from ebformer.lab.worlds import PointMass
    >>> [t.n for t in time_estimators({"mle": Mle()}, PointMass(), [100, 1000], datasets=1)]
    [100, 1000]
    """
    from threadpoolctl import threadpool_limits

    if datasets < 1:
        raise InputError(f"datasets is {datasets}: time at least 1")
    tallies: dict[int, list[Tally]] = {n: [] for n in sizes}
    for trial in draw_trials([world], sizes, datasets, seed=seed):
        for case in trial.cases(trial.keys):
            tallies[case.key.n].append(case.tally)
    timings = []
    with threadpool_limits(1):
        for name, estimator in estimators.items():
            estimator(tallies[sizes[0]][0])
            for n in sizes:
                seconds = []
                for tally in tallies[n]:
                    start = time.perf_counter()
                    estimator(tally)(tally.values)
                    seconds.append(time.perf_counter() - start)
                timings.append(Timing(name, n, float(np.median(seconds)), datasets))
    return timings
