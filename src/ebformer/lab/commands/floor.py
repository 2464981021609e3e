"""`ebformer floor`: the least regret that a world allows, by hierarchical Bayes."""

from __future__ import annotations

import click

from ebformer.cli.options import comma_separated
from ebformer.cli.terminal import show_rows


@click.command()
@click.option("--world", default="neural", show_default=True, help="A world by its name, or yours as module:Name.")
@click.option("--n", "sizes", default="128", show_default=True, help="Numbers of units, separated by commas.")
@click.option("--priors", default=20_000, show_default=True, help="Priors drawn from the world.")
@click.option("--tables", default=100, show_default=True, help="Tables per size, each of a prior of its own.")
@click.option("--power", default=1.0, show_default=True, help="The power of the likelihood: 1 is Bayes' rule.")
@click.option("--beside", default="", help="Methods to play the same tables, separated by commas.")
@click.option("--seed", default=0, show_default=True, help="Of the priors; tables have another.")
def command(world: str, sizes: str, priors: int, tables: int, power: float, beside: str, seed: int) -> None:
    """Find the least mean regret that a method can have on a world's tables: that of its exact Bayes rule.

    A prior counts by the likelihood of the table. Where few of the drawn priors are left, a table is not counted, and
    `sampling` says how much of the regret is due to drawing too few. Methods named by --beside have columns with their
    regret over the floor, and the standard error of that.

    \b
    Examples:
      ebformer floor --world universal --n 128
      ebformer floor --world multinomial --n 128,512 --priors 1000 --tables 40 --beside T24r,npmle-em
    """
    import numpy as np

    from ebformer.errors import InputError
    from ebformer.estimators.catalogue import find
    from ebformer.lab.hierarchical import Hierarchical, floor
    from ebformer.lab.worlds import world_named

    try:
        numbers = [int(part) for part in sizes.split(",")]
    except ValueError as error:
        raise InputError(f"--n is {sizes!r}: give whole numbers, separated by commas") from error
    if min(numbers) < 1 or tables < 2:
        raise InputError("give at least 1 unit and at least 2 tables")
    method = Hierarchical(world_named(world), priors, power, seed)
    others = [find(name) for name in comma_separated(beside)] if beside else []
    rows = []
    for n in numbers:
        found = floor(method, n, tables, np.random.default_rng([seed + 1, n]), others)
        told = {name: f"{value:.4g}" for name, value in found._asdict().items() if name != "over"}
        over = {name: f"{ratio:.3f} ± {error:.3f}" for name, (ratio, error) in found.over.items()}
        rows.append({"world": world, "n": n} | told | over)
    show_rows(rows)
