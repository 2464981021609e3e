"""`ebformer floor`: the least regret that a world allows, by hierarchical Bayes."""

from __future__ import annotations

from pathlib import Path

import click

from ebformer.cli.resumable import goes_on_from, resumable
from ebformer.cli.terminal import show
from ebformer.cli.typed import comma_separated, comma_separated_numbers

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
NETWORKS = "T24f,T24r,T24u,T24ur,L24r,priorformer"


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
@click.option("--further", default=0, help="Further tables of a control variate, which make the floor surer cheaply.")
@click.option("--error", default=0.0, help="Stop after 40 tables where the floor's standard error is this share of it.")
@click.option("--beside", default=NETWORKS, show_default=True, help="Methods to play the same tables, comma-separated.")
@click.option("--seed", default=0, show_default=True, help="Same seed, same tables.")
@click.option("-o", "--output", type=FILE, help="What every method pays on every table: .csv or .parquet.")
@click.option("--page", type=FILE, help="The page to write.")
@click.option("--cards", type=FOLDER, help="Folder of cards NAME.md of networks, to write their rows into.")
def command(
    worlds: str,
    sizes: str,
    priors: int,
    tables: int,
    further: int,
    error: float,
    beside: str,
    seed: int,
    output: Path | None,
    page: Path | None,
    cards: Path | None,
) -> None:
    """Find the least mean regret that a method can have on a world's tables: that of its exact Bayes rule.

    Priors are drawn from their posterior given each table, and the floor is the regret of their mean rule. Beside the
    ratio of a method's regret to it stands the power of the likelihood, of 1/4, 1/2, 3/4 and 1, whose rule the method
    is nearest to. If too few priors were drawn, the floor is too high; "at least" is below the least regret. A killed
    run continues when started again with the same output.

    \b
    Examples:
      ebformer floor --world universal --n 128
      ebformer floor --world all -o floors.csv --page docs/floors.md
    """
    from ebformer.atomic import write_text
    from ebformer.estimators.catalogue import typed
    from ebformer.lab.figures.floor_tables import card_with_floors, floor_page, floor_table
    from ebformer.lab.floors import WORLDS, play_all
    from ebformer.tables.files import check_folder

    if page is not None:
        check_folder(str(page))
    numbers = comma_separated_numbers("n", sizes)
    methods = [typed(name) for name in comma_separated(beside)] if beside else []
    names = list(WORLDS) if worlds == "all" else comma_separated(worlds)
    with resumable(goes_on_from(output)):
        rows = play_all(names, numbers, tables, methods, priors, output, seed, further, error)
    show(floor_table(rows))
    told = {"--world": worlds, "--n": sizes, "--priors": priors, "--tables": tables}
    told |= {"--further": further, "--error": error, "--beside": beside}
    words = " ".join(f"{option} {value}" for option, value in told.items())
    made_by = f"ebformer floor {words} -o floors.csv"
    pages = {} if page is None else {page: floor_page(rows, f"{made_by} --page {page}")}
    for method in methods:
        if cards is not None and (card := cards / f"{method.name}.md").is_file():
            text = card.read_text(encoding="utf-8")
            pages[card] = card_with_floors(text, method.name, rows, f"{made_by} --cards {cards}")
    for path, text in pages.items():
        write_text(path, text)
