"""The arena's tables as the paper prints them: one row per world and size, one column per estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ebformer.lab.arena.losses import Loss
from ebformer.lab.arena.paired_t import paired_t, show_p
from ebformer.lab.arena.plackett_luce import plackett_luce
from ebformer.lab.arena.summary import Cell, Paired, interval, pair, ranks
from ebformer.lab.arena.timing import Timing
from ebformer.report.text_table import TextTable


def mean_table(losses: Iterable[Loss]) -> TextTable:
    """Mean regrets with the half width of their 95 % intervals over priors."""

    def row(paired: Paired, name: str) -> str:
        found = interval(paired[name])
        half = "" if np.isnan(found.low) else f" ±{found.half_width:.2g}"
        return "-" if np.isnan(found.mean) else f"{found.mean:.4g}{half}"

    return _table("Mean regret, ± half of the 95 % interval over priors", pair(losses), row)


def rank_table(losses: Iterable[Loss]) -> TextTable:
    """Mean rank over priors, 1 for the lowest regret."""
    return _table(
        "Mean rank by regret (1 is best)",
        pair(losses),
        lambda paired, name: f"{ranks(paired)[:, paired.estimators.index(name)].mean():.2f}",
    )


def p_value_table(losses: Iterable[Loss], challenger: str) -> TextTable:
    """One-sided paired p-values: small where the challenger's mean regret is below that of the column's estimator."""
    return _table(
        f"p-values of the paired t-test that {challenger} has the lower regret, over priors",
        pair(losses),
        lambda paired, name: show_p(paired_t(paired, challenger, name)),
        leave_out=(challenger,),
    )


def difference_table(losses: Iterable[Loss], challenger: str) -> TextTable:
    """Mean paired difference challenger - rival with its 95 % interval, in percent of the rival's mean."""

    def row(paired: Paired, name: str) -> str:
        found = paired_t(paired, challenger, name).difference
        if not paired[name].any():
            return "-"  # the minimax rule on its own prior: nothing can be a percentage of 0
        scale = 100 / float(paired[name].mean())
        spread = f" ±{scale * found.half_width:.1f}" if found.units > 1 else ""
        return f"{scale * found.mean:+.1f} %{spread}"

    title = f"Regret of {challenger} against each, paired by prior (negative is better)"
    return _table(title, pair(losses), row, leave_out=(challenger,))


def plackett_luce_table(losses: Iterable[Loss], reference: str = "mle") -> TextTable:
    """Plackett-Luce coefficients with the reference at 0; an asterisk where they are not identified."""
    tables = pair(losses)
    fits = {paired: plackett_luce(paired, reference) for paired in tables.values()}
    notes = [
        f"* {cell.world} {cell.n}: {fits[paired].note}."
        for cell, paired in tables.items()
        if not fits[paired].identified
    ]

    def row(paired: Paired, name: str) -> str:
        fit = fits[paired]
        return f"{fit[name]:.3f}{'' if fit.identified else '*'}"

    title = f"Plackett-Luce coefficients by regret ({reference} at 0, higher is better)"
    return _table(title, tables, row, leave_out=(reference,), notes=notes)


def timing_table(timings: Sequence[Timing]) -> TextTable:
    """Median seconds per data set, one row per size."""
    names = tuple(dict.fromkeys(timing.estimator for timing in timings))
    seconds = {(timing.n, timing.estimator): timing.seconds for timing in timings}
    rows = tuple(
        (f"{n:,}", *(f"{1000 * seconds[n, name]:.3g}" for name in names))
        for n in dict.fromkeys(timing.n for timing in timings)
    )
    return TextTable("Median milliseconds per data set, one thread, warm", ("n", *names), rows)


def _table(
    title: str,
    tables: dict[Cell, Paired],
    cell_text: Callable[[Paired, str], str],
    leave_out: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> TextTable:
    names = tuple(dict.fromkeys(name for paired in tables.values() for name in paired.estimators))
    names = tuple(name for name in names if name not in leave_out)
    rows = tuple(
        (f"{cell.world} {cell.n}", *(cell_text(paired, name) if name in paired.estimators else "-" for name in names))
        for cell, paired in tables.items()
    )
    units = sorted({len(paired.cases) for paired in tables.values()})
    counted = (f"{units[0]} to " if len(units) > 1 else "") + f"{units[-1]} prior{'s'[: units[-1] != 1]}"
    return TextTable(f"{title}; {counted}", ("world, n", *names), rows, tuple(notes))
