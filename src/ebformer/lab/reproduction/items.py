"""Every table, figure and claim of the paper: its key on the command line, where it stands there, how to make ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from typing import Any

from ebformer.lab.reproduction import field, insight, successor, synthetic
from ebformer.lab.reproduction.bench import Bench
from ebformer.lab.reproduction.claims import claims
from ebformer.lab.reproduction.compare import Entry


@dataclass(frozen=True)
class Item:
    """A table, figure or claim; `needs` are the experiments it rests on, which items share."""

    key: str
    title: str
    where: str
    needs: tuple[str, ...]
    make: Callable[[Bench], Entry]

    def cost(self, scale: str) -> float:
        """Seconds of processor time, its experiments included."""
        return float(sum(costs()[scale][experiment] for experiment in self.needs))


@cache
def costs() -> dict[str, Any]:
    """Seconds of processor time by scale and experiment, and a note on where they come from.

    `benchmarks/costs.py` writes a scale anew from what a run of the command spent.
    """
    text = resources.files("ebformer.lab.reproduction").joinpath("costs.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


ITEMS = (
    Item("fig-probe", "Linear probes", "figure 1", ("findings",), insight.probes),
    Item("fig-regret", "Regret against n", "figure 2", ("losses",), synthetic.regret),
    Item("fig-time", "Time against n", "figure 3", ("timings",), synthetic.time),
    Item("tab-rmse", "RMSE on real data", "table 1, figure 4", ("scores",), partial(field.improvement, "rmse")),
    Item("claims", "Claims in text and captions", "text and captions", ("losses", "timings"), claims),
    Item("thm-robbins", "A transformer that is Robbins' estimator", "theorem 4.1", (), insight.theorem),
    Item("cor-regret", "Its regret vanishes", "corollary 4.3", ("vanishing",), insight.corollary),
    Item("fig-mmse-neural", "MMSE of neural priors", "figure 5 (a)", ("drawn",), synthetic.mmse_neural),
    Item("fig-minimax", "The minimax rule at point masses", "figure 5 (b)", (), synthetic.minimax_risk),
    Item("tab-mixture-training", "Training worlds", "table 2", ("ablation",), synthetic.mixture_training),
    Item("tab-pl-synthetic", "Plackett-Luce, synthetic", "table 3", ("losses",), synthetic.plackett_luce_synthetic),
    *(
        Item(
            f"tab-t-synthetic-{n}",
            f"t-tests of {n}, synthetic",
            f"table {k}",
            ("losses",),
            partial(synthetic.t_synthetic, n),
        )
        for k, n in ((4, "T24r"), (5, "L24r"))
    ),
    Item("tab-pl-rmse", "Plackett-Luce, real RMSE", "table 6", ("scores",), partial(field.plackett_luce_real, "rmse")),
    *(
        Item(
            f"tab-t-rmse-{n}", f"t-tests of {n}, real RMSE", f"table {k}", ("scores",), partial(field.t_real, "rmse", n)
        )
        for k, n in ((7, "T24r"), (8, "L24r"))
    ),
    Item("tab-mae", "MAE on real data", "table 9, figure 6", ("scores",), partial(field.improvement, "mae")),
    Item("tab-pl-mae", "Plackett-Luce, real MAE", "table 10", ("scores",), partial(field.plackett_luce_real, "mae")),
    *(
        Item(f"tab-t-mae-{n}", f"t-tests of {n}, real MAE", f"table {k}", ("scores",), partial(field.t_real, "mae", n))
        for k, n in ((11, "T24r"), (12, "L24r"))
    ),
    Item(
        "priorformer-blocks",
        "What priorformer's blocks do",
        "not in the paper",
        ("blocks",),
        insight.priorformer_blocks,
    ),
    Item("universal-regret", "Universal priors", "successor's figure 1", ("losses",), successor.universal_regret),
    Item(
        "universal-length",
        "Tables longer than those of training",
        "successor's length generalisation",
        ("losses",),
        successor.universal_length,
    ),
    Item(
        "universal-posterior",
        "Fractional posteriors",
        "successor's fractional posteriors",
        ("floors",),
        successor.universal_posterior,
    ),
)
