"""Every table, figure and claim of the paper: where it stands there, and how to make ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ebformer.arena.paired_t import paired_t, show_p
from ebformer.arena.plackett_luce import plackett_luce
from ebformer.arena.summary import Cell, Paired, pair
from ebformer.estimators.minimax import Minimax
from ebformer.fielddata import summary as field_summary
from ebformer.prior import Prior
from ebformer.report import arena_figures, arena_tables, fielddata_figures, probe_figures, theorem_figures
from ebformer.report.arena_tables import TextTable
from ebformer.reproduction.bench import NETWORKS, THETA_MAX, Bench, paper
from ebformer.reproduction.claims import claims
from ebformer.tally import Tally
from ebformer.transformer.constructions import clipped_robbins, robbins_transformer, vanishing_regret

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Entry:
    """What an item came to: sentences, tables, and figures with their captions."""

    sentences: Sequence[str] = ()
    tables: Sequence[TextTable] = ()
    figures: Sequence[tuple[Figure, str]] = field(default=())


@dataclass(frozen=True)
class Item:
    """A table, figure or claim: its key on the command line, where the paper has it, and the experiment it rests on."""

    key: str
    title: str
    where: str
    needs: str
    make: Callable[[Bench], Entry]


def beside(
    title: str, theirs: Mapping[str, Mapping[str, Any]], ours: Callable[[str, str], str], notes: Iterable[str] = ()
) -> TextTable:
    """Our number and the paper's in every cell, in the rows and columns of the paper."""
    columns = tuple(dict.fromkeys(name for row in theirs.values() for name in row))
    rows = tuple(
        (name, *(f"{ours(name, column)} ({_shown(row.get(column))})" for column in columns))
        for name, row in theirs.items()
    )
    return TextTable(f"{title}: ours (the paper's)", ("", *columns), rows, tuple(notes))


def _shown(number: Any) -> str:
    if number is None:
        return "-"
    return f"{number[0]} ± {number[1]}" if isinstance(number, list) else str(number)


def _cell(row: str) -> Cell:
    world, _, n = row.rpartition(" ")
    return Cell(world, int(n))


def _known(tables: Mapping[Any, Paired], row: Any, *names: str) -> bool:
    return row in tables and all(name in tables[row].estimators for name in names)


def regret(bench: Bench) -> Entry:
    tables = pair(bench.losses)
    shown = [loss for loss in bench.losses if loss.estimator in ("npmle", "npmle-em", *NETWORKS)]
    captions = beside(
        "Regrets named in the caption",
        paper("fig-regret"),
        lambda row, name: f"{tables[_cell(row)][name].mean():.3g}" if _known(tables, _cell(row), name) else "-",
    )
    caption = (
        "Mean regret against n; bars are 95 % intervals over priors. The classical methods not drawn are in the table."
    )
    return Entry(
        (), [captions, arena_tables.mean_table(bench.losses)], [(arena_figures.regret_against_n(shown), caption)]
    )


def time(bench: Bench) -> Entry:
    caption = "The paper's times are of two V100 GPUs and 40 cores, ours of one core; both axes are logarithmic."
    table = arena_tables.timing_table(bench.timings)
    return Entry((), [table], [(arena_figures.time_against_n(bench.timings), caption)])


def probes(bench: Bench) -> Entry:
    layers = sorted({finding.layer for finding in bench.findings})
    chosen = [layers[round(share * (len(layers) - 1))] for share in (0, 0.25, 0.5, 0.75, 1)]
    rows = []
    groups = dict.fromkeys((f.world, f.model, f.target) for f in bench.findings)
    for world, model, target in groups:
        own = [f for f in bench.findings if (f.world, f.model, f.target) == (world, model, target)]
        r2 = [f"{np.mean([f.r2 for f in own if f.layer == layer]):.3f}" for layer in chosen]
        rows.append((f"{world} {model} {target}", *r2, f"{np.mean([f.ceiling for f in own]):.3f}"))
    title = f"R² of linear probes on fresh tallies, mean of {bench.scale.probe_seeds} seeds"
    columns = ("world, model, target", *(f"layer {layer}" for layer in chosen), "ceiling")
    figures = [
        (probe_figures.probe_curves(bench.findings, world), f"R² after every layer, {world} world.")
        for world in dict.fromkeys(f.world for f in bench.findings)
    ]
    return Entry((), [TextTable(title, columns, tuple(rows))], figures)


def mmse_neural(bench: Bench) -> Entry:
    figure = arena_figures.neural_priors(np.random.default_rng(0), THETA_MAX, counted=max(50, bench.scale.priors))
    return Entry((), (), [(figure, "Drawn neural priors, and the histogram of the mmse of many.")])


def minimax_risk(bench: Bench) -> Entry:
    rule = Minimax(theta_max=THETA_MAX)(Tally.of([1]))
    return Entry((str(rule.convergence),), (), [(arena_figures.minimax_at_point_masses(rule, THETA_MAX), "")])


def plackett_luce_synthetic(bench: Bench) -> Entry:
    tables = {cell: _without(paired, "npmle", "T24f", "priorformer") for cell, paired in pair(bench.losses).items()}
    fits = {cell: plackett_luce(paired) for cell, paired in tables.items()}

    def ours(row: str, name: str) -> str:
        if not _known(tables, _cell(row), name):
            return "-"
        return f"{fits[_cell(row)][name]:.2f}" + ("" if fits[_cell(row)].identified else "*")

    note = "* not identified, since a group of methods won every time: regularised, so only its sign means something."
    return Entry((), [beside("Plackett-Luce coefficients, MLE at 0", paper("tab-pl-synthetic"), ours, [note])])


def _without(paired: Paired, *names: str) -> Paired:
    kept = [i for i, name in enumerate(paired.estimators) if name not in names]
    return Paired(tuple(paired.estimators[i] for i in kept), paired.priors, paired.values[:, kept])


def t_synthetic(network: str, bench: Bench) -> Entry:
    tables = pair(bench.losses)

    def ours(row: str, name: str) -> str:
        cell = _cell(row)
        return show_p(paired_t(tables[cell], network, name)) if _known(tables, cell, network, name) else "-"

    return Entry((), [beside(f"One-sided p-values, {network} below", paper(f"tab-t-synthetic-{network}"), ours)])


def improvement(error: str, bench: Bench) -> Entry:
    found = field_summary.means(bench.scores, f"{error}_improvement")

    def ours(row: str, name: str) -> str:
        of = found.get(row, {}).get(name)
        return "-" if of is None else f"{of.mean:.2f} ± {of.half_width:.2f}"

    note = "The paper has more seasons, and books of another collection."
    table = beside(f"Percent improvement of {error.upper()} over MLE", paper(f"tab-{error}"), ours, [note])
    figure = fielddata_figures.violins(bench.scores, error)
    return Entry((), [table], [(figure, f"{error.upper()} of each method over that of the MLE, case by case.")])


def plackett_luce_real(error: str, bench: Bench) -> Entry:
    kept = [score for score in bench.scores if score.estimator not in ("npmle", "T24f", "priorformer")]
    fits = field_summary.rankings(kept, error)

    def ours(row: str, name: str) -> str:
        if row not in fits or name not in fits[row].estimators:
            return "-"
        return f"{fits[row][name]:.2f}" + ("" if fits[row].identified else "*")

    note = "* not identified, since a group of methods won every time: regularised, so only its sign means something."
    return Entry((), [beside(f"Plackett-Luce coefficients by {error.upper()}", paper(f"tab-pl-{error}"), ours, [note])])


def t_real(error: str, network: str, bench: Bench) -> Entry:
    tables = field_summary.pair(bench.scores, error)

    def ours(row: str, name: str) -> str:
        return show_p(paired_t(tables[row], network, name)) if _known(tables, row, network, name) else "-"

    return Entry((), [beside(f"One-sided p-values, {network} below", paper(f"tab-t-{error}-{network}"), ours)])


def theorem(bench: Bench) -> Entry:
    """Largest distance between the constructed transformer and the clipped Robbins rule over random samples."""
    rng, worst, epsilon = np.random.default_rng(0), 0.0, 0.01
    built = robbins_transformer(d=20, M=10.0, epsilon=epsilon, n_max=5000)
    for _ in range(100):
        tally = Tally.of(rng.poisson(rng.uniform(0, 12, rng.integers(1, 5000))))
        worst = max(worst, float(np.abs(built(tally) - clipped_robbins(tally, 20, 10.0)).max()))
    sentence = (
        f"Built for d = 20, M = 10 and epsilon = {epsilon}, with {built.parameters:,} parameters, the transformer "
        f"stays within {worst:.2g} of the clipped Robbins estimator on 100 random samples of up to 5000."
    )
    return Entry((sentence,))


def corollary(bench: Bench) -> Entry:
    sizes = [10**k for k in range(2, 5 if bench.scale.name == "smoke" else 7)]
    repeats = 20 if bench.scale.name == "smoke" else 200
    priors = {
        "uniform on [0, 2]": Prior(np.linspace(0, 2, 41), np.full(41, 1 / 41)),
        "atoms 0.5 and 2": Prior([0.5, 2.0], [0.5, 0.5]),
    }
    rng = np.random.default_rng(0)
    curves = {name: vanishing_regret(prior, 2.0, sizes, repeats, rng) for name, prior in priors.items()}
    return Entry((), (), [(theorem_figures.vanishing_regret(curves, 2.0), "Regret of the constructed transformer.")])


def all_claims(bench: Bench) -> Entry:
    rows = tuple((claim.text, claim.theirs, claim.ours, claim.verdict) for claim in claims(bench))
    return Entry((), [TextTable("Claims in text and captions", ("claim", "the paper's", "ours", "word"), rows)])


ITEMS = (
    Item("fig-regret", "Regret against n", "figure 2", "losses", regret),
    Item("fig-time", "Time against n", "figure 3", "timings", time),
    Item("fig-probe", "Linear probes", "figure 1, section 4.2", "findings", probes),
    Item("fig-mmse-neural", "MMSE of neural priors", "appendix A.1", "", mmse_neural),
    Item("fig-minimax", "MSE of the minimax rule at point masses", "appendix A.1", "", minimax_risk),
    Item("tab-rmse", "RMSE on real data, with violins", "table 1, figure 4", "scores", partial(improvement, "rmse")),
    Item("tab-mae", "MAE on real data, with violins", "appendix F.3", "scores", partial(improvement, "mae")),
    Item("tab-pl-synthetic", "Plackett-Luce, synthetic", "appendix E", "losses", plackett_luce_synthetic),
    Item("tab-pl-rmse", "Plackett-Luce, real RMSE", "appendix F.2", "scores", partial(plackett_luce_real, "rmse")),
    Item("tab-pl-mae", "Plackett-Luce, real MAE", "appendix F.3", "scores", partial(plackett_luce_real, "mae")),
    *(
        Item(f"tab-t-synthetic-{n}", f"t-tests of {n}, synthetic", "appendix E", "losses", partial(t_synthetic, n))
        for n in ("T24r", "L24r")
    ),
    *(
        Item(f"tab-t-{e}-{n}", f"t-tests of {n}, real {e.upper()}", "appendix F", "scores", partial(t_real, e, n))
        for e in ("rmse", "mae")
        for n in ("T24r", "L24r")
    ),
    Item("thm-robbins", "Theorem 4.1: a transformer that is Robbins' estimator", "section 4.1", "", theorem),
    Item("cor-regret", "Corollary: its regret vanishes", "section 4.1", "", corollary),
    Item("claims", "Claims in text and captions", "throughout", "losses, timings", all_claims),
)
