"""Predictions that allow for rates that move: no drift, a typical one, and one learnt from earlier cases."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from ebformer.drift import Drift
from ebformer.estimators.base import Estimator
from ebformer.lab.arena.losses import Loss
from ebformer.lab.fielddata.holdout import Holdout
from ebformer.lab.fielddata.scoring import score
from ebformer.looks import Looks
from ebformer.networks.estimates import OutsideTrainingRange

HISTORY = 5
"""Cases are predicted from the sixth on, so that every drift was learnt from at least so many before it."""
MEMORY = 60
"""At most so many cases teach a drift, the latest ones."""
KINDS = ("none", "typical", "learnt")


class Moved(NamedTuple):
    """The scores of one case by one method, for each kind of drift, and the drift that was learnt."""

    kinds: dict[str, Loss]
    learnt: Drift


def looks_of(holdout: Holdout) -> Looks:
    """The pairs of a holdout."""
    return Looks.of(holdout.before, holdout.after, holdout.known, holdout.future, holdout.multiplicity)


def moving(
    holdouts: Sequence[Holdout], estimators: Mapping[str, Estimator], typical: Drift | None = None
) -> Iterator[Moved]:
    """Score every method that has a prior on the cases of each data set that have at least `HISTORY` before them.

    From the twentieth case on a drift is learnt anew every twentieth only: it hardly changes.
    """
    for _, some in groupby(holdouts, key=lambda one: one.data):
        cases = list(some)
        pairs = [looks_of(case) for case in cases]
        for name, estimator in estimators.items():
            learnt = Drift.typical()
            for at in range(min(HISTORY, len(cases) - 1), len(cases)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", OutsideTrainingRange)
                    rule = estimator(cases[at].tally)
                if rule.prior is None:
                    break
                if at > 0 and (at <= 20 or at % 20 == 0):
                    learnt = Drift.learn(pairs[max(0, at - MEMORY) : at], estimator)
                drifts = {"none": None, "typical": typical or Drift.typical(), "learnt": learnt}
                yield Moved({kind: score(cases[at], rule, name, drift=drifts[kind]) for kind in KINDS}, learnt)
