"""The torch twin of `ebformer.networks.priorformer`: the same network over a batch that shares one grid."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ebformer.lab.pretraining.priorformer_batches import GridBatch
from ebformer.networks.conjugate_start import CONJUGATE_SHARE, CONJUGATE_STEPS, LEAST_CURVATURE
from ebformer.networks.constants import (
    GAP_UNIT,
    LARGEST_GAP,
    LARGEST_LOG_COUNT,
    LARGEST_LOG_FACTOR,
    LEAST_LOG_COUNT,
    LOG_COUNT_UNIT,
    PER_CELL,
    RMS_NORM_EPSILON,
    SURPRISE_UNIT,
    TRACK_FEATURES,
)
from ebformer.networks.em_track import CHECK, LARGEST_PULL, LEAST_PULL, LOWEST_LOG_WEIGHT, STRIDE, momentum
from ebformer.networks.grid import WIDTH
from ebformer.networks.kernels import FAR
from ebformer.networks.priorformer import (
    LARGEST_LOG_N,
    LEAST_LOG_NEAR,
    LEAST_MASS,
    LEAST_VARIANCE,
    LOG_N_UNIT,
    MOST_SMOOTHED,
    SMOOTHED,
)
from ebformer.networks.priorformer_block import STATIC_FEATURES, PriorformerConfig


def log_factor(d: Tensor) -> Tensor:
    return d.log().clamp(-LARGEST_LOG_FACTOR, LARGEST_LOG_FACTOR)


def rms_norm(h: Tensor) -> Tensor:
    return h * torch.rsqrt(h.square().mean(-1, keepdim=True) + RMS_NORM_EPSILON)


class BlockModule(nn.Module):
    """Read the state of both tracks into every cell, attend to nearby cells, and propose a step for each atom."""

    def __init__(self, config: PriorformerConfig) -> None:
        super().__init__()
        d, self.heads = config.width, config.heads
        self.embed = nn.Linear(TRACK_FEATURES * PER_CELL + STATIC_FEATURES, d)
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.out = nn.Linear(d, d, bias=False)
        distance = torch.arange(-config.reach, config.reach + 1) * WIDTH
        spread = torch.tensor([0.5, 1.0, 2.0, 4.0]).repeat(math.ceil(config.heads / 4))[: config.heads]
        self.nearness = nn.Parameter(-0.5 * (distance / spread[:, None]).square().clamp_max(8.0))
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d, bias=False)
        self.head = nn.Linear(d, 3 * PER_CELL)
        nn.init.zeros_(self.head.weight)
        with torch.no_grad():  # untrained, a block makes a third of an EM step and a small move towards the EM track
            self.head.bias.copy_(torch.tensor([-0.7, -3.0, 0.0]).repeat_interleave(PER_CELL))

    def forward(self, h: Tensor, features: Tensor, far: Tensor, distance: Tensor) -> tuple[Tensor, Tensor]:
        b, j, d = h.shape
        h = h + self.embed(features)
        q, k, v = self.qkv(rms_norm(h)).view(b, j, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        logits = q @ k.transpose(-1, -2) / math.sqrt(d // self.heads) + (self.nearness[:, distance] + far)
        attended = torch.softmax(logits, -1) @ v  # [b, heads, j, d / heads]
        h = h + self.out(attended.transpose(1, 2).reshape(b, j, d))
        h = h + self.down(F.silu(self.up(rms_norm(h))))
        return h, self.head(rms_norm(h))


class PriorformerModule(nn.Module):
    """A batch of tallies to log-weights [b, a] of the atoms, after every block; the last, smoothed, is the answer."""

    def __init__(self, config: PriorformerConfig) -> None:
        super().__init__()
        self.config = config
        self.blocks = nn.ModuleList(BlockModule(config) for _ in range(config.blocks))

    def forward(self, batch: GridBatch) -> list[Tensor]:
        share, likelihood = batch.share, batch.likelihood
        transposed, squared = likelihood.T.contiguous(), (likelihood * likelihood).T.contiguous()
        b, j = batch.inside.shape
        outside = torch.zeros(b, j).masked_fill(~batch.inside, FAR)
        outside_atoms = outside.repeat_interleave(PER_CELL, 1)
        log_n = batch.n.log().clamp_max(LARGEST_LOG_N)[:, None]
        offset = torch.arange(j) - torch.arange(j)[:, None]
        reach = self.config.reach
        far = torch.zeros(j, j).masked_fill(offset.abs() > reach, FAR) + outside[:, None, None, :]
        distance = offset.clamp(-reach, reach) + reach

        def factor(log_weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            """The marginal f, share / f and the EM factor D."""
            f = log_weights.exp() @ likelihood
            ratio = share / f
            return f, ratio, ratio @ transposed

        with torch.no_grad():
            flat = torch.log_softmax(outside_atoms, -1)
            em = flat + factor(flat)[2].log() + outside_atoms
            f, ratio, d = factor(em)
            variance = ((ratio / f) @ squared - d * d).clamp_min(0.0)
            precision = torch.sqrt(log_n.exp() / (variance + LEAST_VARIANCE))
            velocity, run = torch.zeros_like(em), torch.zeros(b, 1)
            static = self.static_features(batch, em, log_n)
            own = conjugate_start(batch, em)
        h = torch.zeros(b, j, self.config.width)
        answers = []
        for block in self.blocks:
            with torch.no_grad():
                em, velocity, run = accelerated_em(factor, em, velocity, run, self.config.em_steps)
                em = torch.log_softmax(em.clamp_min(LOWEST_LOG_WEIGHT) + outside_atoms, -1)
                em_d = factor(em)[2]
            d = factor(own)[2]
            gradient, gap = log_factor(d), (em - own).clamp(-LARGEST_GAP, LARGEST_GAP)
            tracks = [
                *(t.add(log_n).clamp(LEAST_LOG_COUNT, LARGEST_LOG_COUNT) / LOG_COUNT_UNIT for t in (own, em)),
                gradient,
                log_factor(em_d),
                *(torch.asinh((each - 1.0) * precision) / SURPRISE_UNIT for each in (d, em_d)),
                gap / GAP_UNIT,
            ]
            features = torch.cat([*(track.view(b, j, PER_CELL) for track in tracks), static], -1)
            h, step_of = block(h, features, far, distance)
            along, towards, shift = step_of.view(b, j, 3, PER_CELL).permute(2, 0, 1, 3).reshape(3, b, -1)
            own = own + (1.0 + along) * gradient + torch.sigmoid(towards) * gap + shift
            own = own + outside_atoms
            own = (own - own.amax(-1, keepdim=True).detach()).clamp_min(LOWEST_LOG_WEIGHT) + outside_atoms
            own = torch.log_softmax(own, -1)
            answers.append(own)
        answers[-1] = smoothed(batch, own)
        return answers

    @staticmethod
    def static_features(batch: GridBatch, em: Tensor, log_n: Tensor) -> Tensor:
        """What no block changes: units near the cell, log n, and where the cell lies; [b, j, STATIC_FEATURES]."""
        b, j = batch.inside.shape
        near = em.exp().view(b, j, PER_CELL).sum(-1).clamp_min(LEAST_MASS).log() + log_n
        columns = [
            near.clamp(LEAST_LOG_NEAR, LARGEST_LOG_COUNT) / LOG_COUNT_UNIT,
            log_n.expand(b, j) / LOG_N_UNIT,
            *batch.edges[:, None, :].expand(-1, b, -1),
        ]
        return torch.stack(columns, -1)


def smoothed(batch: GridBatch, log_weights: Tensor) -> Tensor:
    """`priorformer.smoothed` for every tally within its own cells: log-weights [b, a] to log-weights."""
    weights, inside = log_weights.exp(), batch.inside.repeat_interleave(PER_CELL, 1)
    low, high = batch.grid.channel.domain
    inner = (batch.theta > low) & (batch.theta < high)
    shared = (SMOOTHED / batch.n).clamp_max(MOST_SMOOTHED)[:, None] * weights * inner
    moved = (F.pad(shared[:, :-1], (1, 0)) + F.pad(shared[:, 1:], (0, 1))) * inner
    result = (weights - 2.0 * shared + moved) * inside
    return (result / result.sum(-1, keepdim=True)).clamp_min(math.exp(LOWEST_LOG_WEIGHT)).log()


def conjugate_start(batch: GridBatch, flat_start: Tensor) -> Tensor:
    """`networks.conjugate_start` for every tally within its own cells: log-weights [b, a]."""
    base, statistics = (torch.as_tensor(each, dtype=torch.float64) for each in batch.grid.conjugate_family())
    inside = batch.inside.repeat_interleave(PER_CELL, 1)
    allowed = (inside & torch.as_tensor(batch.grid.inner)).double()
    base = base.where(allowed > 0, -torch.inf)  # [b, a]
    begun = torch.softmax(flat_start.double(), -1)
    inner = begun * allowed
    inner = inner / inner.sum(-1, keepdim=True)
    around = statistics - torch.einsum("ba,ca->bc", inner, statistics)[..., None]  # [b, 2, a]
    covariance = torch.einsum("ba,bca,bda->bcd", inner, around, around)
    covariance = (
        covariance + 1e-6 * torch.diag_embed(covariance.diagonal(dim1=1, dim2=2)) + 1e-30 * torch.eye(2).double()
    )
    statistics = torch.linalg.solve(torch.linalg.cholesky(covariance), around) * allowed[:, None]
    design = torch.cat([torch.ones_like(base)[:, None], statistics], 1)  # [b, 3, a]
    above = torch.where(inner > 0, flat_start.double() - base, 0.0)
    normal = torch.einsum("ba,bca,bda->bcd", inner, design, design) + 1e-6 * torch.eye(3).double()
    eta = torch.linalg.solve(normal, torch.einsum("ba,bca,ba->bc", inner, design, above))[:, 1:]
    share = batch.share.double()
    for _ in range(CONJUGATE_STEPS):
        weights = torch.softmax(base + torch.einsum("bc,bca->ba", eta, statistics), -1)
        rows = torch.cat([weights[:, None], weights[:, None] * statistics], 1).float() @ batch.likelihood
        mean = torch.einsum("bca,ba->bc", statistics, weights)
        scores = (rows[:, 1:] / rows[:, :1]).double() - mean[..., None]  # [b, 2, m]
        around = statistics - mean[..., None]
        spread = torch.einsum("ba,bca,bda->bcd", weights, around, around)
        curvature = torch.einsum("bm,bcm,bdm->bcd", share, scores, scores)
        curvature = curvature + LEAST_CURVATURE * (spread + 1e-6 * torch.eye(2).double())
        step = torch.linalg.solve(curvature, torch.einsum("bcm,bm->bc", scores, share))
        length = torch.einsum("bc,bcd,bd->b", step, spread, step).sqrt()
        eta = eta + step / length.clamp_min(1.0)[:, None]
    weights = torch.softmax(base + torch.einsum("bc,bca->ba", eta, statistics), -1)
    mixed = (CONJUGATE_SHARE * weights + (1.0 - CONJUGATE_SHARE) * begun).log().float()
    return mixed.where(inside, LOWEST_LOG_WEIGHT + FAR)


def accelerated_em(
    factor: Callable[[Tensor], tuple[Tensor, Tensor, Tensor]], em: Tensor, velocity: Tensor, run: Tensor, steps: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The steps of `em_track.EmTrack` for every tally: log-weights and velocities [b, a], lengths of the run [b, 1]."""
    for step in range(1, steps + 1):
        d = factor(em)[2]
        run = run + 1.0
        if step % CHECK == 0:
            turned = ((d - 1.0) * em.exp() * velocity).sum(-1, keepdim=True) < 0
            run = torch.where(turned, 1.0, run)
            velocity = torch.where(turned, 0.0, velocity)
        beta = momentum(run)
        velocity = beta * velocity + (1.0 + STRIDE * beta) * d.log().clamp(LEAST_PULL, LARGEST_PULL)
        em = em + velocity
    return em, velocity, run


def grown(state: dict[str, Tensor], config: PriorformerConfig) -> dict[str, Tensor]:
    """A trained state followed by as many fresh blocks as `config` has more, which at first hardly move a weight."""
    network = PriorformerModule(config)
    with torch.no_grad():
        for block in network.blocks:
            bias = block.get_parameter("head.bias")
            bias.copy_(torch.tensor([-1.0, -5.0, 0.0]).repeat_interleave(PER_CELL))
    return network.state_dict() | state
