"""`ebformer compare`: which method predicts best on this table."""

from __future__ import annotations

from math import isnan

import click

from ebformer.cli import options, terminal
from ebformer.cli.named import NamedColumns
from ebformer.cli.saying import say, say_missing
from ebformer.cli.typed import WholeNumber, comma_separated


@click.command()
@click.argument("file")
@options.columns
@click.option("--methods", metavar="NAMES", help="Methods to compare, comma-separated.  [default: all]")
@click.option(
    "--seed", metavar="NUMBER", type=WholeNumber(min=0), default=0, show_default=True, help="Seed of the random parts."
)
def command(file: str, named: NamedColumns, methods: str | None, seed: int) -> None:
    """Find the method that predicts best on FILE, by five-fold thinning.

    Every event (or trial, or effect) is put into one of five parts at random. Each method is fitted to four parts and
    predicts the fifth. The methods are listed best first: by risk or, below a thousand units, by log score, which then
    picks better.

    \b
    risk            estimated mean squared error of rates, exposure-weighted
    log score       mean log-probability of the held-out counts (methods with
                    a prior only); higher is better
    excess          how much worse than the best, by what they are ranked by
    standard error  of that difference: within two, methods may be equally good
    first           share of tables resampled from this one where it is the best

    \b
    Examples:
      ebformer compare goals.csv --count goals --exposure games
      ebformer compare goals.csv --count goals --exposure games --methods gamma,npmle,priorformer
    """
    import numpy as np

    from ebformer.comparison import compare, margin
    from ebformer.estimators.catalogue import serving, typed
    from ebformer.tables.files import open_table
    from ebformer.tables.observations import observe

    chosen = {name: typed(name) for name in comma_separated(methods)} if methods is not None else {}
    with open_table(file) as opened, terminal.watch(opened)("Reading"):
        observations = observe(opened.table, named.found_in(opened), named.missing)
        tally = observations.tallies()[None]
    chosen = chosen or serving(tally.channel)
    done: list[str] = []
    with terminal.progress("Comparing", lambda: 100.0 * len(done) / len(chosen)):
        scores = compare(tally, chosen, np.random.default_rng(seed), fitted=done.append)
    taking_part = [score for score in scores if score.refusal is None]
    terminal.show_rows(
        [
            {
                "method": score.method,
                "risk": score.risk,
                "log score": score.log_score,
                "excess": None if isnan(score.excess) else score.excess,
                "standard error": None if isnan(score.excess_se) else score.excess_se,
                "first": score.first,
            }
            for score in taking_part
        ]
    )
    if len(taking_part) > 1:
        best = taking_part[0]
        share = f"{100 * best.first:.0f} %"
        say(
            f"{best.method} predicts best on these {tally.n:,} units by {best.ranked_by}, and in {share} of "
            f"tables resampled from them{margin(scores)}"
        )
    say(tally.channel.advice.parts)
    say_missing(observations.missing, "left out")
    refused: dict[str, list[str]] = {}
    for score in scores:
        if score.refusal is not None:
            reason = score.refusal.partition(";")[0].removeprefix(f"{score.method} ")
            refused.setdefault(reason, []).append(score.method)
    for reason, names in refused.items():
        say(f"left out {', '.join(names)}: {'each ' if len(names) > 1 else ''}{reason}")
