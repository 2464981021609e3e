"""What was learnt from a table: one rule per group, what it answers, and a file that scores tomorrow's rows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.atomic import replacing
from ebformer.binning import coarsened
from ebformer.errors import InputError
from ebformer.ranking import cells, expected_rank, p_top
from ebformer.rule import Rule
from ebformer.tables.columns import Columns
from ebformer.tables.observations import Observations
from ebformer.tally import Tally

FORMAT, VERSION = "ebformer-fit", 1
BLOCK = 4096
"""Observations answered at a time, which bounds the memory of a posterior."""
FEW = 30
"""A group with fewer rows than this says little about its own prior."""


@dataclass(frozen=True)
class Wanted:
    """Which columns to answer with, beside `estimate`.

    `interval` is the level of `lower` and `upper`; None means 0.9 where the method has a posterior and no interval
    where it has none. `future` is the exposure of the next period (`predicted`, with its interval) and `top` the length
    of the list that `p_top` is about.
    """

    interval: float | None = None
    future: float | None = None
    top: int | None = None

    def __post_init__(self) -> None:
        if self.top is not None and self.top < 1:
            raise InputError(f"the length of the top list is {self.top}: give at least 1")

    @property
    def level(self) -> float:
        return 0.9 if self.interval is None else self.interval


@dataclass(frozen=True)
class Fit:
    """One rule per group (under None where the table is one group) and the columns it reads."""

    columns: Columns
    rules: Mapping[str | None, Rule]

    def new_columns(self, wanted: Wanted) -> list[str]:
        """The names of the columns that `answers` gives."""
        certain = wanted.interval is not None or all(rule.prior is not None for rule in self.rules.values())
        return (
            ["estimate"]
            + (["lower", "upper"] if certain else [])
            + (["predicted", "predicted_lower", "predicted_upper"] if wanted.future is not None else [])
            + (["expected_rank", "p_top"] if wanted.top is not None else [])
        )

    def answers(self, observations: Observations, wanted: Wanted) -> dict[str, NDArray[Any]]:
        """Every new column, one entry [u] per distinct observation."""
        new = self.new_columns(wanted)
        columns: dict[str, NDArray[Any]] = {
            name: np.empty(
                observations.count.size, np.int64 if name in ("predicted_lower", "predicted_upper") else float
            )
            for name in new
        }
        for rule, at, x, t in self._blocks(observations):
            if "lower" in columns:
                after = rule.posterior(x, t)
                columns["estimate"][at] = after.mean
                columns["lower"][at], columns["upper"][at] = after.interval(wanted.level)
            else:
                columns["estimate"][at] = rule(x, t)
            if wanted.future is not None:
                ahead = rule.predict(x, t, wanted.future)
                columns["predicted"][at] = ahead.mean
                columns["predicted_lower"][at], columns["predicted_upper"][at] = ahead.interval(wanted.level)
        if wanted.top is not None:
            blocks = list(self._blocks(observations))
            weights = np.concatenate(cells([rule.posterior(x, t) for rule, _, x, t in blocks]))
            at = np.concatenate([at for _, at, _, _ in blocks])
            rows = observations.keys.rows[at]
            columns["expected_rank"][at] = expected_rank(weights, rows)
            columns["p_top"][at] = p_top(weights, rows, wanted.top)
        return columns

    def binning_error(self, observations: Observations) -> float:
        """How far binned exposures can have moved an estimate, relative to the estimate itself.

        E[theta | x, t] falls as t grows, with slope -Var[theta | x, t]. So the answer at any exposure of a bin lies
        between the answers at its two ends, and this is a bound, not an approximation.
        """
        low, high = observations.bounds()
        middle, first, last = (np.concatenate(list(self._estimates(observations, t))) for t in (None, low, high))
        moved = np.maximum(first - middle, middle - last)
        return float(np.max(np.divide(moved, middle, out=np.zeros_like(moved), where=middle > 0)))

    def _estimates(self, observations: Observations, exposure: NDArray[np.float64] | None) -> Iterator[NDArray[Any]]:
        for rule, at, x, t in self._blocks(observations):
            yield rule(x, t if exposure is None else exposure[at])

    def _blocks(
        self, observations: Observations
    ) -> Iterator[tuple[Rule, NDArray[np.intp], NDArray[Any], NDArray[Any]]]:
        for group, at in observations.members().items():
            if group not in self.rules:
                known = ", ".join(map(str, self.rules))
                raise InputError(f"group {group!r} was not in the fitted table (its groups: {known}): fit it first")
            for part in np.array_split(at, 1 + (at.size - 1) // BLOCK):
                yield self.rules[group], part, observations.count[part], observations.exposure[part]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fit as readable JSON; `Fit.load` reads it back."""
        rules = [{"group": group, "rule": rule.record()} for group, rule in self.rules.items()]
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
            rules = {entry["group"]: Rule.from_record(entry["rule"], path) for entry in record["rules"]}
            return Fit(Columns(**record["columns"]), rules)
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path} is not a saved fit of version {VERSION}: {advice}") from error


def fit_table(observations: Observations, method: Callable[[Tally], Rule]) -> Fit:
    """Fit every group apart; exposures are binned for the fit where there are more than `FIT_LIMIT` observations."""
    tallies = observations.tallies()
    return Fit(observations.columns, {group: method(coarsened(tally)) for group, tally in tallies.items()})


def remarks(fit: Fit, observations: Observations) -> list[str]:
    """What a reader of the answers should know, one sentence each."""
    said = []
    small = [f"{name} ({tally.n})" for name, tally in observations.tallies().items() if tally.n < FEW]
    if small:
        shown = ", ".join(small[:5]) + (f" and {len(small) - 5} more" if len(small) > 5 else "")
        where = (
            f"{observations.columns.group} {shown}: consider pooling" if observations.columns.group else "this table"
        )
        said.append(f"few rows to learn a prior from in {where}")
    if observations.width:
        said.append(
            f"exposures were binned in steps of {observations.width:.2g} on the log scale: "
            f"no estimate moves by more than {fit.binning_error(observations):.2g} of itself"
        )
    for group, rule in fit.rules.items():
        if rule.convergence is not None and not rule.convergence.reached:
            where = "" if group is None else f" in {observations.columns.group} {group}"
            said.append(f"{rule.method}{where} {rule.convergence}")
    return said


def narrow_intervals(fit: Fit) -> list[str]:
    """A remark where intervals are known to cover too little: maximum likelihood puts the prior on a few points."""
    if not any(rule.method == "npmle" for rule in fit.rules.values()):
        return []
    return [
        "intervals of npmle are too narrow, since its prior is a handful of points: "
        "keep its estimates, but take intervals from priorformer or gamma"
    ]
