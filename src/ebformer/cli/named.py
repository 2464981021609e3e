"""What options name in files: the columns of a table, those that its units are called by, and pairs of neighbours."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from ebformer.cli.saying import say
from ebformer.cli.typed import comma_separated
from ebformer.errors import InputError

if TYPE_CHECKING:
    from ebformer.regression import Kind
    from ebformer.tables.columns import Columns, Missing
    from ebformer.tables.files import TableFile


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
        from ebformer.expectation import Covariates
        from ebformer.tables.columns import NO_ROWS, Columns, check_unambiguous, only_count_column

        known = {word: getattr(self, word) for word in ("exposure", "trials", "se")}
        words = {word: number_unless_named(text, file.table.names) for word, text in known.items()}
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


def number_unless_named(text: str | None, names: list[str]) -> str | float | None:
    """A column where there is one of this name, else the number that the text is, for all rows."""
    if text is None or text in names:
        return text
    try:
        return float(text)
    except ValueError:
        return text


def keeping(columns: Columns, file: TableFile, *labels: str | None) -> Columns:
    """The columns, with those that name units carried along; an `InputError` where the table has none of this name."""
    names, carried = file.table.names, tuple(name for name in labels if name is not None)
    for name in carried:
        if name not in names:
            raise InputError(f"there is no column {name!r} to name units by: choose among {', '.join(names)}")
    return replace(columns, carried=carried)


def pairs_in(path: str | None) -> list[tuple[str, str]] | None:
    """The first two columns of a file of neighbours, where one is named."""
    if path is None:
        return None
    from ebformer.tables.files import open_table

    with open_table(path) as opened:
        if len(opened.header) < 2:
            raise InputError(f"{path} has one column: give pairs of neighbours in two")
        return [(str(a), str(b)) for a, b, *_ in opened.table.rows.fetchall()]
