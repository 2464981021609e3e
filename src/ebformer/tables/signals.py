"""Observed over expected: which pairs, such as a drug and an event, are reported together more often than by chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ebformer.binning import coarsened
from ebformer.channels import POISSON
from ebformer.check import ModelCheck, model_check
from ebformer.errors import InputError, NoPriorError
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import find
from ebformer.margins import empty_cells
from ebformer.rule import Rule
from ebformer.tables.columns import Columns, check_nothing_overwritten, check_unambiguous
from ebformer.tables.duck import DuckTable
from ebformer.tables.files import complaints_about
from ebformer.tables.fit import Fit
from ebformer.tables.names import Names
from ebformer.tables.observations import observe
from ebformer.tables.shrink import shrink_table
from ebformer.tables.sql import quoted
from ebformer.tables.wanted import Wanted
from ebformer.tally import Tally

METHOD = "gamma-mixture"
"""The method of those who name none: the field's own."""
EXPECTED = "expected"
"""The column of expected counts, where they come from the margins."""


@dataclass(frozen=True)
class Pairs:
    """The columns of a table of reports: the two things reported together, how often, and what they are known by.

    `stratify` is a column of strata, such as sex, within which margins are taken; `expected` one of expected counts,
    where these do not come from the margins. No column plays two parts.
    """

    row: str
    column: str
    count: str
    stratify: str | None = None
    expected: str | None = None

    def __post_init__(self) -> None:
        played: dict[str, str] = {}
        for part, name in vars(self).items():
            if name is None and part in ("stratify", "expected"):
                continue
            if not isinstance(name, str):
                raise InputError(f"the {part} is {name!r}: name a column")
            if (other := played.setdefault(name, part)) != part:
                raise InputError(f"{name!r} cannot be both the {other} and the {part}: name two columns")

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return [name for name in vars(self).values() if name is not None]

    def found_in(self, names: Sequence[str]) -> None:
        """Complain of a column that is not among these names."""
        Columns(self.count, self.expected).found_in(names)
        for name in (self.row, self.column, self.stratify):
            Columns(self.count, group=name).found_in(names)


@dataclass(frozen=True, eq=False)
class Signals:
    """`rows`: one per pair, by falling EB05, with the count, the expected one and what to believe of their ratio."""

    rows: duckdb.DuckDBPyRelation
    rule: Rule
    check: ModelCheck


def signals(
    frame: Any,
    row: str,
    column: str,
    count: str,
    *,
    stratify: str | None = None,
    expected: str | None = None,
    method: str | Estimator = METHOD,
    above: float = 1.0,
    fdr: float = 0.05,
) -> Any:
    """Pairs that are reported together more often than their margins let expect: a table with one row per pair.

    A pair of row i and column j expects (total of i) (total of j) / (total of all) reports, with `stratify` summed over
    strata; or `expected` names a column, which is added up, too. Pairs that were never reported need no rows. For each
    pair, `estimate` is the expected ratio of observed to expected with its interval (`lower`, `upper`), `EBGM` its
    geometric mean, `EB05` and `EB95` its quantiles. `selected` pairs have a ratio above `above`, but for an expected
    share `fdr` of them.

    >>> import polars
    >>> reports = polars.DataFrame({"drug": list("aabb"), "event": list("xyxy"), "n": [30, 2, 40, 90]})
    >>> signals(reports, "drug", "event", "n")["EBGM"].round(1).to_list()
    [1.9, 1.2, 0.7, 0.1]
    """
    lazy = hasattr(frame, "collect") and hasattr(frame, "lazy")
    try:
        native = nw.from_native(frame.collect() if lazy else frame, eager_only=True)
    except TypeError as error:
        kind = type(frame).__name__
        raise InputError(f"cannot find signals in a {kind}: give a pandas, polars or pyarrow table") from error
    pairs = Pairs(row, column, count, stratify, expected)
    pairs.found_in(native.columns)
    check_unambiguous(pairs.columns, pairs.columns)
    ebformer_reports = {name: _of_one_type(name, native[name]) for name in pairs.columns}
    with complaints_about("the table"), duckdb.connect() as connection:
        table = DuckTable(connection.from_query("SELECT * FROM ebformer_reports"))
        del ebformer_reports
        found = find_signals(
            table,
            pairs,
            find(method),
            Wanted(above=above, fdr=fdr, signals=True),
        )
        arrays = found.rows.fetchnumpy()
    dates = [name for name in (row, column) if native[name].dtype == nw.Date()]
    rows = nw.from_dict(dict(arrays), backend=native.implementation)
    rows = rows.with_columns(nw.col(name).cast(nw.Date()) for name in dates)
    return rows.lazy().to_native() if lazy else rows.to_native()


def _of_one_type(name: str, column: nw.Series[Any]) -> NDArray[Any]:
    """The column, or an `InputError` where text and numbers are mixed in it, which DuckDB does not hold."""
    # Arrays of text would give every entry the room of the longest.
    entries = np.array(column.to_list(), dtype=object) if column.dtype == nw.String() else column.to_numpy()
    if entries.dtype == np.dtype("datetime64[D]"):  # which DuckDB reads but with a time
        return entries.astype("datetime64[us]")
    if entries.dtype == object:
        types = {type(entry).__name__ for entry in entries if entry is not None and entry == entry}
        if len(types) > 1:
            raise InputError(f"column {name!r} holds entries of types {' and '.join(sorted(types))}: give it one type")
    return entries


def find_signals(
    table: DuckTable,
    pairs: Pairs,
    method: Estimator,
    wanted: Wanted,
    watch: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> Signals:
    """Expect, fit, check and answer: every pair of the table with what to believe of its ratio."""
    pairs.found_in(table.names)
    if pairs.expected is None:
        check_nothing_overwritten([EXPECTED], [pairs.row, pairs.column, pairs.count])
    with watch("Estimating"):
        observe(table, Columns(pairs.count, pairs.expected), "whole")  # complains about the first count that is none
        _check_named(table, pairs)
        cells, tally = _given(table, pairs) if pairs.expected else _from_margins(table, pairs)
        tally = coarsened(tally)
        rule = method(tally)
        if rule.prior is None:
            raise NoPriorError(f"signals need a prior, and {method.name} has none: use {METHOD}, npmle or priorformer")
        check = model_check(rule.prior, tally, np.random.default_rng(0))
    columns = Columns(pairs.count, pairs.expected or EXPECTED, channel=POISSON)
    answered = shrink_table(table.beside(cells), columns, Fit(columns, {None: rule}, method), wanted, watch=watch)
    return Signals(answered.rows.order(f'"EB05" DESC, {quoted(pairs.row)}, {quoted(pairs.column)}'), rule, check)


def _check_named(table: DuckTable, pairs: Pairs) -> None:
    """Refuse rows that do not say of which pair and stratum they are."""
    named = [name for name in (pairs.row, pairs.column, pairs.stratify) if name is not None]
    empty = " OR ".join(f"{quoted(name)} IS NULL" for name in named)
    if nameless := table.ask(f"SELECT count(*) FROM ebformer_given WHERE {empty}").fetchall()[0][0]:
        have = f"{nameless:,} rows have" if nameless > 1 else "a row has"
        raise InputError(f"{have} no entry in {' or '.join(named)}: fill it in, or leave such rows out")


def _given(table: DuckTable, pairs: Pairs) -> tuple[duckdb.DuckDBPyRelation, Tally]:
    """One row per pair, where the table says what was expected: a pair that has several, as in strata, expects all."""
    assert pairs.expected is not None
    row, column, count, expected = map(quoted, (pairs.row, pairs.column, pairs.count, pairs.expected))
    cells = table.ask(
        f"SELECT {row}, {column}, sum({table.number(pairs.count)})::BIGINT AS {count}, "
        f"list_sum(list_sort(list({table.number(pairs.expected)}))) AS {expected} "  # in one order, to the last bit
        f"FROM ebformer_given AS given GROUP BY {row}, {column}"
    )
    return cells, observe(table.beside(cells), Columns(pairs.count, pairs.expected)).tally()


def _from_margins(table: DuckTable, pairs: Pairs) -> tuple[duckdb.DuckDBPyRelation, Tally]:
    """One row per pair of the table, and a tally of all pairs that can be made of its rows and columns."""
    row, column, count = map(quoted, (pairs.row, pairs.column, pairs.count))
    stratum = "0" if pairs.stratify is None else f"given.{quoted(pairs.stratify)}::VARCHAR"
    table.ask(
        f"SELECT given.{row} AS r, given.{column} AS c, {stratum} AS s, "
        f"sum({table.number(pairs.count)}) AS n FROM ebformer_given AS given GROUP BY ALL"
    ).create("ebformer_reports")
    ask = table.ask
    margins = "(SELECT {0}, s, sum(n) AS n FROM ebformer_reports GROUP BY ALL HAVING sum(n) > 0)"
    cells = ask(
        f"WITH pairs AS (SELECT r, c, sum(n) AS n FROM ebformer_reports GROUP BY ALL), "
        f"totals AS (SELECT s, sum(n) AS n FROM ebformer_reports GROUP BY ALL) "
        f"SELECT pairs.r AS {row}, pairs.c AS {column}, any_value(pairs.n)::BIGINT AS {count}, "
        f"sum(a.n * b.n / totals.n) AS {EXPECTED} FROM pairs "
        f"JOIN {margins.format('r')} AS a ON a.r = pairs.r "
        f"JOIN {margins.format('c')} AS b ON b.c = pairs.c AND b.s = a.s "
        f"JOIN totals ON totals.s = a.s GROUP BY pairs.r, pairs.c"
    )
    cells.create("ebformer_cells")
    # In one order, whatever that of the threads: sums of floats, and so the fit, are the same in every run.
    filled = ask(
        f"SELECT {count} AS n, {EXPECTED} AS e FROM ebformer_cells WHERE {count} > 0 ORDER BY ALL"
    ).fetchnumpy()
    strata = [
        name for (name,) in ask("SELECT s FROM ebformer_reports GROUP BY s HAVING sum(n) > 0 ORDER BY s").fetchall()
    ]
    if not strata:
        raise InputError(f"every {pairs.count} is 0, so that nothing was reported: give at least one count above 0")
    rows, columns = (_margin(ask(f"FROM {margins.format(name)}").fetchnumpy(), name, strata) for name in "rc")
    expected, empties = empty_cells(rows, columns, rows.sum(axis=0), np.asarray(filled["e"]))
    x = np.append(np.asarray(filled["n"]), np.zeros(expected.size, dtype=np.int64))
    units = np.append(np.ones(len(filled["n"]), dtype=np.int64), empties)
    return ask("FROM ebformer_cells"), Tally(x, units, np.append(filled["e"], expected))


def _margin(found: dict[str, Any], name: str, strata: list[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The totals of every row or column [r, s]."""
    at = Names.called(np.asarray(found[name], dtype=object)).which
    number = {each: i for i, each in enumerate(strata)}
    totals = np.zeros((at.max() + 1, len(strata)))
    totals[at, [number[each] for each in np.asarray(found["s"]).tolist()]] = found["n"]
    return totals
