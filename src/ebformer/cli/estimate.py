"""`ebformer estimate`: a table with counts in, the same table with estimates out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ebformer.cli import options, terminal
from ebformer.cli.named import NamedColumns, keeping, pairs_in
from ebformer.cli.saying import ask, say, say_missing
from ebformer.plural import counted

if TYPE_CHECKING:
    from ebformer.tables.files import TableFile
    from ebformer.tables.shrink import Shrunken
    from ebformer.tables.wanted import Wanted

SHOWN = 20
"""Rows shown on a terminal where no output is named."""


@click.command()
@click.argument("file")
@options.columns
@options.look
@options.fitting
@options.covariates
@options.answers
@options.label
@click.option("--save", metavar="RULE.json", help="Keep the fit, for `ebformer apply`.")
def command(
    file: str,
    named: NamedColumns,
    pool: bool,
    neighbours: str | None,
    method: str | None,
    wanted: Wanted,
    output: str | None,
    label: str | None,
    save: str | None,
) -> None:
    """Estimate the rate of every row of FILE: CSV, TSV (gzipped or not) or Parquet; - for standard input.

    The table comes back with three more columns: estimate, the rate per unit of exposure (or the probability of
    success, or the true effect), and its interval from lower to upper. Each count is pulled towards what all rows
    together make plausible.

    A row must be a unit. If a unit has several rows (a policy with several years), --unit policy adds up its counts and
    its exposures first. Units with count 0 must be in the table, or --zeros missing says that they are not.

    \b
    Examples:
      ebformer estimate goals.csv --count goals --exposure games -o shrunken.csv
      ebformer estimate batters.csv --count hits --trials at_bats --future 400 -o averages.csv
      ebformer estimate studies.csv --effect difference --se error --above 0 -o effects.csv
      ebformer estimate genes.csv --effect z --se 1 -o means.csv
      ebformer estimate districts.csv --count cases --exposure expected --above 1 -o ratios.csv
      ebformer estimate players.csv --count goals --exposure games --covariates position,age,games -o expected.csv
      ebformer estimate claims.parquet --count claims --group region --pool --top 10 -o ranked.parquet
      ebformer estimate counties.csv --count deaths --exposure births --group county --neighbours borders.csv -o map.csv
      cat words.tsv | ebformer estimate - --count n --future 10 > predicted.tsv
    """
    from ebformer.estimators.catalogue import method_for, typed
    from ebformer.tables.files import check_apart, check_folder, check_output, open_table
    from ebformer.tables.remarks import about_covariates, about_groups
    from ebformer.tables.shrink import shrink_table

    chosen, near = None if method is None else typed(method), pairs_in(neighbours)
    if output is not None:
        check_output(output)
    if save is not None:
        check_folder(save)
    others = neighbours, wanted.drift, method
    check_apart([output, save], others)  # the table may be replaced by its answers, but not by the fit
    check_apart([save], [file])
    with open_table(file, output or "-") as opened:
        columns = keeping(named.found_in(opened, wanted.future), opened, label)
        watch = terminal.watch(opened)
        estimator = method_for(columns.channel, chosen)
        shrunken = shrink_table(opened.table, columns, estimator, wanted, named.missing, watch, ask, pool, near)
        # Said in the end, but made before a file is written: it can take as long, and an interrupt leaves none.
        seen = shrunken.observations.keys.rows
        said = [
            f"{counted(int(seen.sum()), 'row')}, {counted(seen.size, 'distinct observation')}, "
            f"method {next(iter(shrunken.fit.rules.values())).method}",
            *shrunken.meanings,
            *about_groups(shrunken.fit),
            *about_covariates(shrunken.fit),
            *shrunken.remarks,
            *[f"model check: {sentence}" for sentence in shrunken.model_check],
        ]
        try:
            deliver(opened, shrunken, output, label)
        except BrokenPipeError:  # `| head` has seen enough of the rows; the fit is still wanted
            if save is not None:
                shrunken.fit.save(save)
            raise
    if save is not None:
        shrunken.fit.save(save)
    for sentence in said:
        say(sentence)


def deliver(file: TableFile, shrunken: Shrunken, output: str | None, label: str | None) -> None:
    """Show every row with its answers: in a file, in a pipe, or as a first look at the terminal."""
    if output is None and sys.stdout.isatty():
        _first_look(file, shrunken, label)
    else:
        with terminal.watch(file)("Writing"):
            file.write(shrunken.rows, output or "-", shrunken.observations.columns)
    seen = shrunken.observations
    if seen.unusable is None:
        say_missing(seen.missing, "kept without answers")
    elif seen.missing:
        say(f"{counted(seen.missing, 'row')} without an answer: the column note says why")


def _first_look(file: TableFile, shrunken: Shrunken, label: str | None) -> None:
    """The first rows, or those that lead; of a wide table the columns that matter: names, the order, data, answers."""
    from ebformer.report.cells import is_number, to_six_digits
    from ebformer.report.labels import label_column
    from ebformer.tables.answers import LEADING

    file.connection.execute("SET threads = 1")
    rows, columns = shrunken.rows, shrunken.observations.columns
    new = [name for name in rows.columns if name not in file.table.names]
    by = next((name for name in LEADING if name in new), None)
    rows = rows if by is None else rows.order(f"{by} {'ASC' if LEADING[by] == 'lowest' else 'DESC'} NULLS LAST")
    first = [dict(zip(rows.columns, row, strict=True)) for row in rows.limit(SHOWN + 1).fetchall()]
    seen = [name for name in (columns.group, columns.x, columns.role("known")) if name is not None]
    called = label or (label_column(first[:SHOWN], {*seen, *new}) if first else None)
    matter = dict.fromkeys([*([called] if called else []), *([by] if by else []), *seen, *new])
    titles = dict(zip(rows.columns, file.titles(rows.columns), strict=True))
    which = f"the first {SHOWN} rows" if by is None else f"the first {SHOWN} rows by {by}"
    more = f"{which}; write all of them with -o out.csv" if len(first) > SHOWN else None
    numbers = {name for name in rows.columns if name != called and all(is_number(row[name]) for row in first[:SHOWN])}
    shown = [
        {titles[name]: to_six_digits(entry) if name in numbers else entry for name, entry in row.items()}
        for row in first[:SHOWN]
    ]
    terminal.show_rows(shown, more, [titles[name] for name in matter])
