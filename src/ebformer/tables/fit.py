"""What was learnt from a table: one rule per group, what it answers, and a file that scores tomorrow's rows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, astuple, dataclass
from functools import cached_property
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.atomic import replacing
from ebformer.bayes.marginal import at_once
from ebformer.binning import coarsened, distinct_rows
from ebformer.distributions import tails
from ebformer.errors import EbformerError, InputError
from ebformer.ranking import cells, expected_rank, p_top
from ebformer.rule import Rule
from ebformer.tables.columns import Columns, first_few
from ebformer.tables.observations import Observations
from ebformer.tally import Tally

FORMAT, VERSION = "ebformer-fit", 2


@dataclass(frozen=True)
class Wanted:
    """Which columns to answer with, beside `estimate`.

    `interval` is the level of `lower` and `upper`; None means 0.9 where the method has a posterior and no interval
    where it has none. `above` is the rate that `p_above` is about, `future` the exposure of the next period
    (`predicted`, with its interval) and `top` the length of the list that `p_top` is about.
    """

    interval: float | None = None
    future: float | None = None
    top: int | None = None
    above: float | None = None

    def __post_init__(self) -> None:
        tails(self.level)
        if self.above is not None and not (isinstance(self.above, Real) and 0 <= self.above < np.inf):
            raise InputError(f"the rate to be above is {self.above!r}: give one number of at least 0 for all units")
        # One number for all: answers are per distinct observation, so a list would not find its rows.
        if self.future is not None and not (isinstance(self.future, Real) and 0 < self.future < np.inf):
            raise InputError(f"the future exposure is {self.future!r}: give one positive number for all units")
        if self.top is not None and not (isinstance(self.top, Integral) and self.top >= 1):
            raise InputError(f"the length of the top list is {self.top!r}: give a whole number of at least 1")

    @property
    def level(self) -> float:
        return 0.9 if self.interval is None else self.interval


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
    """One rule per group (under None where the table is one group) and the columns it reads."""

    columns: Columns
    rules: Mapping[str | None, Rule]

    @cached_property
    def shared(self) -> list[tuple[Rule, list[str | None]]]:
        """The rules, each of them once, and the groups that share it."""
        found: dict[int, tuple[Rule, list[str | None]]] = {}
        for group, rule in self.rules.items():
            found.setdefault(id(rule), (rule, []))[1].append(group)
        return list(found.values())

    def new_columns(self, wanted: Wanted) -> list[str]:
        """The names of the columns that `answers` gives."""
        asked = wanted.interval is not None or wanted.above is not None
        certain = asked or all(rule.prior is not None for rule in self.rules.values())
        return (
            ["estimate"]
            + (["lower", "upper"] if certain else [])
            + (["p_above"] if wanted.above is not None else [])
            + (["predicted", "predicted_lower", "predicted_upper"] if wanted.future is not None else [])
            + (["expected_rank", "p_top"] if wanted.top is not None else [])
        )

    def answers(self, observations: Observations, wanted: Wanted) -> dict[str, NDArray[Any]]:
        """Every new column, one entry [u] per distinct observation."""
        asked = self.questions(observations)
        x, t = observations.x[asked.first], observations.known[asked.first]
        columns: dict[str, NDArray[Any]] = {
            name: np.empty(x.size, np.int64 if name in ("predicted_lower", "predicted_upper") else float)
            for name in self.new_columns(wanted)
        }
        for rule, at in asked.blocks():
            if "lower" in columns:
                after = rule.posterior(x[at], t[at])
                columns["estimate"][at] = after.mean
                columns["lower"][at], columns["upper"][at] = after.interval(wanted.level)
                if wanted.above is not None:
                    columns["p_above"][at] = after.exceeds(wanted.above)
            else:
                columns["estimate"][at] = rule(x[at], t[at])
            if wanted.future is not None:
                ahead = rule.predict(x[at], t[at], wanted.future)
                columns["predicted"][at] = ahead.mean
                columns["predicted_lower"][at], columns["predicted_upper"][at] = ahead.interval(wanted.level)
        if wanted.top is not None:
            rows = np.bincount(asked.which, weights=observations.keys.rows).astype(np.int64)
            weights = cells([rule.posterior(x[at], t[at]) for rule, at in asked.blocks()], rows)
            columns["expected_rank"] = expected_rank(weights, rows)
            columns["p_top"] = p_top(weights, rows, wanted.top)
        return {name: column[asked.which] for name, column in columns.items()}

    def binning_error(self, observations: Observations) -> float:
        """How far binned exposures can have moved an estimate, relative to the estimate itself.

        E[theta | x, t] falls as t grows, with slope -Var[theta | x, t]. So the answer at any exposure of a bin lies
        between the answers at its two ends, and this is a bound, not an approximation.
        """
        asked = self.questions(observations)
        x, low, high = (each[asked.first] for each in (observations.x, *observations.bounds()))
        t = observations.known[asked.first]
        middle, first, last = (
            np.concatenate([rule(x[at], exposure[at]) for rule, at in asked.blocks()]) for exposure in (t, low, high)
        )
        moved = np.maximum(first - middle, middle - last)
        return float(np.max(np.divide(moved, middle, out=np.zeros_like(moved), where=middle > 0)))

    def questions(self, observations: Observations) -> Questions:
        """What the rules have to answer for these observations; a group without a rule is refused."""
        number = {name: i for i, (_, names) in enumerate(self.shared) for name in names}
        names, group = observations.groups
        if list(number) == [None] != names:
            raise InputError(
                f"the fit has no groups, so it cannot tell those of column {observations.columns.group!r} apart: "
                "name no group, or fit with groups"
            )
        for name in names:
            if name not in number:
                fitted = first_few(list(number))
                raise InputError(f"group {name!r} was not in the fitted table (its groups: {fitted}): fit it first")
        rule = np.array([number[name] for name in names])[group]
        first, which = distinct_rows(rule, observations.x, observations.known)
        asked = np.bincount(rule[first], minlength=len(self.shared))
        return Questions([each for each, _ in self.shared], asked, first, which)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fit as readable JSON; `Fit.load` reads it back."""
        rules = [{"groups": groups, "rule": rule.record()} for rule, groups in self.shared]
        record = {"format": FORMAT, "version": VERSION, "columns": asdict(self.columns), "rules": rules}
        with replacing(path) as partial:
            partial.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Fit:
        """Read a fit that `save` wrote; nothing in the file is executed."""
        advice = "write one with `ebformer estimate --save`"
        try:
            record = json.loads(Path(path).read_text(encoding="utf-8"))
            if record["format"] != FORMAT or record["version"] != VERSION:
                raise ValueError(record["format"])
            rules: dict[str | None, Rule] = {}
            for entry in record["rules"]:
                rules |= dict.fromkeys(entry["groups"], Rule.from_record(entry["rule"], path))
            columns = Columns(**record["columns"])
            if columns.x is None or not all(name is None or isinstance(name, str) for name in astuple(columns)):
                raise TypeError("a column without a name")
            return Fit(columns, rules)
        except EbformerError:
            raise
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{path} is not a saved fit of version {VERSION}: {advice}") from error


def fit_table(observations: Observations, method: Callable[[Tally], Rule]) -> Fit:
    """Fit every group by itself; exposures are binned for the fit where there are more than `FIT_LIMIT` observations.

    Groups with the same tally share one rule.
    """
    rules: dict[str | None, Rule] = {}
    for tally, groups in observations.distinct_tallies:
        rules |= dict.fromkeys(groups, method(coarsened(tally)))
    return Fit(observations.columns, {name: rules[name] for name in observations.groups[0]})
