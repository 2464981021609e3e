"""The paper's successor (Cannella, Teh, Han and Polyanskiy 2026): universal priors, longer tables, fractional Bayes."""

from __future__ import annotations

import numpy as np

from ebformer.lab.arena.summary import Cell, interval, pair
from ebformer.lab.figures import arena_figures
from ebformer.lab.floors import CONTROL, FLOOR, POWERS, Paid, ratio_of_means
from ebformer.lab.reproduction.bench import Bench
from ebformer.lab.reproduction.compare import (
    NOT_THERE,
    Comparison,
    Entry,
    compared,
    comparison_table,
    out_of,
    paper,
    ratio,
    show,
)
from ebformer.lab.reproduction.synthetic import cell_of
from ebformer.report.text_table import TextTable

SHOWN = ("npmle-em", "T24r", "T24u", "T24ur", "priorformer")
SEEN = {"T24r": 512, "T24f": 512, "T24u": 8192, "T24ur": 8192}
"""The number of units beyond which a network is told no more: a larger table is presented as one of so many."""


def universal_regret(bench: Bench) -> Entry:
    """Their figure 1: regret on [0, 50] of the NPMLE and of networks that know neural or universal priors."""
    tables = pair(bench.losses)
    rows = [
        compared(f"{name}, {row.replace(' ', ', n = ')}", theirs, interval(tables[cell_of(row)][name]))
        for row, numbers in paper("universal-regret").items()
        if cell_of(row) in tables
        for name, theirs in numbers.items()
    ]
    lower = sum(float(row.ours) < float(row.theirs) for row in rows if row.what.startswith("T24u,"))
    total = sum(row.what.startswith("T24u,") for row in rows)
    word = (
        f"Our T24u is below their T24U50 in {out_of(lower, total)} cells. It sees any number of atoms from 3 to 60, "
        "where theirs sees ten, and tables of 32 to 8,192 units, where theirs sees 512. Their T24 knows neural priors "
        "whose theta_max is random, as our T24r does. Their figures are read off a plot; their tables are not ours."
    )
    shown = [loss for loss in bench.losses if loss.estimator in SHOWN and loss.data in ("neural", "multinomial")]
    caption = "Mean regret against n on [0, 50]; bars are 95 % intervals over priors."
    return Entry(
        word,
        [comparison_table("Regret on [0, 50]", rows)],
        [(arena_figures.regret_against_n(shown, training_length=512), caption)],
    )


def universal_length(bench: Bench) -> Entry:
    """Their figure on tables longer than those of training: how much of the regret four times as many units leave."""
    tables, sizes, published = pair(bench.losses), bench.scale.sizes, paper("universal-regret")
    steps = [(n, 4 * n) for n in sizes if 4 * n in sizes] or [(sizes[0], sizes[-1])]
    rows = []
    for world in ("neural", "multinomial"):
        for name in SHOWN:
            told = f"told of at most {SEEN[name]:,}" if name in SEEN else "told of any number"
            for n, more in steps:
                left = ratio(tables[Cell(world, more)][name], tables[Cell(world, n)][name])
                what = f"{name}, {world}, n = {more:,} over {n:,}"
                theirs = [published.get(f"{world} {size}", {}).get(name) for size in (more, n)]
                if None in theirs:
                    rows.append(Comparison(what, NOT_THERE, f"{left.mean:.3g}", show(left), told))
                else:
                    rows.append(compared(what, round(theirs[0] / theirs[1], 3), left))
    word = (
        "A network that was trained on short tables trusts longer ones less than it could, and then stops to gain: "
        "they show it for networks that saw 512 units. T24r is told of 512 units at most, so that a longer table "
        "changes its answer only by being less noisy. T24u and T24ur are told of 8,192, and priorformer's likelihood "
        "knows n. A quarter is what regret of order 1/n would leave."
    )
    title = "Regret of four times as many units over that of n units"
    return Entry(word, [comparison_table(title, rows)])


def universal_posterior(bench: Bench) -> Entry:
    """Their figure on fractional posteriors: which power of the likelihood a network's answers are nearest to."""
    cells: dict[tuple[int, str], list[Paid]] = {}
    for row in bench.floors:
        cells.setdefault((row.n, row.method), []).append(row)
    rows, distances = [], []
    for (n, name), paid in sorted(cells.items()):
        if name not in (FLOOR, CONTROL):
            least = np.array([row.regret for row in cells[n, FLOOR]])
            over = ratio(np.array([row.regret for row in paid]), least)
            apart = [ratio_of_means(np.array([row.distances[i] for row in paid]), least)[0] for i in range(len(POWERS))]
            nearest = f"nearest to the power {POWERS[int(np.argmin(apart))]:g}"
            rows.append(Comparison(f"{name}, n = {n:,}", NOT_THERE, f"{over.mean:.3g}", show(over), nearest))
            distances.append((f"{name}, n = {n:,}", *(f"{each:.2f}" for each in apart)))
    word = (
        "On tables of universal priors of ten atoms the exact Bayes rule is known (Gibbs' sampler), and so is the rule "
        "that takes the likelihood to a power. The first table has each network's regret over the least; the second "
        "its squared distance from the rule of each power, as a share of the least regret; the smallest tells which "
        "power it behaves like. A table of 2,048 units that is presented as one of 512 has its likelihood to the "
        "power of a quarter: what T24r and T24f do by design, others' networks do of themselves."
    )
    title = "Squared distance from the rule of a power of the likelihood, over the floor"
    powers = tuple(f"power {power:g}" for power in POWERS)
    return Entry(
        word,
        [comparison_table("Regret over the floor", rows), TextTable(title, ("", *powers), tuple(distances))],
    )
