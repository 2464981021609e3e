"""Tables on a cluster: Spark groups and joins, and only the distinct observations travel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.binning import SMALL
from ebformer.channels.base import LARGEST_WHOLE
from ebformer.errors import InputError
from ebformer.tables.columns import NO_GROUP, Columns, Offender, Role
from ebformer.tables.observations import Distinct


class SparkTable:
    """A PySpark DataFrame as a source. Its rows have no order, so complaints name the value but no row."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    @property
    def names(self) -> list[str]:
        return list(self.frame.columns)

    def distinct(self, columns: Columns, width: float) -> Distinct:
        keys = [column.alias(name) for name, column in self._keys(columns, width).items()]
        found = self.frame.select(*keys).groupBy(*[f"the_{role}" for role in self._roles(columns)]).count().collect()
        group = np.empty(len(found), dtype=object)
        group[:] = [row["the_group"] if columns.group is not None else None for row in found]
        return Distinct(
            None if columns.group is None else group,
            np.array([row["the_count"] for row in found], dtype=np.float64),
            np.array([row["the_exposure"] for row in found], dtype=np.float64),
            np.array([row["count"] for row in found], dtype=np.int64),
        )

    def distinct_exposures(self, columns: Columns, limit: int) -> int:
        from pyspark.sql import functions as F

        assert columns.exposure is not None
        return int(self.frame.select(F.approx_count_distinct(self._number(columns.exposure))).collect()[0][0])

    def offender(self, columns: Columns, role: Role, missing_too: bool) -> Offender | None:
        from pyspark.sql import functions as F

        name = columns.role(role)
        assert name is not None
        if role == "group":
            good = self._text(name).isNotNull()
        else:
            x = self._number(name)
            good = (
                (x >= 0) & (x <= LARGEST_WHOLE) & (x == F.floor(x)) if role == "count" else (x > 0) & (x < float("inf"))
            )
        bad = self.frame.filter(F.coalesce(~good, F.lit(missing_too))).select(_quoted(name))
        first = bad.limit(1).collect()
        return Offender(first[0][0], rows=bad.count()) if first else None

    def with_answers(self, columns: Columns, width: float, keys: Distinct, answers: dict[str, NDArray[Any]]) -> Any:
        from pyspark.sql import functions as F

        roles = self._roles(columns)
        arrays = {"count": keys.count, "exposure": keys.exposure, "group": keys.group}
        known = [arrays[role] for role in roles] + list(answers.values())
        fields = ", ".join(f"known_{role} {'string' if role == 'group' else 'double'}" for role in roles)
        fields += "".join(
            f", {_quoted(name)} {'bigint' if values.dtype.kind == 'i' else 'double'}"
            for name, values in answers.items()
        )
        rows = list(zip(*[array.tolist() for array in known if array is not None], strict=True))
        small = F.broadcast(self.frame.sparkSession.createDataFrame(rows, fields))
        keyed = self.frame.select("*", *[c.alias(n) for n, c in self._keys(columns, width).items()])
        matches = [keyed[f"the_{role}"] == small[f"known_{role}"] for role in roles]
        joined = keyed.join(small, matches, "left")
        return joined.select(*[_quoted(name) for name in [*self.names, *answers]])

    def _roles(self, columns: Columns) -> list[str]:
        return ["count", "exposure"] + (["group"] if columns.group is not None else [])

    def _keys(self, columns: Columns, width: float) -> dict[str, Any]:
        from pyspark.sql import functions as F

        count = self._number(columns.count)
        exposure = F.lit(1.0) if columns.exposure is None else self._number(columns.exposure)
        if width:
            halvings = F.ceil(F.log2((F.greatest(count, F.lit(0.0)) + 0.5) / SMALL) / 2)  # fineness, as in binning
            fineness = F.pow(F.lit(2.0), F.greatest(halvings, F.lit(0)))
            exposure = F.when(exposure > 0, F.floor(F.log(exposure) / width * fineness).cast("double"))
        keys = {"the_count": count, "the_exposure": exposure}
        if columns.group is not None:
            keys["the_group"] = self._text(columns.group)
        return keys

    def _text(self, name: str) -> Any:
        """A column of groups as string, null where missing."""
        from pyspark.sql import functions as F

        text = F.col(_quoted(name)).cast("string")
        return F.when(~F.lower(F.trim(text)).isin(*NO_GROUP), text)

    def _number(self, name: str) -> Any:
        """A column as double, null where missing."""
        from pyspark.sql import functions as F

        kind = dict(self.frame.dtypes)[name]
        if kind.split("(")[0] not in ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean"):
            raise InputError(f"column {name!r} holds {kind}, not numbers: cast it or name another column")
        number = F.col(_quoted(name)).cast("double")
        return F.when(~F.isnan(number), number)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
