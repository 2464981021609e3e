"""What commands share: the options of those about tables, lists that are typed, and remarks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import astuple, dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from ebformer.cli import terminal
from ebformer.estimators.catalogue import DEFAULT

if TYPE_CHECKING:
    from ebformer.tables.columns import Columns, Missing
    from ebformer.tables.files import TableFile

Command = Callable[..., Any]


@dataclass(frozen=True)
class NamedColumns:
    """What --count, --exposure, --group and --missing say."""

    count: str | None
    exposure: str | None
    group: str | None
    missing: Missing

    def or_those_of(self, columns: Columns) -> NamedColumns:
        """These, and where nothing is named the columns of a fit."""
        names = self.count or columns.count, self.exposure or columns.exposure, self.group or columns.group
        return NamedColumns(*names, self.missing)

    def found_in(self, file: TableFile) -> Columns:
        """The columns named; without a count, the only column that can hold one, which is then said aloud."""
        from ebformer.errors import InputError
        from ebformer.tables.columns import NO_ROWS, Columns, check_unambiguous, only_count_column

        count = self.count
        if count is None:
            candidates = [name for name in file.table.whole_number_columns() if name not in (self.exposure, self.group)]
            if not candidates and not file.table.rows.limit(1).fetchall():
                raise InputError(NO_ROWS)
            count = only_count_column(candidates, file.table.names)
            say(f"reading counts from column {count!r}")
        columns = Columns(count, self.exposure, self.group)
        check_unambiguous(astuple(columns), file.header)
        return columns


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
    def handed(count: str | None, exposure: str | None, missing: Missing, group: str | None = None, **rest: Any) -> Any:
        return command(named=NamedColumns(count, exposure, group, missing), **rest)

    return handed


def _as_wanted(command: Command) -> Command:
    """Hands over what to answer with as one `Wanted`."""

    @wraps(command)
    def handed(
        interval: float | None,
        future: float | None = None,
        above: float | None = None,
        top: int | None = None,
        **rest: Any,
    ) -> Any:
        from ebformer.tables.fit import Wanted

        return command(wanted=Wanted(interval, future, top, above), **rest)

    return handed


_missing = click.option(
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
    _missing,
    _as_named,
)
"""--count, --exposure and --missing; with --group, if a command has it, one `named`."""

columns_of_fit = _options(
    click.option("--count", metavar="COLUMN", help="The counts, if the column has another name than in the fit."),
    click.option("--exposure", metavar="COLUMN", help="The exposures, if the column has another name than in the fit."),
    _missing,
    click.option("--group", metavar="COLUMN", help="The groups, if the column has another name than in the fit."),
    _as_named,
)
"""The same, and --group, where a fit has named them already."""

fitting = _options(
    click.option("--group", metavar="COLUMN", help="Groups; each is fitted separately, with a prior of its own."),
    click.option("--method", default=DEFAULT, show_default=True, help="One of those that `ebformer methods` lists."),
)
"""--group and --method."""

_interval = click.option(
    "--interval",
    metavar="LEVEL",
    type=click.FloatRange(min=0, max=1, min_open=True, max_open=True),
    help="Level of the intervals, such as 0.95.  [default: 0.9 if the method gives intervals]",
)

interval = _options(_interval, _as_wanted)
"""--interval; one `wanted`."""

answers = _options(
    _interval,
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
    _as_wanted,
)
"""--interval, --future, --above and --top; one `wanted`. And --output."""


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
