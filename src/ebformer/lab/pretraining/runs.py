"""A run on disk: begun or continued in a folder, planned for some minutes, shipped as weights with provenance."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

from ebformer.atomic import replacing
from ebformer.errors import InputError
from ebformer.lab.pretraining.loop import Row, train
from ebformer.lab.pretraining.network import TransformerModule
from ebformer.lab.pretraining.recipe import RECIPES, Recipe, loss
from ebformer.networks import weights as weights_file
from ebformer.networks import zoo
from ebformer.networks.architecture import Architecture
from ebformer.networks.weights import Weights


@contextmanager
def processes(threads: int, device: str) -> Iterator[bool]:
    """Under torchrun, meet the other processes and part at the end; yields whether this is the one that speaks."""
    torch.set_num_threads(threads)
    if "RANK" not in os.environ:
        yield True
        return
    dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    try:
        yield dist.get_rank() == 0
        dist.barrier()  # gloo aborts a process whose peer is gone while it still says goodbye
    finally:
        dist.destroy_process_group()


def begin(folder: Path, recipe: Recipe, minutes: float | None = None, resume: bool = False) -> Recipe:
    """The recipe this folder follows: the one a run in it began with, or this one, with steps for so many minutes.

    Several processes follow what the first one finds or writes.
    """
    if not dist.is_initialized():
        return _begin(folder, recipe, minutes, resume)
    agreed = [_begin(folder, recipe, minutes, resume) if dist.get_rank() == 0 else recipe]
    dist.broadcast_object_list(agreed)
    return agreed[0]


def _begin(folder: Path, recipe: Recipe, minutes: float | None, resume: bool) -> Recipe:
    written = folder / "recipe.json"
    if written.exists():
        if not resume:
            raise InputError(f"{folder} already holds a run: continue it with --resume, or choose another folder")
        return Recipe.from_description(json.loads(written.read_text()))
    for name in recipe.start:
        if not (folder.parent / name / "state.pt").exists() and name not in zoo.names("transformer"):
            raise InputError(
                f"this recipe starts from {name}, which is not in {folder.parent}: train {name} there first"
            )
    if minutes is not None:
        steps = max(1, int(60 * minutes / seconds_per_step(recipe)))
        recipe = replace(recipe, training=replace(recipe.training, steps=steps))
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(written) as partial:
        partial.write_text(json.dumps(recipe.describe(), indent=2) + "\n", encoding="utf-8")
    return recipe


def seconds_per_step(recipe: Recipe) -> float:
    """How long a step takes here, from a few on throw-away weights; the first ones compile and fill the caches."""
    rng, network, ends = np.random.default_rng(0), TransformerModule(recipe.architecture), []
    for _ in range(10):
        loss(network, recipe.draw(rng)).backward()  # type: ignore[no-untyped-call]
        ends.append(time.monotonic())
    return (ends[-1] - ends[1]) / 8


def run(
    folder: Path,
    recipe: Recipe,
    device: str = "cpu",
    watch: Callable[[Row], None] = lambda row: None,
) -> TransformerModule:
    """Train by the recipe, from fresh weights or from those of other networks, or continue what the folder holds."""
    torch.manual_seed(recipe.training.seed)
    network = TransformerModule(recipe.architecture)
    if recipe.start and not (folder / "state.pt").exists():
        network.load_state_dict(mean_of([arrays_of(name, folder.parent, recipe.architecture) for name in recipe.start]))
    return train(network.to(device), recipe.task(), recipe.training, folder, watch=watch, evaluate_every=250)


Arrays = dict[str, torch.Tensor]


def arrays_of(name: str, beside: Path, architecture: Architecture) -> Arrays:
    """The arrays of a network for this architecture: from the run of that name beside this one, or from the zoo."""
    if (beside / name / "state.pt").exists():
        recipe, network, _ = averaged(beside / name)
        return untied(network.state_dict(), recipe.architecture, architecture)
    weights = zoo.load(name)
    given = {array: torch.from_numpy(np.array(values)) for array, values in weights.arrays.items()}
    return untied(given, weights.config, architecture)


def untied(given: Arrays, tied: Architecture, architecture: Architecture) -> Arrays:
    """The arrays of a network with as many weight sets or more that answers as the given one does."""
    layer_of = {architecture.set_of(layer): layer for layer in reversed(range(architecture.layers))}
    arrays = {}
    for name in architecture.shapes():
        source = name
        if name.startswith("sets."):
            _, which, array = name.split(".", 2)
            source = f"sets.{tied.set_of(layer_of[int(which)])}.{array}"
        arrays[name] = given[source]
    return arrays


def mean_of(several: list[Arrays]) -> Arrays:
    """The mean of the weights of networks that share an ancestor."""
    return {name: torch.stack([arrays[name] for arrays in several]).mean(0) for name in several[0]}


def averaged(folder: Path) -> tuple[Recipe, TransformerModule, list[Row]]:
    """The recipe of a run, its averaged network as of the last checkpoint, and its log."""
    state = folder / "state.pt"
    if not state.exists():
        raise InputError(f"{folder} holds no checkpoint: train there first")
    recipe = Recipe.from_description(json.loads((folder / "recipe.json").read_text()))
    kept = torch.load(state, map_location="cpu", weights_only=True)
    network = TransformerModule(recipe.architecture)
    network.load_state_dict(kept["average"])
    return recipe, network, kept["progress"]["log"]


def ship(folder: Path, path: Path) -> Weights[Architecture]:
    """Write the averaged weights of a run to a file, with the recipe and what it took, and read them back."""
    recipe, network, log = averaged(folder)
    if not log:
        raise InputError(f"the run in {folder} was stopped before its first record: continue it with --resume")
    sizes = [leg.n for leg in lineage(recipe)]
    largest = int(500 if recipe.theta_max is None else recipe.theta_max)
    provenance = {
        "recipe": recipe.describe(),
        "steps": int(log[-1]["step"]),
        "seconds": log[-1]["seconds"],
        "torch": torch.__version__,
        "range": {
            "x": [0, largest + 4 * round(largest**0.5)],
            "n": [min(n[0] for n in sizes), max(n[1] for n in sizes)],
        },
    }
    weights_file.save(path, Weights(recipe.architecture, arrays(network), provenance))
    return weights_file.load(path)


def lineage(recipe: Recipe) -> list[Recipe]:
    """The recipe and those it started from: what the weights have seen in all."""
    return [recipe, *(leg for name in recipe.start if name in RECIPES for leg in lineage(RECIPES[name]))]


def arrays(network: nn.Module) -> dict[str, np.ndarray]:
    """The parameters under the names of `Architecture.shapes()`."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()}
