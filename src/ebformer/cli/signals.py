"""`ebformer signals`: pairs, such as a drug and an event, that are reported together more often than expected."""

from __future__ import annotations

from dataclasses import replace

import click

from ebformer.cli import terminal
from ebformer.cli.saying import say
from ebformer.cli.typed import Number
from ebformer.plural import counted


@click.command()
@click.argument("file")
@click.option("--row", required=True, metavar="COLUMN", help="The one thing reported, such as the drug.")
@click.option("--column", required=True, metavar="COLUMN", help="The other, such as the event.")
@click.option("--count", required=True, metavar="COLUMN", help="How often the two were reported together.")
@click.option("--stratify", metavar="COLUMN", help="Expect counts within strata, such as sex or year.")
@click.option("--expected", metavar="COLUMN", help="Expected counts, if they are not to come from the margins.")
@click.option(
    "--above",
    metavar="RATIO",
    type=Number(min=0),
    default=1.0,
    show_default=True,
    help="Select pairs whose ratio is above this.",
)
@click.option(
    "--fdr",
    metavar="SHARE",
    type=Number(min=0, max=1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="The share of selected pairs that may be expected to be wrong.",
)
@click.option(
    "--method",
    metavar="METHOD",
    default="gamma-mixture",
    show_default=True,
    help="Any of `ebformer methods` with a prior.",
)
@click.option(
    "-o", "--output", metavar="FILE", help="Where to write: .csv, .tsv (.gz) or .parquet; - for standard output."
)
def command(
    file: str,
    row: str,
    column: str,
    count: str,
    stratify: str | None,
    expected: str | None,
    above: float,
    fdr: float,
    method: str,
    output: str | None,
) -> None:
    """Find pairs in FILE that are reported together more often than expected, such as a drug and an event.

    FILE has one row per pair (and stratum) with a count; pairs that were never reported may be left out. A pair expects
    what its margins say: (reports of the row) x (reports of the column) / (all reports), added up over strata.

    The answer has one row per pair, by falling EB05: the expected count, the estimate of observed over expected with
    its interval, EBGM (the geometric mean), EB05 and EB95 (its quantiles), p_above and whether the pair is selected.

    \b
    Examples:
      ebformer signals reports.csv --row drug --column event --count n -o signals.csv
      ebformer signals reports.csv --row drug --column event --count n --stratify sex --above 2 -o signals.csv
      ebformer signals districts.csv --row district --column cause --count deaths --expected expected -o smr.csv
    """
    from ebformer.estimators.catalogue import typed
    from ebformer.tables.columns import Columns
    from ebformer.tables.duck import DuckTable
    from ebformer.tables.files import check_output, open_table
    from ebformer.tables.signals import EXPECTED, Pairs, find_signals
    from ebformer.tables.wanted import Wanted

    if output is not None:
        check_output(output)
    chosen = typed(method)
    with open_table(file, output or "-") as opened:
        pairs, wanted = Pairs(row, column, count, stratify, expected), Wanted(above=above, fdr=fdr, signals=True)
        found = find_signals(opened.table, pairs, chosen, wanted, terminal.watch(opened))
        picked = found.rows.aggregate("count(*) AS pairs, count_if(selected) AS selected").fetchall()[0]
        answers = replace(opened, table=DuckTable(found.rows), header=found.rows.columns, decimal_commas=())
        with terminal.watch(opened)("Writing"):
            answers.write(found.rows, output or "-", Columns(count, expected or EXPECTED))
    say(f"{counted(picked[0], 'pair')} of {found.rule.units:,} possible, method {chosen.name}")
    wrong = f"at most {100 * fdr:.10g} % of them expected to be wrong"
    say(f"{counted(picked[1], 'pair')} selected: ratio above {above:g}, {wrong}")
    say(f"prior: {found.rule.prior}")
    say(f"model check: {found.check.sentence}")
