"""How far the answers of priorformer are from the exact ones: regrets and distances of posteriors, tally by tally."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ebformer.lab.pretraining.priorformer_batches import GridBatch
from ebformer.networks.constants import PER_CELL
from ebformer.networks.grid import SPACING

LEAST_CELL = 1e-7
"""Less mass than this in a cell is as good as none."""


def regret(batch: GridBatch, log_weights: Tensor) -> Tensor:
    """sum_x (N(x)/n) (E_answer[theta | x] - E_G[theta | x])^2 over a typical variance of the noise: [b].

    Typical is half-way, geometrically, between that of the tally and that of the batch.
    """
    weights = log_weights.exp()
    marginal = weights @ batch.likelihood
    estimate = ((weights * batch.theta) @ batch.likelihood) / marginal
    typical = torch.sqrt(batch.variance * batch.variance.mean())
    return (batch.share * (estimate - batch.bayes).square()).sum(-1) / typical


def answered(batch: GridBatch, log_weights: Tensor) -> Tensor:
    """The distribution functions of theta that the answers give the picked units, [b, PICKS, a]."""
    mass = log_weights.exp()[:, None, :] * batch.likelihood.T[batch.picked]
    return (mass / mass.sum(-1, keepdim=True)).cumsum(-1)


def posterior_distance(batch: GridBatch, posterior: Tensor) -> Tensor:
    """The integrated squared difference of posterior distribution functions, averaged over the picked units: [b].

    This is the excess of the continuous ranked probability score, a proper score, in units of the noise.
    """
    return SPACING * (posterior - batch.posterior).square().sum(-1).mean(-1)


def posterior_divergence(batch: GridBatch, posterior: Tensor) -> Tensor:
    """The divergence of answered from exact posteriors, sum p log(p / q) over cells, averaged over picked units: [b].

    This is the excess of the logarithmic score: a theta where the answer has no mass is not forgiven.
    """
    p, q = (cells(each) for each in (batch.posterior, posterior))
    return (p * (p.log() - q.log())).sum(-1).mean(-1).clamp_min(0.0)


def cells(distribution: Tensor) -> Tensor:
    """A distribution function at the atoms [..., a] as the mass of every cell [..., j], LEAST_CELL at least."""
    ends = distribution[..., PER_CELL - 1 :: PER_CELL]
    return torch.diff(ends, dim=-1, prepend=torch.zeros_like(ends[..., :1])).clamp_min(LEAST_CELL)


def root_mean(values: Tensor, world: NDArray[np.str_]) -> Tensor:
    """sqrt of the mean within each world, averaged over tallies."""
    total = torch.zeros(())
    for name in np.unique(world):
        chosen = torch.as_tensor(world == name)
        total = total + chosen.float().mean() * (values[chosen].mean() + 1e-8).sqrt()
    return total
