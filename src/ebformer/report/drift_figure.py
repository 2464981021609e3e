"""How rates moved: what came next against what was expected, with and without drift."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ebformer.binning import distinct_rows
from ebformer.drift import Drift
from ebformer.estimators.catalogue import method_for
from ebformer.looks import Looks
from ebformer.report.cells import percent
from ebformer.report.style import BLUE, INK, ORANGE, house_style, subplots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUPS = 12
"""Units are put into so many groups of like estimates."""
LEVEL = 0.9
"""What share of single units the band holds."""


def moves(drift: Drift, looks: Sequence[Looks], method: str | None = None) -> Figure:
    """The mean of the next look in groups of units of like estimates, and what a drift makes of them."""
    channel = looks[0].channel
    estimator = method_for(channel, method)
    rows = []
    for each in looks:
        rule = estimator(each.tally)
        assert rule.prior is not None
        first, which = distinct_rows(each.x, each.known)
        now = rule.posterior(each.x[first], each.known[first])
        then = drift.moved(now, rule.prior, channel)
        expected = np.stack([now.mean, then.mean, *then.interval(LEVEL)])[:, which]
        came = channel.next_look.mle(each.y, each.future)
        rows.append(np.vstack([expected, came, each.multiplicity / channel.noise(each.future) ** 2]))
    *means, weight = np.concatenate(rows, axis=1)
    order = np.argsort(means[0])
    group = np.empty(weight.size, dtype=np.intp)
    group[order] = np.minimum((np.cumsum(weight[order]) / weight.sum() * GROUPS).astype(np.intp), GROUPS - 1)
    total = np.bincount(group, weight, GROUPS)
    seen = total > 0
    x, expected, low, high, found = (np.bincount(group, weight * each, GROUPS)[seen] / total[seen] for each in means)
    with house_style():
        figure, axes = subplots()
        ends = np.array([min(x.min(), found.min(), 0.0), max(x.max(), found.max())])
        theta, thetas = channel.words.theta, channel.words.thetas
        band = f"{percent(LEVEL)} of single {thetas}"
        axes.fill_between(x, low, high, color=BLUE, alpha=0.12, linewidth=0, label=band)
        axes.plot(ends, ends, color=INK, linewidth=1, linestyle=(0, (4, 3)), label="nothing moves")
        axes.plot(x, expected, color=BLUE, label="the drift")
        axes.scatter(x, found, color=ORANGE, zorder=3, label="what came next, means of like units")
        look = drift.look or "look"
        axes.set(xlabel=f"estimated {theta} at one {look}", ylabel=f"{theta} at the next {look}")
        axes.set_title(f"How {thetas} moved")
        axes.legend(loc="upper left")
        return figure
