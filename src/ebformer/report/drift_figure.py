"""How rates moved: what came next against what was expected, with and without drift."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ebformer.drift import Drift
from ebformer.estimators.catalogue import default_method, find
from ebformer.looks import Looks
from ebformer.report.style import BLUE, INK, ORANGE, house_style, subplots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUPS = 12
"""Units are put into so many groups of like estimates."""


def moves(drift: Drift, looks: Sequence[Looks], method: str | None = None) -> Figure:
    """The mean of the next look in groups of units of like estimates, and what a drift makes of them."""
    channel = looks[0].channel
    estimator = find(method or default_method(channel))
    rows = []
    for each in looks:
        rule = estimator(each.tally)
        now = rule.posterior(each.x, each.known).mean
        assert rule.prior is not None
        then = drift.moved(rule.posterior(each.x, each.known), rule.prior, channel).mean
        came = channel.next_look.mle(each.y, each.future)
        rows.append(np.stack([now, then, came, each.multiplicity / channel.noise(each.future) ** 2]))
    now, then, came, weight = np.concatenate(rows, axis=1)
    order = np.argsort(now)
    group = np.empty(now.size, dtype=np.intp)
    group[order] = np.minimum((np.cumsum(weight[order]) / weight.sum() * GROUPS).astype(np.intp), GROUPS - 1)
    total = np.bincount(group, weight, GROUPS)
    seen = total > 0
    x, expected, found = (np.bincount(group, weight * each, GROUPS)[seen] / total[seen] for each in (now, then, came))
    with house_style():
        figure, axes = subplots()
        ends = np.array([min(x.min(), found.min(), 0.0), max(x.max(), found.max())])
        axes.plot(ends, ends, color=INK, linewidth=1, linestyle=(0, (4, 3)), label="nothing moves")
        axes.plot(x, expected, color=BLUE, label="the drift")
        axes.scatter(x, found, color=ORANGE, zorder=3, label="what came next")
        theta = channel.words.theta
        axes.set(xlabel=f"estimated {theta} at the first look", ylabel=f"mean {theta} at the second look")
        axes.set_title(f"How {channel.words.thetas} moved")
        axes.legend(loc="upper left")
        return figure
