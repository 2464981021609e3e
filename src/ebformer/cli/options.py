"""What commands share: the options of those about tables, lists that are typed, and remarks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ebformer.estimators.catalogue import DEFAULT

if TYPE_CHECKING:
    from ebformer.tables.columns import Columns
    from ebformer.tables.files import TableFile

Command = TypeVar("Command", bound=Callable[..., Any])


def _options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator; help lists them in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


missing = click.option(
    "--missing",
    type=click.Choice(["error", "keep"]),
    default="error",
    show_default=True,
    help="Rows with a missing entry: stop with an error, or keep them without answers.",
)

columns = _options(
    click.option("--count", metavar="COLUMN", help="The counts. May be left out if only one column can hold them."),
    click.option(
        "--exposure",
        metavar="COLUMN",
        help="How long each row was watched (games, policy years), or its expected count.  [default: 1 for all]",
    ),
    missing,
)
"""--count, --exposure and --missing."""

fitting = _options(
    click.option("--group", metavar="COLUMN", help="Groups; each is fitted separately, with a prior of its own."),
    click.option("--method", default=DEFAULT, show_default=True, help="One of those that `ebformer methods` lists."),
)
"""--group and --method."""

interval = click.option(
    "--interval",
    metavar="LEVEL",
    type=click.FloatRange(min=0, max=1, min_open=True, max_open=True),
    help="Level of the intervals, such as 0.95.  [default: 0.9 if the method gives intervals]",
)

answers = _options(
    interval,
    click.option(
        "--future",
        metavar="EXPOSURE",
        type=click.FloatRange(min=0, min_open=True),
        help="Add predicted, the next count over this much exposure, and its interval.",
    ),
    click.option(
        "--above",
        metavar="RATE",
        type=click.FloatRange(min=0),
        help="Add p_above, the probability that the rate is above RATE.",
    ),
    click.option(
        "--top",
        metavar="M",
        type=click.IntRange(min=1),
        help="Add expected_rank (1 is the highest rate) and p_top, the probability of being among the M highest.",
    ),
    click.option(
        "-o",
        "--output",
        metavar="FILE",
        help="Where to write: .csv, .tsv (either may end in .gz) or .parquet; - for standard output.",
    ),
)
"""--interval, --future, --above, --top and --output."""


def columns_of(file: TableFile, count: str | None, exposure: str | None = None, group: str | None = None) -> Columns:
    """The columns named; without a count, the only column that can hold one, which is then said aloud."""
    from ebformer.errors import InputError
    from ebformer.tables.columns import NO_ROWS, Columns, the_candidate, told_apart

    if count is None:
        candidates = [name for name in file.table.whole_number_columns() if name not in (exposure, group)]
        if not candidates and not file.table.rows.limit(1).fetchall():
            raise InputError(NO_ROWS)
        count = the_candidate(candidates, file.table.names)
        say(f"reading counts from column {count!r}")
    told_apart((count, exposure, group), file.header)
    return Columns(count, exposure, group)


def comma_separated(text: str) -> list[str]:
    """The entries of a list that was typed, with or without spaces.

    >>> comma_separated("npmle, gamma")
    ['npmle', 'gamma']
    """
    return [entry.strip() for entry in text.split(",")]


def counted(number: int, what: str) -> str:
    """So many of something, in words that agree.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def say(sentence: str) -> None:
    """A remark on standard error, so that standard output holds nothing but the table."""
    click.echo(f"ebformer: {sentence}", err=True)


def say_missing(rows: int, fate: str) -> None:
    """What became of rows with a missing entry, where there are any."""
    if rows:
        say(f"{fate}: {counted(rows, 'row')} with a missing entry")
