"""`ebformer estimate`: a table with counts in, the same table with estimates out."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from ebformer.cli import options, terminal

if TYPE_CHECKING:
    import duckdb

    from ebformer.tables.columns import Missing
    from ebformer.tables.files import TableFile
    from ebformer.tables.fit import Fit, Wanted
    from ebformer.tables.observations import Observations

SHOWN = 20
"""Rows shown on a terminal where no output is named."""


@click.command()
@click.argument("file")
@options.columns
@options.fitting
@options.answers
@click.option("--save", metavar="RULE.json", help="Keep the fit, for `ebformer apply`.")
def command(
    file: str,
    count: str | None,
    exposure: str | None,
    missing: Missing,
    group: str | None,
    method: str,
    interval: float | None,
    future: float | None,
    above: float | None,
    top: int | None,
    output: str | None,
    save: str | None,
) -> None:
    """Estimate the rate of every row of FILE: CSV, TSV (gzipped or not) or Parquet; - for standard input.

    The table comes back with three more columns: estimate, the rate per unit of exposure, and its interval from lower
    to upper. Each count is pulled towards what all rows together make plausible.

    A row must be a unit. If a unit has several rows (a policy with several years), add up its counts and its exposures
    first. Units with count 0 must be in the table.

    \b
    Examples:
      ebformer estimate goals.csv --count goals --exposure games -o shrunken.csv
      ebformer estimate districts.csv --count cases --exposure expected --above 1 -o ratios.csv
      ebformer estimate claims.parquet --count claims --group region --top 10 -o ranked.parquet
      cat words.tsv | ebformer estimate - --count n --future 10 > predicted.tsv
    """
    import numpy as np

    from ebformer.errors import InputError
    from ebformer.estimators.catalogue import find
    from ebformer.tables.checking import check_fit, verdict_of, warnings_of
    from ebformer.tables.columns import room_for
    from ebformer.tables.files import check_folder, check_output, open_table
    from ebformer.tables.fit import Wanted, fit_table, narrow_intervals, remarks
    from ebformer.tables.observations import observe

    wanted, estimator = Wanted(interval, future, top, above), find(method)
    if output is not None:
        check_output(output)
    if save is not None:
        check_folder(save)
        if os.path.realpath(save) in [os.path.realpath(other) for other in (file, output) if other is not None]:
            raise InputError(f"cannot write the fit to {save}, which is a table of this command: name another file")
    with open_table(file) as opened:
        columns = options.columns_of(opened, count, exposure, group)
        with terminal.progress("Estimating", opened.connection.query_progress):
            observations = observe(opened.table, columns, missing)
            fit = fit_table(observations, estimator)
            room_for(fit.new_columns(wanted), opened.table.names)
            checks = check_fit(fit, observations, np.random.default_rng(0))
            # Said in the end, but made before a file is written: it can take as long, and an interrupt leaves none.
            rows = options.counted(int(observations.keys.rows.sum()), "row")
            said = [f"{rows}, {options.counted(observations.count.size, 'distinct observation')}, method {method}"]
            said += narrow_intervals(fit) + remarks(fit, observations)
            troubles = warnings_of(checks, group)
            if not troubles and all(rule.prior is not None for rule in fit.rules.values()):  # or nothing can fit
                troubles = [verdict_of(checks)]
            said += [f"model check: {sentence}" for sentence in troubles]
        try:
            deliver(opened, fit, observations, wanted, output)
        except BrokenPipeError:  # `| head` has seen enough of the rows; the fit is still wanted
            if save is not None:
                fit.save(save)
            raise
    if save is not None:
        fit.save(save)
    for sentence in said:
        options.say(sentence)


def deliver(file: TableFile, fit: Fit, observations: Observations, wanted: Wanted, output: str | None) -> None:
    """Answer every row: to a file, to a pipe, or as a first look at the terminal."""
    with terminal.progress("Answering", file.connection.query_progress):  # ranks of thousands of units take their time
        answers = fit.answers(observations, wanted)
    rows = file.table.with_answers(observations.columns, observations.width, observations.keys, answers)
    if output is None and sys.stdout.isatty():
        _first_look(file, rows)
    else:
        with terminal.progress("Writing", file.connection.query_progress):
            file.write(rows, output or "-", observations.columns)
    options.say_missing(observations.missing, "kept without answers")


def _first_look(file: TableFile, rows: duckdb.DuckDBPyRelation) -> None:
    file.connection.execute("SET threads = 1")
    names = [*file.header, *rows.columns[len(file.header) :]]
    first = rows.limit(SHOWN + 1).fetchall()
    more = f"the first {SHOWN} rows; write all of them with -o out.csv" if len(first) > SHOWN else None
    terminal.show_rows([dict(zip(names, row, strict=True)) for row in first[:SHOWN]], more)
