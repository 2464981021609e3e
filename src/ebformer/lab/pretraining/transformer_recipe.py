"""Recipes of the paper's transformers: drawn tallies as tokens, with the exact Bayes rule as the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.estimators.pretrained import Pretrained
from ebformer.lab.pretraining.batches import GRID_END, Tallies, draw_tallies, draw_units
from ebformer.lab.pretraining.loop import Row, Task
from ebformer.lab.pretraining.network import Tokens, TransformerModule
from ebformer.lab.pretraining.recipe import Arrays, Recipe, training_from
from ebformer.lab.worlds import MixtureOfWorlds, PaperThetaMax, Priors, World, world_named
from ebformer.lab.worlds.base import log_uniform
from ebformer.networks.architecture import Architecture
from ebformer.networks.weights import Weights

Targets = Literal["exact", "theta"]

WATCHED, WATCHED_SIZES = ("neural", "dirichlet"), (128, 512, 2048, 8192)
"""Every run is watched by tallies of these worlds, beside those of its own."""


NOTES = {
    "dirichlet": " (the Dirichlet process of `dirichlet` has alpha = 50)",
    "universals": " (3 to 60 atoms anywhere up to theta_max, weights uniform on the simplex)",
}
"""What a card adds to the name of a world."""


@dataclass(frozen=True)
class TokenBatch:
    """What one step learns from: the loss is sum(weight * (answer - target)^2)."""

    tokens: Tokens
    target: Tensor
    """[T]."""
    weight: Tensor
    """[T]."""


@dataclass(frozen=True)
class Thinned:
    """The paper's law of theta_max with large values drawn less often, since a tally costs the square of its width.

    A draw is kept with probability min(1, knee / theta_max); `weights` undoes this in the loss.
    """

    knee: float

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        kept = np.empty(0)
        while len(kept) < count:
            drawn = PaperThetaMax().draw(rng, 2 * count + 8)
            kept = np.concatenate([kept, drawn[rng.random(len(drawn)) * drawn < self.knee]])
        return kept[:count]

    def weights(self, theta_max: Floats) -> Floats:
        """One over the probability that a draw was kept."""
        return np.maximum(1.0, theta_max / self.knee)


@dataclass(frozen=True, kw_only=True)
class TransformerRecipe(Recipe[TokenBatch, TransformerModule]):
    """A network, the worlds it sees, how a tally is scored, and how the weights are moved.

    A tally's loss is its regret divided by (mean theta + 1/4)^theta_power / n^n_power, so that small and large rates,
    and few and many units, count alike.

    >>> from ebformer.lab.pretraining.loop import Training
    >>> recipe = TransformerRecipe(architecture=Architecture(), training=Training(steps=100))
    >>> TransformerRecipe.from_description(recipe.describe()) == recipe
    True
    """

    family: ClassVar[str] = "transformer"
    architecture: Architecture
    worlds: tuple[str, ...] = ("neural", "dirichlet")
    """Equally likely, so that a world named twice is drawn twice as often; rates beyond 500 count as 500."""
    theta_max: float | None = None
    """None: the paper's law, thinned above `knee`."""
    knee: float = 50.0
    n: tuple[int, int] = (32, 65536)
    """Bounds of the number of units, log-uniform between them."""
    tallies: int = 48
    theta_power: float = 1.5
    n_power: float = 0.25
    targets: Targets = "exact"
    """E[theta | x] under the drawn prior, or theta itself."""
    collapsed: bool = True
    """One token per distinct value, or one per unit."""
    one_prior: bool = False
    """All tallies of a step share a prior up to theta_max, as published."""

    def __post_init__(self) -> None:
        if not self.worlds:
            raise InputError("the recipe names no world: give one such as neural")
        for name in self.worlds:
            if (channel := world_named(name).channel) not in Pretrained.channels:
                raise InputError(f"{name} is a world of the {channel} channel, which transformers do not read")
        if self.theta_max is not None and not 0 < self.theta_max <= GRID_END:
            raise InputError(
                f"theta_max is {self.theta_max:g}: give a positive number of at most {GRID_END:g}, or null"
            )
        if not 1 <= self.n[0] <= self.n[1]:
            raise InputError(f"n goes from {self.n[0]} to {self.n[1]}: give two bounds, from 1 on and in order")
        if self.targets not in get_args(Targets):
            raise InputError(f"the targets are {self.targets!r}: choose from {', '.join(get_args(Targets))}")

    def network(self) -> TransformerModule:
        return TransformerModule(self.architecture)

    def adopted(self, arrays: Arrays, architecture: Architecture) -> Arrays:
        return untied(arrays, architecture, self.architecture)

    @property
    def world(self) -> World:
        """The mixture of worlds with its theta_max."""
        law = Thinned(self.knee) if self.theta_max is None else self.theta_max
        return MixtureOfWorlds(theta_max=law, worlds=tuple(map(world_named, self.worlds)))

    def draw(self, rng: np.random.Generator) -> TokenBatch:
        priors = self.world.draw_many(rng, self.tallies)
        if self.one_prior:
            base, weights = priors.atoms[:1] / priors.theta_max[0], priors.weights[:1]
            priors = Priors(base * priors.theta_max[:, None], weights.repeat(self.tallies, 0), priors.theta_max)
        n = np.rint(log_uniform(rng, *self.n, self.tallies)).astype(np.int64)
        if self.collapsed and self.targets == "exact":
            tallies = draw_tallies(priors, n, rng)
        else:
            tallies = draw_units(priors, n, rng, self.targets == "theta", self.collapsed)
        weights = np.ones(self.tallies) if self.theta_max else Thinned(self.knee).weights(priors.theta_max)
        return self.batch(tallies, weights)

    def batch(self, tallies: Tallies, weights: Floats) -> TokenBatch:
        """Tallies as tensors, each with its weight in the loss."""
        told = replace(self.architecture, largest_n=np.inf)
        tokens = Tokens.of(told, tallies.x, tallies.multiplicity, tallies.lengths)
        scale = (tallies.mean + 0.25) ** self.theta_power * tallies.n**-self.n_power
        weight = tokens.share * torch.from_numpy((weights / scale / len(scale)).astype(np.float32))[tokens.tally]
        return TokenBatch(tokens, torch.from_numpy(tallies.target.astype(np.float32)), weight)

    def task(self, tallies_per_cell: int = 128) -> Task[TokenBatch, TransformerModule]:
        """For the loop: fresh batches, their loss, and the mean regret on held-out tallies of each world and size."""
        rng = np.random.default_rng(20_000 + self.training.seed)
        theta_max = 50.0 if self.theta_max is None else self.theta_max
        cells = {}
        for name in dict.fromkeys((*WATCHED, *self.worlds)):
            for n in WATCHED_SIZES:
                priors = replace(world_named(name), theta_max=theta_max).draw_many(rng, tallies_per_cell)
                tallies = draw_tallies(priors, np.full(tallies_per_cell, n), rng)
                tokens = Tokens.of(self.architecture, tallies.x, tallies.multiplicity, tallies.lengths)
                cells[f"{name}_{n}"] = tokens, torch.from_numpy(tallies.target)

        @torch.no_grad()
        def evaluate(network: TransformerModule) -> Row:
            return {cell: regret(network, tokens, bayes) for cell, (tokens, bayes) in cells.items()}

        return Task(self.draw, self.loss, evaluate)

    def loss(self, network: TransformerModule, batch: TokenBatch) -> Tensor:
        """The weighted squared distance of the answers to their targets."""
        device = network.head.weight.device
        answer: Tensor = network(batch.tokens.to(device))
        return (batch.weight.to(device) * (answer - batch.target.to(device)) ** 2).sum()

    def on(self, worlds: Sequence[str]) -> TransformerRecipe:
        return replace(self, worlds=tuple(worlds))

    def estimator(self, name: str, weights: Weights[Architecture]) -> Estimator:
        return Pretrained(name, weights)

    def seen(self, legs: Sequence[TransformerRecipe]) -> dict[str, list[float]]:
        """Of x as this leg has it: what earlier ones saw may be forgotten."""
        largest = int(GRID_END if self.theta_max is None else self.theta_max)
        low, high = zip(self.n, *(leg.n for leg in legs), strict=True)
        return {"x": [0, largest + 4 * round(largest**0.5)], "n": [min(low), max(high)]}

    def summary(self) -> dict[str, str]:
        a, worlds = self.architecture, self.worlds
        sets = "one weight set" if a.weight_sets == 1 else f"{a.weight_sets} weight sets"
        shares = ", ".join(f"{worlds.count(world)} in {len(worlds)} {world}" for world in dict.fromkeys(worlds))
        shares = worlds[0] if len(worlds) == 1 else shares
        random = "random, the paper's law with a floor of 1"
        capped = f"; a larger sample is presented as one of {a.largest_n:.0f}" if a.largest_n <= self.n[1] else ""
        return {
            "network": f"{a.layers} layers, {sets}, width {a.width}, {a.heads} heads, {a.attention} attention",
            "worlds seen in training": shares + "".join(NOTES.get(world, "") for world in dict.fromkeys(worlds)),
            "theta_max": random if self.theta_max is None else f"fixed at {self.theta_max:g}",
            "units per tally": f"{self.n[0]:,} to {self.n[1]:,}, log-uniform{capped}",
            "targets": "the exact Bayes rule of the drawn prior" if self.targets == "exact" else "theta",
            "answers": "the rate of every unit of a tally of Poisson counts; nothing makes it monotone in x",
        }

    @classmethod
    def nested(cls, description: dict[str, Any]) -> dict[str, Any]:
        return {
            "architecture": Architecture.from_description(description["architecture"]),
            "training": training_from(description["training"]),
            "worlds": tuple(description["worlds"]),
            "n": tuple(description["n"]),
            "start": tuple(description["start"]),
        }


def regret(network: TransformerModule, tokens: Tokens, bayes: Tensor) -> float:
    """The mean over tallies of sum_x (multiplicity / n) (answer - bayes)^2."""
    device = network.head.weight.device
    answer = network(tokens.to(device)).double().cpu()
    return float((tokens.share * (answer - bayes) ** 2).sum() / (len(tokens.start) - 1))


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
