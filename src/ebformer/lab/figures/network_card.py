"""What ships beside the weights of a network: a card that says what it is and how good, and its learning curve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from ebformer.lab.arena.losses import Loss
from ebformer.lab.figures.arena_tables import mean_table
from ebformer.networks.architecture import Architecture
from ebformer.networks.weights import Weights
from ebformer.report.style import house_style


def network_card(name: str, weights: Weights[Architecture], losses: Iterable[Loss]) -> str:
    """A page of Markdown: network, training, range, regret on fresh tallies, hash."""
    a, provenance = weights.config, weights.provenance
    recipe, training = provenance["recipe"], provenance["recipe"]["training"]
    sizes, x, ever = recipe["n"], weights.trained_range("x"), weights.trained_range("n")
    theta_max = recipe["theta_max"]
    law = "random, the paper's law with a floor of 1" if theta_max is None else f"fixed at {theta_max:g}"
    worlds, begun = recipe["worlds"], recipe["start"]
    shares = ", ".join(f"{worlds.count(world)} in {len(worlds)} {world}" for world in dict.fromkeys(worlds))
    start = f"the {'mean ' * (len(begun) > 1)}weights of {' and '.join(begun)}" if begun else "fresh weights"
    capped = f"; a larger sample is presented as one of {a.largest_n:.0f}" if a.largest_n <= sizes[1] else ""
    earlier = f", up to {ever[1]:,.0f} in earlier legs" if ever[1] > sizes[1] else ""
    sets = "one weight set" if a.weight_sets == 1 else f"{a.weight_sets} weight sets"
    return f"""# {name}

A transformer that reads the prior off a tally of Poisson counts and answers with the rate of every unit.

| | |
| --- | --- |
| network | {a.layers} layers, {sets}, width {a.width}, {a.heads} heads, {a.attention} attention |
| parameters | {a.parameters:,} |
| worlds seen in training | {shares} (Dirichlet process with alpha = 50) |
| theta_max | {law} |
| units per tally | {sizes[0]:,} to {sizes[1]:,}, log-uniform{earlier}{capped} |
| counts | {x[0]:.0f} to {x[1]:.0f} |
| targets | {"the exact Bayes rule of the drawn prior" if recipe["targets"] == "exact" else "theta"} |
| started from | {start} |
| training | {provenance["steps"]:,} steps of {recipe["tallies"]} tallies, seed {training["seed"]}, \
{provenance["seconds"] / 60:.0f} minutes on a share of one core, torch {provenance["torch"]} |
| SHA-256 | `{weights.sha256}` |

Beyond these ranges it still answers, with an `OutsideTrainingRange` warning. Nothing makes it monotone in x.
Multinomial and least-favourable priors were never trained on.

{mean_table(losses).markdown()}

Regret is the mean squared distance to the exact Bayes rule, weighted by the tally, for priors on [0, 50]. Written by
`ebformer train {name} --ship`; the whole recipe is in the header of the weights file
(`ebformer.networks.weights.load(path).provenance["recipe"]`).
"""


def learning_curve(log: Sequence[Mapping[str, Any]]) -> Figure:
    """The loss of every record and the held-out regrets, against steps."""
    with house_style():
        figure = Figure(figsize=(10, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.plot([row["step"] for row in log], [row["loss"] for row in log])
        left.set(xlabel="step", ylabel="training loss", yscale="log")
        watched = [row for row in log if any("_128" in name for name in row)]
        cells = [name for name in (watched[-1] if watched else {}) if name.rpartition("_")[2].isdigit()]
        for position, cell in enumerate(cells):
            world, _, n = cell.rpartition("_")
            style = "-" if world == "neural" else "--"
            right.plot(
                [row["step"] for row in watched],
                [row[cell] for row in watched],
                style,
                color=f"C{position % 4}",
                label=f"{world} {n}",
            )
        right.set(xlabel="step", ylabel="held-out regret on [0, 50]", yscale="log")
        figure.legend(*right.get_legend_handles_labels(), loc="outside right center")
    return figure
