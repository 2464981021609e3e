"""What each block of a priorformer does to the prior: the same network, cut off after one block, two, and so on."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import stats

from ebformer.bayes.marginal import bayes_rule, log_marginal
from ebformer.estimators.npmle.estimator import Npmle
from ebformer.lab.arena.losses import Truth
from ebformer.lab.worlds.base import World
from ebformer.networks.priorformer import PriorformerNetwork
from ebformer.networks.priorformer_block import PriorformerConfig
from ebformer.networks.weights import Weights
from ebformer.prior import Prior
from ebformer.tally import Tally

NPMLE = "npmle"
"""The stage beside the blocks: the exact maximum of the likelihood."""


class BlockFinding(NamedTuple):
    """One prior on the way, on one tally.

    `regret` is that of its Bayes rule, over the tally; `distance` the area between its distribution function and that
    of the true prior (Wasserstein-1, in units of theta); `atoms` the number of equal atoms with the same entropy;
    `shortfall` by how many nats the log-likelihood of the whole tally lies below its maximum.
    """

    world: str
    n: int
    prior: int
    stage: str
    regret: float
    distance: float
    atoms: float
    shortfall: float


def watch(
    weights: Weights[PriorformerConfig], world: World, seed: int, *, n: int = 512, priors: int = 100
) -> list[BlockFinding]:
    """The prior after every block, and the NPMLE, on one fresh tally of each of so many priors."""
    rng = np.random.default_rng(seed)
    stages = {str(blocks): cut_off(weights, blocks) for blocks in range(1, weights.config.blocks + 1)}
    findings = []
    for number in range(priors):
        truth = world.draw(rng)
        tally = Truth.of(truth).draw(n, rng)
        best = Npmle()(tally).prior
        assert isinstance(best, Prior)
        answers = {name: network.prior(tally) for name, network in stages.items()} | {NPMLE: best}
        top = _log_likelihood(best, tally)
        for stage, answer in answers.items():
            findings.append(BlockFinding(world.name, n, number, stage, *_measured(answer, truth, tally, top)))
    return findings


def cut_off(weights: Weights[PriorformerConfig], blocks: int) -> PriorformerNetwork:
    """The network without the blocks after the first so many."""
    config = replace(weights.config, blocks=blocks)
    return PriorformerNetwork(Weights(config, {name: weights.arrays[name] for name in config.shapes()}))


def _measured(answer: Prior, truth: Prior, tally: Tally, top: float) -> tuple[float, float, float, float]:
    share = tally.multiplicity / tally.n
    error = bayes_rule(answer, tally.values) - bayes_rule(truth, tally.values)
    distance = stats.wasserstein_distance(answer.atoms, truth.atoms, answer.weights, truth.weights)
    atoms = np.exp(-answer.weights @ np.log(answer.weights))
    return float(share @ error**2), float(distance), float(atoms), top - _log_likelihood(answer, tally)


def _log_likelihood(prior: Prior, tally: Tally) -> float:
    return float(tally.multiplicity @ log_marginal(prior, tally.values))
