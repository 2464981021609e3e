"""What ships beside the weights of a network: a card that says what it is and how good, and its learning curve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from ebformer.lab.arena.losses import Loss
from ebformer.lab.figures.arena_tables import mean_table
from ebformer.networks.weights import Weights
from ebformer.report.style import house_style

CYCLE = 4
"""Curves of different sizes have different colours, those of different worlds or channels different lines."""
LINES = ("-", "--", ":", "-.")


def network_card(name: str, weights: Weights[Any], summary: Mapping[str, str], losses: Iterable[Loss]) -> str:
    """A page of Markdown: network, training, range, regret on fresh tallies, hash."""
    return f"""# {name}

{identity(weights, summary)}

{mean_table(losses).markdown()}

Regret is the mean squared distance to the exact Bayes rule, weighted by the tally, for Poisson counts with priors on
[0, 50]. Written by `ebformer train {name} --ship`; the whole recipe is in the header of the weights file
(`ebformer.networks.weights.load(path).provenance["recipe"]`, and `["legs"]` for those it started from).
"""


def identity(weights: Weights[Any], summary: Mapping[str, str]) -> str:
    """The table that says which network this is and how it came about."""
    made = weights.provenance
    recipe, training, legs = made["recipe"], made["recipe"]["training"], made["legs"]
    begun = recipe["start"]
    runs = [*legs.values(), made]
    minutes, core = (sum(run[what] for run in runs) / 60 for what in ("seconds", "core_seconds"))
    rows = {
        **summary,
        "parameters": f"{weights.config.parameters:,}",
        "started from": f"the {'mean ' * (len(begun) > 1)}weights of {' and '.join(begun)}"
        if begun
        else "fresh weights",
        "training": f"{made['steps']:,} steps of {recipe['tallies']} tallies, seed {training['seed']}",
        "earlier legs": ", ".join(f"{name} {leg['steps']:,} steps" for name, leg in legs.items()) or "none",
        "cost": f"{minutes:.1f} minutes by the clock and {core:.1f} of processor time, all legs",
        "code": ", ".join(f"{name} {version or 'unknown'}" for name, version in (made["code"] or {}).items()),
        **{f"{what} in all legs": f"{low:,.0f} to {high:,.0f}" for what, (low, high) in made["range"].items()},
        "SHA-256": f"`{weights.sha256}`",
    }
    return "\n".join(["| | |", "| --- | --- |", *(f"| {what} | {told} |" for what, told in rows.items())])


def learning_curve(log: Sequence[Mapping[str, Any]]) -> Figure:
    """The loss of every record and the held-out regrets, against steps."""
    with house_style():
        figure = Figure(figsize=(10, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.plot([row["step"] for row in log], [row["loss"] for row in log])
        left.set(xlabel="step", ylabel="training loss", yscale="log")
        cells = [tuple(name.rsplit("_", 1)) for name in (log[-1] if log else {}) if name.rpartition("_")[2].isdigit()]
        groups, sizes = (list(dict.fromkeys(parts)) for parts in (zip(*cells, strict=True) if cells else ((), ())))
        for group, n in cells:
            watched = [row for row in log if f"{group}_{n}" in row]
            right.plot(
                [row["step"] for row in watched],
                [row[f"{group}_{n}"] for row in watched],
                LINES[groups.index(group) % len(LINES)],
                marker=".",  # of a short run there may be one record
                color=f"C{sizes.index(n) % CYCLE}",
                label=f"{group} {n}",
            )
        right.set(xlabel="step", ylabel="regret on tallies of its own", yscale="log")
        figure.legend(*right.get_legend_handles_labels(), loc="outside right center")
    return figure
