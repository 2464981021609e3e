"""Muon for many small matrices takes the steps of torch's, but for the half precision of those."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ebformer.lab.pretraining.muon import Muon, orthogonal

SHAPES = [(48, 34), (144, 48), (48, 48), (144, 48), (48, 192)]


def matrices(seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator).requires_grad_() for shape in SHAPES]


def test_steps_are_those_of_torch() -> None:
    ours, theirs = matrices(0), matrices(0)
    mine = Muon(ours, 0.01, 0.1)
    reference = torch.optim.Muon(theirs, 0.01, 0.1, adjust_lr_fn="match_rms_adamw")
    for step in range(1, 5):
        for own, other, gradient in zip(ours, theirs, matrices(step), strict=True):
            own.grad, other.grad = gradient.detach(), gradient.detach()
        mine.step()
        reference.step()
        for own, other, start in zip(ours, theirs, matrices(0), strict=True):
            difference, moved = ((a - b).detach().norm() for a, b in ((own, other), (own, start)))
            assert difference < 0.02 * moved


@pytest.mark.parametrize("shape", SHAPES)
def test_a_step_has_nearly_equal_singular_values_and_the_vectors_of_its_matrix(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    inside = u.mT @ orthogonal(1e3 * matrix) @ v.mT
    values = inside.diagonal()
    assert float(values.min()) > 0.6
    assert float(values.max()) < 1.25
    assert float((inside - values.diag()).abs().max()) < 1e-9


def test_small_singular_values_are_enlarged_as_in_double_precision() -> None:
    """Gradients are nearly of low rank. Should torch's own steps pass this one day, ours are no longer needed."""
    generator = torch.Generator().manual_seed(2)
    tall, wide = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((48, 48), (48, 96)))
    steep = tall @ torch.diag(10.0 ** -torch.linspace(0, 3, 48, dtype=torch.float64)) @ wide
    exact = orthogonal(steep)
    theirs = [torch.zeros_like(steep, dtype=torch.float32).requires_grad_()]
    theirs[0].grad = steep.float()
    torch.optim.Muon(theirs, 1.0, 0.0, momentum=0.0, nesterov=False, adjust_lr_fn="match_rms_adamw").step()
    taken = theirs[0].detach().double() / (-0.2 * 96**0.5)
    errors = [float((step - exact).norm() / exact.norm()) for step in (orthogonal(steep.float()).double(), taken)]
    assert errors[0] < 1e-3
    assert errors[1] > 0.02


def test_a_matrix_alone_and_among_others_takes_the_same_step() -> None:
    together = orthogonal(torch.stack([matrices(seed)[1].detach() for seed in range(3)]))
    torch.testing.assert_close(together[2], orthogonal(matrices(2)[1].detach()))
