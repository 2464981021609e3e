"""`ebformer datasets`: tables to try things on."""

from __future__ import annotations

import csv
import io
import sys
from difflib import get_close_matches

import click

from ebformer.cli import options, terminal
from ebformer.errors import InputError


@click.command()
@click.argument("name", required=False)
@click.option("-o", "--output", metavar="FILE", help="Where to write the table as CSV.  [default: standard output]")
def command(name: str | None, output: str | None) -> None:
    """List the tables that ship with ebformer, or write the one called NAME as CSV.

    \b
    Examples:
      ebformer datasets
      ebformer datasets league -o league.csv
    """
    from ebformer.datasets import DATASETS

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
    if name not in DATASETS:
        near = get_close_matches(name, DATASETS, n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(DATASETS)}"
        raise InputError(f"there is no table {name!r}: {advice}")
    table = DATASETS[name].table()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*[column.tolist() for column in table.values()], strict=True))
    if output is None:
        sys.stdout.write(text.getvalue())
        return
    from ebformer.atomic import replacing
    from ebformer.tables.files import check_folder

    check_folder(output)
    with replacing(output) as partial:
        partial.write_text(text.getvalue(), encoding="utf-8")
    options.say(f"wrote {len(next(iter(table.values()))):,} rows to {output} ({DATASETS[name].source})")
