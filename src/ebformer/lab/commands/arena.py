"""`ebformer arena`: pit estimators against each other on drawn or given tallies."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ebformer.atomic import write_text
from ebformer.cli.resumable import goes_on_from, resumable
from ebformer.cli.terminal import show
from ebformer.cli.typed import comma_separated, comma_separated_numbers
from ebformer.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ebformer.estimators.base import Estimator
    from ebformer.lab.arena import Loss
    from ebformer.lab.arena.trials import Trial
    from ebformer.lab.worlds.base import World

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option(
    "--world",
    "worlds",
    multiple=True,
    default=["neural"],
    show_default=True,
    help="Worlds (kinds of priors) to draw from, or module:Name, comma-separated; repeatable: see docs/arena.md.",
)
@click.option(
    "--theta-max", default="50", show_default=True, help="Largest rate of the priors, or 'random' as in the paper."
)
@click.option(
    "--n",
    "sizes",
    help="Numbers of units, comma-separated.  [default: 128,512,2048; with --everyday 20,50,200,1000,10000]",
)
@click.option("--priors", default=100, show_default=True, help="Priors to draw from every world.")
@click.option(
    "--repeats", type=int, help="Data sets to draw from every prior at every size.  [default: 1; with --everyday 8]"
)
@click.option("--seed", default=0, show_default=True, help="Same seed, same table, whatever the number of workers.")
@click.option("--tallies", type=FILE, help="Score these tallies (world, n, tally, x, multiplicity, bayes) instead.")
@click.option("--published", type=FILE, help="Others' regrets on those tallies (world, n, tally, estimator, regret).")
@click.option(
    "--estimators",
    help="Methods, comma-separated.  [default: mle,robbins,erm,npmle,npmle-em; with --everyday all that have a prior]",
)
@click.option("--everyday", is_flag=True, help="The league table: 54 everyday priors of three channels, and intervals.")
@click.option("--page", type=click.Path(dir_okay=False, path_type=Path), help="With --everyday: the page to write.")
@click.option("--challenger", help="The method to test against the others.  [default: the last one named]")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Table of losses: .csv or .parquet."
)
@click.option(
    "--figures",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for figures: regret, and with --timing time, against n.",
)
@click.option("--timing", is_flag=True, help="Also time every method: one thread, warm, medians.")
@click.option("--workers", default=-1, show_default=True, help="Processes; -1 for one per core.")
@click.option("--cluster", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler instead.")
def command(
    worlds: tuple[str, ...],
    theta_max: str,
    sizes: str | None,
    priors: int,
    repeats: int | None,
    seed: int,
    tallies: Path | None,
    published: Path | None,
    estimators: str | None,
    everyday: bool,
    page: Path | None,
    challenger: str | None,
    output: Path | None,
    figures: Path | None,
    timing: bool,
    workers: int,
    cluster: str | None,
) -> None:
    """Compare methods on simulated priors, where the best possible answer is known.

    A world is a distribution over priors. Each prior drawn from it gives a data set of n units, and each method is
    scored by its regret: its mean squared error in excess of someone who knows the prior. Prints mean regrets, paired
    tests and ranks. A killed run continues when started again with the same output. Needs pip install
    'ebformer[arena]'.

    \b
    Examples:
      ebformer arena --world neural,multinomial --n 128,512 --priors 200 --estimators mle,npmle -o losses.csv
      ebformer arena --tallies tallies.parquet --estimators mle,npmle -o losses.parquet
      ebformer arena --everyday -o league.csv --page docs/league.md
    """
    if page is not None and not everyday:
        raise InputError(f"{page} is the page of the league table: add --everyday")
    if page is not None:
        from ebformer.tables.files import check_folder

        check_folder(str(page))
    if everyday:
        _league(sizes, repeats, seed, estimators, output, page, workers, cluster)
        return
    from ebformer.lab.arena import Arena, draw_trials, read_published, read_trials
    from ebformer.lab.arena.table import PUBLISHED_REGRETS

    drawn_from = [_world(name, theta_max) for name in comma_separated(",".join(worlds))]
    chosen = _estimators("mle,robbins,erm,npmle,npmle-em" if estimators is None else estimators, theta_max)
    challenger = challenger or list(chosen)[-1]
    if challenger not in chosen:
        raise InputError(f"the challenger {challenger} does not play: choose among {', '.join(chosen)}")
    if published is not None and tallies is None:
        raise InputError(f"{published} holds regrets on given tallies, but new ones would be drawn: add --tallies FILE")
    numbers = comma_separated_numbers("n", "128,512,2048" if sizes is None else sizes)
    trials: Sequence[Trial]
    trials = (
        draw_trials(drawn_from, numbers, priors, 1 if repeats is None else repeats, seed)
        if tallies is None
        else read_trials(tallies)
    )
    with resumable(goes_on_from(output)), _backend(cluster):
        losses = Arena(chosen, trials).run(output, workers, progress=sys.stderr.isatty())
    # What the output holds of other runs is kept there, but compared only with what was played beside it.
    asked = {key for trial in trials for key in trial.keys}
    losses = [loss for loss in losses if loss.key in asked and loss.estimator in chosen]
    if published is not None:
        losses += _beside(read_published(published, asked, PUBLISHED_REGRETS), losses)
    # Tables keep the order in which estimators first appear: as they were named, then the published ones.
    order = {name: position for position, name in enumerate(chosen)}
    losses.sort(key=lambda loss: order.get(loss.estimator, len(order)))
    _show(losses, challenger)
    if figures is not None:
        from ebformer.lab.figures.arena_figures import regret_against_n
        from ebformer.report.style import write_figure

        figures.mkdir(parents=True, exist_ok=True)
        write_figure(regret_against_n(losses), figures / "regret_against_n.png")
    if timing:
        _time(chosen, drawn_from[0], numbers, figures)


def _estimators(names: str, theta_max: str) -> dict[str, Estimator]:
    """Those named, or in files of weights; minimax is told the upper end of the priors, as in the paper."""
    from ebformer.estimators.catalogue import typed

    known = {} if theta_max == "random" else {"minimax": {"theta_max": float(theta_max)}}
    return {name: typed(name, **known.get(name, {})) for name in comma_separated(names)}


def _beside(published: list[Loss], ours: list[Loss]) -> list[Loss]:
    """Others' estimators join the tables; of those that are also ours it is said how closely the two agree."""
    regret = {(loss.key, loss.estimator): loss.regret for loss in ours}
    both: dict[str, list[tuple[float, float]]] = {}
    for loss in published:
        if (own := regret.get((loss.key, loss.estimator))) is not None:
            both.setdefault(loss.estimator, []).append((own, loss.regret))
    for name, pairs in both.items():
        apart = max(abs(own - theirs) for own, theirs in pairs)
        # One tally may have no regret at all, or nearly none: a share of the mean is fair to every tally.
        mean = sum(theirs for _, theirs in pairs) / len(pairs)
        share = f"{apart / mean:.1e} of their mean" if mean else f"{apart:.1e}, where theirs are 0"
        click.echo(f"{name} (published): regrets agree with ours to {share}, on {len(pairs)} tallies")
    return [loss for loss in published if loss.estimator not in both]


def _world(name: str, theta_max: str) -> World:
    from ebformer.channels import POISSON
    from ebformer.lab.worlds import PaperThetaMax, world_named

    world = world_named(name)
    if world.channel != POISSON.name:
        raise InputError(f"{name} is a world of the {world.channel} channel, and the arena draws Poisson counts")
    try:
        end = PaperThetaMax() if theta_max == "random" else float(theta_max)
    except ValueError as error:
        raise InputError(f"theta_max is {theta_max!r}: give a positive number, or 'random'") from error
    return replace(world, theta_max=end)


def _league(
    sizes: str | None,
    repeats: int | None,
    seed: int,
    estimators: str | None,
    output: Path | None,
    page: Path | None,
    workers: int,
    cluster: str | None,
) -> None:
    """Play the league, show its tables, and write its page."""
    from ebformer.lab.league.play import play_league
    from ebformer.lab.league.table import page as written
    from ebformer.lab.league.table import tables
    from ebformer.lab.league.trials import SIZES, TALLIES

    numbers = list(SIZES) if sizes is None else comma_separated_numbers("n", sizes)
    names = None if estimators is None else comma_separated(estimators)
    with resumable(goes_on_from(output)), _backend(cluster):
        tables_per_cell = TALLIES if repeats is None else repeats
        losses = play_league(numbers, tables_per_cell, seed, names, output, workers, progress=sys.stderr.isatty())
    for shown in tables(losses).values():
        for table in shown:
            show(table)
    if page is not None:
        told = {"--n": sizes, "--repeats": repeats, "--seed": seed or None, "--estimators": estimators, "-o": output}
        words = " ".join(f"{option} {value}" for option, value in told.items() if value is not None)
        write_text(page, written(losses, f"ebformer arena --everyday {words} --page {page}"))


def _backend(cluster: str | None) -> ExitStack:
    stack = ExitStack()
    if cluster is not None:
        import joblib
        from distributed import Client

        try:
            stack.enter_context(Client(cluster))  # type: ignore[no-untyped-call]
        except (ValueError, TypeError, OSError, ImportError) as error:  # no address, or nobody there
            raise InputError(f"no scheduler of a Dask cluster answers at {cluster!r}: {error}") from error
        stack.enter_context(joblib.parallel_config(backend="dask"))
    return stack


def _show(losses: list[Loss], challenger: str) -> None:
    from ebformer.lab.figures.arena_tables import (
        difference_table,
        mean_table,
        p_value_table,
        plackett_luce_table,
        rank_table,
    )

    names = {loss.estimator for loss in losses}
    show(mean_table(losses))
    if len(names) > 1:
        show(difference_table(losses, challenger))
        show(p_value_table(losses, challenger))
        show(rank_table(losses))
        show(plackett_luce_table(losses, reference="mle" if "mle" in names else challenger))


def _time(chosen: dict[str, Estimator], world: World, sizes: list[int], figures: Path | None) -> None:
    from ebformer.lab.arena.timing import time_estimators
    from ebformer.lab.figures.arena_tables import timing_table

    timings = time_estimators(chosen, world, sizes)
    show(timing_table(timings))
    if figures is not None:
        from ebformer.lab.figures.arena_figures import time_against_n
        from ebformer.report.style import write_figure

        write_figure(time_against_n(timings), figures / "time_against_n.png")
