"""`ebformer drift`: learn from an earlier period how rates move from one look to the next."""

from __future__ import annotations

import click

from ebformer.cli import options


@click.command()
@click.argument("history")
@click.option("--before", required=True, metavar="COLUMN", help="What was observed first.")
@click.option("--after", required=True, metavar="COLUMN", help="What was observed of the same unit later.")
@click.option("--exposure-before", metavar="COLUMN", help="Exposures of the first look, such as games.")
@click.option("--exposure-after", metavar="COLUMN", help="Exposures of the second look.")
@click.option("--trials-before", metavar="COLUMN", help="Trials of the first look: what was observed are successes.")
@click.option("--trials-after", metavar="COLUMN", help="Trials of the second look.")
@click.option("--se-before", metavar="COLUMN", help="Standard errors of the first look: what was observed are effects.")
@click.option("--se-after", metavar="COLUMN", help="Standard errors of the second look.")
@click.option("--look", metavar="COLUMN", help="Which pair of looks a row is of, such as its season; each has a prior.")
@click.option("--method", metavar="NAME", help="How first looks are fitted.  [default: the one for such data]")
@click.option("-o", "--output", metavar="FILE", help="Where to save what was learnt, as JSON.")
@click.option("--figure", metavar="FILE", help="Draw it (.png, .svg or .pdf).")
def command(
    history: str,
    before: str,
    after: str,
    look: str | None,
    method: str | None,
    output: str | None,
    figure: str | None,
    **known: str | None,
) -> None:
    """Learn from HISTORY, a table of units that were seen twice, how rates move.

    What it learns is for `ebformer estimate --future ... --drift drift.json`: predictions then allow for regression to
    the mean, for rates that jump and for a common trend. Without exposures, playing time is part of what moves.

    \b
    Examples:
      ebformer drift seasons.csv --before goals_2010 --after goals_2011 -o drift.json
      ebformer drift pairs.csv --before x --after y --exposure-before gp_x --exposure-after gp_y --look season
    """
    from ebformer.drift import Drift
    from ebformer.errors import InputError
    from ebformer.looks import Looks
    from ebformer.tables.arrays import read_columns
    from ebformer.tables.files import check_folder

    for path in (output, figure):
        if path is not None:
            check_folder(path)
    if figure is not None:
        options.check_picture(figure)
    named = {name: column for name, column in known.items() if column is not None}
    words = sorted({name.partition("_")[0] for name in named})
    if len(words) > 1:
        raise InputError(f"columns of {' and of '.join(words)} were named: name those of one kind of observation")
    first, second = (named.get(f"{words[0]}_{when}") if words else None for when in ("before", "after"))
    if words and None in (first, second):
        if words[0] != "exposure":
            raise InputError(f"the {words[0]} of one look are missing: name --{words[0]}-before and --{words[0]}-after")
        options.say(f"no exposures of the {'second' if first else 'first'} look are named: each is taken to be 1")
    columns = read_columns([history], dict.fromkeys(name for name in (before, after, first, second, look) if name))
    keys = columns[look].astype(str) if look else None
    looks = []
    for key in sorted(set(keys.tolist())) if keys is not None else [None]:
        rows = slice(None) if keys is None else keys == key
        about = {words[0]: columns[first][rows]} if words and first else {}
        ahead = columns[second][rows] if second else None
        looks.append(Looks.of(columns[before][rows], columns[after][rows], future=ahead, channel=None, **about))
    drift = Drift.learn(looks, method)
    for sentence in drift.sentences(looks[0].channel):
        click.echo(sentence)
    if output is not None:
        drift.save(output)
        options.say(f"wrote {output}")
    if figure is not None:
        from ebformer.report.drift_figure import moves
        from ebformer.report.style import write_figure

        write_figure(moves(drift, looks, method), figure)
