"""`shrink`: a data frame in, the same kind of data frame with estimates out. `estimate`: the same for arrays."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import duckdb
import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebformer.binning import coarsened, distinct_rows
from ebformer.channels import pick
from ebformer.channels.base import Channel
from ebformer.check import ModelWarning
from ebformer.drift import Drift
from ebformer.errors import InputError, one_line
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import method_for
from ebformer.expectation import Covariates
from ebformer.regression import Kind
from ebformer.tables.columns import Columns, Missing
from ebformer.tables.duck import DuckTable
from ebformer.tables.eager import EagerTable
from ebformer.tables.expected import with_expected
from ebformer.tables.fit import Fit
from ebformer.tables.learning import fit_table
from ebformer.tables.observations import observe, units_of
from ebformer.tables.shrink import Shrunken, shrink_table
from ebformer.tables.source import Source
from ebformer.tables.spark import SparkTable
from ebformer.tables.wanted import Wanted
from ebformer.tally import Tally, known_numbers, observed

Frame = TypeVar("Frame")


def shrink(
    frame: Frame,
    count: str | None = None,
    exposure: str | float | None = None,
    group: str | None = None,
    *,
    pool: bool = False,
    neighbours: Sequence[tuple[str, str]] | str | None = None,
    trials: str | float | None = None,
    effect: str | None = None,
    se: str | float | None = None,
    zeros: str | None = None,
    unit: str | None = None,
    look: str | None = None,
    label: str | None = None,
    method: str | Estimator | None = None,
    interval: float | None = None,
    future: float | str | None = None,
    top: int | None = None,
    above: float | str | None = None,
    below: float | str | None = None,
    null: float | str | None = None,
    fdr: float | None = None,
    per: float | None = None,
    drift: Drift | str | None = None,
    covariates: Sequence[str] | None = None,
    regression: Kind | None = None,
    missing: Missing = "error",
) -> Frame:
    """The same table with the columns `estimate`, `lower` and `upper`, and more where asked for.

    `frame` is a pandas, polars or pyarrow table, a DuckDB relation or a PySpark frame; the last two are grouped and
    joined where they live, and only the distinct observations travel. The columns say what was observed: `count` with
    `exposure` (or without), `count` out of `trials`, or `effect` with `se`; the second of each may be one number for
    all rows. `zeros="missing"` is for counts of units that enter the table only with an event. `group` gives each group
    a fit of its own; with `pool` their priors lie around a common one, as closely as the rows tell, and small groups
    learn from the others. `neighbours` are pairs of groups that lie side by side, such as districts, or the column of a
    GeoDataFrame that has their shapes ("geometry"): then each learns from those near it first. `unit` adds up the rows
    of each unit first; with `look`, such as a season, only those of each look: the last look is answered, and what was
    seen of a unit before counts as much as rates keep from one look to the next, which the looks teach unless `drift`
    says it. Units keep their `label` then, such as the column of their names. Without a method it is the default one of
    the channel.

    `interval` is the level of `lower` and `upper` (0.9), `future` adds `predicted` with its interval for the next
    period's exposure (or number of trials, or standard error), one number or the column that has it, `top` adds
    `expected_rank` (1 for the highest rate), `p_top` and `grade`, `per=1000` gives rates per 1000. `above` adds
    `p_above`, the probability of a rate above this number, or above a multiple of the mean such as "1.5x"; `below` adds
    `p_below`, and `null=0` adds `lfsr`, the probability that an effect has not the sign it seems to have. With one of
    these, `fdr=0.1` adds `selected`: the longest list of which a tenth at most is expected to be wrong
    (docs/decisions.md explains all). With a `drift` (one that was learnt, the path of its file, or "typical"), rates
    move until the next period, and `predicted_still` is the prediction without.

    `covariates` are columns that tell about the rate: numbers or text, with gaps or without. The column `expected` says
    what a regression of the other rows lets expect of each, and rates are pulled towards it instead of towards the mean
    of all (docs/covariates.md). `regression="linear"` takes a line instead of boosted trees.

    Rows with a missing entry are an error, or kept without answers; with `missing="explain"` that goes for all that
    cannot be used, and `note` says why.

    >>> import polars
    >>> goals = polars.DataFrame({"player": ["Ann", "Bo", "Cy"], "goals": [0, 2, 9]})
    >>> import warnings; warnings.simplefilter("ignore")
    >>> shrink(goals, count="goals", method="gamma").columns
    ['player', 'goals', 'estimate', 'lower', 'upper']
    >>> shrink(goals, count="goals", trials=10, method="mle")["estimate"].to_list()
    [0.0, 0.2, 0.9]
    """
    words = {"exposure": exposure, "trials": trials, "se": se, "zeros": zeros}
    columns = Columns.named(count, effect, group, unit, look, _covariates(covariates, regression), **words)
    columns = replace(columns, carried=() if label is None else (label,))
    chosen = method_for(columns.channel, method)
    wanted = Wanted(interval, future, top, above, below, null, fdr, per, drift)
    source, near = source_of(frame), _pairs(frame, neighbours, columns)
    rows: Frame = _with_warnings(shrink_table(source, columns, chosen, wanted, missing, pool=pool, neighbours=near))
    return rows


def fit(
    frame: Any,
    count: str | None = None,
    exposure: str | float | None = None,
    group: str | None = None,
    *,
    pool: bool = False,
    neighbours: Sequence[tuple[str, str]] | str | None = None,
    trials: str | float | None = None,
    effect: str | None = None,
    se: str | float | None = None,
    zeros: str | None = None,
    unit: str | None = None,
    method: str | Estimator | None = None,
    covariates: Sequence[str] | None = None,
    regression: Kind | None = None,
    missing: Missing = "error",
) -> Fit:
    """What `shrink` learns from a table, to score other rows with: `fit.apply(frame)`, today or after `fit.save(path)`.

    >>> import polars, warnings; warnings.simplefilter("ignore")
    >>> learnt = fit(polars.DataFrame({"hits": [1, 4, 2]}), count="hits", trials=10, method="beta")
    >>> learnt.apply(polars.DataFrame({"hits": [3]})).columns
    ['hits', 'estimate', 'lower', 'upper', 'note']
    """
    words = {"exposure": exposure, "trials": trials, "se": se, "zeros": zeros}
    columns = Columns.named(count, effect, group, unit, None, _covariates(covariates, regression), **words)
    chosen = method_for(columns.channel, method)
    near = _pairs(frame, neighbours, columns)
    source, read, expectation = with_expected(*units_of(source_of(frame), columns, missing), missing)
    return fit_table(observe(source, read, missing), chosen, pool, near, columns, expectation)


def _covariates(names: Sequence[str] | None, regression: Kind | None) -> Covariates | None:
    if names is not None and (isinstance(names, str | bytes) or not isinstance(names, Iterable)):
        raise InputError(f"covariates is {names!r}: give a list of columns, such as [{str(names)!r}]")
    names = None if names is None else tuple(names)
    for name in names or ():
        if not isinstance(name, str):
            raise InputError(f"the covariate {name!r} is no name: call the columns by text")
    return Covariates.named(names, regression)


def _pairs(
    frame: Any, neighbours: Sequence[tuple[str, str]] | str | None, columns: Columns
) -> Sequence[tuple[str, str]] | None:
    """Pairs of neighbours as given, or those whose shapes in the column of this name meet."""
    if not isinstance(neighbours, str):  # pairs that come but once are read twice
        return tuple(neighbours) if isinstance(neighbours, Iterator) else neighbours
    from ebformer.tables.borders import borders

    return borders(frame, neighbours, columns)


def load_fit(path: str | os.PathLike[str]) -> Fit:
    """A fit that `ebformer estimate --save` or `fit.save` kept, groups included.

    >>> load_fit("pyproject.toml")
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: pyproject.toml is not a saved fit: write one with `ebformer estimate --save`
    """
    return Fit.load(path)


def _with_warnings(shrunken: Shrunken) -> Any:
    """The rows, after everything that is to be said about them."""
    for sentence in shrunken.remarks + shrunken.departures:
        warnings.warn(one_line(sentence), ModelWarning, stacklevel=3)
    return shrunken.rows


def source_of(frame: Any) -> Source:
    """The source that can read this table."""
    if isinstance(frame, duckdb.DuckDBPyRelation):
        return DuckTable(frame)
    if type(frame).__module__.startswith("pyspark."):
        return SparkTable(frame)
    try:
        return EagerTable(without_views(nw.from_native(frame)))
    except nw.exceptions.DuplicateError as error:
        raise InputError("several columns of the table have the same name: rename all but one") from error
    except TypeError as error:
        known = "a pandas, polars or pyarrow table, a DuckDB relation or a PySpark frame"
        raise InputError(f"cannot shrink a {type(frame).__name__}: give {known}, or arrays to estimate") from error


def without_views(frame: Any) -> Any:
    """The frame itself, or one that holds its texts itself: pyarrow cannot pick rows from views of texts or bytes.

    >>> import pyarrow
    >>> without_views(nw.from_native(pyarrow.table({"team": pyarrow.array(["a"], pyarrow.string_view())}))).schema
    Schema([('team', String)])
    """
    if not frame.implementation.is_pyarrow():
        return frame
    import pyarrow

    table, plain = frame.to_native(), {"string_view": pyarrow.string(), "binary_view": pyarrow.binary()}
    fields = [field.with_type(plain.get(str(field.type), field.type)) for field in table.schema]
    return nw.from_native(table.cast(pyarrow.schema(fields, table.schema.metadata)))


def estimate(
    x: ArrayLike,
    known: ArrayLike | None = None,
    *,
    method: str | Estimator | None = None,
    channel: Channel | None = None,
    **words: ArrayLike | str | None,
) -> NDArray[np.float64]:
    """E[theta | x] for every unit, under the prior that the method reads off all of them.

    One keyword says what is known of the units and picks the channel: exposure=, trials= or se=. Without a method it is
    the default one of the channel. The rows of a matrix x are samples of their own, each with a prior of its own;
    `estimate_many` takes samples of unequal size.

    >>> estimate([0, 0, 1, 0, 7], method="mle").tolist()
    [0.0, 0.0, 1.0, 0.0, 7.0]
    >>> estimate([3, 9], trials=[10, 12], method="mle").tolist()
    [0.3, 0.75]
    """
    if isinstance(x, Tally) or (isinstance(x, list | tuple) and any(isinstance(each, Tally) for each in x)):
        raise InputError("estimate takes observations, not tallies: give those to eb.estimate_many, as a list")
    for word in words.keys() & {each.name for each in fields(Wanted)}:
        raise InputError(f"estimate answers with means alone: for {word} give a table to eb.shrink")
    channel, about = pick(known, words, channel)
    if _several(x):
        if np.ma.is_masked(x) or np.ma.is_masked(about):
            raise InputError("entries are masked: leave such units out, and give tallies to eb.estimate_many")
        return _of_rows(np.asarray(x), about, channel, method)
    observations = observed(channel, x, channel.words.xs)
    if about is not None:
        about = known_numbers(channel, about, observations)
        if about.size not in (1, observations.size):
            have = f"there are {about.size} {channel.words.knowns} for {observations.size} {channel.words.xs}"
            raise InputError(f"{have}: give one for each, or one for all")
        about = np.broadcast_to(about, observations.shape)
    chosen = method_for(channel, method)
    rule = chosen(coarsened(Tally.of(observations, about, channel=channel)))
    first, which = distinct_rows(observations, about)
    return np.asarray(rule(observations[first], None if about is None else about[first])[which])


def _several(x: ArrayLike) -> bool:
    """Whether these are samples rather than units."""
    try:
        return np.ndim(x) == 2
    except ValueError as error:
        raise InputError("samples differ in size: give their tallies to eb.estimate_many, as a list") from error


def _of_rows(x: NDArray[Any], known: Any, channel: Channel, method: str | Estimator | None) -> NDArray[np.float64]:
    """Estimates for every row of x [samples, units], with what is known of the same shape, of each unit, or of all."""
    try:
        about = None if known is None else np.broadcast_to(np.asarray(known), x.shape)
    except ValueError as error:
        have = f"{channel.words.knowns} of shape {np.shape(known)} for {channel.words.xs} of shape {x.shape}"
        raise InputError(f"there are {have}: give as many, or a row for all samples") from error
    chosen, found = method_for(channel, method), np.empty(x.shape)
    for i, row in enumerate(x):
        try:
            found[i] = estimate(row, None if about is None else about[i], method=chosen, channel=channel)
        except InputError as error:
            raise InputError(f"row {i}: {error}") from error
    return found


def estimate_many(tallies: Iterable[Tally], method: str | Estimator | None = None) -> list[NDArray[np.float64]]:
    """E[theta | x] at the distinct observations of each tally, fitted one by one: an array [u] for every sample.

    >>> estimate_many([Tally.of([0, 2, 2]), Tally.of([7])], method="mle")
    [array([0., 2.]), array([7.])]
    """
    if not isinstance(tallies, Iterable):
        raise InputError(f"the samples are a {type(tallies).__name__}: give tallies as a list, one for each")
    found = []
    for tally in tallies:
        if not isinstance(tally, Tally):
            raise InputError(f"a sample is a {type(tally).__name__}: give tallies, such as eb.Tally.of(counts)")
        chosen = method_for(tally.channel, method)
        found.append(chosen(coarsened(tally))(tally.x, tally.known))
    return found
