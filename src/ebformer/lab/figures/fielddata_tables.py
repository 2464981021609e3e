"""Tables of real-data scores: gain over the MLE, ranking, prediction, tests, difference from published scores."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ebformer.estimators.catalogue import CLASSICAL
from ebformer.lab.arena.losses import Loss
from ebformer.lab.arena.paired_t import show_p
from ebformer.lab.arena.summary import Interval
from ebformer.lab.fielddata.moving import Moved
from ebformer.lab.fielddata.summary import ERRORS, Against, means, paired_tests, rankings
from ebformer.report.text_table import TextTable


def score_tables(scores: Sequence[Loss], errors: Sequence[str] = ERRORS, splits: bool = False) -> list[TextTable]:
    """One table per data set, one row per method, ranked by each of the errors.

    `splits` says that the cases of a data set are random splits of one table, and not a sample of tables.
    """
    rmse, mae = means(scores, "rmse_improvement"), means(scores, "mae_improvement")
    log_score, coverage, seconds = (means(scores, column) for column in ("log_score", "coverage", "seconds"))
    strength = {error: rankings(scores, error) for error in errors}
    tables = []
    for data, methods in rmse.items():
        rows = [
            (
                name,
                show_interval(rmse[data][name]),
                show_interval(mae[data][name]),
                *(f"{strength[error][data][name]:.2f}" for error in errors),
                _known(log_score[data][name].mean, ".4f"),
                _known(coverage[data][name].mean, ".3f"),
                f"{1000 * seconds[data][name].mean:.1f}",
            )
            for name in methods
        ]
        cases = next(iter(methods.values())).units
        spread = f"mean of {cases} {'random splits of one table' if splits else 'cases'} with 95 % interval"
        notes = [f"P-L {error.upper()}: Plackett-Luce, {strength[error][data].note}." for error in errors]
        notes.append("Coverage is that of 90 % predictive intervals.")
        if splits:
            notes.append(f"{cases} random splits of one table: intervals tell of the splitting alone.")
        tables.append(
            TextTable(
                f"{data}: percent better than MLE, {spread if cases > 1 else 'one case'}",
                ("method", "RMSE", "MAE", *(f"P-L {error.upper()}" for error in errors), "log score", "coverage", "ms"),
                tuple(rows),
                tuple(notes),
            )
        )
    return tables


def drift_tables(moved: Sequence[Moved]) -> list[TextTable]:
    """One table per data set: each method without drift, with a typical one and with one learnt from earlier cases.

    The last compares data sets that were scored with exposures and without, where there are such.
    """
    tables = []
    by_data: dict[str, list[Moved]] = {}
    for one in moved:
        by_data.setdefault(one.kinds["none"].data, []).append(one)
    for data, here in by_data.items():
        rows = []
        for name in dict.fromkeys(one.kinds["none"].estimator for one in here):
            of = [one for one in here if one.kinds["none"].estimator == name]
            for kind in of[0].kinds:
                scores = [one.kinds[kind] for one in of]
                columns = ("rmse_improvement", "mae_improvement", "log_score", "coverage")
                rmse, mae, log_score, coverage = (means(scores, column)[data][name] for column in columns)
                shown = show_interval(rmse), show_interval(mae), f"{log_score.mean:.4f}", f"{coverage.mean:.3f}"
                rows.append((name, kind, *shown))
        last = here[-1].learnt
        count = len({one.kinds["none"].case for one in here})
        tables.append(
            TextTable(
                f"{data}: percent better than MLE with rates that move, {count} case{'s'[: count != 1]}",
                ("method", "drift", "RMSE", "MAE", "log score", "coverage"),
                tuple(rows),
                (
                    f"Learnt from the cases before each; in the end pull {last.pull:.2f}, fade {last.fade:.2f}, "
                    f"jump {last.jump:.2f}, trend {last.trend:+.2f}.",
                ),
            )
        )
    return tables + _playing_time(by_data)


def _playing_time(by_data: dict[str, list[Moved]]) -> list[TextTable]:
    """How much of what moves is exposure: data sets with and without it, by the first method."""
    rows = []
    for data, here in by_data.items():
        plain = by_data.get(data.partition(" per ")[0], [])
        if " per " in data and plain:
            pair = [
                [one for one in some if one.kinds["none"].estimator == some[0].kinds["none"].estimator]
                for some in (plain, here)
            ]
            ends = [some[-1].learnt for some in pair]
            rmse = [sum(one.count_rmse for one in some) / len(some) for some in pair]
            shown = [
                f"{before:.2f} -> {after:.2f}"
                for before, after in (rmse, [d.pull for d in ends], [d.jump for d in ends])
            ]
            rows.append((data, *shown, f"{1 - ends[1].jump / ends[0].jump:.0%}" if ends[0].jump > 0 else "-"))
    if not rows:
        return []
    title = "What of the movement is playing time: without exposures -> with those of both looks"
    return [TextTable(title, ("data", "RMSE of counts", "pull", "jump", "jump explained"), tuple(rows), ())]


def p_value_tables(scores: Sequence[Loss], error: str = "rmse") -> list[TextTable]:
    """One table per network: one-sided p-values of paired t-tests against the classical methods, by data set."""
    names = list(dict.fromkeys(score.estimator for score in scores))
    rivals = [name for name in names if name in CLASSICAL]
    tables = []
    for network in (name for name in names if name not in CLASSICAL):
        found = paired_tests(scores, [network], rivals, error)
        tables.append(
            TextTable(
                f"{network}: one-sided p-values (paired t), small where its {error.upper()} is lower than that of",
                ("data", *rivals),
                tuple((data, *(show_p(test) for test in tests)) for data, tests in found.items()),
            )
        )
    return tables


def against_tables(rows: Sequence[Against], error: str = "rmse") -> list[TextTable]:
    """One table per data set: our percent improvement minus theirs, paired by case; ours down, theirs across."""
    tables = []
    for data, of_data in groupby(rows, key=lambda row: row.data):
        cells = {(row.ours, row.theirs): row for row in of_data}
        ours, theirs = (list(dict.fromkeys(pair[side] for pair in cells)) for side in (0, 1))
        cases = next(iter(cells.values())).difference.units
        tables.append(
            TextTable(
                f"{data}: {error.upper()} improvement, ours minus theirs, {cases} case{'s'[: cases != 1]} in common",
                ("ours", *theirs),
                tuple((name, *(_marked(cells[name, other]) for other in theirs)) for name in ours),
                ("! marks what is below zero beyond the 95 % interval.",),
            )
        )
    return tables


def show_interval(of: Interval, sign: str = "") -> str:
    """The mean and half of the interval's width; a bar where no mean is known, as gains over an MLE without error.

    >>> show_interval(Interval(1.234, 1.0, 1.5, 20), sign="+")
    '+1.23 ± 0.25'
    """
    if of.mean != of.mean:
        return "-"
    mean = round(of.mean, 2) + 0.0  # so that what rounds to zero has no minus
    return f"{mean:{sign}.2f}" + ("" if of.units < 2 else f" ± {of.half_width:.2f}")


def _marked(row: Against) -> str:
    return f"{show_interval(row.difference, '+')} {'!' if row.below else ' '}"


def _known(number: float, shape: str) -> str:
    return "" if number != number else format(number, shape)
