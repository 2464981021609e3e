"""Everything that determines a pre-training run; it reads and writes JSON, and `RECIPES` holds those with a name."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from ebformer.errors import InputError
from ebformer.lab.pretraining.batches import GRID_END, Tallies, draw_tallies, draw_units
from ebformer.lab.pretraining.loop import Row, Task, Training
from ebformer.lab.pretraining.network import Tokens, TransformerModule
from ebformer.lab.worlds.base import Floats, PaperThetaMax, Priors, World, log_uniform
from ebformer.lab.worlds.dirichlet import Dirichlet
from ebformer.lab.worlds.mixture import MixtureOfWorlds
from ebformer.lab.worlds.neural import Neural
from ebformer.networks.architecture import Architecture
from ebformer.networks.config import refuse_unknown

Targets = Literal["exact", "theta"]

WORLDS: dict[str, World] = {"neural": Neural(), "dirichlet": Dirichlet(alpha=50.0)}


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


@dataclass(frozen=True)
class Recipe:
    """A network, the worlds it sees, how a tally is scored, and how the weights are moved.

    A tally's loss is its regret divided by (mean theta + 1/4)^theta_power / n^n_power, so that small and large rates,
    and few and many units, count alike.

    >>> Recipe.from_description(RECIPES["T24r"].describe()) == RECIPES["T24r"]
    True
    """

    architecture: Architecture
    training: Training
    worlds: tuple[str, ...] = ("neural", "dirichlet")
    """Equally likely, so that a world named twice is drawn twice as often; the Dirichlet process has alpha = 50."""
    theta_max: float | None = None
    """None: the paper's law, thinned above `knee`."""
    knee: float = 50.0
    n: tuple[int, int] = (32, 65536)
    """Bounds of the number of units, log-uniform between them."""
    tallies: int = 48
    """Per step."""
    theta_power: float = 1.5
    n_power: float = 0.25
    targets: Targets = "exact"
    """E[theta | x] under the drawn prior, or theta itself."""
    collapsed: bool = True
    """One token per distinct value, or one per unit."""
    one_prior: bool = False
    """All tallies of a step share a prior up to theta_max, as published."""
    start: tuple[str, ...] = ()
    """Where the weights start: at the mean of those of these recipes (a soup, Wortsman et al. 2022), or anew."""

    def __post_init__(self) -> None:
        if not self.worlds or not set(self.worlds) <= set(WORLDS):
            raise InputError(f"the worlds are {', '.join(self.worlds) or 'none'}: choose from {', '.join(WORLDS)}")
        if self.theta_max is not None and not 0 < self.theta_max <= GRID_END:
            raise InputError(
                f"theta_max is {self.theta_max:g}: give a positive number of at most {GRID_END:g}, or null"
            )
        if not 1 <= self.n[0] <= self.n[1]:
            raise InputError(f"n goes from {self.n[0]} to {self.n[1]}: give two bounds, from 1 on and in order")
        if self.targets not in get_args(Targets):
            raise InputError(f"the targets are {self.targets!r}: choose from {', '.join(get_args(Targets))}")

    @property
    def world(self) -> World:
        """The mixture of worlds with its theta_max."""
        law = Thinned(self.knee) if self.theta_max is None else self.theta_max
        return MixtureOfWorlds(theta_max=law, worlds=tuple(WORLDS[name] for name in self.worlds))

    def draw(self, rng: np.random.Generator) -> TokenBatch:
        """One batch, a function of the generator alone."""
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
        for name in ("neural", "dirichlet"):
            for n in (128, 512, 2048, 8192):
                priors = replace(WORLDS[name], theta_max=theta_max).draw_many(rng, tallies_per_cell)
                tallies = draw_tallies(priors, np.full(tallies_per_cell, n), rng)
                tokens = Tokens.of(self.architecture, tallies.x, tallies.multiplicity, tallies.lengths)
                cells[f"{name}_{n}"] = tokens, torch.from_numpy(tallies.target)

        @torch.no_grad()
        def evaluate(network: TransformerModule) -> Row:
            return {cell: regret(network, tokens, bayes) for cell, (tokens, bayes) in cells.items()}

        return Task(self.draw, loss, evaluate)

    def describe(self) -> dict[str, Any]:
        """A plain dictionary for JSON, which `from_description` reads back."""
        return asdict(self)

    @classmethod
    def from_description(cls, description: dict[str, Any]) -> Recipe:
        """The inverse of `describe`, also after a trip through JSON; unknown fields are refused."""
        refuse_unknown(cls, description)
        training = dict(description["training"])
        nested = {
            "architecture": Architecture.from_description(description["architecture"]),
            "training": Training(**training | {"betas": tuple(training["betas"])}),
            "worlds": tuple(description["worlds"]),
            "n": tuple(description["n"]),
            "start": tuple(description["start"]),
        }
        return cls(**description | nested)


def loss(network: TransformerModule, batch: TokenBatch) -> Tensor:
    """The weighted squared distance of the answers to their targets."""
    device = network.head.weight.device
    answer: Tensor = network(batch.tokens.to(device))
    return (batch.weight.to(device) * (answer - batch.target.to(device)) ** 2).sum()


def regret(network: TransformerModule, tokens: Tokens, bayes: Tensor) -> float:
    """The mean over tallies of sum_x (multiplicity / n) (answer - bayes)^2."""
    device = network.head.weight.device
    answer = network(tokens.to(device)).double().cpu()
    return float((tokens.share * (answer - bayes) ** 2).sum() / (len(tokens.start) - 1))


def legs(name: str, long: Recipe, short: Training, last: Training, tallies: int, weight_sets: int) -> dict[str, Recipe]:
    """The legs of a shipped network: any number of units; up to the paper's 512; and, from their mean, up to 2048."""
    capped = replace(long, architecture=replace(long.architecture, weight_sets=weight_sets, largest_n=512.0))
    capped = replace(capped, tallies=tallies)
    return {
        f"{name}-long": long,
        f"{name}-short": replace(capped, training=short, n=(32, 512), n_power=0.5, start=(f"{name}-long",)),
        name: replace(capped, training=last, n=(32, 2048), n_power=0.4, start=(f"{name}-long", f"{name}-short")),
    }


LONG = Recipe(Architecture(), Training(steps=2400, learning_rate=0.006, muon=3.0, average=0.995))
LINEAR = replace(LONG, architecture=Architecture(attention="linear"))
FIXED = replace(
    LONG,
    theta_max=50.0,
    training=replace(LONG.training, steps=1500, learning_rate=0.004, warmup=50),
    start=("T24r-long",),
)
SHORT = replace(LONG.training, learning_rate=0.004, warmup=100)
LAST = replace(LONG.training, learning_rate=0.004, warmup=100, average=0.998, seed=1)

TIED = legs("T24f-tied", FIXED, replace(SHORT, steps=1600), replace(LAST, steps=6000), tallies=64, weight_sets=2)
UNTIED = replace(
    TIED["T24f-tied"],
    architecture=replace(TIED["T24f-tied"].architecture, weight_sets=24),
    training=replace(LAST, steps=5500, learning_rate=0.003),
    start=("T24f-tied",),
)


def neural_to_one(times: int, start: str, training: Training, theta_power: float = 0.75) -> Recipe:
    """A further leg of T24f with so many neural priors for every Dirichlet one."""
    return replace(
        UNTIED, worlds=("neural",) * times + ("dirichlet",), theta_power=theta_power, training=training, start=(start,)
    )


LATE = replace(LAST, warmup=50, clip=11.0)
"""theta_power 3/4 makes losses on [0, 50] eleven times as large as 3/2 does."""

ABLATION = replace(LONG, architecture=Architecture(layers=12), training=replace(LONG.training, steps=1000))

RECIPES: dict[str, Recipe] = {
    **legs("T24r", LONG, replace(SHORT, steps=1700), replace(LAST, steps=1700), tallies=48, weight_sets=2),
    **legs("L24r", LINEAR, replace(SHORT, steps=1500, learning_rate=0.005), replace(LAST, steps=3000), 48, 24),
    **TIED,
    "T24f-untied": UNTIED,
    "T24f-2": neural_to_one(2, "T24f-untied", replace(LAST, steps=1500, learning_rate=0.002, seed=2), theta_power=1.5),
    "T24f-7": neural_to_one(7, "T24f-2", replace(LATE, steps=4000, learning_rate=0.003, seed=6)),
    "T24f": neural_to_one(15, "T24f-7", replace(LATE, steps=2500, learning_rate=0.002, seed=9)),
    "ablation-mixture": ABLATION,
    "ablation-neural": replace(ABLATION, worlds=("neural",)),
    "ablation-dirichlet": replace(ABLATION, worlds=("dirichlet",)),
    "paper": Recipe(
        Architecture(embedding="linear"),
        Training(50_000, learning_rate=0.02, schedule="step", warmup=0, betas=(0.9, 0.999), epsilon=0.01, clip=None),
        n=(512, 512),
        tallies=192,
        theta_power=0.0,
        n_power=0.0,
        targets="theta",
        collapsed=False,
        one_prior=True,
    ),
    "smoke": Recipe(
        Architecture(layers=4, width=16, heads=4), Training(steps=300, warmup=30), theta_max=10.0, n=(32, 512)
    ),
}
"""What the zoo ships, in three legs each; T24f has one more that unties its layers, and three of mostly neural priors.
`ablation-...` are the rows of the paper's tab:mixture-training; `paper` is the published protocol; `smoke` takes under
a minute."""
