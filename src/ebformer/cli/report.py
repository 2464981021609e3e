"""`ebformer report`: one self-contained HTML page about a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ebformer.cli import options, terminal
from ebformer.cli.named import NamedColumns, keeping, pairs_in
from ebformer.cli.saying import ask, say, say_missing

if TYPE_CHECKING:
    from ebformer.tables.wanted import Wanted


@click.command()
@click.argument("file")
@options.columns
@options.look
@options.fitting
@options.covariates
@options.questions
@options.label
@click.option("--map", "areas", metavar="AREAS.geojson", help="Draw raw values beside estimates on a map; needs --key.")
@click.option(
    "--key", metavar="COLUMN", help="The column that says which area of the map a row is; a property or the id there."
)
@click.option("-o", "--output", required=True, metavar="REPORT.html", help="Where to write the page.")
def command(
    file: str,
    named: NamedColumns,
    pool: bool,
    neighbours: str | None,
    method: str | None,
    wanted: Wanted,
    label: str | None,
    areas: str | None,
    key: str | None,
    output: str,
) -> None:
    """Write an HTML page about FILE, in one file that opens offline.

    First the answer in words, then all units to sort, search and download, then pictures: how far units were moved, the
    highest and lowest, what covariates tell, groups, a map, what comes next; and at last whether the model fits. It
    answers the same questions as estimate. It needs pip install 'ebformer[plot]'.

    \b
    Examples:
      ebformer report goals.csv --count goals --exposure games -o goals.html
      ebformer report batters.csv --count hits --trials at_bats --future 400 --drift typical -o batters.html
      ebformer report players.csv --count goals --exposure games --covariates position,age -o players.html
      ebformer report deaths.csv --count deaths --exposure births --map counties.geojson --key fips -o map.html
    """
    from contextlib import suppress

    import numpy as np

    from ebformer.comparison import compare
    from ebformer.errors import InputError
    from ebformer.estimators.catalogue import CATALOGUE, method_for, typed
    from ebformer.report.choropleth import Areas
    from ebformer.report.figures import some_units
    from ebformer.report.table_page import table_page
    from ebformer.tables.files import check_apart, check_folder, open_table
    from ebformer.tables.shrink import shrink_table

    chosen, near = None if method is None else typed(method), pairs_in(neighbours)
    if not output.lower().endswith((".html", ".htm")):
        raise InputError(
            f"a report is an HTML page, and {output} does not end in .html: end it so; browsers print to PDF"
        )
    check_folder(output)
    check_apart([output], [file, areas, neighbours, wanted.drift, method])
    if (areas is None) != (key is None):
        raise InputError("a map needs both --map, a GeoJSON file, and --key, the column that names its areas")
    drawn = None if areas is None or key is None else Areas.read(areas, key)
    with open_table(file) as opened:
        columns, watch = keeping(named.found_in(opened), opened, label, key), terminal.watch(opened)
        estimator = method_for(columns.channel, chosen)
        shrunken = shrink_table(opened.table, columns, estimator, wanted, named.missing, watch, ask, pool, near)
        with watch("Comparing methods"):
            names = ["mle", columns.channel.conjugate or "npmle-em", "npmle"]
            rivals = {name: CATALOGUE[name] for name in names} | {estimator.name: estimator}
            rng, scores = np.random.default_rng(0), []
            if columns.group is None and shrunken.checks:  # else there is no one prior that a method could have found
                with suppress(InputError):  # one unit, or none whose observation can be split: nothing to compare
                    scores = compare(some_units(shrunken.observations.tally(), rng), rivals, rng)
        with watch("Writing the report"):
            page = table_page(file, shrunken, scores, label, drawn)
            page.write(output)
    say_missing(shrunken.observations.missing, "kept without answers")
    say(f"wrote {output}: open it in a browser")
