"""Everything that determines a priorformer run: channels, worlds, sample sizes, what is known of the units, loss.

`ebformer train priorformer` trains by it; the weights carry it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ebformer.channels import channel_named
from ebformer.lab.pretraining.loop import Row, Task, Training
from ebformer.lab.pretraining.priorformer_batches import GridBatch, Setting, make_batch
from ebformer.lab.pretraining.priorformer_network import PriorformerModule
from ebformer.lab.worlds.base import PaperThetaMax, World, log_uniform
from ebformer.lab.worlds.dirichlet import Dirichlet
from ebformer.lab.worlds.effects import Bells, FewEffects, Flat, Modes, Scales, Skewed, Sparse
from ebformer.lab.worlds.neural import Neural
from ebformer.lab.worlds.proportions import Betas, FewProportions, Kinds, Logits, Pushed, Spiked
from ebformer.lab.worlds.rates import Alike, Edged, Few, Gammas, Groups, Smooth, Spaced, Tails
from ebformer.networks.grid import SPACING
from ebformer.networks.priorformer_block import PriorformerConfig

Floats = NDArray[Any]
Shares = tuple[int, int, int]
"""Tallies of a world in a step: below the first of the sizes at which worlds change, below the second, beyond."""

WORLDS: dict[str, World] = {
    "neural": Neural(),
    "coarse dirichlet": Dirichlet(alpha=8.0),
    "fine dirichlet": Dirichlet(alpha=500.0),
    **{world.name: world for world in (Few(), Spaced(), Smooth(), Edged(), Gammas(), Tails(), Groups(), Alike())},
    **{world.name: world for world in (Bells(), Skewed(), Flat(), Modes(), Scales(), Sparse(), FewEffects())},
    **{world.name: world for world in (Betas(), Logits(), Spiked(), Kinds(), FewProportions(), Pushed())},
}


@dataclass(frozen=True)
class Study(ABC):
    """A channel as it is met in training: how often, with which worlds, and what is known of the units."""

    channel: ClassVar[str]
    chance: float
    """Of a step."""
    unequal: float
    """Chance that the units of a step differ in what is known of them."""
    worlds: dict[str, Shares]

    def setting(self, rng: np.random.Generator, n: int) -> Setting:
        """What the tallies of a step of n units share."""
        levels = int(rng.integers(2, 12)) if rng.random() < self.unequal and n >= 16 else 1
        place = rng.uniform(-0.5, 0.5, levels) if levels > 1 else np.zeros(1)
        parts = rng.gamma(rng.choice([1.0, 5.0, 50.0]), size=levels) + 1e-3
        units = rng.multinomial(n - levels, parts / parts.sum()) + 1
        lean = float(rng.choice([0.0, 0.0, 0.0, rng.uniform(-0.7, 0.7)])) if levels > 1 else 0.0
        known, theta_max = self.known(rng, place, units)
        return Setting(channel_named(self.channel), known, units, theta_max, lean)

    @abstractmethod
    def known(self, rng: np.random.Generator, place: Floats, units: NDArray[np.int64]) -> tuple[Floats, float]:
        """What is known of each level, which lies at a place on [-1/2, 1/2]; and theta_max."""

    def turned(self, rng: np.random.Generator, atoms: Floats) -> Floats:
        """The priors of a step, in one of the directions that make no difference."""
        return atoms


@dataclass(frozen=True)
class Counts(Study):
    """Poisson counts: exposures spread over up to two and a half decades, 1 on average."""

    channel: ClassVar[str] = "poisson"

    def known(self, rng: np.random.Generator, place: Floats, units: NDArray[np.int64]) -> tuple[Floats, float]:
        exposure = np.exp(place * rng.uniform(0.0, np.log(300.0)))
        if rng.random() < 0.5:
            theta_max = float(PaperThetaMax(floor=0.05).draw(rng, 1)[0])
        else:
            theta_max = float(log_uniform(rng, 0.02, 1500.0))
        return exposure * units.sum() / (exposure @ units), theta_max


@dataclass(frozen=True)
class Measurements(Study):
    """Effects: standard errors spread over up to two decades, of mean precision 1."""

    channel: ClassVar[str] = "normal"

    def known(self, rng: np.random.Generator, place: Floats, units: NDArray[np.int64]) -> tuple[Floats, float]:
        error = np.exp(place * rng.uniform(0.0, np.log(100.0)))
        return error * np.sqrt(float(units @ error**-2.0) / units.sum()), float(log_uniform(rng, 0.3, 25.0))


@dataclass(frozen=True)
class Trials(Study):
    """Successes: trials from 1 to six thousand, spread over up to two decades; half of the steps count failures."""

    channel: ClassVar[str] = "binomial"

    def known(self, rng: np.random.Generator, place: Floats, units: NDArray[np.int64]) -> tuple[Floats, float]:
        mean = log_uniform(rng, 1.0, 600.0)
        trials = np.maximum(np.rint(mean * np.exp(place * rng.uniform(0.0, np.log(100.0)))), 1.0)
        theta_max = 1.0 if rng.random() < 0.4 else float(log_uniform(rng, min(0.5, 0.3 / mean), 1.0))
        return trials, theta_max

    def turned(self, rng: np.random.Generator, atoms: Floats) -> Floats:
        return 1.0 - atoms if rng.random() < 0.5 else atoms


STUDIES: dict[str, type[Study]] = {study.channel: study for study in (Counts, Measurements, Trials)}


@dataclass(frozen=True)
class PriorformerRecipe:
    """What the network is shown, how it is judged, and how its weights are moved.

    >>> PriorformerRecipe.from_description(PriorformerRecipe().describe()) == PriorformerRecipe()
    True
    """

    config: PriorformerConfig = field(default_factory=PriorformerConfig)
    training: Training = field(
        default_factory=lambda: Training(
            steps=20_000,
            learning_rate=2e-3,
            muon=3.0,
            warmup=200,
            betas=(0.9, 0.98),
            weight_decay=0.01,
            average=0.998,
        )
    )
    tallies: int = 32
    """Per step."""
    sizes: tuple[tuple[int, int, float], ...] = (
        (5, 64, 0.25),
        (64, 400, 0.3),
        (400, 20_000, 0.3),
        (1, 2_000_000, 0.15),
    )
    """From, to, how often: most is to be learnt where samples are too small to speak for themselves."""
    worlds_change_at: tuple[int, int] = (64, 400)
    studies: tuple[Study, ...] = (
        Counts(
            chance=0.5,
            unequal=0.25,
            worlds={
                "gammas": (5, 4, 4),
                "tails": (5, 4, 4),
                "groups": (6, 5, 5),
                "alike": (4, 3, 3),
                "neural": (5, 9, 5),
                "coarse dirichlet": (1, 1, 1),
                "fine dirichlet": (1, 2, 4),
                "few": (1, 1, 1),
                "spaced": (1, 1, 0),
                "smooth": (2, 1, 1),
                "edged": (1, 1, 4),
            },
        ),
        Measurements(
            chance=0.27,
            unequal=0.5,
            worlds={
                "bells": (9, 8, 6),
                "skewed": (4, 4, 4),
                "flat": (3, 4, 4),
                "modes": (3, 4, 5),
                "scales": (4, 4, 4),
                "sparse": (6, 6, 6),
                "few-effects": (3, 2, 3),
            },
        ),
        Trials(
            chance=0.23,
            unequal=0.5,
            worlds={
                "betas": (12, 11, 10),
                "logits": (4, 4, 4),
                "spiked": (5, 5, 5),
                "kinds": (4, 4, 4),
                "few-proportions": (4, 4, 4),
                "pushed": (3, 4, 5),
            },
        ),
    )
    spread: float = 0.05
    """Tallies of a step, which are as hard as each other, have the same theta_max up to a factor exp(+-spread)."""
    discount: float = 0.5
    """Weight of a block's answer relative to the next block's."""
    n_power: float = 0.25
    """A step counts in proportion to max(n, 64)^n_power: roots of regrets fall with n faster than that."""
    posterior_weight: float = 2.0
    """Weight of the distance between answered and exact posteriors, relative to the distance between their means."""
    start: tuple[str, ...] = ()
    """Where the weights start: at the mean of those of these recipes, of fewer blocks perhaps, or anew."""

    def draw(self, rng: np.random.Generator) -> GridBatch:
        """One batch, a function of the generator alone."""
        while True:
            n = sample_size(rng, self.sizes)
            study = self.studies[rng.choice(len(self.studies), p=[study.chance for study in self.studies])]
            column = bisect(self.worlds_change_at, n)
            shares = {world: share[column] for world, share in study.worlds.items()}
            batch = self.batch(rng, study, study.setting(rng, n), shares)
            if batch is not None:
                return batch

    def batch(
        self, rng: np.random.Generator, study: Study, setting: Setting, shares: dict[str, int]
    ) -> GridBatch | None:
        """Tallies of these worlds in a setting; None where they are too wide for a grid."""
        names = np.repeat(list(shares), list(shares.values()))[: self.tallies]
        ends = setting.theta_max * np.exp(rng.uniform(-self.spread, self.spread, len(names)))
        drawn = list[tuple[str, tuple[Floats, Floats]]]()
        for name in shares:
            tops = np.minimum(ends[names == name], setting.channel.domain[1])
            if len(tops):
                atoms, weights = WORLDS[name].sample(rng, tops, 4)
                atoms = study.turned(rng, atoms)
                drawn += [(name, (row[mass > 0], mass[mass > 0])) for row, mass in zip(atoms, weights, strict=True)]
        return make_batch(rng, setting, drawn)

    def loss(self, network: PriorformerModule, batch: GridBatch) -> Tensor:
        """Root mean regret of each world's tallies, every block's answer counted, plus the distance of posteriors.

        The root is taken of the mean over a batch that shares n, not tally by tally: then the best answer remains the
        Bayes mixture over worlds (its mean and its spread), while all sample sizes weigh alike.
        """
        answers = network(batch)
        total = torch.zeros(())
        for back, answer in enumerate(reversed(answers)):
            total = total + self.discount**back * root_mean(regret(batch, answer), batch.world)
        total = total + self.posterior_weight * root_mean(posterior_distance(batch, answers[-1]), batch.world)
        return total * (batch.n.mean().clamp_min(64.0) / 512) ** self.n_power

    def task(self, tallies_per_cell: int = 24) -> Task[GridBatch, PriorformerModule]:
        """For the loop: fresh batches, their loss, and the mean regret on tallies of its own, by channel and size."""
        rng = np.random.default_rng(20_000 + self.training.seed)
        cells = dict[str, GridBatch]()
        for study in self.studies:
            for n in (20, 200, 2000):
                setting = validation(study, n)
                shares = dict.fromkeys(study.worlds, 4)
                batch = None
                while batch is None:
                    batch = self.batch(rng, study, setting, shares)
                cells[f"{study.channel} {n}"] = batch

        @torch.no_grad()
        def evaluate(network: PriorformerModule) -> Row:
            return {name: float(regret(batch, network(batch)[-1]).mean()) for name, batch in cells.items()}

        return Task(self.draw, self.loss, evaluate)

    def describe(self) -> dict[str, Any]:
        """A plain dictionary for JSON, which `from_description` reads back."""
        studies = [{"channel": study.channel, **asdict(study)} for study in self.studies]
        return {**asdict(self), "studies": studies}

    @classmethod
    def from_description(cls, description: dict[str, Any]) -> PriorformerRecipe:
        """The inverse of `describe`, also after a trip through JSON."""
        training = dict(description["training"])
        studies = [
            STUDIES[study["channel"]](
                study["chance"], study["unequal"], {name: tuple(shares) for name, shares in study["worlds"].items()}
            )
            for study in description["studies"]
        ]
        nested = {
            "config": PriorformerConfig(**description["config"]),
            "training": Training(**training | {"betas": tuple(training["betas"])}),
            "sizes": tuple(tuple(size) for size in description["sizes"]),
            "worlds_change_at": tuple(description["worlds_change_at"]),
            "studies": tuple(studies),
            "start": tuple(description["start"]),
        }
        return cls(**description | nested)


def validation(study: Study, n: int) -> Setting:
    """The setting of tallies that a run is watched by: equal units, of ordinary size."""
    known, theta_max = {"poisson": (1.0, 20.0), "normal": (1.0, 5.0), "binomial": (60.0, 0.8)}[study.channel]
    return Setting(channel_named(study.channel), np.array([known]), np.array([n]), theta_max)


def sample_size(rng: np.random.Generator, laws: Sequence[tuple[int, int, float]]) -> int:
    """A number of units that is log-uniform from low to high, with a given chance of each (low, high, chance)."""
    low, high, _ = laws[rng.choice(len(laws), p=[chance for *_, chance in laws])]
    return int(np.rint(log_uniform(rng, low, high)))


def regret(batch: GridBatch, log_weights: Tensor) -> Tensor:
    """sum_x (N(x)/n) (E_answer[theta | x] - E_G[theta | x])^2 over a typical variance of the noise: [b].

    Typical is half-way, geometrically, between that of the tally and that of the batch.
    """
    weights = log_weights.exp()
    marginal = weights @ batch.likelihood
    estimate = ((weights * batch.theta) @ batch.likelihood) / marginal
    typical = torch.sqrt(batch.variance * batch.variance.mean())
    return (batch.share * (estimate - batch.bayes).square()).sum(-1) / typical


def posterior_distance(batch: GridBatch, log_weights: Tensor) -> Tensor:
    """The integrated squared difference of posterior distribution functions, averaged over the picked units: [b].

    This is the excess of the continuous ranked probability score, a proper score, in units of the noise.
    """
    mass = log_weights.exp()[:, None, :] * batch.likelihood.T[batch.picked]
    answered = (mass / mass.sum(-1, keepdim=True)).cumsum(-1)
    return SPACING * (answered - batch.posterior).square().sum(-1).mean(-1)


def root_mean(values: Tensor, world: NDArray[np.str_]) -> Tensor:
    """sqrt of the mean within each world, averaged over tallies."""
    total = torch.zeros(())
    for name in np.unique(world):
        chosen = torch.as_tensor(world == name)
        total = total + chosen.float().mean() * (values[chosen].mean() + 1e-8).sqrt()
    return total


FIRST_LEG = PriorformerRecipe(
    config=PriorformerConfig(blocks=6),
    training=Training(
        steps=18_000, learning_rate=2e-3, muon=3.0, warmup=200, betas=(0.9, 0.98), weight_decay=0.01, average=0.998
    ),
)
