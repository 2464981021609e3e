"""Section 5 and appendices A and E: regret and time against n, rankings and tests on synthetic worlds."""

from __future__ import annotations

import numpy as np

from ebformer.bayes.marginal import mmse
from ebformer.distributions import Floats
from ebformer.estimators.minimax import Minimax
from ebformer.lab.arena.summary import Cell, Interval, interval, pair
from ebformer.lab.arena.timing import Timing
from ebformer.lab.figures import arena_figures, arena_tables
from ebformer.lab.reproduction import training_worlds
from ebformer.lab.reproduction.bench import NETWORKS, THETA_MAX, Bench
from ebformer.lab.reproduction.compare import (
    Comparison,
    Entry,
    compared,
    comparison_table,
    out_of,
    paper,
    show,
    typical_ratio,
)
from ebformer.lab.reproduction.rankings import ranked, significance
from ebformer.prior import Prior
from ebformer.report.text_table import TextTable
from ebformer.tally import Tally


def cell_of(row: str) -> Cell:
    """The world and size that a row of the paper's tables names.

    >>> cell_of("least-favourable 128")
    Cell(world='least-favourable', n=128)
    """
    world, _, n = row.rpartition(" ")
    return Cell(world, int(n))


def regret(bench: Bench) -> Entry:
    """Figure 2 and the numbers of its caption."""
    tables = pair(bench.losses)
    rows = [
        compared(f"{name}, {row.replace(' ', ', n = ')}", theirs, interval(tables[cell_of(row)][name]))
        for row, numbers in paper("fig-regret").items()
        for name, theirs in numbers.items()
    ]
    largest = max(bench.scale.sizes)
    best = []
    for cell, paired in tables.items():
        if cell.n == largest:
            means = {name: paired[name].mean() for name in paired.estimators if name != "minimax"}
            best.append(f"{min(means, key=lambda name: means[name])} ({cell.world})")
    agreeing = out_of(sum(row.word == "agrees" for row in rows), len(rows))
    word = (
        f"{agreeing.capitalize()} numbers of the caption lie in our intervals. The paper's curves are pictures without "
        "numbers, and our networks are not the published ones but were trained here, so the curves are compared by "
        f"shape and in the claims. At n = {largest} the lowest mean regret is that of {', '.join(best)}. npmle-em "
        "is the paper's NPMLE, which stops early; npmle is the exact maximum, which fits more of the noise."
    )
    shown = [loss for loss in bench.losses if loss.estimator in ("npmle", "npmle-em", *NETWORKS)]
    caption = "Mean regret against n; bars are 95 % intervals over priors. Methods too high to draw are in the tables."
    return Entry(
        word,
        [comparison_table("Regrets named in the caption", rows), arena_tables.mean_table(bench.losses)],
        [(arena_figures.regret_against_n(shown, training_length=512), caption)],
    )


def seconds(bench: Bench) -> dict[tuple[str, int], Floats]:
    """Seconds by method and size, one per data set."""
    found: dict[tuple[str, int], list[float]] = {}
    for timed in bench.timings:
        found.setdefault((timed.estimator, timed.n), []).append(timed.seconds)
    return {key: np.array(of) for key, of in found.items()}


def time_comparisons(bench: Bench) -> list[Comparison]:
    """The paper's statements about time, at the size where it makes them."""
    taken, n, theirs = seconds(bench), 2048, paper("fig-time")
    rows = []
    for name, which in (("npmle-em", "early-stopped NPMLE"), ("npmle", "exact NPMLE")):
        of = typical_ratio(taken[name, n], taken["T24r", n])
        word = "as claimed" if of.mean > theirs["npmle over T24r"] / 2 else "not so here: our NPMLE runs on the tally"
        rows.append(compared(f"{which}'s time over T24r's, n = {n}", theirs["npmle over T24r"], of, word))
    of = typical_ratio(taken["T24r", n], taken["erm", n])
    word = "as claimed" if 0.2 < of.mean < 5 else "not so here: on the tally ERM only sorts a few dozen numbers"
    rows.append(
        Comparison(f"T24r's time over ERM's, n = {n}", theirs["T24r over erm"], f"{of.mean:.3g}", show(of), word)
    )
    of = typical_ratio(taken["T24r", n], taken["L24r", n])
    word = (
        "as claimed" if of.mean > theirs["T24r over L24r"] / 2 else "not so here: few distinct counts, cheap attention"
    )
    return [*rows, compared(f"T24r's time over L24r's, n = {n}", theirs["T24r over L24r"], of, word)]


def time(bench: Bench) -> Entry:
    """Figure 3."""
    taken = seconds(bench)
    medians = [Timing(name, n, float(np.median(of)), len(of)) for (name, n), of in taken.items()]
    small, large = min(bench.scale.sizes), max(bench.scale.sizes)
    growth = typical_ratio(taken["T24r", large], taken["T24r", small]).mean
    exact = typical_ratio(taken["npmle", large], taken["T24r", large]).mean
    word = (
        "The paper ran the networks on two V100 GPUs and 40 cores, and its NPMLE took minutes; here everything runs on "
        "one core, and on the tally, whose length is the number of distinct counts. So time hardly grows with n "
        f"(T24r takes {growth:.1f} times as long for {large} units as for {small}), and the exact NPMLE takes "
        f"{exact:.2g} times as long as T24r at n = {large}"
    )
    word += ". Both take milliseconds: speed is no longer a reason to prefer one to the other." if exact < 5 else "."
    caption = "Median seconds per data set, one thread, warm; both axes are logarithmic."
    return Entry(
        word,
        [comparison_table("Ratios of times", time_comparisons(bench)), arena_tables.timing_table(medians)],
        [(arena_figures.time_against_n(medians), caption)],
    )


def mmse_neural(bench: Bench) -> Entry:
    """The figure of neural priors and the histogram of their mmse."""
    gained = interval(np.array([drawn.mean - drawn.mmse for drawn in bench.drawn]))
    mean = interval(np.array([drawn.mmse for drawn in bench.drawn]))
    theirs = paper("fig-regret")["neural 2048"]["mle"]
    rows = [
        compared("mean of theta less mmse, which is the MLE's regret", theirs, gained),
        Comparison("mean mmse of neural priors", "a histogram", f"{mean.mean:.3g}", show(mean), "compare by eye"),
    ]
    word = (
        f"The paper's picture has no numbers, but the MLE's mean squared error is the mean of theta, so its regret of "
        f"{theirs:g} in figure 2 says how far the mmse of the same priors lies below their mean. Ours {rows[0].word}."
    ).replace("Ours ours", "Ours")
    figure = arena_figures.neural_priors(np.random.default_rng(0), THETA_MAX, counted=len(bench.drawn))
    caption = "Some drawn neural priors, and the histogram of the mmse of many."
    return Entry(word, [comparison_table("Neural priors on [0, 50]", rows)], [(figure, caption)])


def minimax_risk(bench: Bench) -> Entry:
    """The figure of the minimax rule at point masses, and the lemma behind it."""
    rule = Minimax(theta_max=THETA_MAX)(Tally.of([1]))
    assert isinstance(rule.prior, Prior)
    height, theirs = mmse(rule.prior), paper("fig-minimax")
    risk = arena_figures.risk(rule, np.linspace(0, THETA_MAX, 2001))
    rows = [
        Comparison(
            "mmse of the least favourable prior on [0, 50]",
            f"{theirs['mmse']:g}",
            f"{height:.6g}",
            "exact",
            "agrees" if abs(height - theirs["mmse"]) < 1e-3 else "differs",
        ),
        Comparison(
            "largest MSE at a point mass, over that mmse",
            theirs["largest MSE over mmse"],
            f"{risk.max() / height:.6f}",
            "exact",
            "as the lemma says" if risk.max() <= height * (1 + 1e-4) else "above: the prior is not least favourable",
        ),
    ]
    word = (
        "At a point mass the oracle makes no error, so all of this risk is regret: a rule that guards against the "
        f"worst prior cannot use what an easy one offers. {rule.convergence}"
    )
    caption = "Mean squared error of the minimax rule when every unit has the same theta."
    return Entry(
        word,
        [comparison_table("The minimax rule", rows, [theirs["source"]])],
        [(arena_figures.minimax_at_point_masses(rule, THETA_MAX), caption)],
    )


def plackett_luce_synthetic(bench: Bench) -> Entry:
    """The table of Plackett-Luce coefficients."""
    return ranked({f"{c.world} {c.n}": p for c, p in pair(bench.losses).items()}, "tab-pl-synthetic", "regret")


def t_synthetic(network: str, bench: Bench) -> Entry:
    """A table of p-values."""
    tables = {f"{c.world} {c.n}": p for c, p in pair(bench.losses).items()}
    return significance(tables, network, f"tab-t-synthetic-{network}", "regret")


def mixture_training(bench: Bench) -> Entry:
    """The table of training worlds, at 12 layers."""
    tables = pair(bench.ablation)
    signs = {"mix": "mixture", "neu": "neural", "dir": "dirichlet"}
    rows, found = [], {}
    for what, theirs in paper("tab-mixture-training")["12"].items():
        minuend, _, rest = what.partition("-")
        subtrahend, _, world = rest.partition(" on ")
        paired = tables[Cell(world, 512)]
        found[what] = difference = interval(paired[signs[minuend]] - paired[signs[subtrahend]])
        rows.append(compared(what.replace("-", " less "), theirs, difference))
    lost = [found["mix-neu on neural"].mean, found["mix-dir on dirichlet"].mean]
    saved = [found["dir-mix on neural"].mean, found["neu-mix on dirichlet"].mean]
    robust = all(price < gain for price, gain in zip(lost, saved, strict=True))
    trained = [
        f"{name} {training_worlds.training(net)}"
        for name, net in training_worlds.networks(bench.ablation_folder).items()
    ]
    word = (
        f"The paper's conclusion {'holds' if robust else 'does not hold'} here: the mixture costs {lost[0]:.3g} in the "
        f"neural world and {lost[1]:.3g} in the Dirichlet one, where the wrong world alone costs {saved[0]:.3g} and "
        f"{saved[1]:.3g} more. Our networks saw far less training than the paper's 50,000 steps "
        f"({', '.join(trained)}), so the sizes need not agree. A difference of regrets does not depend on the oracle."
    )
    means: list[tuple[str, ...]] = []
    for name in training_worlds.TRAINED_ON:
        of: list[Interval] = [interval(tables[Cell(world, 512)][name]) for world in ("neural", "dirichlet")]
        means.append((f"trained on {name}", *(f"{each.mean:.4g} ± {each.half_width:.2g}" for each in of)))
    regrets = TextTable("Mean regret at n = 512", ("", "neural", "dirichlet"), tuple(means))
    return Entry(word, [comparison_table("Differences of mean regret, 12 layers, n = 512", rows), regrets])
