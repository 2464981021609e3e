"""Networks with random weights of the size training gives them, biases and norms included."""

from __future__ import annotations

import numpy as np

from ebformer.networks.architecture import Architecture
from ebformer.networks.weights import Weights


def random_weights(
    config: Architecture, seed: int = 0, dtype: type = np.float32, stretch: float = 1.0, **provenance: object
) -> Weights[Architecture]:
    """Matrices with entries of variance stretch^2 / inputs, norm weights near 1, biases near 0."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, shape in config.shapes().items():
        if len(shape) == 2:
            array = rng.normal(size=shape) * stretch / np.sqrt(shape[1])
        else:
            array = 0.1 * rng.normal(size=shape) + float("norm" in name and name.endswith("weight"))
        arrays[name] = array.astype(dtype)
    return Weights(config, arrays, provenance)
