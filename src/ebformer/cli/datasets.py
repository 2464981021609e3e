"""`ebformer datasets`: tables to try things on."""

from __future__ import annotations

import csv
import io
import sys
from difflib import get_close_matches

import click

from ebformer.cli import terminal
from ebformer.cli.saying import say
from ebformer.errors import InputError


@click.command()
@click.argument("name", required=False)
@click.option("-o", "--output", metavar="FILE", help="Where to write the table as CSV.  [default: standard output]")
def command(name: str | None, output: str | None) -> None:
    """List the tables that ship with ebformer, or write the one called NAME as CSV.

    With the counties of sids go sids-borders, the pairs that are neighbours, and sids-map, their outlines as GeoJSON.

    \b
    Examples:
      ebformer datasets
      ebformer datasets league -o league.csv
      ebformer datasets sids-map -o counties.geojson
    """
    from ebformer.datasets import DATASETS, FILES

    if name is None:
        terminal.show_rows(
            [
                {
                    "name": dataset.name,
                    "options": dataset.options,
                    "about": dataset.about,
                    "source": dataset.source,
                }
                for dataset in DATASETS.values()
            ]
        )
        return
    if name in FILES:
        _deliver(FILES[name].read_text(encoding="utf-8"), output, f"wrote {output}")
        return
    if name not in DATASETS:
        near = get_close_matches(name, [*DATASETS, *FILES], n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join([*DATASETS, *FILES])}"
        raise InputError(f"there is no table {name!r}: {advice}")
    table = DATASETS[name].table()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*[column.tolist() for column in table.values()], strict=True))
    rows = len(next(iter(table.values())))
    _deliver(text.getvalue(), output, f"wrote {rows:,} rows to {output} ({DATASETS[name].source})")


def _deliver(text: str, output: str | None, done: str) -> None:
    """Write to a file and say so, or to standard output."""
    if output is None:
        sys.stdout.write(text)
        return
    from ebformer.atomic import write_text
    from ebformer.tables.files import check_folder

    check_folder(output)
    write_text(output, text)
    say(done)
