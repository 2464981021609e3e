"""`ebformer report`: one self-contained HTML page about a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ebformer.cli import options

if TYPE_CHECKING:
    from ebformer.tables.answers import Wanted


@click.command()
@click.argument("file")
@options.columns
@options.fitting
@options.interval
@options.label
@click.option("-o", "--output", required=True, metavar="REPORT.html", help="Where to write the page.")
def command(
    file: str,
    named: options.NamedColumns,
    pool: bool,
    neighbours: str | None,
    method: str | None,
    wanted: Wanted,
    label: str | None,
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
    from ebformer.estimators.catalogue import CATALOGUE, default_method, find
    from ebformer.report.table_page import table_page
    from ebformer.tables.files import check_folder, open_table
    from ebformer.tables.shrink import shrink_table

    chosen, near = None if method is None else find(method), options.pairs_in(neighbours)
    if not output.lower().endswith((".html", ".htm")):
        raise InputError(
            f"a report is an HTML page, and {output} does not end in .html: end it so; browsers print to PDF"
        )
    check_folder(output)
    with open_table(file) as opened, options.watch(opened)("Writing the report"):
        columns = named.found_in(opened)
        estimator = chosen or find(default_method(columns.channel))
        shrunken = shrink_table(
            opened.table, columns, estimator, wanted, named.missing, ask=options.ask, pool=pool, neighbours=near
        )
        tallies, scores = shrunken.observations.tallies(), []
        if None in tallies and tallies[None].n > 1:
            names = ["mle", columns.channel.conjugate or "npmle-em", "npmle"]
            rivals = {name: CATALOGUE[name] for name in names} | {estimator.name: estimator}
            scores = compare(tallies[None], rivals, np.random.default_rng(0))
        table_page(file, shrunken, scores, options.found_label(label, columns, opened)).write(output)
    options.say_missing(shrunken.observations.missing, "kept without answers")
    options.say(f"wrote {output}: open it in a browser")
