"""`ebformer apply`: yesterday's fit scores today's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ebformer.cli import options

if TYPE_CHECKING:
    from ebformer.tables.fit import Wanted


@click.command()
@click.argument("rule")
@click.argument("file")
@options.columns_of_fit
@options.answers
def command(rule: str, file: str, named: options.NamedColumns, wanted: Wanted, output: str | None) -> None:
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
    from ebformer.tables.files import check_input, check_output, open_table
    from ebformer.tables.fit import Fit
    from ebformer.tables.shrink import shrink_table

    if output is not None:
        check_output(output)
    check_input(rule)
    fit = Fit.load(rule)
    with open_table(file) as opened:
        columns = named.or_those_of(fit.columns).found_in(opened)
        shrunken = shrink_table(opened.table, columns, fit, wanted, named.missing, options.watch(opened))
        deliver(opened, shrunken, output)
    options.say(f"{options.counted(int(shrunken.observations.keys.rows.sum()), 'row')} scored with {rule}")
    for sentence in shrunken.remarks:
        options.say(sentence)
