"""`shrink`: a data frame in, the same kind of data frame with estimates out. `estimate`: the same for arrays."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

import duckdb
import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebformer.binning import coarsened, distinct_rows
from ebformer.check import ModelWarning
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import DEFAULT, find
from ebformer.tables.columns import Columns, Missing
from ebformer.tables.duck import DuckTable
from ebformer.tables.eager import EagerTable
from ebformer.tables.fit import Wanted
from ebformer.tables.observations import Source
from ebformer.tables.shrink import shrink_table
from ebformer.tables.spark import SparkTable
from ebformer.tally import Tally, exposures, whole_numbers

Frame = TypeVar("Frame")


def shrink(
    frame: Frame,
    count: str,
    exposure: str | None = None,
    group: str | None = None,
    *,
    method: str | Estimator = DEFAULT,
    interval: float | None = None,
    future: float | None = None,
    top: int | None = None,
    above: float | None = None,
    missing: Missing = "error",
) -> Frame:
    """The same table with the columns `estimate`, `lower` and `upper`, and more where asked for.

    `frame` is a pandas, polars or pyarrow table, a DuckDB relation or a PySpark frame; the last two are grouped and
    joined where they live, and only the distinct observations travel. `group` gives each group a fit of its own,
    `interval` is the level of `lower` and `upper` (0.9), `above` adds `p_above`, the probability of a rate above this
    one, `future` adds `predicted` with its interval for the next period's exposure, `top` adds `expected_rank` (1 for
    the highest rate) and `p_top`. Rows with a missing entry are an error, or kept without answers.

    >>> import polars
    >>> goals = polars.DataFrame({"player": ["Ann", "Bo", "Cy"], "goals": [0, 2, 9]})
    >>> import warnings; warnings.simplefilter("ignore")
    >>> shrink(goals, count="goals", method="gamma").columns
    ['player', 'goals', 'estimate', 'lower', 'upper']
    """
    columns, wanted = Columns(count, exposure, group), Wanted(interval, future, top, above)
    shrunken = shrink_table(source_of(frame), columns, find(method), wanted, missing)
    for sentence in shrunken.remarks + shrunken.departures:
        warnings.warn(sentence, ModelWarning, stacklevel=2)
    rows: Frame = shrunken.rows
    return rows


def source_of(frame: Any) -> Source:
    """The source that can read this table."""
    if isinstance(frame, duckdb.DuckDBPyRelation):
        return DuckTable(frame)
    if type(frame).__module__.startswith("pyspark."):
        return SparkTable(frame)
    try:
        return EagerTable(nw.from_native(frame))
    except nw.exceptions.DuplicateError as error:
        raise InputError("several columns of the table have the same name: rename all but one") from error
    except TypeError as error:
        known = "a pandas, polars or pyarrow table, a DuckDB relation or a PySpark frame"
        raise InputError(f"cannot shrink a {type(frame).__name__}: give {known}, or arrays to estimate") from error


def estimate(
    counts: ArrayLike, exposure: ArrayLike | None = None, *, method: str | Estimator = DEFAULT
) -> NDArray[np.float64]:
    """E[theta | x] for every count, under the prior that the method reads off all of them.

    >>> estimate([0, 0, 1, 0, 7], method="mle").tolist()
    [0.0, 0.0, 1.0, 0.0, 7.0]
    """
    x = whole_numbers(counts, "counts")
    t = None if exposure is None else exposures(exposure)
    if t is not None and t.size not in (1, x.size):
        raise InputError(f"there are {t.size} exposures for {x.size} counts: give one for each, or one for all")
    t = None if t is None else np.broadcast_to(t, x.shape)
    rule = find(method)(coarsened(Tally.of(x, t)))
    first, which = distinct_rows(x, t)
    return np.asarray(rule(x[first], None if t is None else t[first])[which])
