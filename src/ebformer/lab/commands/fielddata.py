"""`ebformer fielddata`: score methods on hockey, baseball, books, classic tables or two columns of your own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import click
import numpy as np

from ebformer.atomic import write_text
from ebformer.cli.terminal import progress, show
from ebformer.cli.typed import check_picture, comma_separated
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.lab.arena.losses import Loss
from ebformer.lab.arena.published import read_published
from ebformer.lab.arena.table import REAL, published_errors
from ebformer.lab.fielddata import Holdout, baseball, books, classic, evaluate, hockey
from ebformer.lab.fielddata.moving import Moved, moving
from ebformer.lab.fielddata.summary import ERRORS, against
from ebformer.lab.figures.fielddata_tables import against_tables, drift_tables, p_value_tables, score_tables
from ebformer.tables.files import check_apart, check_folder

FILES = click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
DATA_DIR = click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Folder of the data files.  [default: $EBFORMER_DATA]"
)


def scoring_options(load: Callable[..., list[Holdout]], splits: bool = False) -> Callable[..., None]:
    """Give a command that loads holdouts the options that score them, and do so.

    `splits` says that its cases are random splits of one table: tests would take them for independent tables.
    """

    @click.option("--estimators", metavar="NAMES", help="Methods, comma-separated.  [default: all but minimax]")
    @click.option(
        "--error",
        type=click.Choice(ERRORS),
        help="The error to rank, test and draw by.  [default: each]",
    )
    @click.option(
        "--against",
        "published",
        type=click.Path(exists=True, dir_okay=False),
        help="Compare with these scores, case by case: a CSV with data, case, estimator, rmse_improvement and "
        "mae_improvement (with --error, one of the two), such as -o writes.",
    )
    @click.option(
        "--thinned", is_flag=True, help="Split the first counts in two at random, instead of predicting the later ones."
    )
    @click.option(
        "--drift",
        "with_drift",
        is_flag=True,
        help="Predict with rates that move instead: by a typical drift, and by one learnt from earlier cases.",
    )
    @click.option("--jobs", type=int, default=os.cpu_count(), show_default=True, help="Processes to use.")
    @click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write every score as CSV.")
    @click.option(
        "--figure", type=click.Path(dir_okay=False, path_type=Path), help="Draw the scores (.png, .svg or .pdf)."
    )
    def scored(
        estimators: str | None,
        error: str | None,
        published: str | None,
        thinned: bool,
        with_drift: bool,
        jobs: int,
        output: Path | None,
        figure: Path | None,
        **options: Any,
    ) -> None:
        check_outputs(output, figure, [*options.get("files", ()), options.get("file"), published])
        if thinned and published is not None:
            raise InputError(
                "--against pairs scores of the second look, which --thinned leaves out: give one of the two"
            )
        if with_drift and figure is not None:
            raise InputError("--figure draws scores without drift: give --drift or --figure")
        methods, errors = chosen(estimators), ERRORS if error is None else (error,)
        if figure is not None:
            from ebformer.lab.figures.fielddata_figures import drawn, violins
            from ebformer.report.style import write_figure

            drawn(methods)  # now, not after the work
        holdouts = load(**options)
        if not holdouts:
            raise InputError("there is nothing to score: no unit in the files is of the kind asked for in both counts")
        holdouts = halved(holdouts) if thinned else holdouts
        if estimators is None and any(one.tally.common is None for one in holdouts):
            kinds = {one.channel.name for one in holdouts}
            methods = {
                name: method
                for name, method in methods.items()
                if method.unequal_known and kinds.issubset(method.channels)
            }
        theirs: list[Loss] = []
        if published is not None:
            theirs = read_published(published, (one.key for one in holdouts), published_errors(errors))
        if with_drift:
            moved = run_moving(holdouts, methods)
            scores, printed = [loss for one in moved for loss in one.losses], drift_tables(moved)
        else:
            scores = run(holdouts, methods, jobs)
            printed = score_tables(scores, errors, splits)
            for each in errors:
                printed += [] if splits else p_value_tables(scores, each)
        if output is not None:
            write_text(output, REAL.csv(scores))
        for each in errors:
            printed += against_tables(against(scores, theirs, f"{each}_improvement"), each)
        for table in printed:
            show(table)
        if figure is not None:
            write_figure(violins(scores, *errors), figure)

    scored.__name__, scored.__doc__ = load.__name__, load.__doc__
    scored.__click_params__ = [*scored.__click_params__, *getattr(load, "__click_params__", [])]  # type: ignore[attr-defined]
    return scored


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Score methods on real data: units counted twice, where the first count predicts the second.

    Scores are gains over predicting the first count itself. The command `table` takes a table of your own. The data of
    nhl, mlb and books do not ship: docs/realdata.md says where to get them. Name the files, or put them into the folder
    of --data-dir or $EBFORMER_DATA.

    \b
    Examples:
      ebformer fielddata table mine.csv --before spring --after autumn
      ebformer fielddata classic claims
      ebformer fielddata nhl --position center --estimators mle,npmle,priorformer
    """


@command.command()
@scoring_options
@DATA_DIR
@FILES
@click.option(
    "--position", multiple=True, type=click.Choice(list(hockey.POSITIONS)), help="Repeatable.  [default: each]"
)
@click.option("--count", type=click.Choice(hockey.COUNTS), default="goals", show_default=True, help="What to predict.")
@click.option("--exposure", is_flag=True, help="Games played are the exposure of each season.")
def nhl(
    files: Sequence[Path], data_dir: Path | None, position: Sequence[str], count: str, exposure: bool
) -> list[Holdout]:
    """Hockey: a skater's season predicts the next.

    FILES are season pages of hockey-reference.com saved as CSV, named after the year in which the season ended, or
    compact tables. Without FILES, those in the folder nhl/ of the data.

    \b
    Examples:
      ebformer fielddata nhl NHL_1990.csv NHL_1991.csv NHL_1992.csv -o scores.csv
      ebformer fielddata nhl --position center --position winger --estimators npmle,priorformer
    """
    positions = dict.fromkeys(position or hockey.POSITIONS)
    return [pair for each in positions for pair in hockey.load(files, each, count, data_dir, exposure)]


@command.command()
@scoring_options
@DATA_DIR
@FILES
@click.option("--role", multiple=True, type=click.Choice(baseball.ROLES), help="Repeatable.  [default: each]")
@click.option("--triples/--no-triples", default=True, help="Whether a triple is a hit (not in the paper's pitchers).")
@click.option("--exposure", is_flag=True, help="Hits are successes out of plate appearances (compact tables only).")
def mlb(
    files: Sequence[Path], data_dir: Path | None, role: Sequence[str], triples: bool, exposure: bool
) -> list[Holdout]:
    """Baseball: hits in half a season predict the other half.

    FILES are Retrosheet event files (.EVA, .EVN) of all teams of a season, or compact tables. The postseason is left
    out. Without FILES, those in the folder mlb/ of the data.

    \b
    Examples:
      ebformer fielddata mlb 1990*.EV[AN] --role bat
      ebformer fielddata mlb --role pitch --no-triples --estimators npmle,priorformer
    """
    roles = dict.fromkeys(role or baseball.ROLES)
    return [season for each in roles for season in baseball.load(files, each, triples, data_dir, exposure)]


@command.command(name="books")
@scoring_options
@DATA_DIR
@FILES
def of_books(files: Sequence[Path], data_dir: Path | None) -> list[Holdout]:
    """Books: the words of the opening predict the rest.

    FILES are plain texts, or a table of books and then one of histograms. What Project Gutenberg put around a text is
    left out, and so are texts that are too short. Without FILES, those in the folder books/ of the data.

    \b
    Examples:
      ebformer fielddata books moby.txt alice.txt.gz --estimators gamma,npmle,priorformer
      ebformer fielddata books --data-dir ~/data --figure violins.png
    """
    return books.load(files, data_dir)


@command.command(name="classic")
@partial(scoring_options, splits=True)
@DATA_DIR
@click.argument("dataset")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the thinnings.")
def of_classic(dataset: str, data_dir: Path | None, seed: int) -> list[Holdout]:
    """A small published table, each count split in two at random.

    The split is repeated 20 times.
    DATASET is claims, accidents or horse-kicks, which ship with ebformer (see `ebformer datasets`), or a table in the
    folder classic/ of the data. A name that does not exist gets the list.

    \b
    Examples:
      ebformer fielddata classic claims
      ebformer fielddata classic horse-kicks --estimators gamma,npmle --seed 1
    """
    return classic.load(dataset, np.random.default_rng(seed), data_dir=data_dir)


@command.command(name="table")
@scoring_options
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--before", required=True, metavar="COLUMN", help="Counts to predict from.")
@click.option("--after", required=True, metavar="COLUMN", help="Counts to predict.")
@click.option("--ratio", type=float, default=1.0, show_default=True, help="Exposure of AFTER over that of BEFORE.")
@click.option("--exposure-before", metavar="COLUMN", help="Exposures of the counts to predict from, where they differ.")
@click.option("--exposure-after", metavar="COLUMN", help="Exposures of the counts to predict, where they differ.")
def of_table(
    file: Path,
    before: str,
    after: str,
    ratio: float,
    exposure_before: str | None,
    exposure_after: str | None,
) -> list[Holdout]:
    """Two columns of your own table (CSV or Parquet), one row per unit.

    With exposures, errors are those of rates, and units count by the exposure of their second look.

    \b
    Examples:
      ebformer fielddata table mine.csv --before spring --after autumn --estimators gamma,npmle,priorformer
      ebformer fielddata table skaters.csv --before goals_1990 --exposure-before games_1990
          --after goals_1991 --exposure-after games_1991
    """
    return [Holdout.from_table(file, before, after, ratio, exposure_before, exposure_after)]


@command.command(name="all")
@scoring_options
@DATA_DIR
@click.option("--exposure", is_flag=True, help="Hockey and baseball once more with games and plate appearances known.")
def everything(data_dir: Path | None, exposure: bool) -> list[Holdout]:
    """All of hockey, baseball and books, as in section 6 of the paper.

    \b
    Examples:
      ebformer fielddata all -o scores.csv --figure violins.png
      ebformer fielddata all --data-dir ~/data --estimators npmle,priorformer --thinned
      ebformer fielddata all --estimators priorformer --drift --exposure
    """
    found = []
    for known in (False, True)[: 1 + exposure]:
        for position in hockey.POSITIONS:
            found += hockey.load((), position, data_dir=data_dir, exposure=known)
        for role in baseball.ROLES:
            found += baseball.load((), role, data_dir=data_dir, exposure=known)
    return found + books.load((), data_dir)


def halved(holdouts: Sequence[Holdout]) -> list[Holdout]:
    """The first look of the same units, thinned into two: what moved between the two looks no longer counts.

    Each case has a seed of its own, so that its split does not depend on what else is scored.
    """
    return [
        Holdout.thinned(
            one.tally,
            0.5,
            np.random.default_rng(crc32(f"{one.data}, {one.case}".encode())),
            f"{one.data}, thinned",
            one.case,
        )
        for one in holdouts
    ]


def check_outputs(output: Path | None, figure: Path | None, inputs: Sequence[str | Path | None]) -> None:
    """Complain now, not after the work, about files that cannot be written or that would replace another."""
    outputs = [str(path) for path in (output, figure) if path is not None]
    for path in outputs:
        check_folder(path)
    check_apart(outputs, inputs)
    if figure is not None:
        check_picture(figure)


def run(holdouts: Sequence[Holdout], methods: Mapping[str, Estimator], jobs: int) -> list[Loss]:
    """Score with a progress bar on stderr."""
    scores: list[Loss] = []
    with progress("Scoring", lambda: len(scores) / len(methods), len(holdouts)):
        for batch in evaluate(holdouts, methods, min(jobs, len(holdouts))):
            scores += batch
    return scores


def run_moving(holdouts: Sequence[Holdout], methods: Mapping[str, Estimator]) -> list[Moved]:
    """The same with rates that move."""
    moved: list[Moved] = []
    with progress("Moving", lambda: len(moved) / len(methods), len(holdouts)):
        for one in moving(holdouts, methods):
            moved.append(one)
    return moved


def chosen(names: str | None) -> dict[str, Estimator]:
    """The methods named, or all; the MLE is always among them, since every gain is measured from it.

    Unless it is named, minimax stays out: it does not learn from the counts, and solves a game anew for every maximum.
    """
    from ebformer.channels import POISSON
    from ebformer.estimators.catalogue import serving, typed

    wanted = comma_separated(names) if names else [name for name in serving(POISSON) if name != "minimax"]
    return {name: typed(name) for name in dict.fromkeys(["mle", *wanted])}
