"""What is learnt from the observations of a table: a rule per group, each by itself, pooled or around expectations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ebformer.binning import coarsened
from ebformer.channels.base import Channel
from ebformer.deviations import around_expectations
from ebformer.errors import InputError
from ebformer.expectation import Expectation
from ebformer.pooling import pool as pool_groups
from ebformer.pooling import side_by_side
from ebformer.rule import Rule
from ebformer.tables.columns import Columns
from ebformer.tables.fit import Fit
from ebformer.tables.observations import Observations
from ebformer.tally import Tally, added_up


def fit_table(
    observations: Observations,
    method: Callable[[Tally], Rule],
    pool: bool = False,
    neighbours: Sequence[tuple[str, str]] | None = None,
    named: Columns | None = None,
    expectation: Expectation | None = None,
) -> Fit:
    """Fit every group by itself, or all with priors around a common one; groups with the same tally share one rule.

    Observations are binned for the fit where there are many (`coarsened`). `neighbours` are pairs of groups. The fit
    keeps the columns as they were `named`, with the unit whose rows were added up, so that it adds up new rows too.
    With an `expectation` that moves priors, rules are of deviations from what the observations say to expect.
    """
    _check_usable(observations)
    # What is to be predicted, and from what, is asked anew of each table.
    columns = replace(named or observations.columns, future=None, history=None, expected=None, unseen=None)
    columns = replace(columns, look=None, added_up=None, carried=())
    if expectation is not None and columns.channel.deviation is None:
        if pool or neighbours is not None:
            raise InputError("proportions with covariates are not pooled: name the group as a covariate instead")
        _check_method_of_proportions(method, columns.channel)
        if expectation.moves:
            return _around_expectations(columns, observations, expectation)
    if neighbours is not None:
        alone = [(tally, [name]) for name, tally in observations.tallies().items()]
        return _pooled(columns, alone, method, neighbours, expectation)
    if pool:
        return _pooled(columns, observations.distinct_tallies, method, None, expectation)
    rules = observations.of_groups(lambda tally, _: method(coarsened(tally)))
    return Fit(columns, rules, method, expectation=expectation)


def with_units(fit: Fit, observations: Observations) -> Fit:
    """The fit of all units so far and of these."""
    from ebformer.estimators.catalogue import CATALOGUE

    if fit.expectation is not None:
        raise InputError("what covariates tell is learnt from all units at once: fit old and new rows together")
    name = next(iter(fit.rules.values())).method
    method = fit.method or CATALOGUE.get(name)
    if method is None:
        raise InputError(f"the fit is saved without its method {name}, which is yours: fit old and new rows together")
    _check_usable(observations)
    seen: dict[str | None, Tally] = {}
    for group, rule in fit.rules.items():
        if rule.tally is None:
            raise InputError("the fit was saved without its units, by an earlier ebformer: fit them once more")
        seen[group] = rule.tally
    grown: list[tuple[Tally, list[str | None]]] = []  # each once: of groups that were alike, and are
    for tally, groups in observations.distinct_tallies:
        alike: dict[int, list[str | None]] = {}
        for group in groups:
            alike.setdefault(id(seen.get(group)), []).append(group)
        for some in alike.values():
            before = seen.get(some[0])
            grown.append((tally if before is None else added_up([(before, 1), (tally, 1)]), some))
    if fit.between is not None:
        each = seen | {group: tally for tally, some in grown for group in some}
        return _pooled(fit.columns, [(tally, [group]) for group, tally in each.items()], method, fit.neighbours)
    fitted = [(method(coarsened(tally)), some) for tally, some in grown]
    return Fit(fit.columns, {**fit.rules, **{group: rule for rule, some in fitted for group in some}}, method)


def _check_usable(observations: Observations) -> None:
    if observations.keys.rows.size == 0:
        raise InputError(f"no row can be used to learn from: in the first, {observations.reasons[0]}")


def _check_method_of_proportions(method: Callable[[Tally], Rule], channel: Channel) -> None:
    from ebformer.estimators.catalogue import default_method

    name = getattr(method, "name", None)
    if name != default_method(channel):
        raise InputError(
            f"proportions with covariates have betas around what is expected for a prior, which {name} does not fit: "
            "name no method"
        )


def _around_expectations(columns: Columns, observations: Observations, expectation: Expectation) -> Fit:
    """The fit of proportions around what is expected of each unit: a rule per group, and one of all for new groups."""
    assert observations.expected is not None
    x, known, told, rows = observations.x, observations.known, observations.expected, observations.keys.rows

    def around(at: NDArray[np.intp]) -> Rule:
        return around_expectations(x[at], known[at], told[at], rows[at], observations.tally(at))

    names, group = observations.groups
    seen = np.flatnonzero(known > 0)
    seen = seen[np.argsort(group[seen], kind="stable")]
    ends = np.cumsum(np.bincount(group[seen], minlength=len(names)))
    parts = zip(names, np.split(seen, ends[:-1]), strict=True)
    fit = Fit(columns, {name: around(at) for name, at in parts if at.size}, expectation=expectation)
    if columns.group is not None:
        fit.__dict__["pooled"] = around(seen)
    return fit


def _pooled(
    columns: Columns,
    tallies: Sequence[tuple[Tally, list[str | None]]],
    method: Callable[[Tally], Rule],
    neighbours: Sequence[tuple[str, str]] | None = None,
    expectation: Expectation | None = None,
) -> Fit:
    """The fit of groups whose priors lie around a common one, which answers for groups that are new.

    With `neighbours` every tally is that of one group.
    """
    if columns.group is None:
        raise InputError("only groups can be pooled, and no column of groups is named: name one, or leave pooling out")
    near = None if neighbours is None else side_by_side([groups[0] for _, groups in tallies], neighbours)
    found = pool_groups([tally for tally, _ in tallies], method, [len(groups) for _, groups in tallies], near)
    rules = {group: rule for (_, groups), rule in zip(tallies, found.rules, strict=True) for group in groups}
    pairs = None if neighbours is None else tuple((str(a), str(b)) for a, b in neighbours)
    named = dict(sorted(rules.items(), key=lambda item: str(item[0])))
    fit = Fit(columns, named, method, found.between, pairs, expectation)
    fit.__dict__["pooled"] = found.common
    return fit
