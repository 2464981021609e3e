"""`ebformer report`: one self-contained HTML page about a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ebformer.cli import options, terminal

if TYPE_CHECKING:
    from ebformer.tables.columns import Missing

RIVALS = ("mle", "gamma", "npmle")
"""Methods that a report compares its own with."""


@click.command()
@click.argument("file")
@options.columns
@options.fitting
@options.interval
@click.option("-o", "--output", required=True, metavar="REPORT.html", help="Where to write the page.")
def command(
    file: str,
    count: str | None,
    exposure: str | None,
    missing: Missing,
    group: str | None,
    method: str,
    interval: float | None,
    output: str,
) -> None:
    """Write an HTML page about FILE, in one file that opens offline.

    It shows how far each unit was shrunk, the estimated prior, the model check, the highest and lowest units, how
    methods compare on this table, and all rows to sort and search. It needs pip install 'ebformer[plot]'.

    \b
    Example:
      ebformer report goals.csv --count goals --exposure games -o goals.html
    """
    import numpy as np

    from ebformer.comparison import compare
    from ebformer.errors import InputError
    from ebformer.estimators.catalogue import CATALOGUE, find
    from ebformer.report.table_page import Shrunken, table_page
    from ebformer.tables.checking import check_fit
    from ebformer.tables.columns import room_for
    from ebformer.tables.duck import DuckTable
    from ebformer.tables.files import check_folder, open_table
    from ebformer.tables.fit import Wanted, fit_table
    from ebformer.tables.observations import observe

    estimator, wanted = find(method), Wanted(interval)
    if not output.lower().endswith((".html", ".htm")):
        raise InputError(
            f"a report is an HTML page, and {output} does not end in .html: end it so; browsers print to PDF"
        )
    check_folder(output)
    with open_table(file) as opened, terminal.progress("Writing the report", opened.connection.query_progress):
        columns = options.columns_of(opened, count, exposure, group)
        observations = observe(opened.table, columns, missing)
        fit = fit_table(observations, estimator)
        room_for(fit.new_columns(wanted), opened.table.names)
        answers = fit.answers(observations, wanted)
        rows = opened.table.with_answers(columns, observations.width, observations.keys, answers)
        checks = check_fit(fit, observations, np.random.default_rng(0))
        tallies = observations.tallies()
        scores = []
        if group is None and tallies[None].n > 1:
            rivals = {name: CATALOGUE[name] for name in RIVALS if name != method} | {method: estimator}
            scores = compare(tallies[None], rivals, np.random.default_rng(0))
        shrunken = Shrunken(file, DuckTable(rows), fit, observations, wanted, checks)
        table_page(shrunken, scores).write(output)
    options.say_missing(observations.missing, "kept without answers")
    options.say(f"wrote {output}: open it in a browser")
