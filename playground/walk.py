"""A table of texts, as the page holds it, on the package's own walk: observe, fit, answer. It runs in the browser."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ebformer.channels.beta_prior
import ebformer.channels.gamma_prior
import ebformer.channels.normal
import ebformer.channels.normal_prior
import ebformer.channels.zero_truncated
import ebformer.estimators.beta
import ebformer.estimators.gamma
import ebformer.estimators.normal
import ebformer.estimators.npmle.estimator
import ebformer.estimators.priorformer
import ebformer.estimators.robbins  # noqa: F401  methods are found by name
from ebformer.binning import distinct_rows
from ebformer.errors import InputError
from ebformer.estimators.catalogue import find
from ebformer.prior import ConjugatePrior, GridPrior, Prior
from ebformer.tables.columns import Columns, Role, check_unambiguous
from ebformer.tables.entries import Offender, about_thousands, means_missing
from ebformer.tables.fit import Fit
from ebformer.tables.keys import keys
from ebformer.tables.learning import fit_table
from ebformer.tables.observations import observe
from ebformer.tables.remarks import about_few_rows, about_repeats, about_rules
from ebformer.tables.source import Distinct
from ebformer.tables.text_files import (
    DECIMALS,
    THOUSANDS,
    about_encoding,
    about_entries,
    about_open_quote,
    check_first_line,
    check_kind,
    delimiter_of,
    distinct_names,
)
from ebformer.tables.wanted import Wanted

CURVE = 240
"""Points of the curve of a prior."""


class TextTable:
    """Columns of texts by name: a `Source` for `observe`, which reads texts as numbers as the command line does."""

    def __init__(self, names: list[str], entries: list[list[str]], read: Any) -> None:
        self.header, self.names, self.entries, self.read = names, distinct_names(names), entries, read
        self.unclear: dict[str, str] = {}
        self.numbers: dict[str, NDArray[np.float64]] = {}

    def between_semicolons(self) -> None:
        """Read a comma as a decimal one, as `text_files.decimal_marks` says."""
        comma, point, either = (
            re.compile(f"^{DECIMALS.format(mark=mark)}$", re.IGNORECASE) for mark in (",", ".", ",.")
        )
        thousands = re.compile(f"^{THOUSANDS}$")
        for at, entries in enumerate(self.entries):
            large = [entry for entry in entries if thousands.search(entry)]
            marked = [entry for entry in entries if either.search(entry)]
            if large and all(thousands.search(entry) for entry in marked):
                self.unclear[self.names[at]] = min(large)
            elif any(comma.search(entry) for entry in marked) and not any(point.search(entry) for entry in marked):
                self.entries[at] = [entry.replace(",", ".") if comma.search(entry) else entry for entry in entries]

    def number(self, name: str) -> NDArray[np.float64]:
        """A column as numbers: NaN where an entry is missing, -inf where it is no number."""
        if name in self.unclear:
            raise InputError(about_thousands(name, self.unclear[name]))
        if name not in self.numbers:
            self.numbers[name] = self.read(self.entries[self.names.index(name)], means_missing)
        return self.numbers[name]

    def shown(self, columns: Columns, width: float) -> Distinct:
        """What every row shows."""
        x = self.number(columns.x)
        known = self.number(columns.known) if isinstance(columns.known, str) else np.full(x.shape, columns.constant)
        return Distinct(None, *keys(columns.channel, x, known, width), np.ones(x.shape, dtype=np.int64))

    def distinct(self, columns: Columns, width: float) -> Distinct:
        return self.shown(columns, width).merged()

    def variety(self, columns: Columns, role: Role, limit: int) -> int:
        name = columns.role(role)
        assert name is not None
        return int(np.unique(self.number(name)).size)

    def kinds(self, names: Sequence[str]) -> tuple[int, list[int]]:
        rows = len(self.entries[0])
        return rows, [len(set(self.entries[self.names.index(name)])) for name in names]

    def which(self, columns: Columns, width: float, asked: Distinct) -> NDArray[np.intp]:
        """Which of these observations each row shows, -1 where none."""
        rows, size = self.shown(columns, width), asked.rows.size
        together = asked.and_then(rows)
        _, same = distinct_rows(together.x, together.known)
        position = np.full(int(same.max()) + 1, -1)
        position[same[:size]] = np.arange(size)
        return position[same[size:]]

    def offender(self, columns: Columns, width: float, shown: Distinct, role: Role) -> Offender | None:
        at = np.flatnonzero(self.which(columns, width, shown) >= 0)
        name = columns.role(role)
        assert name is not None
        entry = self.entries[self.names.index(name)][int(at[0])]
        return Offender(entry if entry.strip() else None, int(at[0]) + 1, int(at.size))


def answered(table: TextTable, named: dict[str, Any], method: str, level: float) -> dict[str, Any]:
    """What a method answers for every row: columns [n] by name, and what is to be said about them."""
    columns = Columns.named(**named)
    check_unambiguous([columns.x, columns.role("known")], table.header)
    observations = observe(table, columns)
    estimator = find(method)
    fit = fit_table(observations, estimator)
    wanted = Wanted(interval=level if fit.rules[None].prior is not None else None)
    found = dict(fit.answers(observations, wanted))
    which = table.which(columns, observations.width, observations.keys)
    channel, x = columns.channel, table.number(columns.x)
    known = table.number(columns.known) if isinstance(columns.known, str) else np.full(x.shape, columns.constant)
    answers = {"x": x, "known": known, "raw": channel.mle(x, known)}
    answers |= {name: np.asarray(values, dtype=np.float64)[which] for name, values in found.items()}
    remark = estimator.remark_on(channel)
    said = about_repeats(table, columns) + ([] if remark is None else [remark])
    said += about_few_rows(fit, observations) + about_rules(fit, None)
    return {
        "answers": answers,
        "remarks": said,
        "prior": curve(fit, float(np.min(answers["raw"])), float(np.max(answers["raw"]))),
        "pooled": fit.mean,
        "distinct": int(observations.keys.rows.size),
    }


def curve(fit: Fit, low: float, high: float) -> dict[str, Any] | None:
    """The fitted prior as the page draws it: weights of cells or of atoms, or the share of it above even points."""
    prior = fit.rules[None].prior
    if isinstance(prior, GridPrior) and len(prior) > 1:
        return {"kind": "cells", "edges": prior.edges, "weight": prior.weights}
    if isinstance(prior, Prior):
        return {"kind": "atoms", "theta": prior.atoms, "weight": prior.weights}
    if isinstance(prior, ConjugatePrior):
        law = prior.law
        ends = law.quantile([0.0005, 0.9995])
        theta = np.linspace(min(low, float(ends[0])), max(high, float(ends[1])), CURVE)
        return {"kind": "curve", "theta": theta, "above": law.exceeds(theta)}
    return None


def layout(name: str, magic: bytes, first: str, others: Iterable[str]) -> str:
    """The delimiter of a file, by its name, its first bytes and its lines; or the complaint of the command line."""
    check_kind(magic, name)
    check_first_line(first, others, name)
    return delimiter_of(first, name)


def bad_line(name: str, line: int, seen: int, expected: int) -> None:
    raise InputError(about_entries(name, str(line), str(seen), str(expected)))


def open_quote(name: str, line: int) -> None:
    raise InputError(about_open_quote(name, str(line)))


def bad_encoding(name: str, line: int) -> None:
    raise InputError(about_encoding(name) if line == 1 else about_encoding(name, str(line)))
