"""The probe experiment of section 4.2: R^2 of every quantity at every layer, on tallies the probe has not seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ebformer.distributions import Floats
from ebformer.lab.arena.losses import Truth
from ebformer.lab.probes.linear import Prober, ceiling, r_squared
from ebformer.lab.probes.targets import Target, targets
from ebformer.lab.worlds import Multinomial, World
from ebformer.networks.architecture import Architecture
from ebformer.networks.estimates import activations
from ebformer.networks.weights import Weights
from ebformer.tally import Tally

Activations = Callable[[Tally], list[Floats]]
"""The tokens of a network that reads a tally: one array [u, d] before the first layer and after each."""


class Finding(NamedTuple):
    """One row of the table. `linear_r2` is the closed-form probe's, without the GELU; `ceiling` bounds both."""

    model: str
    world: str
    seed: int
    layer: int
    target: str
    r2: float
    linear_r2: float
    ceiling: float


def probe(
    model: str, trace: Activations, world: World, seed: int, *, n: int = 512, tallies: int = 200
) -> list[Finding]:
    """Fit probes on half of the tallies, every one from its own prior, and score them on the other half.

    The weight of an atom means something only where a world has atoms of its own, in the multinomial world.
    """
    rng = np.random.default_rng(seed)
    traces: list[list[Floats]] = []
    wanted: list[dict[str, Target]] = []
    share: list[Floats] = []
    for _ in range(tallies):
        prior = world.draw(rng)
        tally = Truth.of(prior).draw(n, rng)
        traces.append(trace(tally))
        found = targets(tally, prior)
        wanted.append({name: found[name] for name in found if name != "atom weight" or isinstance(world, Multinomial)})
        share.append(tally.multiplicity / tally.n)
    half = tallies // 2
    weight, fresh_weight = np.concatenate(share[:half]), np.concatenate(share[half:])
    findings = []
    for layer in range(len(traces[0])):
        h = np.concatenate([of[layer] for of in traces[:half]])
        fresh = np.concatenate([of[layer] for of in traces[half:]])
        prober = Prober.of(h, weight)
        for name in wanted[0]:
            y = np.concatenate([of[name].value for of in wanted[:half]])
            truth = np.concatenate([of[name].value for of in wanted[half:]])
            spread = np.concatenate([of[name].spread for of in wanted[half:]])
            r2, linear_r2 = (
                r_squared(read(fresh), truth, fresh_weight, spread) for read in (prober.fit(y), prober.fit_linear(y))
            )
            bound = ceiling(truth, fresh_weight, spread)
            findings.append(Finding(model, world.name, seed, layer, name, r2, linear_r2, bound))
    return findings


def transformer_activations(weights: Weights[Architecture]) -> Activations:
    """The tokens of a transformer, from the trace of its forward pass."""
    return lambda tally: list(activations(weights, tally).astype(np.float64))


def untrained(architecture: Architecture, rng: np.random.Generator) -> Weights[Architecture]:
    """The control: the same network before any training, Xavier-uniform matrices, unit norms, zero biases."""
    arrays = {}
    for name, shape in architecture.shapes().items():
        if len(shape) == 2:
            bound = np.sqrt(6 / sum(shape))
            arrays[name] = rng.uniform(-bound, bound, shape).astype(np.float32)
        else:
            arrays[name] = np.full(shape, float("norm" in name and name.endswith("weight")), dtype=np.float32)
    return Weights(architecture, arrays)
