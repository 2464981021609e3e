"""Violins of the ratio of each method's error to the MLE's on real data: the figure of the paper's section 6."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ebformer.errors import InputError
from ebformer.lab.arena.losses import Loss
from ebformer.lab.arena.summary import pair_by_data
from ebformer.report.style import INK, colour, house_style, subplots, verbatim

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ebformer.lab.arena.summary import Paired

LEFT_OUT = ("mle", "robbins")
"""The MLE is the line at 1, and Robbins would stretch the axis, so the paper leaves it out too."""


def drawn(names: Iterable[str]) -> list[str]:
    """The methods that are drawn, or an `InputError` if none is."""
    kept = [name for name in names if name not in LEFT_OUT]
    if not kept:
        raise InputError(f"there is nothing to draw, since figures leave out {' and '.join(LEFT_OUT)}: add a method")
    return kept


def violins(scores: Sequence[Loss], *errors: str) -> Figure:
    """One panel per data set, one violin per method: its error over the MLE's on every case, with quartiles.

    `errors` are "rmse", "mae" or both, one below the other. Where the MLE has no error, there is no ratio to draw.
    """
    names = drawn(dict.fromkeys(score.estimator for score in scores))
    tables = [
        {
            data: gain
            for data, gain in pair_by_data(scores, f"{error}_improvement").items()
            if not np.isnan(gain.values).any()
        }
        for error in errors
    ]
    if not tables[0]:
        raise InputError("there is nothing to draw: the MLE's error is 0 in every case, and no ratio to it is known")
    columns = min(4, len(tables[0]))
    rows = -(-len(tables[0]) // columns)
    with house_style():
        width = max(2.6, 0.55 * len(names) + 1.0)
        size = (width * columns, 3.1 * rows * len(errors))
        figure, grid = subplots(rows * len(errors), columns, figsize=size, squeeze=False)
        for error, of_error, part in zip(errors, tables, np.split(grid, len(errors)), strict=True):
            for axes, (data, paired) in zip(part.flat, of_error.items(), strict=False):
                _panel(axes, data, paired, names)
            for axes in part.flat[len(of_error) :]:
                axes.set_visible(False)
            for axes in part[:, 0]:
                axes.set_ylabel(f"{error.upper()} / {error.upper()} of MLE")
        return figure


def _panel(axes: Axes, data: str, paired: Paired, names: Sequence[str]) -> None:
    at = np.arange(len(names))
    ratios = [1 - paired[name] / 100 for name in names]
    axes.axhline(1.0, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    for i, (name, ratio) in enumerate(zip(names, ratios, strict=True)):
        if np.ptp(ratio) > 0:
            shapes = axes.violinplot([ratio], [i], widths=0.85, showextrema=False)
            for body in shapes["bodies"]:  # type: ignore[attr-defined]
                body.set(facecolor=colour(name, i), alpha=0.75, edgecolor="none")
        low, middle, high = np.quantile(ratio, [0.25, 0.5, 0.75])
        axes.vlines(i, low, high, color=INK, linewidth=2.5)
        axes.plot(i, middle, "o", markersize=4, markerfacecolor="white", markeredgecolor=INK, markeredgewidth=0.8)
    # A single unlucky book must not flatten the rest: the axis shows all but the most extreme half percent.
    shown = np.concatenate(ratios)
    low, high = np.quantile(shown, [0.0025, 0.9975]) if shown.size > 400 else (shown.min(), shown.max())
    margin = 0.06 * (max(high, 1.0) - min(low, 1.0) or 1.0)
    cases = len(paired.cases)
    axes.set(
        title=f"{verbatim(data)} ({cases} case{'s'[: cases != 1]})",
        ylim=(min(low, 1.0) - margin, max(high, 1.0) + margin),
    )
    axes.set_xticks(at, names, rotation=35, ha="right", rotation_mode="anchor")
    axes.grid(visible=False, axis="x")
