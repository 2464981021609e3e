"""`ebformer floor`: the least regret that a world allows, by hierarchical Bayes."""

from __future__ import annotations

from pathlib import Path

import click

from ebformer.cli.options import comma_separated
from ebformer.cli.resumable import resumable
from ebformer.cli.terminal import show

FILE = click.Path(dir_okay=False, path_type=Path)
NETWORKS = "T24f,T24r,T24u,T24ur,priorformer"


@click.command()
@click.option(
    "--world",
    "worlds",
    default="neural",
    show_default=True,
    help="Worlds by their names or yours as module:Name, comma-separated; `all` for those of docs/floors.md.",
)
@click.option("--n", "sizes", default="128,512,2048", show_default=True, help="Numbers of units, comma-separated.")
@click.option("--priors", default=1000, show_default=True, help="Priors drawn given each table.")
@click.option("--tables", default=40, show_default=True, help="Tables per size, each of a prior of its own.")
@click.option("--beside", default=NETWORKS, show_default=True, help="Methods to play the same tables, comma-separated.")
@click.option("--seed", default=0, show_default=True, help="Same seed, same tables.")
@click.option("-o", "--output", type=FILE, help="What every method pays on every table: .csv or .parquet.")
@click.option("--page", type=FILE, help="The page to write.")
def command(
    worlds: str, sizes: str, priors: int, tables: int, beside: str, seed: int, output: Path | None, page: Path | None
) -> None:
    """Find the least mean regret that a method can have on a world's tables: that of its exact Bayes rule.

    Priors are drawn from their posterior given each table. How far they differ is the floor, and a method pays its
    distance from their mean rule on top. Beside the ratio of the two stands the power of the likelihood, of 1/4, 1/2,
    3/4 and 1, whose rule the method is nearest to. What the rule turned out to pay must agree with the floor: where it
    is more, too few priors were drawn, and the floor lies between the two. A killed run continues when started again
    with the same output.

    \b
    Examples:
      ebformer floor --world universal --n 128
      ebformer floor --world all -o floors.csv --page docs/floors.md
    """
    from ebformer.atomic import replacing
    from ebformer.errors import InputError
    from ebformer.estimators.catalogue import typed
    from ebformer.lab.floors import WORLDS, floor_page, floor_table, play_all

    try:
        numbers = [int(part) for part in comma_separated(sizes)]
    except ValueError as error:
        raise InputError(f"--n is {sizes!r}: give whole numbers, separated by commas") from error
    methods = [typed(name) for name in comma_separated(beside)] if beside else []
    names = list(WORLDS) if worlds == "all" else comma_separated(worlds)
    how = "no file was written" if output is None else "the same command again goes on from here"
    with resumable(how):
        rows = play_all(names, numbers, tables, methods, priors, output, seed)
    show(floor_table(rows))
    if page is not None:
        told = {"--world": worlds, "--n": sizes, "--priors": priors, "--tables": tables, "--beside": beside}
        words = " ".join(f"{option} {value}" for option, value in told.items())
        with replacing(page) as partial:
            partial.write_text(
                floor_page(rows, f"ebformer floor {words} -o floors.csv --page {page}"), encoding="utf-8"
            )
