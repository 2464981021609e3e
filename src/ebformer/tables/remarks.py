"""What a reader of the answers should know, one sentence each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import chain

import numpy as np

from ebformer.drift import Drift
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import default_method
from ebformer.point_null import evidence, pointed
from ebformer.prior import ConjugatePrior, Prior
from ebformer.rule import Rule
from ebformer.tables.columns import TOLD, Columns, first_few
from ebformer.tables.fit import Fit
from ebformer.tables.observations import Observations
from ebformer.tables.source import COUNTED, Source
from ebformer.tables.wanted import Wanted
from ebformer.tally import Tally

NAMES = re.compile(
    r"(^|[_ .-])(id|ids|key|code|name|item|sku|player|person|user|customer|patient|policy|product|unit|subject|url)$"
    r"|[a-z](ID|Id)$",
    re.IGNORECASE,
)
"""What columns are called that name units."""
FEW = 30
"""A group with fewer rows than this says little about its own prior."""
LEAST_SHARE, MANY_AT_NULL = 0.005, 0.3
"""Shares of effects at the null that are worth a word, and that a method without any there is wrong about."""


def remarks(fit: Fit, observations: Observations, method: Estimator) -> list[str]:
    """All there is to say about what a method made of these observations."""
    remark = method.remark_on(observations.columns.channel)
    return (
        ([] if remark is None else [remark])
        + (about_few_rows(fit, observations) if method.learns and fit.between is None else [])
        + about_one_moment(observations)
        + about_unseen(fit, observations)
        + about_bins(fit, observations)
        + about_rules(fit, observations.columns.group)
    )


def about_repeats(source: Source, columns: Columns) -> list[str]:
    """Where a column that seems to name the units repeats its entries, and none has a name of its own per row."""
    taken = [columns.role(role) for role in columns.roles]
    names = [name for name in source.names if isinstance(name, str) and name not in taken and NAMES.search(name)]
    if not names:
        return []
    rows, kinds = source.kinds(names)
    most = max(kinds)
    if not 0 < most <= 0.9 * rows or rows < FEW:
        return []
    near = [name for name, kind in zip(names, kinds, strict=True) if kind > 0.9 * most]
    name = next((name for name in near if name.lower().endswith("id")), near[0])  # two people may share a name
    part = "at least" if rows == COUNTED else "about"  # there are more rows, which may repeat more often
    return [
        f"rows repeat {name}, {part} {rows / most:.1f} each: a row must be a unit, "
        f"so if {name} is the unit, add its rows up with --unit {name} (in Python unit={name!r})"
    ]


def about_drift(drift: Drift | None, columns: Columns) -> list[str]:
    """Where a drift was learnt with playing time in what moves and is used without, or the other way round."""
    if drift is None or drift.exposures in (None, columns.exposed):
        return []
    knowns, thetas = columns.channel.words.knowns, columns.channel.words.thetas
    if columns.exposed:
        return [
            f"the drift was learnt without {knowns}, so that playing time is part of what moves: "
            f"where they are known, {thetas} move less than it says"
        ]
    return [
        f"the drift was learnt with {knowns}, and here are none: {thetas} move more than it says, with playing time"
    ]


def about_groups(fit: Fit) -> list[str]:
    """How much pooled groups have in common."""
    if fit.between is None:
        return []
    thetas = fit.columns.channel.words.thetas
    return [f"groups are pooled: {100 * fit.between:.0f} % of the spread of the {thetas} lies between them"]


def about_covariates(fit: Fit) -> list[str]:
    """How much the covariates tell, and which."""
    return [] if fit.expectation is None else [str(fit.expectation)]


def about_few_rows(fit: Fit, observations: Observations) -> list[str]:
    """Where there is next to nothing to learn a prior from."""
    channel, (names, group) = observations.columns.channel, observations.groups
    units = np.bincount(group, weights=observations.keys.rows)
    few = np.flatnonzero(units < FEW).tolist()
    if not few:
        return []
    told, column = "few rows to learn a prior from", observations.columns.group
    if column is not None:
        shown = first_few(few, lambda i: f"{names[i]} ({units[i]:.0f})")
        apart = fit.expectation is not None and channel.deviation is None  # such groups are not pooled
        return [f"{told} in {column} {shown}: consider {f'{column} as a covariate' if apart else 'pooling'}"]
    served = channel.conjugate is not None
    return [f"{told}: priorformer and full-bayes allow for that" if served else told]


def about_one_moment(observations: Observations) -> list[str]:
    """Where every unit shows so little that nothing tells theirs from units that are all alike."""
    channel = observations.columns.channel
    if _mover(observations) or channel.moments_seen(observations.known) != 1:
        return []
    words = channel.words
    return [
        f"no row has {words.amount.format(2)}, so they tell the mean of the {words.thetas} and nothing of how far "
        "these lie apart: how much estimates differ is the method's guess; if several rows are one unit, "
        "add them up with --unit (in Python unit=)"
    ]


def about_unseen(fit: Fit, observations: Observations) -> list[str]:
    """Which groups have units, but none of which anything was seen."""
    unseen, column = fit.unknown(observations), observations.columns.group
    known = observations.columns.channel.words.known
    return [f"no {known} in {column} {first_few(unseen)}: answered with the prior of all"] if unseen else []


def about_bins(fit: Fit, observations: Observations) -> list[str]:
    """Where observations were binned."""
    if not observations.width:
        return []
    channel, most = observations.columns.channel, fit.binning_error(observations)
    return [
        f"there are so many {channel.words.knowns if channel.whole else channel.words.xs} that near ones were taken "
        f"together: no estimate moves by more than {most:.2g} of {channel.words.scale}, "
        "ends of intervals may move more"
    ]


def about_rules(fit: Fit, group_column: str | None) -> list[str]:
    """Where a method did not converge, or found no difference between units."""
    return with_groups(_said_of_rules(fit, _doubts), group_column)


def _said_of_rules(fit: Fit, tell: Callable[[Rule], list[str]]) -> list[tuple[str, list[str | None]]]:
    """What there is to tell about rules, and the groups it is about; a rule that groups share is asked once."""
    return [(sentence, groups) for rule, groups in fit.shared for sentence in tell(rule)]


def _doubts(rule: Rule) -> list[str]:
    found = []
    if rule.convergence is not None and not rule.convergence.reached:
        found.append(f"{rule.method} {rule.convergence}")
    if isinstance(rule.prior, Prior) and len(rule.prior) == 1:
        found.append(_one_theta(rule))
    return found


def _one_theta(rule: Rule) -> str:
    """What a prior of one point means."""
    words, other = rule.channel.words, default_method(rule.channel)
    advice = "" if other == rule.method else f"; take intervals and probabilities from {other} or full-bayes"
    return (
        f"{rule.method} cannot tell the {words.thetas} of these units apart, since their {words.xs} vary no more than "
        f"those of one {words.theta}: all get one estimate and intervals without width{advice}"
    )


def about_null(fit: Fit, observations: Observations, wanted: Wanted) -> list[str]:
    """What share of effects every answer takes to be exactly the null, where one is stated."""

    def told(rule: Rule) -> list[str]:
        prior = pointed(rule, wanted.bar("apart")).prior
        share = float(prior.weights[prior.atoms == wanted.bar("apart")].sum()) if isinstance(prior, Prior) else 0.0
        about = f"about {100 * share:.0f} % of the {rule.channel.words.thetas} are taken to be exactly {wanted.null}"
        return [f"{about}, by estimates and intervals as well as by lfsr"] if share >= LEAST_SHARE else []

    return _said_of_null(fit, observations, wanted, told)


def about_no_room(fit: Fit, observations: Observations, wanted: Wanted) -> list[str]:
    """Where many effects seem to be exactly the null, and the method, or what moves its prior, leaves none there."""

    def seem(tally: Tally, why: str) -> list[str]:
        share = float(np.prod(evidence(tally, wanted.bar("apart"))))
        about = f"about {100 * share:.0f} % of the {tally.channel.words.thetas} seem to be exactly {wanted.null}"
        return [f"{about}, and {why}"] if share >= MANY_AT_NULL else []

    def told(rule: Rule) -> list[str]:
        if not isinstance(rule.prior, ConjugatePrior) or rule.tally is None:
            return []
        return seem(rule.tally, f"{rule.method} assumes that none is, so its lfsr is too small: use priorformer")

    if "apart" in wanted.bars and (mover := _mover(observations)):
        channel, x, known = observations.columns.channel, observations.x, observations.known
        at = ~channel.blank(x, known)
        seen = Tally(x[at], observations.keys.rows[at], known[at], channel=channel)
        return seem(seen, f"with {mover} none is taken to be, so lfsr is too small: leave them out")
    return _said_of_null(fit, observations, wanted, told)


def _mover(observations: Observations) -> str | None:
    """What moves the prior of every unit, so that no share of it stays exactly at the null."""
    if observations.expected is not None:
        return "covariates"
    return None if observations.history is None else "earlier looks"


def _said_of_null(fit: Fit, observations: Observations, wanted: Wanted, tell: Callable[[Rule], list[str]]) -> list[str]:
    """What there is to tell about rules where a null was stated, and answers may have a point there."""
    if "apart" not in wanted.bars or _mover(observations):
        return []
    return with_groups(_said_of_rules(fit, tell), fit.columns.group)


def with_groups(said: Iterable[tuple[str, list[str | None]]], group_column: str | None) -> list[str]:
    """Every sentence once, with the groups it is about where there are groups; each list of them is sorted.

    >>> with_groups([("too few rows", ["a", "c"]), ("too few rows", ["b"])], "team")
    ['team a, b, c: too few rows']
    """
    about: dict[str, list[list[str | None]]] = {}
    for sentence, groups in said:
        about.setdefault(sentence, []).append(groups)
    if group_column is None:
        return list(about)
    told = []
    for sentence, parts in about.items():
        first = sorted(chain(*(groups[:TOLD] for groups in parts)), key=str)
        told.append(f"{group_column} {first_few(first, total=sum(map(len, parts)))}: {sentence}")
    return told
