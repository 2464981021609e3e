"""`ebformer demo`: a published table of claims, shrunk by several methods, and a report to open."""

from __future__ import annotations

from pathlib import Path

import click

from ebformer.cli import terminal
from ebformer.cli.resumable import resumable

METHODS = ("npmle", "gamma", "robbins")
"""Shown beside the default method; maximum likelihood is the count itself."""


@click.command()
@click.option(
    "-o", "--output", type=click.Path(file_okay=False), default="demo", show_default=True, help="Folder for the report."
)
@click.pass_context
def command(context: click.Context, output: str) -> None:
    """Shrink the yearly claims of 9,461 Belgian motor policies (Thyrion 1960), and write a report on another table.

    The claims are printed by several methods. The report, OUTPUT/report.html, is on the goals of a simulated league,
    which is written beside it.

    \b
    Example:
      ebformer demo
    """
    import numpy as np

    from ebformer.datasets import DATASETS
    from ebformer.estimators.catalogue import DEFAULT, find
    from ebformer.report.text_table import TextTable
    from ebformer.tally import Tally

    claims = Tally.of(DATASETS["claims"].table()["claims"])
    counts = np.arange(int(claims.values[-1]) + 1)
    rules = {name: find(name)(claims) for name in (DEFAULT, *(name for name in METHODS if name != DEFAULT))}
    low, high = rules[DEFAULT].posterior(counts).interval(0.9)
    headings = ("claims", "policies", DEFAULT, "90 % interval", *list(rules)[1:])
    rows = []
    for x, n in zip(counts, claims.multiplicity, strict=True):
        first, *others = (f"{rule(x).item():.3f}" for rule in rules.values())
        rows.append((str(x), f"{n:,}", first, f"{low[x]:.2f} to {high[x]:.2f}", *others))
    terminal.show(TextTable("Claims expected next year, by claims this year (Thyrion 1960)", headings, tuple(rows)))
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    _report(context, folder)


def _report(context: click.Context, folder: Path) -> None:
    from ebformer.cli.datasets import command as datasets
    from ebformer.cli.report import command as report

    table, page = str(folder / "league.csv"), str(folder / "report.html")
    context.invoke(datasets, name="league", output=table)
    with resumable(f"{table} was written, but no report: the same command again writes both"):
        context.invoke(report, file=table, count="goals", exposure="games", missing="error", output=page)
