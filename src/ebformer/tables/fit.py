"""What was learnt from a table: one rule per group, what it answers, and a file that scores tomorrow's rows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.atomic import replacing
from ebformer.bayes.marginal import at_once
from ebformer.binning import coarsened, distinct_rows
from ebformer.channels import channel_named
from ebformer.errors import EbformerError, InputError
from ebformer.rule import Rule
from ebformer.tables.answers import Answer, Asked, Wanted, asked_for
from ebformer.tables.columns import Columns, first_few
from ebformer.tables.observations import Observations
from ebformer.tally import Tally

FORMAT, VERSION = "ebformer-fit", 3
NOTE = "note"
"""The column that says why a row has no answer, or what to know about the one it has."""


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

    def blocks(self) -> Iterator[tuple[Rule, slice]]:
        """Every rule and its questions, as many at a time as bound the memory of a posterior."""
        for rule, size, end in zip(self.rules, self.asked.tolist(), np.cumsum(self.asked).tolist(), strict=True):
            block = at_once(rule.prior)
            for start in range(end - size, end, block):
                yield rule, slice(start, min(start + block, end))


@dataclass(frozen=True)
class Fit:
    """One rule per group (under None where the table is one group) and the columns it reads.

    `method` is what fitted them, where it is at hand. Rules keep the tally that they were fitted to.
    """

    columns: Columns
    rules: Mapping[str | None, Rule]
    method: Callable[[Tally], Rule] | None = field(default=None, compare=False)

    @cached_property
    def shared(self) -> list[tuple[Rule, list[str | None]]]:
        """The rules, each of them once, and the groups that share it."""
        found: dict[int, tuple[Rule, list[str | None]]] = {}
        for group, rule in self.rules.items():
            found.setdefault(id(rule), (rule, []))[1].append(group)
        return list(found.values())

    @cached_property
    def pooled(self) -> Rule | None:
        """The rule of all units together, for those of a group that is new; None where no method can fit them."""
        if None in self.rules:
            return self.rules[None]
        tally = _added_up([(rule.tally, len(groups)) for rule, groups in self.shared])
        if tally is None or self.method is None:
            return None
        try:
            return self.method(coarsened(tally))
        except EbformerError:  # units of equal exposure in each group, but not in all, for a method that needs them so
            return None

    def new_columns(self, wanted: Wanted) -> list[str]:
        """The names of the columns that `answers` gives."""
        return [name for answer in self._asked_for(wanted) for name in answer.columns]

    def _asked_for(self, wanted: Wanted) -> list[Answer]:
        return asked_for(wanted, all(rule.prior is not None for rule in self.rules.values()))

    def answers(self, observations: Observations, wanted: Wanted) -> dict[str, NDArray[Any]]:
        """Every new column, one entry [u] per distinct observation."""
        wanted.check(self.columns.channel)
        asked = self.questions(observations)
        if asked.which.size == 0:
            return {name: np.empty(0) for name in self.new_columns(wanted)}
        x, known = observations.x[asked.first], observations.known[asked.first]
        units = np.bincount(asked.which, weights=observations.keys.rows).astype(np.int64)
        answers = self._asked_for(wanted)
        found: dict[str, list[NDArray[Any]]] = {name: [] for answer in answers for name in answer.columns}
        among = any(answer.all for answer in answers)
        blocks = []
        for rule, at in asked.blocks():
            block = Asked(rule, x[at], known[at])
            for answer in answers:
                if answer.each is not None:
                    for name, values in zip(answer.columns, answer.each(block, wanted), strict=True):
                        found[name].append(values)
            if among:  # kept with their posteriors, which take their memory
                blocks.append(block)
        for answer in answers:
            if answer.all is not None:
                for name, values in zip(answer.columns, answer.all(blocks, units, wanted), strict=True):
                    found[name].append(values)
        return {name: np.concatenate(values)[asked.which] for name, values in found.items()}

    def binning_error(self, observations: Observations) -> float:
        """How far bins can have moved an estimate, relative to itself or to its standard error (`Channel.scale`).

        E[theta | x, t] of Poisson counts falls as t grows, with slope -Var[theta | x, t], and that of successes rises
        with them and falls with failures. So the answer anywhere in a bin lies between those at two of its corners,
        and this is a bound; of effects it is one up to the change of the standard error within a bin.
        """
        asked = self.questions(observations)
        places = [(observations.x, observations.known), *observations.corners()]
        middle, *ends = (
            np.concatenate([rule(x[asked.first][at], known[asked.first][at]) for rule, at in asked.blocks()])
            for x, known in places
        )
        moved = np.abs(np.array(ends) - middle).max(axis=0)
        scale = observations.columns.channel.scale(middle, observations.known[asked.first])
        return float(np.max(np.divide(moved, scale, out=np.zeros_like(moved), where=scale > 0), initial=0.0))

    def unknown(self, observations: Observations) -> list[str | None]:
        """The groups of these observations that were not fitted."""
        names = observations.groups[0]
        if list(self.rules) == [None] != names:
            raise InputError(
                f"the fit has no groups, so it cannot tell those of column {observations.columns.group!r} apart: "
                "name no group, or fit with groups"
            )
        return [name for name in names if name not in self.rules]

    def questions(self, observations: Observations) -> Questions:
        """What the rules have to answer for these observations; a group that was not fitted asks the pooled rule."""
        rules = [rule for rule, _ in self.shared]
        number = {name: i for i, (_, names) in enumerate(self.shared) for name in names}
        names, group = observations.groups
        if new := self.unknown(observations):
            if self.pooled is None:
                raise self.about_unknown(new)
            number |= dict.fromkeys(new, len(rules))
            rules.append(self.pooled)
        rule = np.array([number[name] for name in names], dtype=np.intp)[group]
        first, which = distinct_rows(rule, observations.x, observations.known)
        return Questions(rules, np.bincount(rule[first], minlength=len(rules)), first, which)

    def about_unknown(self, new: list[str | None]) -> InputError:
        """What is said where groups that were not fitted are refused."""
        fitted = first_few(list(self.rules))
        return InputError(f"group {new[0]!r} was not in the fitted table (its groups: {fitted}): fit it first")

    def notes(self, observations: Observations) -> NDArray[np.object_]:
        """What to know about each answer [u], None where there is nothing."""
        names, group = observations.groups
        new = set(self.unknown(observations))
        said = [f"{self.columns.group} is not in the fit: answered with the prior of all" for _ in names]
        each = np.array([text if name in new else None for name, text in zip(names, said, strict=True)], dtype=object)
        return each[group]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fit as readable JSON; `Fit.load` reads it back."""
        rules = [{"groups": groups, **_written(rule)} for rule, groups in self.shared]
        columns = {**asdict(self.columns), "channel": self.columns.channel.name}
        pooled = None if None in self.rules or self.pooled is None else _written(self.pooled)
        record = {"format": FORMAT, "version": VERSION, "columns": columns, "rules": rules, "pooled": pooled}
        with replacing(path) as partial:
            partial.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Fit:
        """Read a fit that `save` wrote; nothing in the file is executed."""
        advice = "write one with `ebformer estimate --save`"
        try:
            record = json.loads(Path(path).read_text(encoding="utf-8"))
            if record["format"] != FORMAT or record["version"] not in (2, VERSION):
                raise ValueError(record["format"])
            columns = _columns(record["columns"], record["version"])
            rules: dict[str | None, Rule] = {}
            for entry in record["rules"]:
                rules |= dict.fromkeys(entry["groups"], _read(entry, path))
            fit = Fit(columns, rules)
            if any(rule.channel != columns.channel for rule in rules.values()) or not rules:
                raise ValueError("rules of another channel")
            pooled = record.get("pooled")
            if None not in rules:
                fit.__dict__["pooled"] = None if pooled is None else _read(pooled, path)
            return fit
        except EbformerError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            raise InputError(f"{path} is not a saved fit of version {VERSION}: {advice}") from error


def _written(rule: Rule) -> dict[str, Any]:
    """A rule and its tally as plain JSON values."""
    tally = rule.tally
    if tally is None:
        return {"rule": rule.record(), "tally": None}
    numbers = {"x": tally.values.tolist(), "known": tally.known.tolist(), "units": tally.multiplicity.tolist()}
    return {"rule": rule.record(), "tally": numbers}


def _read(entry: dict[str, Any], path: str | os.PathLike[str]) -> Rule:
    rule, seen = Rule.from_record(entry["rule"], path), entry.get("tally")
    if seen is None:
        return rule
    return replace(rule, tally=Tally(seen["x"], seen["units"], seen["known"], channel=rule.channel))


def _columns(record: dict[str, Any], version: int) -> Columns:
    """The columns of a record; those of version 2 are of counts."""
    if version == 2:
        record = {"x": record["count"], "known": record["exposure"], "group": record["group"], "channel": "poisson"}
    columns = Columns(record["x"], record["known"], record["group"], channel_named(record["channel"]))
    for name in (columns.x, columns.group or "", columns.known if columns.constant is None else ""):
        if not isinstance(name, str):
            raise TypeError("a column without a name")
    if columns.constant is not None and not columns.channel.possible_known(np.asarray(float(columns.constant))):
        raise ValueError(columns.constant)
    return columns


def _added_up(tallies: Sequence[tuple[Tally | None, int]]) -> Tally | None:
    """All units of several tallies, each so many times; None where one is not at hand."""
    whole = [(tally, times) for tally, times in tallies if tally is not None]
    if len(whole) < len(tallies):
        return None
    x, known = (np.concatenate([getattr(tally, name) for tally, _ in whole]) for name in ("values", "known"))
    units = np.concatenate([tally.multiplicity * times for tally, times in whole])
    return Tally(x, units, known, channel=whole[0][0].channel)


def fit_table(observations: Observations, method: Callable[[Tally], Rule]) -> Fit:
    """Fit every group by itself; observations are binned for the fit where there are more than `FIT_LIMIT`.

    Groups with the same tally share one rule.
    """
    rules: dict[str | None, Rule] = {}
    for tally, groups in observations.distinct_tallies:
        rules |= dict.fromkeys(groups, method(coarsened(tally)))
    return Fit(observations.columns, {name: rules[name] for name in observations.groups[0]}, method)
