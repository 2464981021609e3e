"""The SQL that DuckDB and Spark share: names and texts, what is missing, and formulas that numpy computes too."""

from __future__ import annotations

from typing import Any

import numpy as np

UFUNCS: dict[Any, str] = {
    np.add: "({} + {})",
    np.subtract: "({} - {})",
    np.multiply: "({} * {})",
    np.true_divide: "({} / {})",
    np.power: "pow({}, {})",
    np.maximum: "greatest({}, {})",
    np.floor: "CAST(floor({}) AS DOUBLE)",
    np.ceil: "CAST(ceil({}) AS DOUBLE)",
    np.sqrt: "sqrt({})",
    np.log: "ln({})",
    np.log2: "log2({})",
    np.exp2: "pow(2, {})",
    np.less: "({} < {})",
    np.less_equal: "({} <= {})",
    np.greater: "({} > {})",
    np.greater_equal: "({} >= {})",
    np.equal: "({} = {})",
    np.bitwise_and: "({} AND {})",
    np.bitwise_or: "({} OR {})",
    np.invert: "(NOT {})",
    np.isnan: "({0} IS NULL OR isnan({0}))",
    np.isfinite: "({0} > CAST('-inf' AS DOUBLE) AND {0} < CAST('inf' AS DOUBLE))",
}
"""What numpy computes, as a database does."""


class Sql(np.lib.mixins.NDArrayOperatorsMixin):
    """A formula in SQL that numpy's functions extend: one formula serves arrays and databases.

    >>> print(np.floor(2 * np.sqrt(Sql("x"))))
    CAST(floor((2.0 * sqrt(x))) AS DOUBLE)
    >>> print(np.where(Sql("x") > 0, 1.0, np.inf))
    CASE WHEN (x > 0.0) THEN 1.0 ELSE CAST('inf' AS DOUBLE) END
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options or ufunc not in UFUNCS:
            return NotImplemented
        return Sql(UFUNCS[ufunc].format(*map(_as_sql, inputs)))

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        if function is not np.where or options:
            return NotImplemented
        return Sql("CASE WHEN {} THEN {} ELSE {} END".format(*map(_as_sql, inputs)))


def _as_sql(term: Any) -> str:
    if isinstance(term, Sql):
        return term.text
    return repr(float(term)) if np.isfinite(term) else f"CAST('{float(term)}' AS DOUBLE)"


def quoted(name: str, mark: str = '"') -> str:
    """A name as it stands in SQL, between double quotes or, for Spark, backticks.

    >>> print(quoted('the "b"'), quoted("a`b", "`"))
    "the ""b\""" `a``b`
    """
    return mark + name.replace(mark, mark * 2) + mark


def literal(text: str) -> str:
    """A text as it stands in SQL; with quotes in it, in DuckDB's alone."""
    return quoted(text, "'")


def unless_missing(missing: tuple[str, ...], text: str, answer: str) -> str:
    """The answer, and NULL where the text is NULL or one of those that mean a missing entry."""
    return f"CASE WHEN lower(trim({text})) NOT IN ({', '.join(map(literal, missing))}) THEN {answer} END"
