"""What every recipe answers: which network, from which weights, on which tallies, by which loss, for how long."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from ebformer.estimators.base import Estimator
from ebformer.lab.pretraining.loop import Task, Training
from ebformer.networks.config import Config, refuse_unknown
from ebformer.networks.weights import Weights

Batch = TypeVar("Batch")
Network = TypeVar("Network", bound=nn.Module)
Arrays = dict[str, Tensor]
"""The parameters of a network by the names of `Config.shapes()`."""


@dataclass(frozen=True, kw_only=True)
class Recipe(ABC, Generic[Batch, Network]):
    """Everything that determines a pre-training run; `describe` and `from_description` are inverse, through JSON too.

    A new family of networks says how its batches are drawn, what the loss of one is, and how weights of an earlier leg
    become the first ones of this one.
    """

    family: ClassVar[str]
    """Of networks, as `weights.FAMILIES` names it."""
    architecture: Config
    training: Training
    """Steps, optimiser, moving average and seed."""
    tallies: int
    """Per step."""
    start: tuple[str, ...] = ()
    """Where the weights start: at the mean of those of these recipes (a soup, Wortsman et al. 2022), or anew."""

    @abstractmethod
    def network(self) -> Network:
        """The network with fresh weights, drawn by torch's generator."""

    @abstractmethod
    def adopted(self, arrays: Arrays, architecture: Any) -> Arrays:
        """The arrays of a network of another architecture of this family, as this one can begin with them."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Batch:
        """One batch, a function of the generator alone."""

    @abstractmethod
    def loss(self, network: Network, batch: Batch) -> Tensor:
        """What a step lowers."""

    @abstractmethod
    def task(self) -> Task[Batch, Network]:
        """For the loop: batches, their loss, and regrets on tallies of its own to watch a run by."""

    @abstractmethod
    def on(self, worlds: Sequence[str]) -> Self:
        """The same recipe on other worlds, as `world_named` knows them."""

    @abstractmethod
    def estimator(self, name: str, weights: Weights[Any]) -> Estimator:
        """The network as a method."""

    @abstractmethod
    def seen(self, legs: Sequence[Self]) -> dict[str, list[float]]:
        """Bounds of the observations x and of the sample sizes n of this recipe and the legs before it."""

    @abstractmethod
    def summary(self) -> dict[str, str]:
        """What a card says of the network and of its training."""

    def planned(self, steps: int | None = None, seed: int | None = None) -> Self:
        """The same recipe with other steps or another seed, where they are given."""
        training = self.training
        changed = replace(training, steps=steps or training.steps, seed=training.seed if seed is None else seed)
        return replace(self, training=changed)

    def describe(self) -> dict[str, Any]:
        """A plain dictionary for JSON."""
        return {"family": self.family, **asdict(self)}

    @classmethod
    def from_description(cls, description: dict[str, Any]) -> Self:
        """The inverse of `describe`; unknown fields are refused."""
        given = {name: value for name, value in description.items() if name != "family"}
        refuse_unknown(cls, given)
        return cls(**given | cls.nested(given))

    @classmethod
    @abstractmethod
    def nested(cls, description: dict[str, Any]) -> dict[str, Any]:
        """The fields that are more than numbers and texts, as they were before JSON."""


AnyRecipe = Recipe[Any, Any]


def training_from(description: dict[str, Any]) -> Training:
    """The inverse of `asdict`, also after a trip through JSON.

    >>> training_from({"steps": 10, "betas": [0.9, 0.98]}).betas
    (0.9, 0.98)
    """
    refuse_unknown(Training, description)
    betas = description.get("betas", Training.betas)
    return Training(**description | {"betas": tuple(betas)})


def as_arrays(weights: Weights[Any]) -> Arrays:
    """The arrays of a file of weights, as torch has them."""
    return {name: torch.from_numpy(np.array(values)) for name, values in weights.arrays.items()}
