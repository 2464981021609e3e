"""`ebformer apply`: yesterday's fit scores today's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ebformer.cli import options, terminal

if TYPE_CHECKING:
    from ebformer.tables.columns import Missing


@click.command()
@click.argument("rule")
@click.argument("file")
@click.option("--count", metavar="COLUMN", help="The counts, if the column has another name than in the fit.")
@click.option("--exposure", metavar="COLUMN", help="The exposures, if the column has another name than in the fit.")
@options.missing
@click.option("--group", metavar="COLUMN", help="The groups, if the column has another name than in the fit.")
@options.answers
def command(
    rule: str,
    file: str,
    count: str | None,
    exposure: str | None,
    missing: Missing,
    group: str | None,
    interval: float | None,
    future: float | None,
    above: float | None,
    top: int | None,
    output: str | None,
) -> None:
    """Score the rows of FILE with RULE, a fit that `ebformer estimate --save` kept.

    Nothing is fitted again: the same count and exposure always get the same estimate, whatever else is in FILE, up to
    the binning of exposures that large tables need. Columns are found by the names they had in the fit, unless you name
    others.

    \b
    Example:
      ebformer estimate lastyear.csv --count claims --exposure years --save rule.json -o lastyear_shrunken.csv
      ebformer apply rule.json today.csv -o today_shrunken.csv
    """
    from ebformer.cli.estimate import deliver
    from ebformer.tables.columns import room_for
    from ebformer.tables.files import check_input, check_output, open_table
    from ebformer.tables.fit import Fit, Wanted, about_bins
    from ebformer.tables.observations import observe

    wanted = Wanted(interval, future, top, above)
    if output is not None:
        check_output(output)
    check_input(rule)
    fit = Fit.load(rule)
    then = fit.columns
    with open_table(file) as opened:
        columns = options.columns_of(opened, count or then.count, exposure or then.exposure, group or then.group)
        with terminal.progress("Reading", opened.connection.query_progress):
            observations = observe(opened.table, columns, missing)
            room_for(fit.new_columns(wanted), opened.table.names)
            # Said in the end, but made before a file is written: it can take as long, and an interrupt leaves none.
            rows = options.counted(int(observations.keys.rows.sum()), "row")
            said = [f"{rows} scored with {rule}", *about_bins(fit, observations)]
        deliver(opened, fit, observations, wanted, output)
    for sentence in said:
        options.say(sentence)
