"""The walk from a table to answers: everything that shrinks a table, in memory or in a file, takes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ebformer.drift import Drift
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.plural import counted
from ebformer.tables.checking import Checks, check_fit, departures, verdict
from ebformer.tables.columns import ERRORS, Columns, Missing, check_nothing_overwritten
from ebformer.tables.expected import with_expected
from ebformer.tables.fit import Fit
from ebformer.tables.histories import Histories, last_looks
from ebformer.tables.learning import fit_table
from ebformer.tables.notes import NOTE, unanswered, with_notes
from ebformer.tables.observations import Observations, check_rows, observe, units_of
from ebformer.tables.remarks import about_bins, about_drift, about_no_room, about_null, about_repeats, remarks
from ebformer.tables.source import Source
from ebformer.tables.wanted import Wanted

MANY_GROUPS = 50
"""More groups than this, each with fewer than two rows, are hardly meant."""


@dataclass(frozen=True, eq=False)
class Shrunken:
    """A table with answers, and what they were answered with.

    `rows` is the table with its new columns, of the type that its source gives: where a source is lazy, so are they.
    `remarks` and `departures` are sentences for those who read the answers.
    """

    rows: Any
    fit: Fit
    observations: Observations
    wanted: Wanted
    checks: Checks
    """Those of all groups; none where a saved fit answered, which is not checked on new rows, and of proportions
    around what covariates let expect."""
    remarks: list[str]
    answers: Mapping[str, NDArray[Any]]
    """The new columns by name, one entry per distinct observation: the usable ones first, then the others."""
    learnt: Drift | None = None
    """How thetas moved between the looks of a long table."""

    @property
    def departures(self) -> list[str]:
        """Where the model does not describe the counts."""
        return departures(self.checks, self.observations.columns.group)

    @property
    def meanings(self) -> list[str]:
        """What the columns mean that were asked for, a sentence each; estimates and intervals explain themselves."""
        settled, channel = self.fit.settled(self.wanted), self.observations.columns.channel
        moved = [] if self.learnt is None else self.learnt.sentences(channel)
        asked = self.fit.asked_for(settled)
        told = [answer.sentence(settled, channel) for answer in asked if not answer.in_theta]
        return moved + told + self._selection + about_null(self.fit, self.observations, settled)

    @property
    def _selection(self) -> list[str]:
        """How long the list of those selected is, where one was asked for."""
        if "selected" not in self.answers:
            return []
        rows = self.observations.keys.rows
        chosen = int(rows @ self.answers["selected"][: rows.size].astype(np.int64))
        return [f"{chosen:,} of {counted(int(rows.sum()), 'row')} {'is' if chosen == 1 else 'are'} selected"]

    @property
    def model_check(self) -> list[str]:
        """The departures or, where there are none, that the priors fit; methods without one have none that could."""
        found = self.departures
        if found or not self.checks or any(rule.prior is None for rule in self.fit.rules.values()):
            return found
        return [verdict(self.checks, self.observations.columns.channel)]


def shrink_table(
    source: Source,
    columns: Columns,
    method: Estimator | Fit,
    wanted: Wanted,
    missing: Missing = "error",
    watch: Callable[[str], AbstractContextManager[object]] = nullcontext,
    ask: Callable[[str], object] = lambda question: None,
    pool: bool = False,
    neighbours: Sequence[tuple[str, str]] | None = None,
) -> Shrunken:
    """Observe, fit, check, answer and join: a table with answers, by a method or by a saved fit.

    `watch` is told what takes its time, and is entered meanwhile. `ask` is told before groups are fitted that are
    nearly as many as rows, and raises where they are not meant. `pool` says whether groups have a common prior and
    `neighbours` which of them, in pairs, tell about each other more than about the rest.

    >>> import duckdb
    >>> from ebformer.estimators.catalogue import CATALOGUE
    >>> from ebformer.tables.duck import DuckTable
    >>> goals = DuckTable(duckdb.connect().sql("SELECT unnest([3, 0, 3]) AS goals"))
    >>> shrink_table(goals, Columns("goals"), CATALOGUE["mle"], Wanted()).rows.order("goals").fetchall()
    [(0, 0.0), (3, 3.0), (3, 3.0)]
    """
    columns, wanted = _settled(columns, wanted)
    saved, estimator = (method, None) if isinstance(method, Fit) else (None, method)
    with watch("Reading"):
        units = _units(source, columns, missing, learning=saved is None)
    learnt = None
    if units.histories is not None and wanted.drift is None:
        with watch(f"Learning how {columns.channel.words.thetas} move"):
            learnt = units.histories.drift(estimator, columns)
        wanted = replace(wanted, drift=learnt)
    before = None if saved is None else saved.expectation
    with watch("Learning what covariates tell" if columns.covariates is not None and before is None else "Reading"):
        source, read, expectation = with_expected(units.source, units.columns, missing, before)
        observations = observe(source, read, missing)
    if saved is None and not pool and neighbours is None:
        _ask_about_groups(observations, ask)
    with watch(_estimating(observations) if saved is None else "Answering"):
        if isinstance(method, Fit):
            fit = method
        else:
            fit = fit_table(observations, method, pool, neighbours, columns, expectation)
        _check_answerable(fit, observations, missing, learnt_here=saved is None)
        check_nothing_overwritten(fit.new_columns(wanted) + [NOTE] * (missing == "explain"), source.names)
        checks = check_fit(fit, observations, np.random.default_rng(0)) if saved is None else []
        said = units.remarks + _about_movement(units, learnt, wanted, columns)
        said += about_bins(fit, observations) if estimator is None else remarks(fit, observations, estimator)
        said += about_no_room(fit, observations, fit.settled(wanted))
    with watch("Answering"):  # ranks of thousands of units take their time
        answers = fit.answers(observations, wanted, units.histories)
    rows, answers = _joined(source, fit, observations, answers)
    return Shrunken(rows, fit, observations, wanted, checks, said, answers, learnt)


class _Units(NamedTuple):
    """A table with one row per unit, its columns, what was seen of units before, and what there is to say of it."""

    source: Source
    columns: Columns
    histories: Histories | None
    remarks: list[str]


def _settled(columns: Columns, wanted: Wanted) -> tuple[Columns, Wanted]:
    """The columns with what will be known, and what is wanted with the drift that was named; or a complaint."""
    if wanted.drift is not None and wanted.future is None and columns.look is None:
        raise InputError("a drift is about the next observation: say what will be known about it, as future")
    if isinstance(wanted.drift, str):
        wanted = replace(wanted, drift=Drift.named(wanted.drift, columns.exposed))
    wanted.check(columns.channel)
    return replace(columns, future=wanted.future if isinstance(wanted.future, str) else None), wanted


def _units(source: Source, columns: Columns, missing: Missing, learning: bool) -> _Units:
    """The rows of every unit added up, or those of its last look."""
    if columns.look is not None:
        check_rows(source, columns, missing)
        return _Units(*last_looks(source, columns))
    repeats = about_repeats(source, columns) if learning and columns.unit is None else []
    return _Units(*units_of(source, columns, missing), None, repeats)


def _ask_about_groups(observations: Observations, ask: Callable[[str], object]) -> None:
    """Whether groups are meant that are nearly as many as rows."""
    groups, rows = len(observations.groups[0]), int(observations.keys.rows.sum())
    if groups > max(rows / 2, MANY_GROUPS):
        have = f"{observations.columns.group} has {groups:,} groups for {rows:,} rows"
        ask(f"{have}, each fitted by itself (--pool fits them together)")


def _estimating(observations: Observations) -> str:
    groups = len(observations.groups[0])
    return f"Estimating {groups:,} groups" if groups > 1 else "Estimating"


def _check_answerable(fit: Fit, observations: Observations, missing: Missing, learnt_here: bool) -> None:
    """Refuse groups that a saved fit does not know, and rows of which nothing was seen where there is no prior."""
    if not learnt_here and missing != "explain" and (new := fit.unknown(observations)):
        raise fit.about_unknown(new)
    if missing in ERRORS and bool(unanswered(fit, observations).any()):
        columns = observations.columns
        raise InputError(
            f"there are rows of {columns.known} 0, of which nothing was seen, and the method has no prior to "
            f"answer from: leave them out, or use a method that has one, such as {columns.channel.conjugate}"
        )


def _about_movement(units: _Units, learnt: Drift | None, wanted: Wanted, columns: Columns) -> list[str]:
    """What to know of the drift that predictions allow for."""
    if learnt is None:
        return about_drift(wanted.moving, columns)
    if units.histories is not None and units.histories.pairs:
        return []
    moving = f"{columns.channel.words.thetas} are taken to move as is typical"
    return [f"no unit was seen in two looks in a row: {moving}"]


def _joined(
    source: Source, fit: Fit, observations: Observations, answers: dict[str, NDArray[Any]]
) -> tuple[Any, dict[str, NDArray[Any]]]:
    """The table with its answers, without the columns that were added on the way, and these answers."""
    columns, shown = observations.columns, observations.keys
    if observations.unusable is not None:
        shown, answers = with_notes(fit, observations, observations.unusable, answers)
    rows = source.with_answers(columns, observations.width, shown, answers)
    if ours := [name for name in (columns.history, columns.expected, columns.unseen) if name is not None]:
        rows = nw.from_native(rows).drop(ours).to_native()
    return rows, answers
