"""The options that commands about tables share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any

import click

from ebformer.cli.named import NamedColumns, number_unless_named
from ebformer.cli.typed import Number, WholeNumber

Command = Callable[..., Any]


def _options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator; help lists them in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _as_named(command: Command) -> Command:
    """Hands over the names of columns as one `NamedColumns`."""

    @wraps(command)
    def handed(**given: Any) -> Any:
        names = {field.name: given.pop(field.name) for field in fields(NamedColumns) if field.name in given}
        return command(named=NamedColumns(**names), **given)

    return handed


def _as_wanted(command: Command) -> Command:
    """Hands over what to answer with as one `Wanted`."""

    @wraps(command)
    def handed(**given: Any) -> Any:
        from ebformer.tables.wanted import Wanted

        asked = {field.name: given.pop(field.name) for field in fields(Wanted) if field.name in given}
        return command(wanted=Wanted(**asked), **given)

    return handed


_missing = click.option(
    "--missing",
    type=click.Choice(["error", "keep"]),
    default="error",
    show_default=True,
    help="Rows with a missing entry: stop with an error, or go on and leave them without answers.",
)

_kinds = [
    click.option("--count", metavar="COLUMN", help="The counts. May be left out if only one column can hold them."),
    click.option(
        "--exposure",
        metavar="COLUMN",
        help="How long each row was watched (games, policy years), or its expected count; a column, or one number for "
        "all rows.  [default: 1]",
    ),
    click.option(
        "--trials", metavar="COLUMN", help="Counts are successes out of so many trials; a column, or one number."
    ),
    click.option("--effect", metavar="COLUMN", help="Effects instead of counts; they need --se."),
    click.option("--se", metavar="COLUMN", help="The standard errors of effects; a column, or one number."),
    click.option(
        "--zeros",
        type=click.Choice(["missing"]),
        help="Counts are those of units that enter the table only with at least one event.",
    ),
]

_unit = click.option(
    "--unit", metavar="COLUMN", help="Add up the rows of each unit first, such as the days of an item."
)

look = click.option(
    "--look",
    metavar="COLUMN",
    help="Rows are looks at units, such as seasons: the last look is answered, and earlier ones of a --unit count as "
    "much as rates kept of them. How rates move is learnt from the looks, unless --drift says it.",
)
"""--look, for a command that has --unit."""

columns = _options(*_kinds, _unit, _missing, _as_named)
"""What the columns of a table are, and --missing; with --group, if a command has it, one `named`."""

columns_of_fit = _options(
    *(
        click.option(f"--{word}", metavar="COLUMN", help=f"The {what}, if the column has another name than in the fit.")
        for word, what in {
            "count": "counts",
            "exposure": "exposures",
            "trials": "trials",
            "effect": "effects",
            "se": "standard errors",
            "group": "groups",
            "unit": "units",
        }.items()
    ),
    _as_named,
)
"""The same, and --group, where a fit has named them already."""

fitting = _options(
    click.option("--group", metavar="COLUMN", help="Groups; each is fitted separately, with a prior of its own."),
    click.option(
        "--pool",
        is_flag=True,
        help="Let groups learn from each other: their priors lie around a common one, as closely as the rows tell.",
    ),
    click.option(
        "--neighbours",
        metavar="PAIRS.csv",
        help="A table whose first two columns are groups that lie side by side: each learns from those near it first.",
    ),
    click.option(
        "--method",
        metavar="METHOD",
        help="One of those that `ebformer methods` lists, or the weights of a network of yours, such as "
        "mine.safetensors.  [default: priorformer, or npmle-em with --zeros]",
    ),
)
"""--group, --pool, --neighbours and --method."""

covariates = _options(
    click.option(
        "--covariates",
        metavar="COLUMNS",
        help="Columns that tell about the rate, such as age,position: rates are pulled towards what these let expect "
        "of each row. Adds expected.",
    ),
    click.option(
        "--regression",
        type=click.Choice(["trees", "linear"]),
        help="How covariates tell: by boosted trees and a line, or by a line alone.  [default: trees]",
    ),
)
"""--covariates and --regression, of `named`."""

_interval = click.option(
    "--interval",
    metavar="LEVEL",
    type=Number(min=0, max=1, min_open=True, max_open=True),
    help="Level of the intervals, such as 0.95.  [default: 0.9 if the method gives intervals]",
)

_questions = _options(
    _interval,
    click.option(
        "--future",
        metavar="EXPOSURE",
        callback=lambda context, option, text: number_unless_named(text, []),
        help="Add predicted, the next count over this much exposure (or out of so many trials, or the next effect with "
        "this standard error), and its interval; a number, or the column that has each unit's own.",
    ),
    click.option(
        "--drift",
        metavar="FILE",
        help="How rates move until then: what `ebformer drift` learnt, or typical. Adds predicted_still, without it.",
    ),
    click.option(
        "--above",
        metavar="RATE",
        help="Add p_above, the probability that the rate is above RATE: a number, or 1.5x for 1.5 times the mean.",
    ),
    click.option("--below", metavar="RATE", help="Add p_below, the probability that the rate is below RATE."),
    click.option(
        "--null",
        metavar="EFFECT",
        help="Add lfsr, the probability that an effect is not on the side of EFFECT, such as 0, on which it seems to "
        "be.",
    ),
    click.option(
        "--fdr",
        metavar="SHARE",
        type=Number(min=0, max=1, min_open=True, max_open=True),
        help="Add selected: the longest list, of those --above, --below or with the right sign, of which no more than "
        "this share is expected to be wrong.",
    ),
    click.option(
        "--per",
        metavar="NUMBER",
        type=Number(min=0, min_open=True),
        help="Give rates, and take bars, per so much exposure, or so many trials, such as 1000.",
    ),
    click.option(
        "--top",
        metavar="M",
        type=WholeNumber(min=1),
        help="Add expected_rank (1 is the highest rate), p_top, the probability of being among the M highest, and "
        "grade: ranks that can be told apart.",
    ),
)

questions = _options(_questions, _as_wanted)
"""--interval, --future, --drift, --top and what decisions need; one `wanted`."""

answers = _options(
    _questions,
    click.option(
        "-o",
        "--output",
        metavar="FILE",
        help="Where to write: .csv, .tsv (either may end in .gz) or .parquet; - for standard output.",
    ),
    _as_wanted,
)
"""The same questions, and --output."""

label = click.option(
    "--label",
    metavar="COLUMN",
    help="The column that names the units; with --unit they keep it.  [default: the likeliest one]",
)
"""--label."""
