"""The compiled attention kernel, its plain torch twin and the formula agree, in value and in gradient."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ebformer.lab.pretraining import attention  # noqa: E402
from ebformer.networks.architecture import Architecture  # noqa: E402

LENGTHS = (1, 7, 8, 23, 64)


def tokens(width: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """qkv [T, 3 d], multiplicity [T] with a zero in every long sequence, start [b + 1], tally [T]."""
    generator = torch.Generator().manual_seed(seed)
    start = torch.from_numpy(np.concatenate([[0], np.cumsum(LENGTHS)]))
    qkv = 2 * torch.randn(int(start[-1]), 3 * width, generator=generator)
    multiplicity = torch.randint(1, 1000, (len(qkv),), generator=generator).float()
    multiplicity[start[1:-1] + 1] = 0.0
    return qkv, multiplicity, start, torch.repeat_interleave(torch.arange(len(LENGTHS)), start.diff())


def gradient(function, qkv: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The value and the gradient of a random combination of its entries."""
    leaf = qkv.clone().requires_grad_()
    out = function(leaf)
    out.backward(torch.randn(out.shape, generator=torch.Generator().manual_seed(1)).to(out.dtype))
    return out.detach(), leaf.grad


@pytest.mark.parametrize(("width", "heads"), [(32, 8), (32, 4), (16, 8)])
def test_compiled_softmax_is_the_padded_formula(width: int, heads: int) -> None:
    qkv, multiplicity, start, _ = tokens(width)
    if attention.kernel(width // heads) is None:
        pytest.skip("no C compiler here")
    exact = gradient(lambda t: attention.softmax_attention(t, multiplicity.double(), start, heads), qkv.double())
    fast = gradient(lambda t: attention.softmax_attention(t, multiplicity, start, heads), qkv)
    for a, b in zip(fast, exact, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(("width", "heads"), [(32, 8), (16, 2)])
def test_compiled_linear_is_the_plain_formula(width: int, heads: int) -> None:
    qkv, multiplicity, start, tally = tokens(width)
    share = multiplicity / 1000
    architecture = Architecture(attention="linear", width=width, heads=heads)
    if attention.kernel(width // heads) is None:
        pytest.skip("no C compiler here")
    exact = gradient(
        lambda t: attention.plain_linear_attention(t, share.double(), tally, len(LENGTHS), architecture), qkv.double()
    )
    fast = gradient(lambda t: attention.linear_attention(t, share, start, tally, architecture), qkv)
    for a, b in zip(fast, exact, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-4)


def test_a_query_without_features_gathers_nothing_and_has_a_finite_gradient() -> None:
    qkv, multiplicity, start, tally = tokens(8)
    qkv[:, :8] = -qkv[:, :8].abs()
    architecture = Architecture(attention="linear", feature_map="relu", normalised=True, width=8, heads=2)
    share = multiplicity / 1000
    out, slope = gradient(lambda t: attention.linear_attention(t, share, start, tally, architecture), qkv)
    assert not out.any()
    assert torch.isfinite(slope).all()


def test_a_sequence_longer_than_the_kernel_has_room_for_is_attended_all_the_same() -> None:
    length = attention.LONGEST + 1
    qkv = torch.randn(length, 12, generator=torch.Generator().manual_seed(0))
    found = attention.softmax_attention(qkv, torch.ones(length), torch.tensor([0, length]), 1)
    q, k, v = qkv.split(4, dim=1)
    torch.testing.assert_close(found[-3:], torch.softmax(q[-3:] @ k.T / 2, -1) @ v, rtol=1e-4, atol=1e-5)


def test_a_token_of_multiplicity_k_is_k_tokens() -> None:
    qkv, _, _, _ = tokens(8)
    repeats = torch.tensor([3, 1, 5, 2])
    once = attention.softmax_attention(qkv[:4], repeats.float(), torch.tensor([0, 4]), 2)
    spread = torch.repeat_interleave(qkv[:4], repeats, dim=0)
    every = attention.softmax_attention(spread, torch.ones(11), torch.tensor([0, 11]), 2)
    torch.testing.assert_close(torch.repeat_interleave(once, repeats, dim=0), every, rtol=1e-5, atol=1e-6)
