"""Which network of the paper's grid to train: successive halving on held-out MSE, with Optuna.

Layers 6 to 48, width 32 or 64, heads 4 to 32 (section 3.3, "Parameter selection"). Every candidate starts; at each
rung the worse two thirds stop. A study lives in a folder: each trial is a run like any other, and the study's journal
lets a killed search continue with the next trial.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import torch
from optuna.storages.journal import JournalFileBackend, JournalStorage

from ebformer.errors import InputError
from ebformer.lab.pretraining.loop import Row, train
from ebformer.lab.pretraining.recipe import AnyRecipe
from ebformer.lab.pretraining.transformer_recipe import TransformerRecipe

LAYERS, WIDTHS, HEADS = (6, 12, 18, 24, 48), (32, 64), (4, 8, 16, 32)


@dataclass(frozen=True)
class Candidate:
    """A point of the grid and what it reached: the mean held-out regret when it stopped.

    Regret ranks as MSE does: on the same tallies the two differ by the same mmse for every network.
    """

    layers: int
    width: int
    heads: int
    steps: int
    regret: float
    finished: bool


def held_out(row: Row) -> float | None:
    """The geometric mean of the watched regrets over neural and Dirichlet worlds, so that every size counts alike."""
    regrets = [value for name, value in row.items() if name.startswith(("neural_", "dirichlet_"))]
    return float(np.exp(np.mean(np.log(regrets)))) if regrets else None


def objective(trial: optuna.Trial, base: TransformerRecipe, folder: Path, rung: int) -> float:
    """Train one candidate, reporting its regret at every rung; stops where the pruner says so."""
    chosen: dict[str, Any] = {
        "layers": trial.suggest_categorical("layers", LAYERS),
        "width": trial.suggest_categorical("width", WIDTHS),
        "heads": trial.suggest_categorical("heads", HEADS),
    }
    recipe = replace(base, architecture=replace(base.architecture, **chosen))
    torch.manual_seed(recipe.training.seed)

    def watch(row: Row) -> None:
        regret = held_out(row)
        if regret is not None:
            trial.report(regret, int(row["step"]))
            if trial.should_prune():
                raise optuna.TrialPruned

    network = recipe.network()
    task = recipe.task()
    place = folder / f"trial{trial.number}"
    best = train(network, task, recipe.training, place, watch=watch, log_every=rung, evaluate_every=rung)
    return held_out(task.evaluate(best)) or np.inf


def select(base: AnyRecipe, folder: Path, minutes: float) -> list[Candidate]:
    """Search for so many minutes (the trial under way finishes), or until the grid is done; the best comes first.

    All trials follow `base` but for the architecture; rungs stand at 1/9 and 1/3 of its steps.
    """
    if not isinstance(base, TransformerRecipe):
        raise InputError(f"the paper's grid is one of transformers, and this is a recipe of the family {base.family}")
    rung = max(1, base.training.steps // 9)
    folder.mkdir(parents=True, exist_ok=True)
    grid: dict[str, list[int]] = {"layers": list(LAYERS), "width": list(WIDTHS), "heads": list(HEADS)}
    study = optuna.create_study(
        study_name="selection",
        storage=JournalStorage(JournalFileBackend(str(folder / "journal.log"))),
        sampler=optuna.samplers.GridSampler(grid, seed=base.training.seed),
        pruner=optuna.pruners.SuccessiveHalvingPruner(min_resource=rung, reduction_factor=3),
        load_if_exists=True,
    )
    study.optimize(lambda trial: objective(trial, base, folder, rung), timeout=60 * minutes)
    return sorted(candidates(study), key=lambda c: (not c.finished, c.regret))


def candidates(study: optuna.Study) -> Iterator[Candidate]:
    """What became of every trial that got as far as its first rung."""
    for trial in study.trials:
        if trial.intermediate_values:
            last = max(trial.intermediate_values)
            finished = trial.state == optuna.trial.TrialState.COMPLETE
            yield Candidate(**trial.params, steps=last, regret=trial.intermediate_values[last], finished=finished)
