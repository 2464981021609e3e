"""Tables on a cluster: Spark groups and joins, and only the distinct observations travel.

SQL of our own, since narwhals does not find names with a dot, counts distinct entries exactly, which shuffles all of
them, and cannot bring answers to the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.errors import InputError
from ebformer.tables.columns import Columns, Role
from ebformer.tables.entries import MISSING_GROUPS, Offender
from ebformer.tables.keys import common_future, keys, more_keys, totals
from ebformer.tables.names import Names
from ebformer.tables.source import Contents, Distinct
from ebformer.tables.sql import Sql, quoted, unless_missing

NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
KINDS = {"i": "bigint", "f": "double", "b": "boolean", "O": "string"}
"""The types of answers, by the kind of their array."""


class SparkTable:
    """A PySpark DataFrame as a source. Its rows have no order, so complaints name the value but no row."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame.alias("given")

    @property
    def names(self) -> list[str]:
        return list(self.frame.columns)

    def distinct(self, columns: Columns, width: float) -> Distinct:
        by = self._keys(columns, width)
        shown = self.frame.select(*[key.alias(role) for role, key in by.items()])
        found = shown.groupBy(*by).count().collect()
        group = np.empty(len(found), dtype=object)
        group[:] = [row["group"] if "group" in by else None for row in found]
        return Distinct(
            Names.of(group) if "group" in by else None,
            np.array([row["x"] for row in found], dtype=np.float64),
            np.array([row["known"] for row in found], dtype=np.float64),
            np.array([row["count"] for row in found], dtype=np.int64),
            {role: np.array([row[role] for row in found], dtype=np.float64) for role in columns.numbered},
        )

    def variety(self, columns: Columns, role: Role, limit: int) -> int:
        from pyspark.sql import functions as F

        name = columns.role(role)
        assert name is not None
        return int(self.frame.select(F.approx_count_distinct(F.expr(self._number(name)))).collect()[0][0])

    def kinds(self, names: Sequence[str]) -> tuple[int, list[int]]:
        from pyspark.sql import functions as F

        counted = [F.approx_count_distinct(_quoted(name)) for name in names]
        found = self.frame.select(F.count(F.lit(1)), *counted).collect()[0]
        return int(found[0]), [int(number) for number in found[1:]]

    def of_units(self, columns: Columns) -> SparkTable:
        from pyspark.sql import functions as F

        sums = totals(columns.channel, Sql(self._number(columns.x)), Sql(self._known(columns)))
        names = [columns.x, str(columns.of_units.known)]
        if columns.common is not None:
            sums, names = [*sums, common_future(self._number(columns.common))], [*names, columns.common]
        one = [F.min(_quoted(name)).alias(name) for name in columns.beside]  # its rows have no first one
        added = [F.expr(each).alias(name) for name, each in zip(names, sums, strict=True)]
        return SparkTable(self.frame.groupBy(*map(_quoted, columns.by)).agg(*one, *added))

    def nameless(self, column: str) -> int:
        text = f"CAST(given.{_quoted(column)} AS STRING)"
        return int(self.frame.where(f"({unless_missing(MISSING_GROUPS, text, text)}) IS NULL").count())

    def arrays(self) -> dict[str, NDArray[Any]]:
        rows, kinds = self.frame.collect(), dict(self.frame.dtypes)
        as_is = {name: kinds[name].split("(")[0] not in NUMBERS for name in self.names}
        return {
            name: np.array([row[name] for row in rows], dtype=object if as_is[name] else np.float64)
            for name in self.names
        }

    def made_of(self, columns: dict[str, NDArray[Any]]) -> SparkTable:
        rows = list(zip(*(entries.tolist() for entries in columns.values()), strict=True))
        return SparkTable(self.frame.sparkSession.createDataFrame(rows, list(columns)))

    def contents(self, columns: Columns) -> Contents:
        raise InputError(
            "covariates need a table in memory or in a file: give frame.toPandas(), or write it as Parquet"
        )

    def with_told(self, columns: Columns, contents: Contents, told: Mapping[str, NDArray[np.float64]]) -> SparkTable:
        raise NotImplementedError  # no contents, no expectations

    def offender(self, columns: Columns, width: float, shown: Distinct, role: Role) -> Offender | None:
        name = columns.role(role)
        assert name is not None
        found = self._broadcast(shown, {})
        bad = self.frame.join(found, self._matching(columns, width, found), "left_semi").select(_quoted(name))
        first = bad.limit(1).collect()
        return Offender(first[0][0], rows=bad.count()) if first else None

    def with_answers(self, columns: Columns, width: float, shown: Distinct, answers: dict[str, NDArray[Any]]) -> Any:
        found = self._broadcast(shown, answers)
        new = [found[_quoted(name)] for name in answers]
        return self.frame.join(found, self._matching(columns, width, found), "left").select("given.*", *new)

    def _matching(self, columns: Columns, width: float, found: Any) -> list[Any]:
        """Where rows show an observation; missing entries match."""
        return [sql.eqNullSafe(found[f"key_{key}"]) for key, sql in self._keys(columns, width).items()]

    def _broadcast(self, shown: Distinct, answers: dict[str, NDArray[Any]]) -> Any:
        """These observations, and their answers, on every machine of the cluster; null where an entry is missing."""
        from pyspark.sql import functions as F

        fields = [f"key_{role} {'string' if role == 'group' else 'double'}" for role in shown.by_role]
        fields += [f"{_quoted(name)} {KINDS[values.dtype.kind]}" for name, values in answers.items()]
        arrays = [array.tolist() for array in (*shown.by_role.values(), *answers.values())]
        rows = [tuple(None if entry != entry else entry for entry in row) for row in zip(*arrays, strict=True)]
        return F.broadcast(self.frame.sparkSession.createDataFrame(rows, ", ".join(fields)))

    def _keys(self, columns: Columns, width: float) -> dict[Role, Any]:
        """What rows are grouped by and matched on."""
        from pyspark.sql import functions as F

        x, about = keys(columns.channel, Sql(self._number(columns.x)), Sql(self._known(columns)), width)
        more = more_keys(columns, lambda name: Sql(self._number(name)), width)
        by_role: dict[Role, Any] = {"x": x, "known": about, **more}
        found: dict[Role, Any] = {role: F.expr(key.text) for role, key in by_role.items()}
        if columns.group is not None:
            text = f"CAST(given.{_quoted(columns.group)} AS STRING)"
            found["group"] = F.expr(unless_missing(MISSING_GROUPS, text, text))
        return found

    def _known(self, columns: Columns) -> str:
        constant = f"CAST({columns.constant!r} AS DOUBLE)"
        return self._number(columns.known) if isinstance(columns.known, str) else constant

    def _number(self, name: str) -> str:
        """SQL for a column as double, null where missing."""
        kind = dict(self.frame.dtypes)[name]
        if kind.split("(")[0] not in NUMBERS:
            raise InputError(f"column {name!r} holds {kind}, not numbers: cast it or name another column")
        return f"nullif(CAST(given.{_quoted(name)} AS DOUBLE), CAST('NaN' AS DOUBLE))"


def _quoted(name: str) -> str:
    return quoted(name, "`")
