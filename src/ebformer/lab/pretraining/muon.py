"""Muon (Jordan et al. 2024) for many small matrices on a CPU.

The formula of `torch.optim.Muon`, but matrices of one shape take a step together and in single precision. On a CPU
torch's, one matrix at a time and in half precision, takes up to a third of the forward and backward pass, and loses the
small singular values of a gradient (docs/training.md has figures).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

QUINTIC, STEPS = (3.4445, -4.7750, 2.0315), 5
"""x -> a x + b x^3 + c x^5, so many times, brings every singular value near 1 (between 0.7 and 1.2)."""


class Muon(torch.optim.Optimizer):
    """Steps along the momentum with its singular values made alike, as long as those of Adam (0.2 per entry)."""

    def __init__(
        self, matrices: Iterable[Tensor], lr: float, weight_decay: float = 0.0, *, momentum: float = 0.95
    ) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One step, with Nesterov's momentum and decoupled weight decay."""
        for group in self.param_groups:
            rate, momentum = group["lr"], group["momentum"]
            alike = defaultdict[torch.Size, list[tuple[Tensor, Tensor, Tensor]]](list)
            for matrix in group["params"]:
                if matrix.grad is not None:
                    kept = self.state[matrix].setdefault("momentum_buffer", torch.zeros_like(matrix))
                    kept.lerp_(matrix.grad, 1 - momentum)
                    alike[matrix.shape].append((matrix, matrix.grad, kept))
            for (rows, columns), some in alike.items():
                matrices, gradients, averages = zip(*some, strict=True)
                steps = orthogonal(torch.stack(gradients).lerp(torch.stack(averages), momentum))
                torch._foreach_mul_(matrices, 1 - rate * group["weight_decay"])
                torch._foreach_add_(matrices, list(steps), alpha=-0.2 * rate * math.sqrt(max(rows, columns)))


def orthogonal(matrices: Tensor) -> Tensor:
    """Every matrix of [..., rows, columns] with singular values near 1 and its singular vectors (Newton-Schulz)."""
    if matrices.shape[-2] > matrices.shape[-1]:
        return orthogonal(matrices.mT).mT
    a, b, c = QUINTIC
    x: Tensor = matrices / matrices.norm(dim=(-2, -1), keepdim=True).clamp_min(1e-7)
    for _ in range(STEPS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x
