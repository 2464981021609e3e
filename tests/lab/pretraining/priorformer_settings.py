"""Settings of every channel, equal and unequal, and priors of every world of theirs."""

from __future__ import annotations

import numpy as np

from ebformer.channels import channel_named
from ebformer.lab.pretraining.priorformer_batches import Setting
from ebformer.lab.worlds import WORLDS
from ebformer.lab.worlds.shapes import Shape


def setting(channel: str, known: list[float], units: list[int], theta_max: float) -> Setting:
    return Setting(channel_named(channel), np.array(known), np.array(units), theta_max)


SETTINGS = {
    "poisson, equal": setting("poisson", [1.0], [300], 20.0),
    "poisson, rare": setting("poisson", [1.0], [300], 0.3),
    "poisson, unequal": setting("poisson", [0.3, 1.0, 4.0], [100, 150, 50], 8.0),
    "normal, equal": setting("normal", [1.0], [300], 5.0),
    "normal, unequal": setting("normal", [0.5, 1.0, 3.0], [100, 150, 50], 4.0),
    "binomial, equal": setting("binomial", [60.0], [300], 0.8),
    "binomial, unequal": setting("binomial", [1.0, 40.0, 200.0], [100, 150, 50], 0.5),
}


def shapes_of(rng: np.random.Generator, setting: Setting) -> list[tuple[str, Shape]]:
    """One prior of each world that the channel has in training, under the name of its world."""
    worlds = [world() for world in WORLDS.values() if world.channel == setting.channel.name]
    worlds = [world for world in worlds if hasattr(world, "shape")]
    return [(world.name, world.shape(rng, setting.theta_max)) for world in worlds]
