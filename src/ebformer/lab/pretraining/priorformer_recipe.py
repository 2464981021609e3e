"""Everything that determines a priorformer run: worlds, sample sizes, exposures, loss.

`benchmarks/priorformer_train.py` trains by it and ships the result.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ebformer.lab.pretraining.loop import Row, Task, Training, train
from ebformer.lab.pretraining.priorformer_batches import GridBatch, columns, make_batch
from ebformer.lab.pretraining.priorformer_network import PriorformerModule, grown
from ebformer.lab.pretraining.priorformer_worlds import LARGEST_RATE, draw_priors, theta_max
from ebformer.lab.worlds.base import log_uniform
from ebformer.networks import weights as weights_file
from ebformer.networks.grid import SPACING
from ebformer.networks.priorformer_block import PriorformerConfig
from ebformer.networks.weights import Weights


@dataclass(frozen=True)
class PriorformerRecipe:
    """What the network is shown and how it is judged; `loop.Training` says how it is optimised."""

    config: PriorformerConfig = field(default_factory=PriorformerConfig)
    tallies: int = 32
    """Per step."""
    sizes: tuple[tuple[int, int, float], ...] = (
        (64, 400, 0.35),
        (400, 20_000, 0.35),
        (1, 64, 0.1),
        (1, 2_000_000, 0.2),
    )
    """From, to, how often: most is to be learnt where samples are too small to speak for themselves."""
    worlds_change_at: tuple[int, int] = (64, 400)
    worlds: dict[str, tuple[int, int, int]] = field(
        default_factory=lambda: {
            "neural": (12, 23, 4),
            "coarse dirichlet": (1, 0, 1),
            "dirichlet": (1, 0, 1),
            "fine dirichlet": (1, 1, 8),
            "few": (2, 1, 1),
            "spaced": (1, 0, 1),
            "smooth": (2, 1, 1),
            "everyday": (8, 4, 4),
            "edged": (4, 2, 11),
        }
    )
    """Tallies of each world in a step of 32: below 64 units, below 400, and from there on, by `worlds_change_at`.

    Small samples hardly tell their world, so there the shares decide: what small tables are like, then what the paper's
    are like; beyond, the hardest worlds need most practice."""
    spread: float = 0.05
    """Tallies of a step, which are as hard as each other, have the same theta_max up to a factor exp(+-spread)."""
    exposed: float = 1 / 6
    """Share of steps whose units have unequal exposures, spread over up to two decades."""
    discount: float = 0.5
    """Weight of a block's answer relative to the next block's."""
    n_power: float = 0.25
    """A step counts in proportion to max(n, 64)^n_power: roots of regrets fall with n faster than that."""
    posterior_weight: float = 2.0
    """Weight of the distance between answered and exact posteriors, relative to the distance between their means."""

    def draw(self, rng: np.random.Generator) -> GridBatch:
        """One batch, a function of the generator alone."""
        n = sample_size(rng, self.sizes)
        column = bisect(self.worlds_change_at, n)
        worlds = {world: shares[column] for world, shares in self.worlds.items()}
        vary = np.exp(rng.uniform(-self.spread, self.spread, self.tallies))
        if rng.random() < self.exposed and n >= 16:
            draws = draw_priors(rng, min(theta_max(rng), 100.0) * vary, worlds)
            largest = max(float(draw.atoms.max()) for draw in draws)
            exposure, units = exposures(rng, n, largest)
            return make_batch(rng, draws, units, exposure)
        draws = draw_priors(rng, np.minimum(theta_max(rng) * vary, 500.0), worlds)
        return make_batch(rng, draws, np.full(self.tallies, n))

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


def sample_size(rng: np.random.Generator, laws: Sequence[tuple[int, int, float]]) -> int:
    """A number of units that is log-uniform from low to high, with a given chance of each (low, high, chance)."""
    low, high, _ = laws[rng.choice(len(laws), p=[chance for *_, chance in laws])]
    return int(np.rint(log_uniform(rng, low, high)))


def exposures(rng: np.random.Generator, n: int, largest: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """2 to 13 distinct exposures and their numbers of units, as many as keep the likelihood matrix small."""
    t = np.exp(rng.uniform(-0.5, 0.5, int(rng.integers(2, 14))) * rng.uniform(0.0, np.log(100.0)))
    parts = rng.gamma(rng.choice([1.0, 5.0, 50.0]), size=len(t))
    while len(t) > 2 and sum(columns(largest * one) for one in t * parts.sum() / (t @ parts)) > 500:
        t, parts = t[:-1], parts[:-1]
    return t, rng.multinomial(n - len(t), parts / parts.sum()) + 1


def regret(batch: GridBatch, log_weights: Tensor) -> Tensor:
    """sum_x (N(x)/n) (E_answer[theta | x] - E_G[theta | x])^2 over a typical rate: [b].

    Typical is half-way, geometrically, between the mean rate of the tally and that of the batch.
    """
    weights = log_weights.exp()
    marginal = weights @ batch.likelihood
    estimate = ((weights * batch.theta) @ batch.likelihood) / marginal
    return (batch.share * (estimate - batch.bayes).square()).sum(-1) / typical_rate(batch)


def typical_rate(batch: GridBatch) -> Tensor:
    """What regrets are measured in: sqrt(mean rate of the tally x mean rate of the batch), [b]."""
    return torch.sqrt((batch.mean + 0.05) * (batch.mean.mean() + 0.05))


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


def held_out(rng: np.random.Generator, tallies: int = 48) -> dict[str, GridBatch]:
    """Fresh tallies on [0, 50] to watch a run by, one batch per world and sample size."""
    top = np.full(tallies, 50.0)
    return {
        f"{world} {n}": make_batch(rng, draw_priors(rng, top, {world: 1.0}), np.full(tallies, n))
        for world in ("neural", "fine dirichlet", "edged", "everyday")
        for n in (128, 2048, 16384)
    }


def watched(network: PriorformerModule, batches: dict[str, GridBatch]) -> dict[str, float]:
    """The regret of the network's answer in every held-out batch."""
    with torch.no_grad():
        return {
            name: float((regret(batch, network(batch)[-1]) * typical_rate(batch)).mean())
            for name, batch in batches.items()
        }


def run(
    folder: Path,
    recipe: PriorformerRecipe,
    training: Training,
    start: dict[str, Tensor] | None = None,
    watch: Callable[[Row], None] = lambda row: None,
) -> PriorformerModule:
    """Train in a folder, from fresh weights or from a state, of fewer blocks perhaps; a killed run is continued."""
    torch.set_flush_denormal(True)
    torch.manual_seed(training.seed)
    network = PriorformerModule(recipe.config)
    if start is not None:
        network.load_state_dict(grown(start, recipe.config))
    batches = held_out(np.random.default_rng(99))
    task = Task(recipe.draw, recipe.loss, lambda average: watched(average, batches))
    return train(network, task, training, folder, watch=watch, log_every=100)


def ship(folder: Path, recipe: PriorformerRecipe, path: Path, provenance: dict[str, Any]) -> str:
    """Write the averaged weights of a run with its recipe and what it took, and return the SHA-256 of the file."""
    kept = torch.load(folder / "state.pt", map_location="cpu", weights_only=True)
    arrays = {name: np.asarray(kept["average"][name]) for name in recipe.config.shapes()}
    last = kept["progress"]["log"][-1]
    taken = {"steps": int(last["step"]), "seconds": last["seconds"], "torch": str(torch.__version__)}
    trained = {"range": {"x": [0, columns(LARGEST_RATE)], "n": [1, 2_000_000]}, "recipe": asdict(recipe)}
    return weights_file.save(path, Weights(recipe.config, arrays, trained | taken | provenance))
