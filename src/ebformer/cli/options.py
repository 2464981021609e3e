"""What commands share: the options of those about tables, lists that are typed, and remarks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ebformer.cli import terminal
from ebformer.cli.saying import say
from ebformer.errors import one_line
from ebformer.plural import counted

if TYPE_CHECKING:
    from ebformer.regression import Kind
    from ebformer.tables.columns import Columns, Missing
    from ebformer.tables.files import TableFile

Command = Callable[..., Any]
PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class NamedColumns:
    """What --count, --effect, --exposure, --trials, --se, --zeros and --group say, and --missing."""

    count: str | None = None
    effect: str | None = None
    exposure: str | None = None
    trials: str | None = None
    se: str | None = None
    zeros: str | None = None
    group: str | None = None
    unit: str | None = None
    look: str | None = None
    missing: Missing = "error"
    covariates: str | None = None
    regression: Kind | None = None

    def or_those_of(self, columns: Columns) -> NamedColumns:
        """These, and where nothing is named the columns of a fit, whose channel they cannot change."""
        from ebformer.errors import InputError

        channel = columns.channel
        sign = dict([channel.sign] if channel.sign else [])
        own = (channel.column, channel.keyword)
        for word in ("count", "effect", "exposure", "trials", "se"):
            if getattr(self, word) is not None and word not in own:
                theirs = " and ".join(f"--{each}" for each in own)
                raise InputError(f"the fit is of {channel.words.xs}, which go by {theirs}: leave out --{word}")
        known = {channel.keyword: None if columns.known is None else str(columns.known)}
        of_fit = {channel.column: columns.x, "group": columns.group, "unit": columns.unit} | known | sign
        if columns.covariates is not None:  # a saved fit finds them by their names
            of_fit |= {"covariates": ",".join(columns.covariates.names)}
        named = {name: text for name, text in asdict(self).items() if text is not None}
        return NamedColumns(**(of_fit | named))

    def found_in(self, file: TableFile, future: str | float | None = None) -> Columns:
        """The columns named; without any, the only column that can hold counts, which is then said aloud."""
        from ebformer.errors import InputError
        from ebformer.expectation import Covariates
        from ebformer.tables.columns import NO_ROWS, Columns, check_unambiguous, only_count_column

        known = {word: getattr(self, word) for word in ("exposure", "trials", "se")}
        words = {word: _number_unless_named(text, file.table.names) for word, text in known.items()}
        count = self.count
        if count is None and self.effect is None and self.se is None:
            taken = (*known.values(), self.group, self.unit, self.look, future)
            candidates = [name for name in file.table.whole_number_columns() if name not in taken]
            if not candidates and not file.table.rows.limit(1).fetchall():
                raise InputError(NO_ROWS)
            count = only_count_column(candidates, file.table.names)
            say(f"reading counts from column {count!r}")
        told = Covariates.named(self.covariates and comma_separated(self.covariates), self.regression)
        columns = Columns.named(count, self.effect, self.group, self.unit, self.look, told, zeros=self.zeros, **words)
        named = [columns.role(role) for role in columns.roles] + [future if isinstance(future, str) else None]
        check_unambiguous(named, file.header)
        return columns


def _number_unless_named(text: str | None, names: list[str]) -> str | float | None:
    """A column where there is one of this name, else the number that the text is, for all rows."""
    if text is None or text in names:
        return text
    try:
        return float(text)
    except ValueError:
        return text


def watch(file: TableFile) -> Callable[[str], AbstractContextManager[None]]:
    """What shows a progress bar, as far as DuckDB is with this file, for a task that is named."""
    return lambda task: terminal.progress(task, file.connection.query_progress)


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
        from ebformer.tables.answers import Wanted

        asked = {field.name: given.pop(field.name) for field in fields(Wanted) if field.name in given}
        return command(wanted=Wanted(**asked), **given)

    return handed


_missing = click.option(
    "--missing",
    type=click.Choice(["error", "keep"]),
    default="error",
    show_default=True,
    help="Rows with a missing entry: stop with an error, or keep them without answers.",
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
    type=click.FloatRange(min=0, max=1, min_open=True, max_open=True),
    help="Level of the intervals, such as 0.95.  [default: 0.9 if the method gives intervals]",
)

_questions = _options(
    _interval,
    click.option(
        "--future",
        metavar="EXPOSURE",
        callback=lambda context, option, text: _number_unless_named(text, []),
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
        type=click.FloatRange(min=0, max=1, min_open=True, max_open=True),
        help="Add selected: the longest list, of those --above, --below or with the right sign, of which no more than "
        "this share is expected to be wrong.",
    ),
    click.option(
        "--per",
        metavar="NUMBER",
        type=click.FloatRange(min=0, min_open=True),
        help="Give rates per so much exposure, or so many trials, such as 1000.",
    ),
    click.option(
        "--top",
        metavar="M",
        type=click.IntRange(min=1),
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


def keeping(columns: Columns, file: TableFile, *labels: str | None) -> Columns:
    """The columns, with those that name units carried along; an `InputError` where the table has none of this name."""
    from ebformer.errors import InputError

    names, carried = file.table.names, tuple(name for name in labels if name is not None)
    for name in carried:
        if name not in names:
            raise InputError(f"there is no column {name!r} to name units by: choose among {', '.join(names)}")
    return replace(columns, carried=carried)


def pairs_in(path: str | None) -> list[tuple[str, str]] | None:
    """The first two columns of a file of neighbours, where one is named."""
    if path is None:
        return None
    from ebformer.errors import InputError
    from ebformer.tables.files import open_table

    with open_table(path) as opened:
        if len(opened.header) < 2:
            raise InputError(f"{path} has one column: give pairs of neighbours in two")
        return [(str(a), str(b)) for a, b, *_ in opened.table.rows.fetchall()]


def check_picture(path: str | os.PathLike[str]) -> None:
    """Complain now, not after the work, about a picture in a format that there is not."""
    from ebformer.errors import InputError

    ending = Path(path).suffix
    if ending.lower() not in PICTURES:
        raise InputError(f"{path} ends in {ending or 'no suffix'}: name a {', '.join(PICTURES)} file")


def comma_separated(text: str) -> list[str]:
    """The entries of a list that was typed, with or without spaces.

    >>> comma_separated("npmle, gamma")
    ['npmle', 'gamma']
    """
    return [entry.strip() for entry in text.split(",")]


def whole_numbers(name: str, text: str) -> list[int]:
    """The numbers of a list that was typed.

    >>> whole_numbers("n", "128, 512")
    [128, 512]
    """
    from ebformer.errors import InputError

    try:
        return [int(entry) for entry in comma_separated(text)]
    except ValueError as error:
        raise InputError(f"{name} is {text!r}: give whole numbers separated by commas") from error


def ask(plan: str) -> None:
    """Tell what will take its time; on a terminal, stop unless it is meant."""
    if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm(f"ebformer: {one_line(plan)}: go on?", abort=True, err=True)
    else:
        say(plan)


def say_missing(rows: int, fate: str) -> None:
    """What became of rows with a missing entry, where there are any."""
    if rows:
        say(f"{fate}: {counted(rows, 'row')} with a missing entry")
