"""`ebformer reproduce`: every table, figure and claim of the paper beside ours."""

from __future__ import annotations

from pathlib import Path

import click

from ebformer.cli.resumable import resumable
from ebformer.cli.saying import say
from ebformer.cli.terminal import show

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.option(
    "--scale",
    default="laptop",
    show_default=True,
    type=click.Choice(["smoke", "laptop", "full"]),
    help="How much to compute; --list shows the time each takes.",
)
@click.option("--only", multiple=True, metavar="ITEM", help="Make only this item of --list; repeatable.")
@click.option("--list", "listing", is_flag=True, help="List the items with the time each takes, and stop.")
@click.option("--data-dir", type=FOLDER, help="Folder of the real data.  [default: $EBFORMER_DATA]")
@click.option(
    "-o", "--output", default="reproduction", show_default=True, type=FOLDER, help="Folder for pages and results."
)
@click.option("--docs", type=FOLDER, help="Also write reproduction.md and probes.md, with tables and figures, here.")
def command(
    scale: str, only: tuple[str, ...], listing: bool, data_dir: Path | None, output: Path, docs: Path | None
) -> None:
    """Rebuild the paper's tables, figures and claims with the shipped networks, the paper's numbers beside ours.

    Writes OUTPUT/index.html and OUTPUT/index.md. Results are kept in OUTPUT/SCALE, so an interrupted run continues
    where it stopped, and later runs reuse them. With --only the pages hold only these items; a run without it brings
    the others back. Needs pip install 'ebformer[all]'.

    \b
    Examples:
      ebformer reproduce --list
      ebformer reproduce --scale smoke --only fig-regret
      ebformer reproduce --scale laptop --docs docs
    """
    from ebformer.errors import InputError
    from ebformer.lab.fielddata.sources import data_folder

    try:
        from ebformer.lab.reproduction.bench import Bench, Scale
        from ebformer.lab.reproduction.docs import write_docs
        from ebformer.lab.reproduction.items import ITEMS
        from ebformer.lab.reproduction.listing import listed
        from ebformer.lab.reproduction.pages import make, write_pages
        from ebformer.lab.reproduction.store import Store
    except ImportError as error:
        raise InputError(f"reproduce needs {error.name}: pip install 'ebformer[all]'") from error

    if listing:
        show(listed(ITEMS))
        return
    known = {item.key: item for item in ITEMS}
    for key in only:
        if key not in known:
            raise InputError(f"there is no item {key!r}: choose among {', '.join(known)}")
    if only and docs:
        raise InputError("--docs writes pages about every item: leave out --only")
    if data_dir:
        data_folder(data_dir)
    store = Store(output / scale, say)
    bench = Bench(Scale.of(scale), store, data_dir)
    items = [item for item in ITEMS if not only or item.key in only]
    with resumable("the same command again goes on from here"), store.locked():
        made = make(bench, items, strict=bool(only or docs))
        write_pages(bench, made, output)
        if docs:
            write_docs(bench, made, docs)
    written = [output / "index.html", output / "index.md"]
    written += [docs / "reproduction.md", docs / "probes.md"] if docs else []
    say(f"wrote {', '.join(map(str, written))}")
