"""Theorem 4.2 by experiment: small networks learn to imitate the clipped NPMLE, and larger ones imitate it better.

    python -m ebformer.lab.pretraining.imitation

trains three sizes on the same tallies, for the same number of steps, and prints how far each stays from the clipped
NPMLE on fresh tallies: the largest error over the values x <= d that a tally shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ebformer.bayes.marginal import log_marginal
from ebformer.distributions import Floats
from ebformer.lab.pretraining.network import Tokens, TransformerModule
from ebformer.lab.theorems.clipped_npmle import clipped_npmle
from ebformer.lab.worlds.base import log_uniform
from ebformer.networks.architecture import Architecture
from ebformer.networks.estimates import estimate_many
from ebformer.networks.weights import Weights
from ebformer.prior import Prior
from ebformer.tally import Tally

SIZES = {
    "small": Architecture(layers=1, width=4, heads=1, weight_sets=1, sees_n=False),
    "medium": Architecture(layers=2, width=8, heads=2, weight_sets=2, sees_n=False),
    "large": Architecture(layers=4, width=16, heads=4, weight_sets=4, sees_n=False),
}
"""The NPMLE depends on proportions only, so the networks do not see n."""


@dataclass(frozen=True)
class ClippedNpmle:
    """The clipped NPMLE of theorem 4.2: among priors on [0, M] for x <= d, and M beyond."""

    d: int = 8
    M: float = 5.0
    n_max: int = 1000

    def draw(self, count: int, rng: np.random.Generator) -> list[tuple[Tally, Floats]]:
        """Tallies of 10 to n_max units from mixtures of one to five rates in [0, M], with the estimates to imitate."""
        x, examples = np.arange(int(self.M + 12 * np.sqrt(self.M) + 30)), []
        for _ in range(count):
            atoms = rng.integers(1, 6)
            prior = Prior(np.sort(rng.uniform(0, self.M, atoms)), rng.dirichlet(np.ones(atoms)))
            chance = np.exp(log_marginal(prior, x))
            n = int(log_uniform(rng, 10, self.n_max + 1))
            tally = Tally(x, rng.multinomial(n, chance / chance.sum()))
            examples.append((tally, self.estimates(tally)))
        return examples

    def estimates(self, tally: Tally) -> Floats:
        """[u], at the values of the tally."""
        answers = clipped_npmle(tally.values, tally.multiplicity / tally.n, self.d, self.M)
        return np.where(tally.values <= self.d, answers[np.minimum(tally.values, self.d)], self.M)


def imitate(
    architecture: Architecture, examples: Sequence[tuple[Tally, Floats]], steps: int, seed: int, batch: int = 128
) -> Weights[Architecture]:
    """Train a network on examples by Adam, squared error, a cosine from 0.004 to 0: every token counts alike.

    The theorem asks for the largest error over x, so rare values weigh as much as common ones.
    """
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    network = TransformerModule(architecture)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.004)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        chosen = [examples[i] for i in rng.integers(len(examples), size=batch)]
        x, multiplicity = (np.concatenate([getattr(t, name) for t, _ in chosen]) for name in ("values", "multiplicity"))
        tokens = Tokens.of(architecture, x, multiplicity, np.array([len(tally) for tally, _ in chosen]))
        target = torch.from_numpy(np.concatenate([estimates for _, estimates in chosen]).astype(np.float32))
        loss = (network(tokens) - target).square().mean()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    arrays = {name: tensor.numpy().copy() for name, tensor in network.state_dict().items()}
    return Weights(architecture, arrays, {"imitates": "clipped NPMLE", "steps": steps, "seed": seed})


def largest_errors(weights: Weights[Architecture], examples: Sequence[tuple[Tally, Floats]], d: int) -> Floats:
    """[tallies] the largest distance from the target over the values x <= d of each tally."""
    answers = estimate_many(weights, [tally for tally, _ in examples])
    return np.array([np.abs(a - e)[tally.values <= d].max() for a, (tally, e) in zip(answers, examples, strict=True)])


def main(examples: int = 8000, steps: int = 2500) -> None:
    """Train the three sizes and print their errors."""
    torch.set_num_threads(1)
    target, rng = ClippedNpmle(), np.random.default_rng(0)
    training, fresh = target.draw(examples, rng), target.draw(500, rng)
    print(f"d = {target.d}, M = {target.M:g}, n <= {target.n_max}: largest error over x <= d on fresh tallies")
    for name, architecture in SIZES.items():
        errors = largest_errors(imitate(architecture, training, steps, seed=0), fresh, target.d)
        median, most, worst = np.quantile(errors, [0.5, 0.9, 1.0])
        figures = f"mean {errors.mean():.3f}, median {median:.3f}, 90 % {most:.3f}, largest {worst:.3f}"
        print(f"{name:7s} {architecture.parameters:7,} parameters: {figures}", flush=True)


if __name__ == "__main__":
    main()
