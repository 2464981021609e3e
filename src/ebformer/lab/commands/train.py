"""`ebformer train`: pre-train a network by a recipe, continue after a kill, ship the result with its card."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ebformer.atomic import write_text
from ebformer.cli.resumable import resumable
from ebformer.cli.terminal import progress, show
from ebformer.cli.typed import comma_separated
from ebformer.errors import InputError

if TYPE_CHECKING:
    from ebformer.lab.pretraining.loop import Row
    from ebformer.lab.pretraining.recipe import AnyRecipe

CARD_SIZES, CARD_PRIORS, CARD_SEED = (128, 512, 2048, 8192), 60, 20261115
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.argument("name")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="Plan legs of this length.")
@click.option("--steps", type=click.IntRange(min=1), help="Plan legs of this many steps.")
@click.option("--resume", is_flag=True, help="Continue the run in the folder, if there is one.")
@click.option("--folder", type=FOLDER, help="Where checkpoints and the log go.  [default: runs/NAME]")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the initial weights and of everything drawn.")
@click.option(
    "--world",
    "worlds",
    multiple=True,
    help="Train on these worlds instead: names, or your own as module:Name, comma-separated; repeatable.",
)
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads per process.")
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1, ...")
@click.option(
    "--ship", "shelf", type=FOLDER, help="Do not train: write the weights, card and log of the run to this folder."
)
@click.option("--select", is_flag=True, help="Search the paper's grid of architectures instead, by the recipe NAME.")
def command(
    name: str,
    minutes: float | None,
    steps: int | None,
    resume: bool,
    folder: Path | None,
    seed: int | None,
    worlds: tuple[str, ...],
    threads: int,
    device: str,
    shelf: Path | None,
    select: bool,
) -> None:
    """Pre-train a network by the recipe NAME, from random weights on.

    NAME is priorformer, T24r, L24r, T24f, T24u, T24ur, paper, smoke, priorformer-smoke, a leg of one of these, or a
    file (recipe.json). The first six start from the weights of earlier legs (priorformer-6, T24r-long, ...), which are
    trained first, in folders beside, unless they lie there. If a run is killed, the same command with --resume
    continues it. Under torchrun every process draws its own data. Needs pip install 'ebformer[train]'.

    \b
    Examples:
      ebformer train smoke --folder /tmp/smoke && ebformer train smoke --folder /tmp/smoke --ship zoo
      ebformer train priorformer --resume && ebformer train priorformer --ship zoo
      ebformer train priorformer-smoke --world my_worlds:Bumps --folder /tmp/mine
    """
    try:
        from ebformer.lab.pretraining import loop, runs
    except ImportError as error:
        raise InputError("training needs torch: pip install 'ebformer[train]'") from error

    folder = folder or Path("runs") / Path(name).stem
    if shelf is not None:
        _ship(Path(name).stem, folder, shelf)
        return

    runs.check_device(device)

    def changed(recipe: AnyRecipe) -> AnyRecipe:
        named = comma_separated(",".join(worlds)) if worlds else []
        return (recipe.on(named) if named else recipe).planned(steps, seed)

    trained = f"with --resume goes on from the last checkpoint, one every {loop.CHECKPOINT_SECONDS:.0f} seconds"
    on = "again goes on with the next trial" if select else trained
    with resumable(f"the same command {on}"), runs.processes(threads, device) as first:
        if select:
            _select(changed(_recipe(name)), folder, minutes)
            return
        for place, leg in runs.road(_recipe(name), folder).items():
            _train(place, runs.begin(place, changed(leg), minutes, resume), device, speaks=first)


def _train(folder: Path, recipe: AnyRecipe, device: str, speaks: bool) -> None:
    """One leg, with a bar or lines that say how it goes."""
    from ebformer.lab.pretraining import runs

    watch = _Watch(folder.name, recipe, speaks)
    with progress(lambda: watch.text, lambda: watch.step, recipe.training.steps) if speaks else nullcontext():
        runs.run(folder, recipe, device, watch)


def _recipe(name: str) -> AnyRecipe:
    from ebformer.lab.pretraining.recipes import RECIPES, recipe_from

    if name in RECIPES:
        return RECIPES[name]
    if not Path(name).is_file():
        raise InputError(f"{name} is neither a recipe ({', '.join(RECIPES)}) nor a file of one")
    try:
        return recipe_from(json.loads(Path(name).read_text(encoding="utf-8")))
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{name} holds no recipe: give the recipe.json of a run, or change a copy of it") from error


def _select(recipe: AnyRecipe, folder: Path, minutes: float | None) -> None:
    """Successive halving for two hours or as told, and the candidates, best first."""
    from ebformer.lab.pretraining.selection import select
    from ebformer.report.text_table import TextTable

    columns = ("layers", "width", "heads", "steps", "regret", "")
    rows = [
        (*map(str, (c.layers, c.width, c.heads, c.steps)), f"{c.regret:.4f}", "" if c.finished else "stopped early")
        for c in select(recipe, folder, minutes or 120.0)
    ]
    show(TextTable("Candidates, best first", columns, tuple(rows)))


def _ship(name: str, folder: Path, shelf: Path) -> None:
    """Weights, card, log and learning curve of a run, the card with regrets on tallies drawn for it alone."""
    from ebformer.estimators.catalogue import find
    from ebformer.lab.arena import Arena, draw_trials
    from ebformer.lab.figures.network_card import learning_curve, network_card
    from ebformer.lab.pretraining import loop, runs
    from ebformer.lab.worlds import WORLDS
    from ebformer.report.style import write_figure

    shelf.mkdir(parents=True, exist_ok=True)
    weights = runs.ship(folder, shelf / f"{name}.safetensors")
    run = runs.Kept.of(folder)
    worlds = [WORLDS[world](theta_max=50.0) for world in ("neural", "multinomial", "least-favourable")]
    rivals = {"mle": find("mle"), "npmle-em": find("npmle-em"), name: run.recipe.estimator(name, weights)}
    losses = Arena(rivals, draw_trials(worlds, CARD_SIZES, CARD_PRIORS, seed=CARD_SEED)).run(workers=1)
    card = network_card(name, weights, run.recipe.summary(), losses)
    write_text(shelf / f"{name}.md", card)
    loop.write_log(run.log, shelf / f"{name}.csv")
    write_figure(learning_curve(run.log), shelf / f"{name}.png", dpi=80)
    click.echo(f"{shelf / name}.safetensors, .md, .csv and .png: SHA-256 {weights.sha256}")


class _Watch:
    """Told of every record: what a bar shows on a terminal, and a line elsewhere.

    Both have the leg, the loss, held-out regrets, tallies per second and the time left.
    """

    def __init__(self, name: str, recipe: AnyRecipe, speaks: bool) -> None:
        self.name, self.recipe, self.prints = name, recipe, speaks and not sys.stderr.isatty()
        self.step, self.text, self.regrets = 0.0, name, ""

    def __call__(self, row: Row) -> None:
        from ebformer.lab.pretraining.loop import watched

        if figures := watched(row):
            self.regrets = "  regret " + " ".join(f"{name} {value:.3g}" for name, value in figures.items())
        speed = row["step"] * self.recipe.tallies / max(row["seconds"], 0.1)
        self.step = row["step"]
        self.text = f"{self.name}  loss {row['loss']:.4f}  {speed:.0f} tallies/s{self.regrets}"
        if self.prints:
            left = (self.recipe.training.steps - row["step"]) * row["seconds"] / row["step"] / 60
            click.echo(f"step {row['step']:.0f}  {self.text}  {left:.0f} min left", err=True)
