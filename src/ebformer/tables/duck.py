"""Tables in DuckDB: relations, and through them files, out of core.

SQL of our own, since narwhals would end at the first text that is no number, and needs a column to number rows by.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from ebformer.errors import InputError
from ebformer.tables.columns import Columns, Role, about_booleans
from ebformer.tables.entries import MISSING_GROUPS, MISSING_NUMBERS, Offender, about_thousands
from ebformer.tables.keys import common_future, keys, more_keys, totals
from ebformer.tables.names import Names
from ebformer.tables.source import COUNTED, Contents, Distinct
from ebformer.tables.sql import Sql, quoted, unless_missing

NUMBERS = r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\(.*\)|DOUBLE|FLOAT|\"NULL\""
"""The types of numbers; a column without any entry may well hold some."""
KINDS = {"i": "BIGINT", "f": "DOUBLE", "b": "BOOLEAN", "O": "VARCHAR"}
"""The types of answers, by the kind of their array."""
SEVERAL = 100
"""More columns than this are not judged one by one."""
JUDGED = 10_000
"""Rows by which it is judged whether a column could hold counts."""


class DuckTable:
    """A DuckDB relation as a source. Columns of text are read as numbers where a number is needed.

    `unclear` are columns of text whose numbers may mean two things, each with such an entry: they are refused. Where
    external access is off, DuckDB sees no variables of ours either, and arrays are handed to its `connection`.

    >>> rows = duckdb.connect().sql("SELECT unnest([3, 0, 3]) AS goals")
    >>> DuckTable(rows).distinct(Columns("goals"), width=0).rows.sum().item()
    3
    """

    def __init__(
        self,
        rows: duckdb.DuckDBPyRelation,
        unclear: Mapping[str, str] = MappingProxyType({}),
        connection: duckdb.DuckDBPyConnection | None = None,
    ) -> None:
        self.rows, self.unclear, self.connection = rows, unclear, connection
        self.types = dict(zip(rows.columns, map(str, rows.types), strict=True))

    def beside(self, rows: duckdb.DuckDBPyRelation) -> DuckTable:
        """Other rows of the same database."""
        return DuckTable(rows, connection=self.connection)

    @property
    def names(self) -> list[str]:
        return list(self.rows.columns)

    def ask(self, sql: str) -> duckdb.DuckDBPyRelation:
        """Run a query in which `ebformer_given` stands for this table; no table of its database has such a name."""
        answer = self.rows.query("ebformer_given", sql)
        assert answer is not None
        return answer

    def ask_with(self, ebformer_found: dict[str, NDArray[Any]], sql: Callable[[str], str]) -> duckdb.DuckDBPyRelation:
        """The same where arrays are part of the query, which is told under what name."""
        name = "ebformer_found"  # DuckDB looks for it among the variables here
        if self.connection is not None:
            name = f"ebformer_found_{secrets.token_hex(8)}"  # answers are read later, when others are there too
            self.connection.register(name, ebformer_found)
        answer = self.rows.query("ebformer_given", sql(name))
        assert answer is not None
        return answer

    def distinct(self, columns: Columns, width: float) -> Distinct:
        keys = ", ".join(f"{sql} AS key_{role}" for role, sql in self._keys(columns, width).items())
        counted = f"SELECT {keys}, count(*) AS rows FROM ebformer_given AS given GROUP BY ALL ORDER BY ALL"
        found = self.ask(counted).fetchnumpy()
        group = found.get("key_group")
        return Distinct(
            None if group is None else Names.of(_texts(group)),
            _floats(found["key_x"]),
            _floats(found["key_known"]),
            np.asarray(found["rows"], dtype=np.int64),
            {role: _floats(found[f"key_{role}"]) for role in columns.numbered},
        )

    def contents(self, columns: Columns) -> Contents:
        said = self._said(columns)
        listed = ", ".join(f"{sql} AS said_{i}" for i, sql in enumerate(said))
        counted = f"SELECT {listed}, count(*) AS rows FROM ebformer_given AS given GROUP BY ALL ORDER BY ALL"
        found = self.ask(counted).fetchnumpy()
        assert columns.covariates is not None
        x, known, *told = (found[f"said_{i}"] for i in range(len(said)))
        read = {
            name: _floats(entries) if self._is_measured(name) else _texts(entries)
            for name, entries in zip(columns.covariates.names, told, strict=True)
        }
        return Contents(_floats(x), _floats(known), read, np.asarray(found["rows"], dtype=np.int64))

    def with_told(self, columns: Columns, contents: Contents, told: Mapping[str, NDArray[np.float64]]) -> DuckTable:
        arrays = (contents.x, contents.known, *contents.covariates.values())
        same = " AND ".join(f"{sql} IS NOT DISTINCT FROM found.said_{i}" for i, sql in enumerate(self._said(columns)))
        new = ", ".join(f"found.told_{i}::DOUBLE AS {quoted(name)}" for i, name in enumerate(told))
        return DuckTable(
            self.ask_with(
                {f"said_{i}": array for i, array in enumerate(arrays)}
                | {f"told_{i}": array for i, array in enumerate(told.values())},
                lambda name: f"SELECT given.*, {new} FROM ebformer_given AS given LEFT JOIN {name} AS found ON {same}",
            ),
            self.unclear,
            self.connection,
        )

    def _is_measured(self, name: str) -> bool:
        """Whether a covariate is a number; yes and no are 1 and 0."""
        return self._is_number(name) or self.types[name] == "BOOLEAN"

    def _said(self, columns: Columns) -> list[str]:
        """SQL for x, what is known and all covariates; NULL where missing."""
        assert columns.covariates is not None
        told = []
        for name in columns.covariates.names:
            if re.match("DATE|TIME|INTERVAL", self.types[name]):
                raise InputError(
                    f"covariate {name!r} holds {self.types[name]}: make it a number first, such as the year"
                )
            entry = f"given.{quoted(name)}"
            told.append(f"nullif({entry}::DOUBLE, 'nan')" if self._is_measured(name) else f"{entry}::VARCHAR")
        return [*(f"nullif({sql}, 'nan')" for sql in (self.number(columns.x), self._known(columns))), *told]

    def variety(self, columns: Columns, role: Role, limit: int) -> int:
        name = columns.role(role)
        assert name is not None
        numbers = f"SELECT DISTINCT {self.number(name)} FROM ebformer_given AS given LIMIT {limit + 1}"
        return int(self.ask(f"SELECT count(*) FROM ({numbers})").fetchall()[0][0])

    def kinds(self, names: Sequence[str]) -> tuple[int, list[int]]:
        counted = ", ".join(f"approx_count_distinct({quoted(name)})" for name in names)
        found = self.ask(f"SELECT count(*), {counted} FROM (FROM ebformer_given LIMIT {COUNTED})").fetchall()[0]
        return found[0], list(found[1:])

    def of_units(self, columns: Columns) -> DuckTable:
        x, known = totals(columns.channel, Sql(self.number(columns.x)), Sql(self._known(columns)))
        by, ahead = ", ".join(map(quoted, columns.by)), columns.common
        first = "".join(f", arg_min({quoted(name)}, ebformer_row) AS {quoted(name)}" for name in columns.beside)
        future = "" if ahead is None else f", {common_future(self.number(ahead))} AS {quoted(ahead)}"
        numbered = "SELECT *, row_number() OVER () AS ebformer_row FROM ebformer_given"
        return self.beside(
            self.ask(
                f"SELECT {by}{first}, {x} AS {quoted(columns.x)}, {known} AS {quoted(str(columns.of_units.known))}"
                f"{future} FROM ({numbered}) AS given GROUP BY {by} ORDER BY min(ebformer_row)"
            )
        )

    def nameless(self, column: str) -> int:
        text = f"given.{quoted(column)}::VARCHAR"
        named = unless_missing(MISSING_GROUPS, text, text)
        return int(self.ask(f"SELECT count(*) - count({named}) FROM ebformer_given AS given").fetchall()[0][0])

    def arrays(self) -> dict[str, NDArray[Any]]:
        found = {name: np.ma.asarray(entries) for name, entries in self.rows.fetchnumpy().items()}
        return {
            name: (_texts if not self._is_number(name) else _floats if np.ma.is_masked(entries) else np.ma.getdata)(
                entries
            )
            for name, entries in found.items()
        }

    def row_by_row(
        self, names: Sequence[str], group: str | None
    ) -> tuple[dict[str, NDArray[Any]], NDArray[np.object_]]:
        """Columns of numbers by name, and of every row the name of its group: "" where there are none."""
        numbers = ", ".join(f"{self.number(name)} AS {quoted(name)}" for name in names)
        named = "''" if group is None else f"given.{quoted(group)}::VARCHAR"
        found = self.ask(f"SELECT {named} AS ebformer_group, {numbers} FROM ebformer_given AS given").fetchnumpy()
        return {name: _floats(found[name]) for name in names}, _texts(found["ebformer_group"])

    def made_of(self, columns: dict[str, NDArray[Any]]) -> DuckTable:
        return self.beside(self.ask_with(columns, lambda name: f"FROM {name}"))

    def offender(self, columns: Columns, width: float, shown: Distinct, role: Role) -> Offender | None:
        name, keyed = columns.role(role), self._keys(columns, width)
        assert name is not None
        numbered = "SELECT *, row_number() OVER () AS ebformer_row FROM ebformer_given"
        on = _matching(keyed)
        found = self.ask_with(
            _as_table(shown),
            lambda shown: (
                f"SELECT {quoted(name)}, ebformer_row, count(*) OVER () FROM ({numbered}) AS given "
                f"SEMI JOIN {shown} AS found ON {on} ORDER BY ebformer_row LIMIT 1"
            ),
        )
        return next((Offender(*first) for first in found.fetchall()), None)

    def with_answers(
        self, columns: Columns, width: float, shown: Distinct, answers: dict[str, NDArray[Any]]
    ) -> duckdb.DuckDBPyRelation:
        new = ", ".join(
            f"found.answer_{i}::{KINDS[values.dtype.kind]} AS {quoted(name)}"
            for i, (name, values) in enumerate(answers.items())
        )
        on = _matching(self._keys(columns, width))
        return self.ask_with(
            _as_table(shown) | {f"answer_{i}": _unmasked(values) for i, values in enumerate(answers.values())},
            lambda name: f"SELECT given.*, {new} FROM ebformer_given AS given LEFT JOIN {name} AS found ON {on}",
        )

    def whole_number_columns(self) -> list[str]:
        """The columns that could hold counts, judged by the first rows; codes such as 007 are text, not counts."""
        unclear = list(self.unclear)  # to be refused in a sentence of their own
        numeric = [name for name in self.names if self._is_number(name) or self.types[name] == "VARCHAR"]
        numeric = [name for name in numeric if name not in unclear]
        if len(numeric) > SEVERAL:
            raise InputError(f"any of {len(numeric):,} columns could hold the counts: name one with --count")
        if not numeric:
            return unclear
        judged = ", ".join(
            f"count({x}) > 0 AND bool_and(coalesce({x} >= 0 AND {x} = floor({x}), true)"
            f" AND NOT coalesce(regexp_matches({entry}::VARCHAR, '^0\\d'), false))"
            for name in numeric
            for x, entry in [(self.number(name), quoted(name))]
        )
        verdict = self.ask(f"SELECT {judged} FROM (SELECT * FROM ebformer_given LIMIT {JUDGED}) AS given").fetchall()[0]
        return [name for name, whole in zip(numeric, verdict, strict=True) if whole] + unclear

    def _keys(self, columns: Columns, width: float) -> dict[Role, str]:
        """What rows are grouped by and matched on, as SQL."""
        x, about = keys(columns.channel, Sql(self.number(columns.x)), Sql(self._known(columns)), width)
        more = more_keys(columns, lambda name: Sql(self.number(name)), width)
        found: dict[Role, str] = {"x": x.text, "known": about.text, **{role: key.text for role, key in more.items()}}
        if columns.group is not None:
            text = f"given.{quoted(columns.group)}::VARCHAR"
            found["group"] = unless_missing(MISSING_GROUPS, text, text)
        return found

    def _known(self, columns: Columns) -> str:
        return self.number(columns.known) if isinstance(columns.known, str) else f"{columns.constant!r}::DOUBLE"

    def _is_number(self, name: str) -> bool:
        return re.fullmatch(NUMBERS, self.types[name]) is not None

    def number(self, name: str) -> str:
        """SQL for a column as DOUBLE: NULL where missing, -inf where it is text that is no number."""
        column = f"given.{quoted(name)}"
        if self._is_number(name):
            return f"nullif({column}::DOUBLE, 'nan')"
        if self.types[name] == "BOOLEAN":
            raise about_booleans(name)
        if self.types[name] != "VARCHAR":
            raise InputError(f"column {name!r} holds {self.types[name]}, not numbers: name another column")
        if name in self.unclear:
            raise InputError(about_thousands(name, self.unclear[name]))
        return unless_missing(MISSING_NUMBERS, column, f"coalesce(try_cast({column} AS DOUBLE), '-inf'::DOUBLE)")


def _matching(keyed: dict[Role, str]) -> str:
    """SQL for rows that show an observation; missing entries match, and text such as -nan means missing too."""
    numbers = {role: sql if role == "group" else f"nullif({sql}, 'nan')" for role, sql in keyed.items()}
    return " AND ".join(f"{sql} IS NOT DISTINCT FROM found.key_{role}" for role, sql in numbers.items())


def _unmasked(values: NDArray[Any]) -> NDArray[Any]:
    """What DuckDB reads as NULL where an entry is masked."""
    if not np.ma.is_masked(values):
        return np.ma.getdata(values)
    empty: Any = None if values.dtype.kind == "O" else np.nan
    return np.where(np.ma.getmaskarray(values), empty, np.ma.getdata(values))


def _as_table(keys: Distinct) -> dict[str, NDArray[Any]]:
    """Keys as DuckDB reads them; NaN and None, which mean missing, arrive as NULL."""
    return {f"key_{role}": array for role, array in keys.by_role.items()}


def _floats(column: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan))


def _texts(column: NDArray[Any]) -> NDArray[np.object_]:
    texts = np.array(np.ma.getdata(column), dtype=object)
    texts[np.ma.getmaskarray(column)] = None
    return texts
