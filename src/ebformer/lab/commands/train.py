"""`ebformer train`: pre-train a transformer by a recipe, continue after a kill, ship the result with its card."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ebformer.cli.resumable import resumable
from ebformer.cli.terminal import progress, show
from ebformer.errors import InputError

if TYPE_CHECKING:
    from ebformer.lab.pretraining.loop import Row
    from ebformer.lab.pretraining.recipe import Recipe

CARD_SIZES, CARD_PRIORS, CARD_SEED = (128, 512, 2048, 8192), 60, 20261115
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.argument("name")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="Plan a run of this length.")
@click.option("--steps", type=click.IntRange(min=1), help="Plan a run of this many steps.")
@click.option("--resume", is_flag=True, help="Continue the run in the folder, if there is one.")
@click.option("--folder", type=FOLDER, help="Where checkpoints and the log go.  [default: runs/NAME]")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the initial weights and of everything drawn.")
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
    threads: int,
    device: str,
    shelf: Path | None,
    select: bool,
) -> None:
    """Pre-train a transformer by the recipe NAME: T24r, L24r, T24f, paper, smoke, or a file (recipe.json).

    The recipes T24r, L24r and T24f are the last of several legs. They start from the weights of earlier legs
    (T24r-long, T24r-short, ...), which must lie in folders beside; docs/training.md has the order. If a run is killed,
    the same command with --resume continues it. Under torchrun every process draws its own data. Needs pip install
    'ebformer[train]'.

    \b
    Examples:
      ebformer train smoke --folder /tmp/smoke && ebformer train smoke --folder /tmp/smoke --ship zoo
      ebformer train T24r-long --minutes 30 --resume
    """
    try:
        from ebformer.lab.pretraining import loop, runs
    except ImportError as error:
        raise InputError("training needs torch: pip install 'ebformer[train]'") from error

    folder = folder or Path("runs") / Path(name).stem
    if shelf is not None:
        _ship(Path(name).stem, folder, shelf)
        return
    trained = f"with --resume goes on from the last checkpoint, one every {loop.CHECKPOINT_SECONDS:.0f} seconds"
    on = "again goes on with the next trial" if select else trained
    with resumable(f"the same command {on}"), runs.processes(threads, device) as first:
        if select:
            _select(_changed(_recipe(name), steps, seed), folder, minutes)
            return
        recipe = runs.begin(folder, _changed(_recipe(name), steps, seed), minutes, resume)
        watch = _Watch(recipe, speaks=first)
        bar = progress(lambda: watch.text, lambda: watch.step, recipe.training.steps) if first else nullcontext()
        with bar:
            runs.run(folder, recipe, device, watch)


def _recipe(name: str) -> Recipe:
    from ebformer.lab.pretraining.recipe import RECIPES, Recipe

    if name in RECIPES:
        return RECIPES[name]
    if not Path(name).is_file():
        raise InputError(f"{name} is neither a recipe ({', '.join(RECIPES)}) nor a file of one")
    try:
        return Recipe.from_description(json.loads(Path(name).read_text(encoding="utf-8")))
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{name} holds no recipe: give the recipe.json of a run, or change a copy of it") from error


def _select(recipe: Recipe, folder: Path, minutes: float | None) -> None:
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
    from ebformer.estimators.pretrained import Pretrained
    from ebformer.lab.arena import Arena, draw_trials
    from ebformer.lab.figures.network_card import learning_curve, network_card
    from ebformer.lab.pretraining import loop, runs
    from ebformer.lab.worlds import WORLDS

    shelf.mkdir(parents=True, exist_ok=True)
    weights = runs.ship(folder, shelf / f"{name}.safetensors")
    worlds = [WORLDS[world](theta_max=50.0) for world in ("neural", "multinomial", "least-favourable")]
    rivals = {"mle": find("mle"), "npmle-em": find("npmle-em"), name: Pretrained(name, weights)}
    losses = Arena(rivals, draw_trials(worlds, CARD_SIZES, CARD_PRIORS, seed=CARD_SEED)).run(workers=1)
    (shelf / f"{name}.md").write_text(network_card(name, weights, losses), encoding="utf-8")
    log = runs.averaged(folder)[2]
    loop.write_log(log, shelf / f"{name}.csv")
    learning_curve(log).savefig(shelf / f"{name}.png", dpi=80)
    click.echo(f"{shelf / name}.safetensors, .md, .csv and .png: SHA-256 {weights.sha256}")


def _changed(recipe: Recipe, steps: int | None, seed: int | None) -> Recipe:
    training = recipe.training
    changed = replace(training, steps=steps or training.steps, seed=training.seed if seed is None else seed)
    return replace(recipe, training=changed)


class _Watch:
    """Told of every record: what a bar shows on a terminal, and a line elsewhere.

    Both have the loss, held-out regrets, tallies per second and the time left.
    """

    def __init__(self, recipe: Recipe, speaks: bool) -> None:
        self.recipe, self.prints = recipe, speaks and not sys.stderr.isatty()
        self.step, self.text, self.regrets = 0.0, "", ""

    def __call__(self, row: Row) -> None:
        figures = {name: value for name, value in row.items() if name.startswith(self.recipe.worlds)}
        if figures:
            self.regrets = "  regret " + " ".join(f"{name} {value:.3g}" for name, value in figures.items())
        speed = row["step"] * self.recipe.tallies / max(row["seconds"], 0.1)
        self.step, self.text = row["step"], f"loss {row['loss']:.4f}  {speed:.0f} tallies/s{self.regrets}"
        if self.prints:
            left = (self.recipe.training.steps - row["step"]) * row["seconds"] / row["step"] / 60
            click.echo(f"step {row['step']:.0f}  {self.text}  {left:.0f} min left", err=True)
