"""Predictions that allow for rates that move: no drift, a typical one, one of other domains, and one learnt before."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ebformer.drift import PARAMETERS, Drift
from ebformer.estimators.base import Estimator
from ebformer.lab.arena.losses import Loss
from ebformer.lab.fielddata.holdout import Holdout
from ebformer.lab.fielddata.scoring import count_error, score
from ebformer.looks import Looks
from ebformer.networks.estimates import OutsideTrainingRange
from ebformer.rule import Rule

HISTORY = 5
"""Cases are predicted from the sixth on, so that every drift was learnt from at least so many before it."""
MEMORY = 60
"""At most so many cases teach a drift, the latest ones."""


class Moved(NamedTuple):
    """The scores of one case by one method, for each kind of drift, the drift that was learnt, and its RMSE of counts.

    The kinds are none, typical, elsewhere (what other domains taught, where there are others) and learnt.
    """

    kinds: dict[str, Loss]
    learnt: Drift
    count_rmse: float

    @property
    def losses(self) -> list[Loss]:
        """The scores, of an estimator with each kind of drift."""
        return [loss._replace(estimator=f"{loss.estimator}, {kind}") for kind, loss in self.kinds.items()]


def looks_of(holdout: Holdout) -> Looks:
    """The pairs of a holdout."""
    looks = holdout.before, holdout.after, holdout.known, holdout.future, holdout.multiplicity
    return Looks.of(*looks, channel=holdout.channel)


def moving(holdouts: Sequence[Holdout], estimators: Mapping[str, Estimator]) -> Iterator[Moved]:
    """Score every method that has a prior on the cases of each data set that have at least `HISTORY` before them.

    From the twentieth case on a drift is learnt anew every twentieth only: it hardly changes. Data sets of one domain,
    such as hockey, begin with the same word.
    """
    cases = {data: [one for one in holdouts if one.data == data] for data in dict.fromkeys(h.data for h in holdouts)}
    pairs = {data: [looks_of(case) for case in some] for data, some in cases.items()}
    for name, estimator in estimators.items():
        if _fitted(estimator, holdouts[0]).prior is None:
            continue
        taught = {data: Drift.learn(some[-MEMORY:], estimator) for data, some in pairs.items()}
        for data, some in cases.items():
            typical, others = Drift.typical(pairs[data][0].exposed), elsewhere(taught, data)
            learnt = typical
            for at in range(min(HISTORY, len(some) - 1), len(some)):
                rule = _fitted(estimator, some[at])
                if at > 0 and (at <= 20 or at % 20 == 0):
                    learnt = Drift.learn(pairs[data][max(0, at - MEMORY) : at], estimator)
                drifts = {"none": None, "typical": typical, "elsewhere": others, "learnt": learnt}
                given = {kind: drift for kind, drift in drifts.items() if kind == "none" or drift is not None}
                kinds = {kind: score(some[at], rule, name, drift=drift) for kind, drift in given.items()}
                yield Moved(kinds, learnt, count_error(some[at], rule, learnt))


def elsewhere(taught: Mapping[str, Drift], data: str) -> Drift | None:
    """The mean of what other domains taught, each counting once, without a trend; None where there is no other."""
    domains: dict[str, list[Drift]] = {}
    for name, drift in taught.items():
        # What was measured per game or plate appearance lacks the playing time that moves in all others.
        if name.split()[0] != data.split()[0] and (" per " in name) == (" per " in data):
            domains.setdefault(name.split()[0], []).append(drift)
    if not domains:
        return None
    means = [[np.mean([getattr(drift, p) for drift in some]) for p in PARAMETERS] for some in domains.values()]
    pull, fade, jump, _ = np.mean(means, axis=0).tolist()
    return Drift(pull, fade, jump)


def _fitted(estimator: Estimator, case: Holdout) -> Rule:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideTrainingRange)
        return estimator(case.tally)
