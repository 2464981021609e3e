"""`ebformer reproduce`: every table, figure and claim of the paper beside ours."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "--scale",
    default="laptop",
    show_default=True,
    type=click.Choice(["smoke", "laptop", "full"]),
    help="How much to compute: about 5 minutes, 90 minutes, a day.",
)
@click.option("--only", multiple=True, metavar="ITEM", help="One item of --list; repeatable.")
@click.option("--list", "listing", is_flag=True, help="Show every item, where the paper has it and what it needs.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Folder of the real data [default: $EBFORMER_DATA].")
@click.option(
    "-o",
    "--output",
    default="reproduction",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the pages and of the cached results.",
)
def command(scale: str, only: tuple[str, ...], listing: bool, data_dir: Path | None, output: Path) -> None:
    """Rebuild the paper's tables and figures with the shipped models: OUTPUT/index.html and OUTPUT/index.md.

    Interrupted runs continue where they were: results are kept in OUTPUT/SCALE.

    \b
    Examples:
      ebformer reproduce --list
      ebformer reproduce --scale smoke --only fig-regret
    """
    from ebformer.errors import InputError
    from ebformer.reproduction.bench import Bench, Scale
    from ebformer.reproduction.items import ITEMS
    from ebformer.reproduction.pages import write_pages

    known = {item.key: item for item in ITEMS}
    if listing:
        width = max(map(len, known))
        for item in ITEMS:
            needs = item.needs or "seconds"
            click.echo(f"{item.key:{width}}  {item.title} ({item.where}); needs {needs}")
        return
    for key in only:
        if key not in known:
            raise InputError(f"there is no item {key!r}: choose among {', '.join(known)}")
    bench = Bench(
        Scale.of(scale), output / scale, data_dir, lambda sentence: click.echo(f"ebformer: {sentence}", err=True)
    )
    write_pages(bench, [known[key] for key in only] or list(ITEMS), output)
    click.echo(f"ebformer: wrote {output / 'index.html'} and {output / 'index.md'}", err=True)
