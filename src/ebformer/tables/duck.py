"""Tables in DuckDB: relations, and through them files, out of core."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from ebformer.binning import SMALL
from ebformer.channels.base import LARGEST_WHOLE
from ebformer.errors import InputError
from ebformer.tables.columns import NO_ANSWER, NO_GROUP, Columns, Offender, Role
from ebformer.tables.observations import Distinct

NUMBERS = r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\(.*\)|DOUBLE|FLOAT|BOOLEAN"
JUDGED = 10_000
"""Rows by which it is judged whether a column could hold counts."""


class DuckTable:
    """A DuckDB relation as a source. Columns of text are read as numbers where a number is needed.

    `unclear` are columns of text whose numbers may mean two things, each with such an entry: they are refused.

    >>> rows = duckdb.connect().sql("SELECT unnest([3, 0, 3]) AS goals")
    >>> DuckTable(rows).distinct(Columns("goals"), width=0).rows.sum().item()
    3
    """

    def __init__(self, rows: duckdb.DuckDBPyRelation, unclear: Mapping[str, str] = MappingProxyType({})) -> None:
        self.rows, self.unclear = rows, unclear
        self.types = dict(zip(rows.columns, map(str, rows.types), strict=True))

    @property
    def names(self) -> list[str]:
        return list(self.rows.columns)

    def ask(self, sql: str) -> duckdb.DuckDBPyRelation:
        """Run a query in which `ebformer_given` stands for this table: a name that no table of its database has."""
        answer = self.rows.query("ebformer_given", sql)
        assert answer is not None
        return answer

    def distinct(self, columns: Columns, width: float) -> Distinct:
        keys = ", ".join(f"{sql} AS {name}" for name, sql in self._keys(columns, width).items())
        counted = f"SELECT {keys}, count(*) AS rows FROM ebformer_given AS given GROUP BY ALL ORDER BY ALL"
        found = self.ask(counted).fetchnumpy()
        group = found.get("the_group")
        return Distinct(
            None if group is None else _texts(group),
            _floats(found["the_count"]),
            _floats(found["the_exposure"]),
            np.asarray(found["rows"], dtype=np.int64),
        )

    def distinct_exposures(self, columns: Columns, limit: int) -> int:
        assert columns.exposure is not None
        exposures = f"SELECT DISTINCT {self._number(columns.exposure)} FROM ebformer_given AS given LIMIT {limit + 1}"
        return int(self.ask(f"SELECT count(*) FROM ({exposures})").fetchall()[0][0])

    def offender(self, columns: Columns, role: Role, missing_too: bool) -> Offender | None:
        name = columns.role(role)
        assert name is not None
        if role == "group":
            bad = f"{self._text(name)} IS NULL"
        else:
            x = self._number(name)
            whole = f"x >= 0 AND x <= {LARGEST_WHOLE} AND x = floor(x)" if role == "count" else "x > 0 AND x < 'inf'"
            bad = f"(SELECT coalesce(NOT ({whole}), {missing_too}) FROM (SELECT {x} AS x))"
        entries = f"SELECT row_number() OVER () AS row, {quoted(name)} AS entry, {bad} AS bad"
        numbered = f"{entries} FROM ebformer_given AS given"
        first = f"SELECT entry, row, count(*) OVER () FROM ({numbered}) WHERE bad ORDER BY row LIMIT 1"
        found = self.ask(first).fetchall()
        return Offender(*found[0]) if found else None

    def with_answers(
        self, columns: Columns, width: float, keys: Distinct, answers: dict[str, NDArray[Any]]
    ) -> duckdb.DuckDBPyRelation:
        # DuckDB looks for a table of this name among the variables here, and a dictionary of arrays is one.
        ebformer_found = {"the_count": keys.count, "the_exposure": keys.exposure} | (
            {} if keys.group is None else {"the_group": keys.group}
        )
        ebformer_found |= {f"answer_{i}": values for i, values in enumerate(answers.values())}
        new = ", ".join(f"found.answer_{i} AS {quoted(name)}" for i, name in enumerate(answers))
        on = " AND ".join(f"{sql} = found.{name}" for name, sql in self._keys(columns, width).items())
        tables = f"ebformer_given AS given LEFT JOIN ebformer_found AS found ON {on}"
        joined = self.rows.query("ebformer_given", f"SELECT given.*, {new} FROM {tables}")
        assert joined is not None
        return joined

    def whole_number_columns(self) -> list[str]:
        """The columns that could hold counts, judged by the first rows; codes such as 007 are text, not counts."""
        unclear = list(self.unclear)  # to be refused in a sentence of their own
        numeric = [name for name in self.names if self._is_number(name) or self.types[name] == "VARCHAR"]
        numeric = [name for name in numeric if name not in unclear]
        if not numeric:
            return unclear
        judged = ", ".join(
            f"count({x}) > 0 AND bool_and(coalesce({x} >= 0 AND {x} = floor({x}), true)"
            f" AND NOT coalesce(regexp_matches({entry}::VARCHAR, '^0\\d'), false))"
            for name in numeric
            for x, entry in [(self._number(name), quoted(name))]
        )
        verdict = self.ask(f"SELECT {judged} FROM (SELECT * FROM ebformer_given LIMIT {JUDGED}) AS given").fetchall()[0]
        return [name for name, whole in zip(numeric, verdict, strict=True) if whole] + unclear

    def _keys(self, columns: Columns, width: float) -> dict[str, str]:
        """What rows are grouped by and joined on, as SQL."""
        count = self._number(columns.count)
        exposure = "1.0::DOUBLE" if columns.exposure is None else self._number(columns.exposure)
        if width:
            fineness = f"pow(2, greatest(ceil(log2((greatest({count}, 0) + 0.5) / {SMALL}) / 2), 0))"  # as in binning
            exposure = f"CASE WHEN {exposure} > 0 THEN floor(ln({exposure}) / {width!r} * {fineness}) END"
        keys = {"the_count": count, "the_exposure": exposure}
        if columns.group is not None:
            keys["the_group"] = self._text(columns.group)
        return keys

    def _is_number(self, name: str) -> bool:
        return re.fullmatch(NUMBERS, self.types[name]) is not None

    def _number(self, name: str) -> str:
        """SQL for a column as DOUBLE: NULL where missing, -inf where it is text that is no number."""
        column = f"given.{quoted(name)}"
        if self._is_number(name):
            return f"nullif({column}::DOUBLE, 'nan'::DOUBLE)"
        if self.types[name] != "VARCHAR":
            raise InputError(f"column {name!r} holds {self.types[name]}, not numbers: name another column")
        if name in self.unclear:
            raise InputError(
                f"{name} has entries like {self.unclear[name]!r}, which may mean thousands: "
                "remove the thousands separators, or end decimals in one more 0"
            )
        return _unless(NO_ANSWER, column, f"coalesce(try_cast({column} AS DOUBLE), '-inf'::DOUBLE)")

    def _text(self, name: str) -> str:
        """SQL for a column of groups as VARCHAR: NULL where missing."""
        column = f"given.{quoted(name)}::VARCHAR"
        return _unless(NO_GROUP, column, column)


def _unless(missing: tuple[str, ...], text: str, answer: str) -> str:
    """SQL for an answer: NULL where the text is one of those that mean a missing entry."""
    nothing = ", ".join(f"'{entry}'" for entry in missing)
    return f"CASE WHEN lower(trim({text})) NOT IN ({nothing}) THEN {answer} END"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _floats(column: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan))


def _texts(column: NDArray[Any]) -> NDArray[np.object_]:
    texts = np.array(np.ma.getdata(column), dtype=object)
    texts[np.ma.getmaskarray(column)] = None
    return texts
