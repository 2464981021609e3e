"""The channels as priorformer meets them in training: their worlds, and what is known of the units of a tally."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ebformer.channels import channel_named
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.lab.pretraining.priorformer_batches import Setting
from ebformer.lab.worlds import PaperThetaMax, world_named
from ebformer.lab.worlds.base import log_uniform

Shares = tuple[int, int, int]
"""Tallies of a world in a step: below the first of the sizes at which worlds change, below the second, beyond."""


@dataclass(frozen=True)
class Study(ABC):
    """A channel as it is met in training: how often, with which worlds, and what is known of the units."""

    channel: ClassVar[str]
    ordinary: ClassVar[tuple[float, float]]
    """What is known of every unit, and theta_max, of the tallies that a run is watched by."""
    chance: float
    """Of a step."""
    unequal: float
    """Chance that the units of a step differ in what is known of them."""
    worlds: dict[str, Shares]

    def __post_init__(self) -> None:
        if not self.worlds:
            raise InputError(
                f"the recipe names no world of the {self.channel} channel: give one, or leave the channel out"
            )
        for name in self.worlds:
            if (channel := world_named(name).channel) != self.channel:
                raise InputError(f"{name} is a world of the {channel} channel: move it there from {self.channel}")

    def setting(self, rng: np.random.Generator, n: int) -> Setting:
        """What the tallies of a step of n units share."""
        levels = int(rng.integers(2, 12)) if rng.random() < self.unequal and n >= 16 else 1
        place = rng.uniform(-0.5, 0.5, levels) if levels > 1 else np.zeros(1)
        parts = rng.gamma(rng.choice([1.0, 5.0, 50.0]), size=levels) + 1e-3
        units = rng.multinomial(n - levels, parts / parts.sum()) + 1
        lean = float(rng.choice([0.0, 0.0, 0.0, rng.uniform(-0.7, 0.7)])) if levels > 1 else 0.0
        known, theta_max = self.known(rng, place, units)
        return Setting(channel_named(self.channel), known, units, theta_max, lean)

    def watched(self, n: int) -> Setting:
        """What the tallies share that a run is watched by: equal units, of ordinary size."""
        known, theta_max = self.ordinary
        return Setting(channel_named(self.channel), np.array([known]), np.array([n]), theta_max)

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
    ordinary: ClassVar[tuple[float, float]] = (1.0, 20.0)

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
    ordinary: ClassVar[tuple[float, float]] = (1.0, 5.0)

    def known(self, rng: np.random.Generator, place: Floats, units: NDArray[np.int64]) -> tuple[Floats, float]:
        error = np.exp(place * rng.uniform(0.0, np.log(100.0)))
        return error * np.sqrt(float(units @ error**-2.0) / units.sum()), float(log_uniform(rng, 0.3, 25.0))


@dataclass(frozen=True)
class Trials(Study):
    """Successes: trials from 1 to six thousand, spread over up to two decades; half of the steps count failures."""

    channel: ClassVar[str] = "binomial"
    ordinary: ClassVar[tuple[float, float]] = (60.0, 0.8)

    def known(self, rng: np.random.Generator, place: Floats, units: NDArray[np.int64]) -> tuple[Floats, float]:
        mean = log_uniform(rng, 1.0, 600.0)
        trials = np.maximum(np.rint(mean * np.exp(place * rng.uniform(0.0, np.log(100.0)))), 1.0)
        theta_max = 1.0 if rng.random() < 0.4 else float(log_uniform(rng, min(0.5, 0.3 / mean), 1.0))
        return trials, theta_max

    def turned(self, rng: np.random.Generator, atoms: Floats) -> Floats:
        return 1.0 - atoms if rng.random() < 0.5 else atoms


STUDIES: dict[str, type[Study]] = {study.channel: study for study in (Counts, Measurements, Trials)}
"""By channel."""
