"""What an analyst shows: how far counts were shrunk, the estimated prior, the fit of the model, the extreme units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from ebformer.bayes import marginal_cdf
from ebformer.channels import POISSON
from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.prior import AnyPrior, ConjugatePrior, GridPrior
from ebformer.report.cells import percent
from ebformer.report.style import BLUE, GREEN, INK, MUTED, ORANGE, RED, colour, house_style, subplots, verbatim
from ebformer.rule import Rule
from ebformer.tally import Tally

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW_ATOMS = 30
"""A prior of so many atoms is drawn atom by atom, a finer one by the mass of equal cells ..."""
IN_VIEW = 0.999
"""... up to the rate that this share of the units stays below: a grid reaches far beyond."""


def shrinkage(tally: Tally, rule: Rule, unit: str = "rate", level: float = 0.9) -> Figure:
    """What each unit's own observation says, such as x / t, against the estimate; areas go with units.

    Each axis ends where its numbers do: one claim in three months is four a year, far beyond every estimate.
    """
    raw = tally.channel.mle(tally.x, tally.known)
    estimate = rule(tally.x, tally.known)
    area = 8 + 250 * tally.multiplicity / max(tally.multiplicity.max(), 20)
    with house_style():
        figure, axes = subplots()
        shown = [estimate]
        if rule.prior is not None and tally.common is not None:
            low, high = rule.posterior(tally.x, tally.known).interval(level)
            axes.fill_between(raw, low, high, color=BLUE, alpha=0.18, linewidth=0, label=f"{percent(level)} interval")
            shown += [low, high]
        across, up = _view(raw, tally.channel), _view(np.concatenate(shown), tally.channel)
        ends = [min(across[0], up[0]), max(across[1], up[1])]
        axes.plot(ends, ends, color=INK, linewidth=1, linestyle=(0, (4, 3)), label="no shrinkage", zorder=0)
        axes.scatter(raw, estimate, s=area, color=BLUE, alpha=0.65, linewidth=0)
        axes.set(xlim=across, ylim=up)
        axes.set(xlabel=f"raw {_shortened(unit)}", ylabel=f"estimated {_shortened(unit)}")
        axes.set_title(f"Shrinkage by {rule.method}")
        axes.legend(loc="lower right")  # a high raw rate seldom has a low estimate
        return figure


def _view(numbers: Floats, channel: Channel) -> tuple[float, float]:
    """Where an axis of thetas begins and ends: at the lowest possible one, if there is one, and beyond the others."""
    first, last = (channel.domain[0] if np.isfinite(channel.domain[0]) else float(numbers.min())), float(numbers.max())
    spread = (last - first) or abs(last) or 1.0
    return first - 0.02 * spread, max(last, first + spread) + 0.05 * spread


def mixing(prior: AnyPrior, unit: str = "rate", channel: Channel = POISSON) -> Figure:
    """The estimated distribution of the hidden thetas: its mass, and the cumulative distribution above it."""
    with house_style():
        figure, axes = subplots()
        if isinstance(prior, ConjugatePrior):
            # Drawn by 20,000 samples; the rule itself uses the closed form.
            atoms = np.sort(prior.draw(20_000, np.random.default_rng(0)))
            weights = np.full(atoms.size, 1 / atoms.size)
        else:
            atoms, weights = prior.atoms, prior.weights
        below = np.cumsum(weights)
        begin, end = (float(atoms[min(int(np.searchsorted(below, q)), atoms.size - 1)]) for q in (1 - IN_VIEW, IN_VIEW))
        begin = channel.domain[0] if np.isfinite(channel.domain[0]) else begin
        if atoms.size > FEW_ATOMS:
            end = end if end > begin else float(atoms[-1])
            bars = np.linspace(begin, end, 51)
            if isinstance(prior, GridPrior):  # spread over its cells: atoms that fall into some bars only make a comb
                share = np.diff(np.interp(bars, prior.edges, np.append(0.0, below)))
            else:
                share = np.histogram(atoms, bars, weights=weights)[0]
            axes.bar(bars[:-1], share, width=bars[1] - bars[0], align="edge", color=GREEN, alpha=0.7)
            axes.set_xlim(begin - 0.02 * (end - begin), end + 0.02 * (end - begin))
        else:
            markers, stems, base = axes.stem(atoms, weights, basefmt=" ")
            stems.set(color=GREEN, linewidth=2, alpha=0.8)
            markers.set(color=GREEN, markersize=3.5)
            base.set_visible(False)
        axes.set(xlabel=f"hidden {_shortened(unit)}", ylabel="share of units", title="Estimated prior")
        axes.set_ylim(bottom=0)
        cumulative = axes.twinx()
        cumulative.step(
            np.append(min(begin, atoms[0]), atoms), np.append(0.0, below), where="post", color=MUTED, linewidth=1.2
        )
        cumulative.set(ylim=(0, 1.02))
        cumulative.set_ylabel("cumulative share", color=MUTED)
        cumulative.tick_params(axis="y", colors=MUTED)
        cumulative.grid(visible=False)
        return figure


def rootogram(tally: Tally, rule: Rule) -> Figure:
    """Observed frequencies hang from the fitted ones on a square-root scale; bars that miss zero show misfit."""
    with house_style():
        figure, axes = subplots()
        _hang(axes, tally, rule)
        return figure


def calibration(pit: Floats, xs: str = "counts") -> Figure:
    """The masses of equal cells of the randomised probability integral transform: flat where the model fits."""
    with house_style():
        figure, axes = subplots()
        edges = np.linspace(0, 1, pit.size + 1)
        axes.bar(edges[:-1], pit * pit.size, width=1 / pit.size, align="edge", color=BLUE, alpha=0.6, linewidth=0)
        axes.axhline(1.0, color=INK, linewidth=1, linestyle=(0, (4, 3)))
        axes.set(xlabel=f"randomised PIT of the {xs}", ylabel="density", title="Calibration", xlim=(0, 1))
        axes.set_ylim(0, max(1.5, 1.1 * float(pit.max() * pit.size)))
        return figure


def _hang(axes: Axes, tally: Tally, rule: Rule) -> None:
    """Expected frequencies are added up over what is known; at most 60 bars, the rest joined in equal steps."""
    assert rule.prior is not None
    channel = tally.channel
    if channel.whole:
        highest = int(tally.values.max())
        step: float = 1 + highest // 60
        edges = np.arange(0, highest + step + 1, step, dtype=np.float64)
    else:
        edges = np.linspace(*_view(tally.x, channel), 41)
        step = float(edges[1] - edges[0])
    observed = np.histogram(tally.values, bins=edges, weights=tally.multiplicity.astype(float))[0]
    fitted = np.zeros(edges.size - 1)
    exposures, cell = np.unique(tally.known, return_inverse=True)
    if exposures.size > 200:
        # Many exposures are represented by 200 quantiles of equal mass: a picture needs no more.
        levels = (np.arange(200) + 0.5) / 200
        exposures = np.quantile(tally.known, levels, weights=tally.multiplicity, method="inverted_cdf")
        share = np.full(200, tally.n / 200)
    else:
        share = np.bincount(cell, weights=tally.multiplicity)
    for t, units in zip(exposures, share, strict=True):
        fitted += units * np.diff(marginal_cdf(rule.prior, channel, edges - channel.whole, np.full(edges.size, t)))
    fitted = np.sqrt(np.maximum(fitted, 0.0))
    middle = edges[:-1] + (step - channel.whole) / 2
    axes.bar(middle, -np.sqrt(observed), bottom=fitted, width=0.85 * step, color=MUTED, alpha=0.7, linewidth=0)
    axes.plot(middle, fitted, color=RED, marker="o", markersize=2.5, linewidth=1.4, label="model")
    axes.axhline(0.0, color=INK, linewidth=0.8)
    axes.set(xlabel=channel.words.x, ylabel="square root of units", title="Does the model fit?")
    axes.set_ylim(top=1.08 * float(fitted.max()))
    axes.xaxis.set_major_locator(MaxNLocator(integer=channel.whole, min_n_ticks=1))
    axes.legend(loc="upper right")


def caterpillar(
    names: Sequence[str],
    raw: Floats,
    estimate: Floats,
    lower: Floats | None,
    upper: Floats | None,
    unit: str = "rate",
    mean: float | None = None,
) -> Figure:
    """Units in the given order, from top to bottom: estimate with its interval, and the raw rate as a hollow point.

    A dashed line marks the mean of all units, where it is given.
    """
    with house_style():
        figure, axes = subplots(figsize=(5.2, 0.9 + 0.22 * len(names)))
        y = np.arange(len(names))[::-1]
        if lower is not None and upper is not None:
            axes.hlines(y, lower, upper, color=BLUE, linewidth=2.2, alpha=0.45)
        if mean is not None:
            axes.axvline(mean, color=INK, linewidth=1, linestyle=(0, (4, 3)), label="mean of all", zorder=0)
        axes.plot(raw, y, "o", markerfacecolor="none", markeredgecolor=ORANGE, markersize=4.5, label="raw")
        axes.plot(estimate, y, "o", color=BLUE, markersize=4.5, label="estimate")
        axes.set_yticks(y, [_shortened(name, 26) for name in names])
        axes.set(xlabel=_shortened(unit), ylim=(-0.7, len(names) - 0.3))
        # A line to itself: names take so much of the width that above the axes it would run into the legend.
        figure.suptitle("Highest and lowest", x=0.01, ha="left", fontsize=11, fontweight="bold")
        axes.grid(visible=False, axis="y")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.2)
        return figure


def _shortened(name: str, most: int = 40) -> str:
    """A name as it is, of at most so many characters: one too long loses its middle, since many differ at the end.

    >>> _shortened("Stratford-upon-Avon", 9)
    'Stra…Avon'
    """
    half = (most - 1) // 2
    return verbatim(name if len(name) <= most else f"{name[:half]}…{name[-half:]}")


def comparison(methods: Sequence[str], excess: Floats, error: Floats) -> Figure:
    """Each method's mean squared error above the best one's, with a 95 % interval of the paired difference."""
    with house_style():
        figure, axes = subplots(figsize=(5.2, 0.9 + 0.32 * len(methods)))
        y = np.arange(len(methods))[::-1]
        colours = [colour(method, i) for i, method in enumerate(methods)]
        axes.axvline(0.0, color=INK, linewidth=1, linestyle=(0, (4, 3)))
        axes.hlines(y, excess - 1.96 * error, excess + 1.96 * error, color=colours, linewidth=2.4, alpha=0.5)
        axes.scatter(excess, y, color=colours, s=32, zorder=3)
        axes.set_yticks(y, methods)
        axes.set(xlabel="squared error above the best method's", ylim=(-0.6, len(methods) - 0.4))
        axes.set_title("Which method predicts best here?")
        axes.locator_params(axis="x", nbins=5)
        axes.grid(visible=False, axis="y")
        return figure
