"""What was learnt from a table: one rule per group, what it answers, and a file that scores tomorrow's rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ebformer.bayes.marginal import at_once
from ebformer.binning import coarsened, distinct_rows
from ebformer.deviations import shifted
from ebformer.distributions import Floats
from ebformer.drift.cells import MOST_CELLS
from ebformer.errors import EbformerError, InputError
from ebformer.expectation import Expectation
from ebformer.plural import counted
from ebformer.point_null import pointed
from ebformer.rule import Rule
from ebformer.saved import write_json
from ebformer.tables.answers import EXPECTED, Answer, Asked, asked_for
from ebformer.tables.columns import Columns, Missing, first_few
from ebformer.tables.observations import Observations, observe, units_of
from ebformer.tables.wanted import Wanted
from ebformer.tally import Tally, added_up

if TYPE_CHECKING:
    from ebformer.tables.histories import Histories


@dataclass(frozen=True, eq=False)
class Questions:
    """The distinct (rule, x, known) of some observations, rule by rule: groups that share a rule ask once.

    `asked` [r] tells how many questions each rule gets, `first` [q] which observation asks each of them first and
    `which` [u] the question of every observation.
    """

    rules: list[Rule]
    asked: NDArray[np.intp]
    first: NDArray[np.intp]
    which: NDArray[np.intp]

    def blocks(self, cells: int = 1) -> Iterator[tuple[Rule, slice]]:
        """Every rule and its questions, as many at a time as bound the memory of a posterior, on so many cells."""
        for rule, size, end in zip(self.rules, self.asked.tolist(), np.cumsum(self.asked).tolist(), strict=True):
            block = min(at_once(rule.prior), at_once(None) // cells)
            for start in range(end - size, end, block):
                yield rule, slice(start, min(start + block, end))


@dataclass(frozen=True, repr=False)
class Fit:
    """One rule per group (under None where the table is one group) and the columns it reads: what was learnt.

    `apply` scores new rows, `updated` learns from them too, `save` keeps the fit. `method` is what fitted them, where
    it is at hand. Rules keep the tally that they were fitted to.
    """

    columns: Columns
    rules: Mapping[str | None, Rule]
    method: Callable[[Tally], Rule] | None = field(default=None, compare=False)
    between: float | None = None
    """The share of the spread that lies between pooled groups; None where each was fitted by itself."""
    neighbours: tuple[tuple[str, str], ...] | None = None
    """Pairs of groups that lie side by side, where such are known."""
    expectation: Expectation | None = field(default=None, compare=False)
    """What covariates let expect; the rules are then of deviations from it, where it `moves` them."""

    def __repr__(self) -> str:
        known = {} if self.columns.known is None else {self.columns.channel.keyword: self.columns.known}
        groups = {} if self.columns.group is None else {"group": self.columns.group}
        roles = {self.columns.channel.column: self.columns.x} | known | groups
        methods = " and ".join(sorted({rule.method for rule in self.rules.values()}))
        units = "" if self.tally is None else f" of {counted(self.tally.n, 'unit')}"
        several = "" if None in self.rules else f" in {counted(len(self.rules), 'group')}"
        return f"Fit({', '.join(f'{role}={name!r}' for role, name in roles.items())}: {methods}{units}{several})"

    @property
    def moves(self) -> bool:
        """Whether covariates move the priors, so that rules are of deviations from what is expected."""
        return self.expectation is not None and self.expectation.moves

    @cached_property
    def shared(self) -> list[tuple[Rule, list[str | None]]]:
        """The rules, each of them once, and the groups that share it."""
        rules = {id(rule): rule for rule in self.rules.values()}
        groups: dict[int, list[str | None]] = {which: [] for which in rules}
        for group, which in zip(self.rules, map(id, self.rules.values()), strict=True):
            groups[which].append(group)
        return list(zip(rules.values(), groups.values(), strict=True))

    @cached_property
    def tally(self) -> Tally | None:
        """All fitted units; None for a fit that was saved without them, by an earlier ebformer."""
        known = [(rule.tally, len(groups)) for rule, groups in self.shared if rule.tally is not None]
        return added_up(known) if len(known) == len(self.shared) else None

    @cached_property
    def pooled(self) -> Rule | None:
        """The rule of all units together, for those of a group that is new; None where no method can fit them."""
        if None in self.rules:
            return self.rules[None]
        if self.tally is None or self.method is None:
            return None
        try:
            return self.method(coarsened(self.tally))
        except EbformerError:  # units of equal exposure in each group, but not in all, for a method that needs them so
            return None

    def new_columns(self, wanted: Wanted) -> list[str]:
        """The names of the columns that `answers` gives."""
        return [name for answer in self.asked_for(self.settled(wanted)) for name in answer.columns]

    def asked_for(self, wanted: Wanted) -> list[Answer]:
        """The answers to what is wanted, once it is `settled`."""
        found = asked_for(wanted, all(rule.prior is not None for rule, _ in self.shared))
        return found if self.expectation is None else [EXPECTED, *found]

    def answers(
        self, observations: Observations, wanted: Wanted, histories: Histories | None = None
    ) -> dict[str, NDArray[Any]]:
        """Every new column, one entry [u] per distinct observation."""
        wanted = self.settled(wanted)
        asked = self.questions(observations, wanted)
        if asked.which.size == 0:
            return {name: np.empty(0) for name in self.new_columns(wanted)}
        x, known = observations.x[asked.first], observations.known[asked.first]
        future = None if observations.future is None else observations.future[asked.first]
        history = None if observations.history is None else observations.history[asked.first]
        expected = self.expected(observations)
        units = np.bincount(asked.which, weights=observations.keys.rows).astype(np.int64)
        answers = self.asked_for(wanted)
        found: dict[str, list[NDArray[Any]]] = {name: [] for answer in answers for name in answer.columns}
        among = any(answer.all for answer in answers)
        blocks = []
        for rule, at in asked.blocks(1 if wanted.moving is None else MOST_CELLS):
            ahead = future[at] if future is not None else wanted.number_ahead
            earlier = () if history is None or histories is None else histories.earlier(history[at])
            told = None if expected is None else expected[asked.first[at]]
            block = Asked(rule, x[at], known[at], ahead, wanted.moving, earlier, told)
            for answer in answers:
                if answer.each is not None:
                    for name, values in zip(answer.columns, answer.each(block, wanted), strict=True):
                        found[name].append(values * wanted.per if wanted.per and answer.in_theta else values)
            if among:  # kept with their posteriors, which take their memory
                blocks.append(block)
        for answer in answers:
            if answer.all is not None:
                for name, values in zip(answer.columns, answer.all(blocks, units, wanted), strict=True):
                    found[name].append(values)
        return {name: np.concatenate(values)[asked.which] for name, values in found.items()}

    def expected(self, observations: Observations) -> Floats | None:
        """What covariates let expect of each observation [u], where there are any."""
        if observations.expected is not None or self.expectation is None:
            return observations.expected
        return self.expectation.of_everybody(self.columns.channel, observations.keys.rows.size)

    def settled(self, wanted: Wanted) -> Wanted:
        """What is wanted, checked, with multiples of the mean as numbers."""
        wanted.check(self.columns.channel)
        return wanted.settled(lambda: self.mean, self.columns.channel)

    @cached_property
    def mean(self) -> float:
        """That of all fitted units together, as their observations tell it (`Tally.mean`)."""
        if self.moves:
            assert self.expectation is not None
            return self.expectation.mean
        if self.tally is None:
            raise InputError("the fit was saved without its units, so it has no mean: give a number, or fit them anew")
        return self.tally.mean

    def binning_error(self, observations: Observations) -> float:
        """How far bins can have moved an estimate, relative to itself or to its standard error (`Channel.scale`).

        E[theta | x, t] of Poisson counts falls as t grows, with slope -Var[theta | x, t], and that of successes rises
        with them and falls with failures. So the answer anywhere in a bin lies between those at two of its corners,
        and this is a bound; of effects it is one up to the change of the standard error within a bin.
        """
        asked = self.questions(observations)
        places = [(observations.x, observations.known), *observations.corners()]
        x, known = (np.stack(each)[:, asked.first] for each in zip(*places, strict=True))  # [corners and middle, q]
        middle, *ends = np.concatenate([rule(x[:, at], known[:, at]) for rule, at in asked.blocks()], axis=1)
        moved = np.abs(np.array(ends) - middle).max(axis=0)
        scale = observations.columns.channel.scale(middle, observations.known[asked.first])
        return float(np.max(np.divide(moved, scale, out=np.zeros_like(moved), where=scale > 0), initial=0.0))

    def unknown(self, observations: Observations) -> list[str | None]:
        """The groups of these observations that were not fitted."""
        names, fitted = observations.groups[0], list(self.rules)
        if fitted == names:
            return []
        if fitted == [None]:
            raise InputError(
                f"the fit has no groups, so it cannot tell those of column {observations.columns.group!r} apart: "
                "name no group, or fit with groups"
            )
        return [name for name in names if name not in self.rules]

    def questions(self, observations: Observations, wanted: Wanted | None = None) -> Questions:
        """What the rules have to answer for these observations; a group that was not fitted asks the pooled rule.

        Where a null is `wanted`, once it is settled, rules have a point there: all answers come from one prior.
        """
        rules = [rule for rule, _ in self.shared]
        number = {id(rule): i for i, rule in enumerate(rules)}
        names, group = observations.groups
        answering = list(self.rules.values())
        if new := self.unknown(observations):
            if self.pooled is None:
                raise self.about_unknown(new)
            number[id(self.pooled)] = len(rules)
            rules.append(self.pooled)
        if names != list(self.rules):
            answering = [self.rules.get(name) or rules[-1] for name in names]
        rule = np.array([number[id(each)] for each in answering], dtype=np.intp)[group]
        if (told := observations.expected) is not None:  # units of which the same is expected have a prior of their own
            kinds, among = distinct_rows(rule, told)
            rules = [shifted(rules[rule[i]], float(told[i])) for i in kinds.tolist()]
            rule = among
        elif wanted is not None and "apart" in wanted.bars and observations.history is None:
            # Covariates and earlier looks move every prior, so that no share of it stays exactly at the null.
            rules = [pointed(each, wanted.bar("apart")) for each in rules]
        more = observations.future, observations.history
        first, which = distinct_rows(rule, observations.x, observations.known, *more)
        return Questions(rules, np.bincount(rule[first], minlength=len(rules)), first, which)

    def about_unknown(self, new: list[str | None]) -> InputError:
        """What is said where groups that were not fitted are refused."""
        fitted = first_few(list(self.rules))
        return InputError(f"group {new[0]!r} was not in the fitted table (its groups: {fitted}): fit it first")

    def apply(self, frame: Any, *, strict: bool = False, **wanted: Any) -> Any:
        """The rows of a table with answers, as `shrink` gives them; nothing is fitted again.

        `wanted` are the questions of `shrink`, such as interval, future, top and above. No row is refused: the column
        `note` says why one has no answer, that its group was not fitted and the prior of all groups answered, or that
        it is far beyond what was. `strict` refuses the first two.
        """
        from ebformer.tables.frames import source_of
        from ebformer.tables.shrink import shrink_table

        missing: Missing = "strict" if strict else "explain"
        return shrink_table(source_of(frame), self.columns, self, Wanted(**wanted), missing).rows

    def updated(self, frame: Any) -> Fit:
        """The fit of all units so far and those of a table, which must be new ones: rows that cannot be used are not.

        >>> import polars
        >>> from ebformer.estimators.catalogue import CATALOGUE
        >>> from ebformer.tables.frames import fit
        >>> first = fit(polars.DataFrame({"goals": [0, 2]}), "goals", method="gamma")
        >>> first.updated(polars.DataFrame({"goals": [5, 1]})).rules[None].units
        4
        """
        from ebformer.tables.frames import source_of
        from ebformer.tables.learning import with_units

        return with_units(self, observe(*units_of(source_of(frame), self.columns, "explain"), "explain"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fit as readable JSON; `load_fit` reads it back."""
        from ebformer.tables.saved_fit import record

        write_json(path, record(self))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Fit:
        """Read a fit that `save` wrote; nothing in the file is executed."""
        from ebformer.tables.saved_fit import read

        return read(path)
