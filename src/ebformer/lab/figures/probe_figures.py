"""What a network knows after each layer: R^2 of linear probes, the paper's figure `linear_probe`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ebformer.lab.probes.blocks import NPMLE, BlockFinding
from ebformer.lab.probes.experiment import Finding
from ebformer.report.style import CYCLE, INK, MUTED, house_style, subplots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = {
    "value": "x",
    "frequency": "N(x)",
    "marginal": "f(x) under NPMLE",
    "robbins": "Robbins",
    "bayes": "Bayes rule",
    "correction": "correction to x",
    "atom weight": "PMF(theta)",
}


def probe_curves(findings: Sequence[Finding], world: str) -> Figure:
    """One panel per model, one curve per quantity: mean R^2 over seeds after each layer, with the range of the seeds.

    A dashed line is the ceiling of the quantity of the same colour, where it has one below 1.
    """
    own = [finding for finding in findings if finding.world == world]
    models, targets = (list(dict.fromkeys(getattr(f, name) for f in own)) for name in ("model", "target"))
    with house_style():
        figure, panels = subplots(1, len(models), figsize=(3.1 * len(models), 3.4), squeeze=False, sharey=True)
        for axes, model in zip(panels[0], models, strict=True):
            for shade, target in zip(CYCLE, targets, strict=False):
                rows = [f for f in own if f.model == model and f.target == target]
                layers = sorted({f.layer for f in rows})
                r2 = np.array([[f.r2 for f in rows if f.layer == layer] for layer in layers])
                axes.plot(layers, r2.mean(axis=1), color=shade, label=LABELS[target])
                axes.fill_between(layers, r2.min(axis=1), r2.max(axis=1), color=shade, alpha=0.2, linewidth=0)
                bound = float(np.mean([f.ceiling for f in rows]))
                if bound < 0.999:
                    axes.axhline(bound, color=shade, linewidth=1, linestyle=(0, (4, 3)))
            axes.axhline(0, color=MUTED, linewidth=0.8)
            axes.set(xlabel="layer", title=model, ylim=(-0.1, 1.02))
        panels[0][0].set_ylabel("R² on fresh tallies")
        panels[0][-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), labelcolor=INK)
        return figure


def block_curves(blocks: Sequence[BlockFinding]) -> Figure:
    """What each block of a priorformer does: four panels, one curve per world, the exact NPMLE dashed."""
    columns = {
        "regret": "regret",
        "distance": "distance to the true prior",
        "atoms": "effective atoms",
        "shortfall": "nats below the maximum",
    }
    worlds = list(dict.fromkeys(finding.world for finding in blocks))
    stages = sorted({int(finding.stage) for finding in blocks if finding.stage != NPMLE})
    with house_style():
        figure, panels = subplots(1, len(columns), figsize=(3.1 * len(columns), 3.2))
        for axes, (column, title) in zip(panels, columns.items(), strict=True):
            for shade, world in zip(CYCLE, worlds, strict=False):
                own = {
                    stage: [getattr(f, column) for f in blocks if f.world == world and f.stage == stage]
                    for stage in (*map(str, stages), NPMLE)
                }
                means = [float(np.mean(own[str(stage)])) for stage in stages]
                axes.plot(stages, means, color=shade, marker="o", markersize=3.5, label=world)
                if column != "shortfall":
                    axes.axhline(float(np.mean(own[NPMLE])), color=shade, linewidth=1, linestyle=(0, (4, 3)))
            axes.set(xlabel="block", title=title, xticks=stages, ylim=(0, None))
        panels[-1].plot([], [], color=MUTED, linewidth=1, linestyle=(0, (4, 3)), label="exact NPMLE")
        panels[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), labelcolor=INK)
        return figure
