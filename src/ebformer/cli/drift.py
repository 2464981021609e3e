"""`ebformer drift`: learn from an earlier period how rates move from one look to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ebformer.cli.named import NamedColumns
from ebformer.cli.saying import say
from ebformer.cli.typed import check_picture

if TYPE_CHECKING:
    from ebformer.looks import Looks


@click.command()
@click.argument("history")
@click.option("--before", required=True, metavar="COLUMN", help="What was observed first; with --unit, at every look.")
@click.option("--after", metavar="COLUMN", help="What was observed of the same unit later.")
@click.option("--exposure-before", metavar="COLUMN", help="Exposures of the first look, such as games.")
@click.option("--exposure-after", metavar="COLUMN", help="Exposures of the second look.")
@click.option("--trials-before", metavar="COLUMN", help="Trials of the first look: what was observed are successes.")
@click.option("--trials-after", metavar="COLUMN", help="Trials of the second look.")
@click.option("--se-before", metavar="COLUMN", help="Standard errors of the first look: what was observed are effects.")
@click.option("--se-after", metavar="COLUMN", help="Standard errors of the second look.")
@click.option("--look", metavar="COLUMN", help="Which pair of looks a row is of, such as its season; each has a prior.")
@click.option(
    "--unit",
    metavar="COLUMN",
    help="A row is one look at a unit, and --look says which: two looks in a row are a pair. Then there is no --after.",
)
@click.option("--method", metavar="METHOD", help="How first looks are fitted.  [default: the one for such data]")
@click.option("-o", "--output", metavar="FILE", help="Where to save what was learnt, as JSON.")
@click.option("--figure", metavar="FILE", help="Draw it (.png, .svg or .pdf).")
def command(
    history: str,
    before: str,
    after: str | None,
    look: str | None,
    unit: str | None,
    method: str | None,
    output: str | None,
    figure: str | None,
    **known: str | None,
) -> None:
    """Learn from HISTORY, a table of units that were seen twice or more, how rates move.

    What it learns is for `ebformer estimate --future ... --drift drift.json`: predictions then allow for regression to
    the mean, for rates that jump and for a common trend. Without exposures, playing time is part of what moves.

    \b
    Examples:
      ebformer drift history.csv --before goals_2010 --after goals_2011 -o drift.json
      ebformer drift pairs.csv --before x --after y --exposure-before gp_x --exposure-after gp_y --look season
      ebformer drift seasons.csv --unit player --look season --before goals --exposure-before games -o drift.json
    """
    from ebformer.drift import Drift
    from ebformer.errors import InputError
    from ebformer.tables.files import check_apart, check_folder

    for path in (output, figure):
        if path is not None:
            check_folder(path)
    check_apart([output, figure], [history])
    if figure is not None:
        check_picture(figure)
    named = {name: column for name, column in known.items() if column is not None}
    words = sorted({name.partition("_")[0] for name in named})
    if len(words) > 1:
        raise InputError(f"columns of {' and of '.join(words)} were named: name those of one kind of observation")
    word = words[0] if words else "exposure"
    first, second = (named.get(f"{word}_{when}") for when in ("before", "after"))
    if unit is not None:
        if after is not None or second is not None:
            raise InputError("with --unit, what came after is in another row: name the columns of --before only")
        looks = _in_a_row(history, before, {word: first}, unit, look)
    elif after is None:
        raise InputError("what was observed later is missing: name --after, or --unit and --look of a long table")
    else:
        looks = _side_by_side(history, (before, after), word, (first, second), look)
    drift = replace(Drift.learn(looks, method), look=look)
    for sentence in drift.sentences(looks[0].channel):
        click.echo(sentence)
    if output is not None:
        drift.save(output)
        say(f"wrote {output}")
    if figure is not None:
        from ebformer.report.drift_figure import moves
        from ebformer.report.style import write_figure

        write_figure(moves(drift, looks, method), figure)


def _side_by_side(
    history: str, seen: tuple[str, str], word: str, known: tuple[str | None, str | None], look: str | None
) -> Sequence[Looks]:
    """Pairs of looks of a table that has both in a row."""
    import numpy as np

    from ebformer.errors import InputError
    from ebformer.looks import Looks
    from ebformer.tables.files import open_table
    from ebformer.tables.names import Names
    from ebformer.tables.observations import observe

    first, second = known
    if (first is None) != (second is None):
        if word != "exposure":
            raise InputError(f"the {word} of one look are missing: name --{word}-before and --{word}-after")
        say(f"no exposures of the {'second' if first else 'first'} look are named: each is taken to be 1")
    with open_table(history) as opened:
        found = []
        for x, about in zip(seen, known, strict=True):
            told: dict[str, Any] = {"effect" if word == "se" else "count": x, word: about, "group": look}
            found.append(NamedColumns(**told).found_in(opened))
            observe(opened.table, found[-1], "whole")
        named = dict.fromkeys(name for each in found for name in (each.x, each.role("known")) if name is not None)
        columns, keys = opened.table.row_by_row(list(named), look)
    which, looks = Names.of(keys).which, []
    for at in np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1]):
        before, after = (columns[name][at] for name in seen)
        then, ahead = (each.constant if (name := each.role("known")) is None else columns[name][at] for each in found)
        looks.append(Looks.of(before, after, future=ahead, channel=None, **{word: then}))
    return looks


def _in_a_row(history: str, seen: str, known: Mapping[str, str | None], unit: str, look: str | None) -> Sequence[Looks]:
    """Pairs of looks of a long table, a row per unit and look."""
    from ebformer.errors import InputError
    from ebformer.tables.files import open_table
    from ebformer.tables.histories import last_looks
    from ebformer.tables.observations import check_rows

    if look is None:
        raise InputError("rows do not say which look at a unit they are: name its column too, as --look")
    with open_table(history) as opened:
        told: dict[str, Any] = {"effect" if "se" in known else "count": seen, **known, "unit": unit, "look": look}
        columns = NamedColumns(**told).found_in(opened)
        check_rows(opened.table, columns, "whole")
        pairs = last_looks(opened.table, columns)[2].pairs
    if not pairs:
        raise InputError("no unit was seen in two looks in a row: there is nothing to learn from")
    return pairs
