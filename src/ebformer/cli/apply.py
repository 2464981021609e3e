"""`ebformer apply`: yesterday's fit scores today's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ebformer.cli import options, terminal
from ebformer.cli.named import NamedColumns, keeping
from ebformer.cli.saying import say
from ebformer.plural import counted

if TYPE_CHECKING:
    from ebformer.tables.columns import Missing
    from ebformer.tables.wanted import Wanted


@click.command()
@click.argument("rule")
@click.argument("file")
@options.columns_of_fit
@options.look
@click.option("--strict", is_flag=True, help="Stop with an error at a row that cannot be answered, or of a new group.")
@click.option("--update", is_flag=True, help="Then fit again with these rows too, which must be new units, into RULE.")
@options.answers
@options.label
def command(
    rule: str,
    file: str,
    named: NamedColumns,
    strict: bool,
    update: bool,
    wanted: Wanted,
    output: str | None,
    label: str | None,
) -> None:
    """Score the rows of FILE with RULE, a fit that `ebformer estimate --save` kept.

    Nothing is fitted again: the same count and exposure always get the same estimate, whatever else is in FILE, up to
    the binning that large tables need. Columns are found by the names they had in the fit, unless you name others.

    No row stops the run. The column note says why a row has no answer, such as a missing count; a row of a group that
    was not fitted is answered with the prior of all groups, and one without exposure or trials with the prior alone.

    \b
    Example:
      ebformer estimate lastyear.csv --count claims --exposure years --save rule.json -o lastyear_shrunken.csv
      ebformer apply rule.json today.csv -o today_shrunken.csv
    """
    from ebformer.atomic import state
    from ebformer.cli.estimate import deliver
    from ebformer.saved import write_json
    from ebformer.tables.columns import first_few
    from ebformer.tables.files import check_apart, check_input, check_output, open_table
    from ebformer.tables.fit import Fit
    from ebformer.tables.learning import with_units
    from ebformer.tables.saved_fit import record
    from ebformer.tables.shrink import shrink_table

    if output is not None:
        check_output(output)
    check_apart([output], [rule, wanted.drift])
    check_input(rule)
    found, fit = state(rule), Fit.load(rule)
    with open_table(file, output or "-") as opened:
        columns = keeping(named.or_those_of(fit.columns).found_in(opened, wanted.future), opened, label)
        missing: Missing = "strict" if strict else "explain"
        shrunken = shrink_table(opened.table, columns, fit, wanted, missing, terminal.watch(opened))
        grown = with_units(fit, shrunken.observations) if update else None  # or refused, before anything is written
        unread = None
        try:
            deliver(opened, shrunken, output, label)
        except BrokenPipeError as error:  # `| head` has seen enough of the rows; the update is still wanted
            unread = error
    if grown is not None:
        write_json(rule, record(grown), over=found)  # never over what another update has added
    if unread is not None:
        raise unread
    say(f"{counted(int(shrunken.observations.keys.rows.sum()), 'row')} scored with {rule}")
    if grown is not None and grown.tally is not None:
        say(f"{rule} is a fit of {counted(grown.tally.n, 'unit')} now")
    if new := [] if strict else fit.unknown(shrunken.observations):
        say(f"new in {columns.group}, answered with the prior of all: {first_few(new)}")
    for sentence in shrunken.meanings + shrunken.remarks:
        say(sentence)
