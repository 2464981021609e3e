"""The theorems in pictures: a transformer built by hand whose regret vanishes with n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ebformer.lab.theorems.constructions import RegretPoint
from ebformer.report.style import CYCLE, GREEN, INK, MUTED, ORANGE, house_style, subplots

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def vanishing_regret(curves: Mapping[str, Sequence[RegretPoint]], theta_max: float) -> Figure:
    """Corollary `cor:vanish-regret`: regret of the constructed transformer against n, one curve per prior.

    Points are means over fresh tallies with 95 % intervals, lines the clipped Robbins estimator on the same tallies;
    below, how many neurons the decoder has and how wide the embedding is.
    """
    with house_style():
        figure, (axes, size) = subplots(2, 1, figsize=(5.6, 5.6), height_ratios=(3, 1.2), sharex=True)
        for own, (name, points) in zip(CYCLE, curves.items(), strict=False):
            n, mean = [p.n for p in points], np.array([p.transformer for p in points])
            half = 1.96 * np.array([p.transformer_error for p in points])
            axes.plot(n, [p.robbins for p in points], color=own, linewidth=1, alpha=0.7)
            bars = np.stack([np.minimum(half, 0.9 * mean), half])
            axes.errorbar(n, mean, bars, color=own, fmt="o", markersize=4, linewidth=1, label=name)
        points = next(iter(curves.values()))
        n, order = [p.n for p in points], [p.aim for p in points]
        axes.plot(n, order, color=INK, linestyle=(0, (4, 3)), linewidth=1, label="(log n / log log n)² / n")
        axes.plot([], [], color=MUTED, linewidth=1, label="clipped Robbins itself")
        axes.set(xscale="log", yscale="log", ylabel="mean regret")
        axes.set_title(f"A constructed transformer on priors within [0, {theta_max:g}]")
        axes.legend()
        for label, own, sizes in (
            ("decoder neurons", GREEN, [p.neurons for p in points]),
            ("embedding width", ORANGE, [p.width for p in points]),
        ):
            size.plot(n, sizes, color=own, marker="o", markersize=3, label=label)
        size.set(yscale="log", xlabel="n, number of units", ylabel="size")
        size.legend()
        return figure
