"""The model check of a fitted table, group by group, and what it has to say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ebformer.binning import coarsened
from ebformer.channels.base import Channel
from ebformer.check import ModelCheck, model_check, too_few
from ebformer.estimators.catalogue import CATALOGUE
from ebformer.rule import Rule
from ebformer.tables.fit import Fit
from ebformer.tables.observations import Observations
from ebformer.tables.remarks import with_groups
from ebformer.tally import Tally

NARROW = 2.0
"""A z-score: observations that vary so much less than a prior says are not helped by another prior, if that one is as
narrow as can be and they still do."""
Checks = Sequence[tuple[ModelCheck, list[str | None]]]
"""Each check once, and the groups that share it, like their rule."""


def check_fit(fit: Fit, observations: Observations, rng: np.random.Generator) -> Checks:
    """The checks of the observations that were fitted, one for all groups with the same tally.

    Where a method's own prior fails, NPMLE tells whether the method or the model fails.
    """
    if fit.moves and fit.columns.channel.deviation is None:
        return []  # units of unlike expectations share no prior that could be checked at once
    return [(_check(fit.rules[groups[0]], tally, rng), groups) for tally, groups in observations.distinct_tallies]


def _check(rule: Rule, tally: Tally, rng: np.random.Generator) -> ModelCheck:
    own = None if rule.prior is None else model_check(rule.prior, tally, rng)
    if own is not None and (own.fits or rule.method == "npmle" or rule.kind == "completed"):
        return own
    best = CATALOGUE["npmle"](coarsened(tally)).prior
    assert best is not None
    of_any_prior = model_check(best, tally, rng)
    if own is None or not of_any_prior.fits:
        return of_any_prior
    if own.spread < -NARROW and of_any_prior.spread < -NARROW:  # no prior makes counts vary less than their noise
        return own
    fails = f"the prior that {rule.method} found does not fit these {tally.channel.words.xs}"
    sentence = f"{fails}, but the one of npmle does: use npmle"
    return ModelCheck(own.pit, own.p_value, own.distance, False, sentence)


def departures(checks: Checks, group_column: str | None) -> list[str]:
    """The sentences of the checks that failed; several groups with the same trouble share one."""
    return with_groups([(check.sentence, groups) for check, groups in checks if not check.fits], group_column)


def verdict(checks: Checks, channel: Channel) -> str:
    """What checks that found no departure have to say, in one sentence for all groups."""
    if checks[0][1] == [None]:
        return checks[0][0].sentence
    told = sum(len(groups) for check, groups in checks if check.sentence != too_few(channel))
    if told == 0:
        return too_few(channel)
    all_groups = sum(len(groups) for _, groups in checks)
    others = "" if told == all_groups else "; the others have too few rows to tell"
    return f"{channel.advice.fits} in {told:,} of {all_groups:,} groups{others}"
