"""The arena in pictures: regret against n, time against n, neural priors and the price of being minimax."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ebformer.bayes.marginal import likely, mmse
from ebformer.channels.poisson import Poisson
from ebformer.distributions import Floats
from ebformer.lab.arena.losses import Loss
from ebformer.lab.arena.summary import Paired, interval, pair
from ebformer.lab.arena.timing import Timing
from ebformer.lab.worlds import Neural
from ebformer.prior import Prior
from ebformer.report.style import BLUE, INK, MUTED, ORANGE, RED, colour, house_style, new_figure, subplots
from ebformer.rule import Rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SPIKE = 6.0
"""Densities are cut at this many times the uniform one, so that a spike does not flatten the rest."""


def regret_against_n(losses: Iterable[Loss], training_length: int | None = None) -> Figure:
    """One panel per world, log axes, 95 % intervals over priors as bars.

    `training_length` is the number of units in the training sequences of the paper's networks, which it marks in red.
    """
    tables = pair(losses)
    worlds = list(dict.fromkeys(cell.world for cell in tables))
    names = list(dict.fromkeys(name for paired in tables.values() for name in paired.estimators))
    with house_style():
        figure, panels = subplots(1, len(worlds), figsize=(4.2 * len(worlds), 3.8), squeeze=False, sharey=True)
        for axes, world in zip(panels[0], worlds, strict=True):
            own = {cell.n: paired for cell, paired in tables.items() if cell.world == world}
            for position, name in enumerate(names):
                _curve(axes, {n: paired for n, paired in own.items() if name in paired.estimators}, name, position)
            if training_length is not None and min(own) <= training_length <= max(own):
                axes.axvline(training_length, color=RED, linewidth=1)
                above = axes.get_xaxis_transform()
                axes.text(training_length, 1, " the paper's training length", color=RED, fontsize=8, transform=above)
            _log_sizes(axes, list(own))
            axes.set(yscale="log", xlabel="n, number of units")
            axes.set_title(world, pad=16)
        panels[0][0].set_ylabel("mean regret")
        _legend_beside(figure, panels[0][-1])
        return figure


def _curve(axes: Axes, tables: dict[int, Paired], name: str, position: int) -> None:
    found = [interval(paired[name]) for paired in tables.values()]
    mean, half = np.array([each.mean for each in found]), np.nan_to_num([each.half_width for each in found])
    # Neither a mean of 0 (minimax on its own prior) nor a bar that reaches 0 has a place on a logarithmic axis.
    mean = np.where(mean > 0, mean, np.nan)
    bars = np.stack([np.minimum(half, 0.9 * mean), half])
    axes.errorbar(list(tables), mean, bars, color=colour(name, position), marker="o", markersize=3.5, label=name)


def time_against_n(timings: Sequence[Timing]) -> Figure:
    """Median seconds per data set, log axes: the paper's figure `time_seqlen`."""
    with house_style():
        figure, axes = subplots(figsize=(6.4, 3.8))
        for position, name in enumerate(dict.fromkeys(timing.estimator for timing in timings)):
            own = [timing for timing in timings if timing.estimator == name]
            shade = colour(name, position)
            axes.plot([t.n for t in own], [t.seconds for t in own], color=shade, marker="o", markersize=3.5, label=name)
        _log_sizes(axes, sorted({timing.n for timing in timings}))
        axes.set(yscale="log", xlabel="n, number of units", ylabel="seconds per data set (median)")
        axes.set(title="One thread, warm")
        _legend_beside(figure, axes)
        return figure


def neural_priors(rng: np.random.Generator, theta_max: float = 50.0, shown: int = 6, counted: int = 400) -> Figure:
    """Some drawn neural priors as densities, and the histogram of the mmse of many: the paper's `mmse_neural`."""
    world = Neural(theta_max=theta_max)
    priors = [world.draw(rng) for _ in range(shown)]
    many = [mmse(prior) for prior in world.draw_many(rng, counted)]
    with house_style():
        columns = -(-shown // 2)
        figure = new_figure((2.1 * columns + 4.0, 3.8))
        left, right = figure.subfigures(1, 2, width_ratios=[2.1 * columns, 4.0], squeeze=False)[0]
        panels = left.subplots(2, columns, sharex=True, squeeze=False)
        for axes, prior in zip(panels.flat, priors, strict=False):
            _density(axes, prior, theta_max)
            axes.set_title(f"mmse {mmse(prior):.1f}", fontsize=9, fontweight="normal")
        left.supxlabel("theta", fontsize=10)
        left.supylabel(f"density, cut at {SPIKE / theta_max:g}", fontsize=10)
        axes = right.subplots()
        axes.hist(many, bins=30, color=BLUE, alpha=0.8)
        axes.axvline(float(np.mean(many)), color=ORANGE, label=f"mean {np.mean(many):.1f}")
        axes.set(xlabel="mmse", ylabel="priors", title=f"{counted} neural priors on [0, {theta_max:g}]")
        axes.legend()
        return figure


def minimax_at_point_masses(rule: Rule, theta_max: float = 50.0) -> Figure:
    """E_theta (rule(x) - theta)^2 for theta in [0, theta_max], beside the MLE's: the paper's `worst_prior_bayes_mse`.

    A point mass has mmse 0, so all of this is regret: the minimax rule cannot use what an easy prior offers.
    """
    theta = np.linspace(0, theta_max, 501)
    with house_style():
        figure, axes = subplots()
        axes.plot(theta, risk(rule, theta), color=BLUE, label="minimax rule")
        axes.plot(theta, theta, color=MUTED, linestyle=(0, (4, 3)), label="MLE (= theta)")
        if isinstance(rule.prior, Prior):
            height = mmse(rule.prior)
            axes.axhline(height, color=RED, linewidth=1, label=f"mmse of the least favourable prior, {height:.2f}")
            axes.plot(rule.prior.atoms, np.zeros(len(rule.prior)), "|", color=INK, markersize=8, label="its atoms")
        axes.set(xlabel="theta", ylabel="mean squared error", xlim=(0, theta_max), ylim=(-0.5, None))
        axes.set(title=f"Minimax on [0, {theta_max:g}] at point masses")
        axes.legend(loc="lower right")
        return figure


def risk(rule: Rule, theta: Floats) -> Floats:
    """E_theta (rule(x) - theta)^2 at every theta."""
    x = np.concatenate([x for x, _ in likely(Prior([0.0, float(theta.max())], [0.5, 0.5]))])
    likelihood = np.exp(Poisson().log_likelihood(x, theta[:, None]))
    return np.asarray((likelihood * (rule(x) - theta[:, None]) ** 2).sum(axis=1))


def _density(axes: Axes, prior: Prior, theta_max: float) -> None:
    edges = np.linspace(0, theta_max, 61)
    mass, _ = np.histogram(prior.atoms, edges, weights=prior.weights)
    axes.stairs(mass / np.diff(edges), edges, fill=True, color=BLUE, alpha=0.8)
    axes.set_yticks([])
    axes.set(xlim=(0, theta_max), ylim=(0, SPIKE / theta_max))


def _log_sizes(axes: Axes, sizes: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(sizes), [str(n) for n in sizes])
    axes.minorticks_off()


def _legend_beside(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center")
