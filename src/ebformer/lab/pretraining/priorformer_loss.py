"""How far the answers of priorformer are from the exact ones: regrets and distances of posteriors, tally by tally."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ebformer.lab.pretraining.priorformer_batches import GridBatch
from ebformer.networks.constants import PER_CELL
from ebformer.networks.grid import SPACING
from ebformer.networks.prior_uncertainty import FARTHEST, KNOWN_BEFORE, LEAST_SPREAD

LEAST_CELL = 1e-7
"""Less mass than this in a cell is as good as none."""


def regret(batch: GridBatch, log_weights: Tensor) -> Tensor:
    """sum_x (N(x)/n) (E_answer[theta | x] - E_G[theta | x])^2 over a typical variance of the noise: [b].

    Typical is half-way, geometrically, between that of the tally and that of the batch. Answers may come in versions,
    [b, h, a]: an estimate is the mean of theirs.
    """
    weights = log_weights.exp()
    estimate = ((weights * batch.theta) @ batch.likelihood) / (weights @ batch.likelihood)
    if estimate.ndim == 3:
        estimate = estimate.mean(1)
    typical = torch.sqrt(batch.variance * batch.variance.mean())
    return (batch.share * (estimate - batch.bayes).square()).sum(-1) / typical


def answered(batch: GridBatch, log_weights: Tensor) -> Tensor:
    """The distribution functions of theta that answers in versions [b, h, a] give the picked units: [b, PICKS, a]."""
    mass = log_weights.exp()[:, None] * batch.likelihood.T[batch.picked][:, :, None]
    return (mass / mass.sum(-1, keepdim=True)).mean(2).cumsum(-1)


def versions(batch: GridBatch, log_weights: Tensor) -> Tensor:
    """What `networks.prior_uncertainty` makes of the answers [b, a]: logarithms of four priors each, [b, 4, a]."""
    v = torch.as_tensor(batch.grid.v_of(batch.grid.theta), dtype=torch.float32)
    weights = log_weights.exp()
    away = v - (weights @ v)[:, None]
    spread = torch.sqrt((weights * away.square()).sum(-1, keepdim=True) + LEAST_SPREAD**2)
    z = (away / spread).clamp(-FARTHEST, FARTHEST)
    tilts = torch.stack([z, z.square()], dim=1)
    tilts = tilts - (tilts * weights[:, None]).sum(-1, keepdim=True)
    score = ((weights[:, None] * tilts) @ batch.likelihood) / (weights @ batch.likelihood)[:, None]
    information = (score * (batch.share * batch.n[:, None])[:, None]) @ score.mT + KNOWN_BEFORE * torch.eye(2)
    left_open = torch.linalg.inv(information)
    root = torch.linalg.det(left_open).clamp_min(1e-30).sqrt()[:, None, None]
    trace = left_open.diagonal(dim1=-2, dim2=-1).sum(-1)[:, None, None]
    steps = math.sqrt(2.0) * (left_open + root * torch.eye(2)) / (trace + 2.0 * root).sqrt()
    return (log_weights[:, None] + torch.cat([steps, -steps], dim=1) @ tilts).log_softmax(-1)


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
