"""Runs on disk: a road of legs, each begun or continued in a folder of its own, the last one shipped as weights."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

from ebformer.atomic import write_text
from ebformer.errors import InputError
from ebformer.lab.pretraining.loop import Row, train
from ebformer.lab.pretraining.recipe import AnyRecipe, Arrays, as_arrays
from ebformer.lab.pretraining.recipes import RECIPES, recipe_from
from ebformer.networks import weights as weights_file
from ebformer.networks import zoo
from ebformer.networks.weights import Weights


@contextmanager
def processes(threads: int, device: str) -> Iterator[bool]:
    """Under torchrun, meet the other processes and part at the end; yields whether this is the one that speaks.

    The weights of a run depend on the number of threads, and on whether the processor flushes denormal numbers to zero,
    which makes it faster here.
    """
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    try:
        with threadpool_limits(threads):
            if "RANK" not in os.environ:
                yield True
                return
            dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
            try:
                yield dist.get_rank() == 0
                dist.barrier()  # gloo aborts a process whose peer is gone while it still says goodbye
            finally:
                dist.destroy_process_group()
    finally:
        torch.set_flush_denormal(False)


def road(recipe: AnyRecipe, folder: Path) -> dict[Path, AnyRecipe]:
    """The legs to go, in order, and where each goes: those the recipe starts from, in folders beside its own, and it.

    A leg that is finished there, or not begun and shipped with ebformer, is behind us.
    """
    legs = dict[Path, AnyRecipe]()
    for name in recipe.start:
        place = folder.parent / name
        if finished(place) or (not begun(place) and name in zoo.names(recipe.family)):
            continue
        if name not in RECIPES:
            raise InputError(f"this recipe starts from {name}, which is neither a recipe nor a finished run in {place}")
        legs |= road(RECIPES[name], place)
    return legs | {folder: recipe}


def begun(folder: Path) -> bool:
    """Whether a run in this folder got as far as a checkpoint."""
    return (folder / "state.pt").exists()


def finished(folder: Path) -> bool:
    """Whether a run in this folder came to its end."""
    if not (begun(folder) and (folder / "recipe.json").exists()):
        return False
    run = Kept.of(folder)
    return bool(run.log) and run.log[-1]["step"] >= run.recipe.training.steps


def begin(folder: Path, recipe: AnyRecipe, minutes: float | None = None, resume: bool = False) -> AnyRecipe:
    """The recipe this folder follows: the one a run in it began with, or this one, with steps for so many minutes.

    Several processes follow what the first one finds or writes.
    """
    if not dist.is_initialized():
        return _begin(folder, recipe, minutes, resume)
    agreed = [_begin(folder, recipe, minutes, resume) if dist.get_rank() == 0 else recipe]
    dist.broadcast_object_list(agreed)
    return agreed[0]


def _begin(folder: Path, recipe: AnyRecipe, minutes: float | None, resume: bool) -> AnyRecipe:
    written = folder / "recipe.json"
    if written.exists():
        if not resume:
            raise InputError(f"{folder} already holds a run: continue it with --resume, or choose another folder")
        return recipe_from(json.loads(written.read_text()))
    if minutes is not None:
        if not 0 < minutes < np.inf:
            raise InputError(f"a leg is to take {minutes} minutes: give a positive number")
        recipe = recipe.planned(steps=max(1, int(60 * minutes / seconds_per_step(recipe))))
    folder.mkdir(parents=True, exist_ok=True)
    write_text(written, json.dumps(recipe.describe(), indent=2) + "\n")
    return recipe


def seconds_per_step(recipe: AnyRecipe) -> float:
    """How long a step takes here, from a few on throw-away weights; the first ones compile and fill the caches."""
    rng, network, ends = np.random.default_rng(0), recipe.network(), []
    for _ in range(10):
        recipe.loss(network, recipe.draw(rng)).backward()  # type: ignore[no-untyped-call]
        ends.append(time.monotonic())
    return (ends[-1] - ends[1]) / 8


def check_device(name: str) -> None:
    """An `InputError` unless torch can compute on the device of this name."""
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InputError(f"torch cannot compute on {name!r} here: {error}") from error


def run(
    folder: Path,
    recipe: AnyRecipe,
    device: str = "cpu",
    watch: Callable[[Row], None] = lambda row: None,
) -> nn.Module:
    """Train by the recipe, from fresh weights or from those of other networks, or continue what the folder holds."""
    torch.manual_seed(recipe.training.seed)
    network: nn.Module = recipe.network()
    if recipe.start and not begun(folder):
        network.load_state_dict(mean_of([first_arrays(recipe, name, folder.parent) for name in recipe.start]))
    averaged: nn.Module = train(
        network.to(device), recipe.task(), recipe.training, folder, watch=watch, evaluate_every=250
    )
    return averaged


def first_arrays(recipe: AnyRecipe, name: str, beside: Path) -> Arrays:
    """What a recipe begins with: the arrays of the run of this name beside its own, or of the network in the zoo."""
    if begun(beside / name):
        earlier = Kept.of(beside / name)
        arrays, architecture = dict(earlier.network.state_dict()), earlier.recipe.architecture
    else:
        weights = zoo.load(name, recipe.family)
        arrays, architecture = as_arrays(weights), weights.config
    adopted = recipe.adopted(arrays, architecture)
    if {array: tuple(tensor.shape) for array, tensor in adopted.items()} != recipe.architecture.shapes():
        raise InputError(f"the recipe asks for {recipe.architecture}, which cannot begin with {architecture} of {name}")
    return adopted


def mean_of(several: list[Arrays]) -> Arrays:
    """The mean of the weights of networks that share an ancestor."""
    return {name: torch.stack([arrays[name] for arrays in several]).mean(0) for name in several[0]}


class Kept(NamedTuple):
    """A run as of its last checkpoint."""

    recipe: AnyRecipe
    network: nn.Module
    """Averaged."""
    log: list[Row]
    code: dict[str, str | None] | None
    """What `code_version` says of the code that ran last."""

    @classmethod
    def of(cls, folder: Path) -> Kept:
        if not begun(folder):
            raise InputError(f"{folder} holds no checkpoint: train there first")
        recipe = recipe_from(json.loads((folder / "recipe.json").read_text()))
        kept = torch.load(folder / "state.pt", map_location="cpu", weights_only=True)
        network = recipe.network()
        network.load_state_dict(kept["average"])
        return cls(recipe, network, kept["progress"]["log"], kept.get("code"))

    @property
    def cost(self) -> dict[str, Any]:
        """What it took, and which code: for the header of the weights."""
        steps, seconds, core_seconds = (self.log[-1][name] for name in ("step", "seconds", "core_seconds"))
        return {"steps": int(steps), "seconds": seconds, "core_seconds": core_seconds, "code": self.code}


def ship(folder: Path, path: Path) -> Weights[Any]:
    """Write the averaged weights of a run to a file, with the recipes and what they took, and read them back.

    `provenance` has the last recipe, its steps, seconds and code; `legs` has the same of the runs it started from that
    lie in folders beside; `range` what all of them saw.
    """
    run = Kept.of(folder)
    if not run.log:
        raise InputError(f"the run in {folder} was stopped before its first record: continue it with --resume")
    legs = earlier_legs(run.recipe, folder.parent)
    provenance = {
        "recipe": run.recipe.describe(),
        **run.cost,
        "legs": {name: {"recipe": leg.recipe.describe(), **leg.cost} for name, leg in legs.items()},
        "range": run.recipe.seen([leg.recipe for leg in legs.values()]),
    }
    weights_file.save(path, Weights(run.recipe.architecture, arrays(run.network), provenance))
    return weights_file.load(path)


def earlier_legs(recipe: AnyRecipe, beside: Path) -> dict[str, Kept]:
    """The runs a recipe started from, and those they started from, as far as they lie beside: first ones first."""
    legs = dict[str, Kept]()
    for name in recipe.start:
        if begun(beside / name) and (leg := Kept.of(beside / name)).log:
            legs |= earlier_legs(leg.recipe, beside) | {name: leg}
    return legs


def arrays(network: nn.Module) -> dict[str, np.ndarray]:
    """The parameters under the names of `Config.shapes()`."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()}
