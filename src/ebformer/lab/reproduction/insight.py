"""Section 4, what transformers can do and what ours do: linear probes, priorformer's blocks, theorem and corollary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ebformer.distributions import Floats
from ebformer.lab.arena.summary import Interval, interval
from ebformer.lab.figures import probe_figures, theorem_figures
from ebformer.lab.figures.probe_figures import LABELS
from ebformer.lab.probes.blocks import BlockFinding
from ebformer.lab.probes.experiment import Finding
from ebformer.lab.reproduction.bench import CONTROL, PROBED, Bench
from ebformer.lab.reproduction.compare import NOT_THERE, Comparison, Entry, comparison_table, out_of, paper, show
from ebformer.lab.theorems.constructions import RegretPoint, clipped_robbins, robbins_transformer
from ebformer.report.text_table import TextTable
from ebformer.tally import Tally

NOTICEABLE = 0.05
"""A change of R^2 by less than this counts as none."""


class Curve(NamedTuple):
    """R^2 of one target in one network, after every layer and for every seed: [layers, seeds]."""

    r2: Floats

    @classmethod
    def of(cls, findings: Sequence[Finding], world: str, model: str, target: str) -> Curve:
        own = [f for f in findings if (f.world, f.model, f.target) == (world, model, target)]
        layers = sorted({f.layer for f in own})
        return cls(np.array([[f.r2 for f in own if f.layer == layer] for layer in layers]))

    @property
    def path(self) -> str:
        """First layer, highest, last."""
        mean = self.r2.mean(axis=1)
        top = int(mean.argmax())
        return f"{mean[0]:.2f}, {mean[top]:.2f} (layer {top}), {mean[-1]:.2f}"

    @property
    def shape(self) -> str:
        """What it does with depth."""
        mean = self.r2.mean(axis=1)
        rise, fall = mean.max() - mean[0], mean.max() - mean[-1]
        if rise < NOTICEABLE:
            return "falls" if fall >= NOTICEABLE else "stays level"
        return "rises, then falls" if fall >= NOTICEABLE else "rises and stays"

    @property
    def last(self) -> Interval:
        """After the last layer, over seeds."""
        return interval(self.r2[-1])


def probe_comparisons(findings: Sequence[Finding]) -> list[Comparison]:
    """The paper's statements about its figure `linear_probe`, for each of the three networks."""
    theirs, rows = paper("fig-probe"), []
    for model in PROBED:
        for world in ("neural", "multinomial"):
            curve = Curve.of(findings, world, model, "value")
            least = interval(curve.r2.min(axis=0))
            word = "agrees" if least.mean > 0.95 else "not from every layer"
            ours = f"at least {least.mean:.2f}"
            rows.append(Comparison(f"{model}, {world}: x", theirs["value"], ours, show(least), word))
            for target in ("frequency", "marginal"):
                curve = Curve.of(findings, world, model, target)
                agree = ("falls" in curve.shape) == (theirs[world] == "decreases with depth")
                word = f"{'agrees' if agree else 'differs'}: {curve.shape}"
                what = f"{model}, {world}: {LABELS[target]}"
                rows.append(Comparison(what, theirs[world], curve.path, show(curve.last), word))
        curve = Curve.of(findings, "multinomial", model, "atom weight")
        bound = np.mean([f.ceiling for f in findings if f.world == "multinomial" and f.target == "atom weight"])
        best = interval(curve.r2.max(axis=0))
        word = f"agrees; no probe could pass {bound:.3f}" if best.mean < NOTICEABLE else "differs: some is there"
        what = f"{model}, multinomial: {LABELS['atom weight']}"
        rows.append(Comparison(what, theirs["atom weight"], f"at most {best.mean:.3f}", show(best), word))
    return rows


def probe_table(findings: Sequence[Finding], world: str) -> TextTable:
    """R^2 of every target in every network at five depths."""
    own = [f for f in findings if f.world == world]
    layers = sorted({f.layer for f in own})
    chosen = [layers[round(share * (len(layers) - 1))] for share in (0, 0.25, 0.5, 0.75, 1)]
    rows = []
    for target in distinct(f.target for f in own):
        bound = np.mean([f.ceiling for f in own if f.target == target])
        for model in distinct(f.model for f in own):
            mean = Curve.of(own, world, model, target).r2.mean(axis=1)
            rows.append((LABELS[target], model, *(f"{mean[layer]:.3f}" for layer in chosen), f"{bound:.3f}"))
    columns = ("quantity", "network", *(f"layer {layer}" for layer in chosen), "ceiling")
    seeds = len({f.seed for f in own})
    return TextTable(f"R² on fresh tallies of the {world} world, mean of {seeds} seeds", columns, tuple(rows))


def probe_word(findings: Sequence[Finding]) -> str:
    """What the probes say, in sentences whose numbers and verbs are computed."""
    rows = probe_comparisons(findings)
    good = sum(row.word.startswith("agrees") for row in rows)
    told = []
    for model in (*PROBED, CONTROL):
        curve = Curve.of(findings, "neural", model, "correction").r2.mean(axis=1)
        told.append(f"{model} {curve[0]:.2f} to {curve[-1]:.2f}")
    return (
        f"The paper's statements hold in {out_of(good, len(rows))} cases. What its conclusion needs, that networks "
        "learn the Bayes rule and not only x, shows in the correction that the Bayes rule makes to x: its R² in the "
        f"neural world goes, from before the first layer to after the last, from {', '.join(told)}."
    )


def probes(bench: Bench) -> Entry:
    """Figure 1."""
    worlds = distinct(f.world for f in bench.findings)
    figures = [
        (probe_figures.probe_curves(bench.findings, world), f"R² after every layer, {world} world; bands are seeds.")
        for world in worlds
    ]
    compared = comparison_table("The paper's statements", probe_comparisons(bench.findings), [HOW_TO_READ])
    return Entry(
        probe_word(bench.findings), [compared, *(probe_table(bench.findings, world) for world in worlds)], figures
    )


HOW_TO_READ = (
    "Three numbers are R² before the first layer, at its highest and after the last; the interval is the last's."
)


def block_table(blocks: Sequence[BlockFinding]) -> TextTable:
    """Means over tallies after every block, with the half width of their intervals."""
    rows = []
    for world, stage in dict.fromkeys((f.world, f.stage) for f in blocks):
        own = [f for f in blocks if (f.world, f.stage) == (world, stage)]
        cells = []
        for column in ("regret", "distance", "atoms", "shortfall"):
            of = interval(np.array([getattr(f, column) for f in own]))
            cells.append(f"{of.mean:.3g} ± {of.half_width:.2g}")
        rows.append((world, stage if not stage.isdigit() else f"block {stage}", *cells))
    title = f"The prior after every block of priorformer, n = {blocks[0].n}, mean with 95 % interval"
    columns = ("world", "prior of", "regret", "distance", "atoms", "shortfall")
    notes = (
        "Regret is that of the prior's Bayes rule; distance the area between its distribution function and the true "
        "one; atoms the number of equal atoms with its entropy; shortfall the nats by which the log-likelihood of the "
        "tally lies below its maximum.",
    )
    return TextTable(title, columns, tuple(rows), notes)


def block_word(blocks: Sequence[BlockFinding]) -> str:
    """What the blocks do, in computed sentences."""
    told = []
    for world in distinct(f.world for f in blocks):
        mean = {
            stage: np.mean([f.regret for f in blocks if (f.world, f.stage) == (world, stage)])
            for stage in distinct(f.stage for f in blocks)
        }
        first, last = (list(mean)[i] for i in (0, -2))
        told.append(f"{mean[first]:.3g} to {mean[last]:.3g} in the {world} world (NPMLE {mean['npmle']:.3g})")
    return (
        "priorformer is not in the paper. From the first block to the last the mean regret of its prior's Bayes rule "
        f"goes from {', '.join(told)}."
    )


def priorformer_blocks(bench: Bench) -> Entry:
    """What each block of priorformer does to the prior."""
    rows = []
    for world in distinct(f.world for f in bench.blocks):
        own = [f for f in bench.blocks if f.world == world]
        stages = distinct(f.stage for f in own)
        first, last = (np.array([f.regret for f in own if f.stage == stages[i]]) for i in (0, -2))
        fall = interval(first - last)
        word = "the blocks lower it" if fall.low > 0 else "no clear change"
        what = f"{world}: regret after the first block less that after the last"
        rows.append(Comparison(what, NOT_THERE, f"{fall.mean:.3g}", show(fall), word))
    caption = "Means over fresh tallies after every block; the dashed line is the exact NPMLE."
    return Entry(
        block_word(bench.blocks),
        [comparison_table("From the first block to the last", rows), block_table(bench.blocks)],
        [(probe_figures.block_curves(bench.blocks), caption)],
    )


def theorem(bench: Bench) -> Entry:
    """Largest distance between the constructed transformer and the clipped Robbins rule over random samples."""
    d, M, epsilon, n_max, samples = 20, 10.0, 0.01, 5000, 100
    rng, worst = np.random.default_rng(0), 0.0
    built = robbins_transformer(d, M, epsilon, n_max)
    for _ in range(samples):
        tally = Tally.of(rng.poisson(rng.uniform(0, 12, rng.integers(1, n_max))))
        worst = max(worst, float(np.abs(built(tally) - clipped_robbins(tally, d, M)).max()))
    theirs, drawn = paper("thm-robbins"), f"largest of {samples} samples"
    neurons, order = len(built.decode.knot), (1 + M) ** 2 / epsilon
    rows = [
        Comparison(
            f"distance to the clipped Robbins rule, for epsilon = {epsilon}",
            theirs["precision"],
            f"{worst:.2g}",
            drawn,
            "holds" if worst <= epsilon else "fails",
        ),
        Comparison(
            "hidden neurons of the decoder",
            theirs["neurons"],
            f"{neurons}",
            f"exact; (1 + M)²/epsilon = {order:.0f}",
            "fewer" if neurons <= order else "more",
        ),
    ]
    word = (
        f"The transformer of the proof, built for d = {d} and M = {M:g}, has {built.parameters:,} parameters and stays "
        f"within {worst:.2g} of the rule on {samples} random samples of up to {n_max} units, rounding included. Knots "
        "that share the error evenly need fewer neurons than the theorem's bound."
    )
    return Entry(word, [comparison_table("Theorem 4.1, built", rows)])


def corollary(bench: Bench) -> Entry:
    """Regret of the constructed transformers against n."""
    curves: dict[str, list[RegretPoint]] = {}
    for measured in bench.vanishing:
        curves.setdefault(measured.prior, []).append(measured)
    rows = []
    for name, points in curves.items():
        for point in (points[0], points[-1]):
            of, half = point.transformer / point.aim, 1.96 * point.transformer_error / point.aim
            interval_of = Interval(of, of - half, of + half, 2)
            rows.append(
                Comparison(
                    f"{name}, n = {point.n:,}: regret over (log n / log log n)²/n",
                    paper("cor-regret")["bounded"],
                    f"{of:.3g}",
                    show(interval_of),
                    "bounded" if of < 1 else "above 1",
                )
            )
    falls = all(points[-1].transformer < points[0].transformer for points in curves.values())
    last = next(iter(curves.values()))[-1]
    word = (
        f"The regret {'falls' if falls else 'does not fall'} with n as the corollary says, on two priors (it is about "
        f"all of them), with {last.neurons} decoder neurons and an embedding of width {last.width} at n = {last.n:,}."
    )
    caption = "Regret of the constructed transformer; the line of the same colour is the clipped Robbins estimator."
    figure = theorem_figures.vanishing_regret(curves, 2.0)
    return Entry(word, [comparison_table("Corollary, measured", rows)], [(figure, caption)])


def distinct(rows: Iterable[str]) -> list[str]:
    """The distinct entries, in order."""
    return list(dict.fromkeys(rows))
