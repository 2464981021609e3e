"""Recipes of priorformer: every channel, its worlds, sample sizes, and the loss."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.estimators.priorformer import Priorformer
from ebformer.lab.pretraining.loop import Row, Task
from ebformer.lab.pretraining.priorformer_batches import FEWEST, GridBatch, Setting, make_batch
from ebformer.lab.pretraining.priorformer_loss import (
    answered,
    posterior_distance,
    posterior_divergence,
    regret,
    root_mean,
)
from ebformer.lab.pretraining.priorformer_network import PriorformerModule, grown
from ebformer.lab.pretraining.priorformer_studies import STUDIES, Study
from ebformer.lab.pretraining.recipe import Arrays, Recipe, training_from
from ebformer.lab.worlds import world_named
from ebformer.lab.worlds.base import log_uniform
from ebformer.networks.config import refuse_unknown
from ebformer.networks.priorformer_block import PriorformerConfig
from ebformer.networks.weights import Weights

WATCHED_SIZES, WATCHED, OF_EACH = (20, 200, 2000), 24, 4
"""A run is watched by so many tallies of each of these sizes, and so many of every world, or more."""
MOST_TRIES = 200
"""Steps whose priors are too far apart for a grid are drawn again, so often at most."""
LEAST_N = 64.0
"""Smaller samples count as much in the loss as samples of this size."""


@dataclass(frozen=True, kw_only=True)
class PriorformerRecipe(Recipe[GridBatch, PriorformerModule]):
    """What the network is shown, how it is judged, and how its weights are moved.

    A step draws a sample size, a channel and what its tallies share, then priors of all worlds of that channel.
    """

    family: ClassVar[str] = "priorformer"
    architecture: PriorformerConfig
    studies: tuple[Study, ...]
    sizes: tuple[tuple[int, int, float], ...]
    """Units of a tally: from, to, how often; log-uniform in between."""
    worlds_change_at: tuple[int, int]
    """The sample sizes at which the second and the third of the shares of worlds begin."""
    tallies: int = 32
    spread: float = 0.05
    """Tallies of a step, which are as hard as each other, have the same theta_max up to a factor exp(+-spread)."""
    discount: float = 0.5
    """Weight of a block's answer relative to the next block's."""
    n_power: float = 0.25
    """A step counts in proportion to max(n, 64)^n_power: roots of regrets fall with n faster than that."""
    posterior_weight: float = 2.0
    """Weight of the distance between answered and exact posteriors, relative to the distance between their means,"""
    divergence_weight: float = 0.0
    """and of their divergence, which tells whether thetas are where the answer has none."""
    leaders: int = 2
    """Of the units of a tally whose posteriors are compared, the one that leads and others of the leading tenth."""

    def __post_init__(self) -> None:
        if not self.studies:
            raise InputError(f"the recipe names no channel: give studies of {', '.join(STUDIES)}")
        for what, chances in (
            ("channels", [study.chance for study in self.studies]),
            ("sizes", [chance for *_, chance in self.sizes]),
        ):
            if min(chances, default=0.0) < 0 or abs(sum(chances) - 1) > 1e-9:
                raise InputError(f"the chances of the {what} add up to {sum(chances):g}: let them add up to 1")
        if self.tallies < FEWEST:
            raise InputError(f"a step has {self.tallies} tallies: give at least {FEWEST}")
        for study in self.studies:
            for column in zip(*study.worlds.values(), strict=True):
                if sum(column) != self.tallies:
                    told = f"the worlds of the {study.channel} channel share {sum(column)} tallies of a step"
                    raise InputError(f"{told}: let them share {self.tallies}")
        for low, high, _ in self.sizes:
            if not 1 <= low <= high:
                raise InputError(f"a size goes from {low} to {high}: give two bounds, from 1 on and in order")

    def network(self) -> PriorformerModule:
        return PriorformerModule(self.architecture)

    def adopted(self, arrays: Arrays, architecture: PriorformerConfig) -> Arrays:
        return grown(arrays, self.architecture)

    def draw(self, rng: np.random.Generator) -> GridBatch:
        def drawn() -> GridBatch | None:
            n = sample_size(rng, self.sizes)
            study = self.studies[rng.choice(len(self.studies), p=[study.chance for study in self.studies])]
            column = bisect(self.worlds_change_at, n)
            shares = {world: share[column] for world, share in study.worlds.items()}
            return self.batch(rng, study, study.setting(rng, n), shares)

        return one_that_fits(drawn)

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
                atoms, weights = world_named(name).sample(rng, tops, 4)
                atoms = study.turned(rng, atoms)
                drawn += [(name, (row[mass > 0], mass[mass > 0])) for row, mass in zip(atoms, weights, strict=True)]
        return make_batch(rng, setting, drawn, self.leaders)

    def loss(self, network: PriorformerModule, batch: GridBatch) -> Tensor:
        """Root mean regret of each world's tallies, every block's answer counted, plus the distance of posteriors.

        The root is taken of the mean over a batch that shares n, not tally by tally: then the best answer remains the
        Bayes mixture over worlds (its mean and its spread), while all sample sizes weigh alike.
        """
        answers = network(batch)
        total = torch.zeros(())
        for back, answer in enumerate(reversed(answers)):
            total = total + self.discount**back * root_mean(regret(batch, answer), batch.world)
        posterior = answered(batch, answers[-1])
        total = total + self.posterior_weight * root_mean(posterior_distance(batch, posterior), batch.world)
        if self.divergence_weight:
            total = total + self.divergence_weight * root_mean(posterior_divergence(batch, posterior), batch.world)
        return total * (batch.n.mean().clamp_min(LEAST_N) / 512) ** self.n_power

    def task(self) -> Task[GridBatch, PriorformerModule]:
        rng = np.random.default_rng(20_000 + self.training.seed)
        cells = dict[str, GridBatch]()
        for study in self.studies:
            shares = dict.fromkeys(study.worlds, max(OF_EACH, math.ceil(WATCHED / len(study.worlds))))
            for n in WATCHED_SIZES:
                watched = partial(self.batch, rng, study, study.watched(n), shares)
                cells[f"{study.channel}_{n}"] = one_that_fits(watched)

        @torch.no_grad()
        def evaluate(network: PriorformerModule) -> Row:
            return {name: float(regret(batch, network(batch)[-1]).mean()) for name, batch in cells.items()}

        return Task(self.draw, self.loss, evaluate)

    def on(self, worlds: Sequence[str]) -> PriorformerRecipe:
        """Channels without a world are left out; the others are as frequent as before, relative to each other."""
        channels = {name: world_named(name).channel for name in worlds}
        for name, channel in channels.items():
            if channel not in {study.channel for study in self.studies}:
                raise InputError(f"{name} is a world of the {channel} channel, which this recipe leaves out")
        kept = [study for study in self.studies if study.channel in channels.values()]
        whole = sum(study.chance for study in kept)
        studies = []
        for study in kept:
            names = [name for name, channel in channels.items() if channel == study.channel]
            each, left = divmod(self.tallies, len(names))
            shares = {name: (each + (i < left),) * 3 for i, name in enumerate(names)}
            studies.append(replace(study, chance=study.chance / whole, worlds=shares))
        return replace(self, studies=tuple(studies))

    def estimator(self, name: str, weights: Weights[PriorformerConfig]) -> Estimator:
        return Priorformer(name, weights)

    def seen(self, legs: Sequence[PriorformerRecipe]) -> dict[str, list[float]]:
        sizes = [size for leg in (self, *legs) for size in leg.sizes]
        return {"n": [min(low for low, *_ in sizes), max(high for _, high, _ in sizes)]}

    def summary(self) -> dict[str, str]:
        a = self.architecture
        small, large = self.worlds_change_at
        told = {
            "network": f"{a.blocks} blocks, width {a.width}, {a.heads} heads, {a.em_steps} EM steps beside each",
            "answers": "a prior, in every channel; estimates and intervals are its Bayes rule and posteriors",
            "channels": ", ".join(f"{study.channel} {100 * study.chance:.0f} %" for study in self.studies),
            "units per tally": ", ".join(
                f"{100 * chance:.0f} % {low:,} to {high:,}" for low, high, chance in self.sizes
            ),
            "tallies of a step": f"by world: n below {small} / from {small} / from {large}",
        }
        for study in self.studies:
            shares = (f"{name} {' / '.join(map(str, share))}" for name, share in study.worlds.items())
            told[study.channel] = (
                f"{', '.join(shares)}; what is known differs in {100 * study.unequal:.0f} % of the steps"
            )
        return told

    def describe(self) -> dict[str, Any]:
        studies = [{"channel": study.channel, **asdict(study)} for study in self.studies]
        return super().describe() | {"studies": studies}

    @classmethod
    def nested(cls, description: dict[str, Any]) -> dict[str, Any]:
        return {
            "architecture": PriorformerConfig.from_description(description["architecture"]),
            "training": training_from(description["training"]),
            "sizes": tuple((low, high, chance) for low, high, chance in description["sizes"]),
            "worlds_change_at": tuple(description["worlds_change_at"]),
            "studies": tuple(map(study_from, description["studies"])),
            "start": tuple(description["start"]),
        }


def study_from(description: dict[str, Any]) -> Study:
    """The inverse of what `describe` says of a study."""
    given = dict(description)
    channel = given.pop("channel")
    if channel not in STUDIES:
        raise InputError(f"there is no study of the channel {channel!r}: choose from {', '.join(STUDIES)}")
    refuse_unknown(STUDIES[channel], given)
    worlds = {name: (small, medium, large) for name, (small, medium, large) in given["worlds"].items()}
    return STUDIES[channel](**given | {"worlds": worlds})


def one_that_fits(draw: Callable[[], GridBatch | None]) -> GridBatch:
    """The first batch whose priors fit on a grid together."""
    for _ in range(MOST_TRIES):
        batch = draw()
        if batch is not None:
            return batch
    raise InputError(
        f"{MOST_TRIES} times on end fewer than {FEWEST} priors of a step fitted on a grid together: let the worlds draw"
        " priors of the size of theta_max"
    )


def sample_size(rng: np.random.Generator, laws: Sequence[tuple[int, int, float]]) -> int:
    """A number of units that is log-uniform from low to high, with a given chance of each (low, high, chance)."""
    low, high, _ = laws[rng.choice(len(laws), p=[chance for *_, chance in laws])]
    return int(np.rint(log_uniform(rng, low, high)))
