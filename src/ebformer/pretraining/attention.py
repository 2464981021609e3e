"""Attention over the tallies of a batch, stacked without padding: softmax with multiplicities, and linear.

The compiled kernel in attention.c is for training on a CPU, where general kernels spend most of a step on heads of
dimension 4. Elsewhere, and where no C compiler is at hand, the same formula runs in plain torch on padded sequences.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import Function, FunctionCtx

from ebformer.transformer.architecture import Architecture, FeatureMap

FEATURE_MAPS: dict[FeatureMap, Callable[[Tensor], Tensor]] = {
    "identity": lambda x: x,
    "elu+1": lambda x: torch.nn.functional.elu(x) + 1,
    "relu": torch.relu,
}
SOURCE = Path(__file__).with_name("attention.c")
FLAGS = ("-O3", "-funroll-loops", "-march=native", "-shared", "-fPIC")


@functools.cache
def kernel(head_dimension: int) -> ctypes.CDLL | None:
    """The compiled kernel for one head dimension, built once per machine; None where it cannot be built."""
    key = hashlib.sha256(SOURCE.read_bytes() + repr((FLAGS, head_dimension, os.uname().nodename)).encode()).hexdigest()
    library = Path(tempfile.gettempdir()) / f"ebformer-attention-{os.getuid()}-{key[:16]}.so"
    if not library.exists():
        built = library.with_suffix(f".{os.getpid()}")
        command = [os.environ.get("CC", "cc"), *FLAGS, f"-DD={head_dimension}", str(SOURCE), "-o", str(built), "-lm"]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        built.replace(library)
    loaded = ctypes.CDLL(str(library))
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    loaded.forward.argtypes = [pointer] * 3 + [integer] * 2 + [ctypes.c_float] + [pointer] * 2
    loaded.backward.argtypes = [pointer] * 3 + [integer] * 2 + [ctypes.c_float] + [pointer] * 4
    return loaded


class CompiledAttention(Function):
    """attention.c as a differentiable function of qkv [T, 3 d]."""

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, bias: Tensor, start: Tensor, heads: int, library: ctypes.CDLL) -> Tensor:
        qkv = qkv.contiguous()
        tokens, width = qkv.shape[0], qkv.shape[1] // 3
        out, lse = qkv.new_empty(tokens, width), qkv.new_empty(tokens, heads)
        scale = (width // heads) ** -0.5
        shared = (qkv.data_ptr(), bias.data_ptr(), start.data_ptr(), len(start) - 1, heads, scale)
        library.forward(*shared, out.data_ptr(), lse.data_ptr())
        ctx.save_for_backward(qkv, bias, start, out, lse)
        ctx.rest = (heads, scale, library)
        return out

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: Tensor) -> tuple[Tensor, None, None, None, None]:
        qkv, bias, start, out, lse = ctx.saved_tensors  # type: ignore[attr-defined]
        heads, scale, library = ctx.rest  # type: ignore[attr-defined]
        dout, dqkv = gradients[0].contiguous(), torch.empty_like(qkv)
        shared = (qkv.data_ptr(), bias.data_ptr(), start.data_ptr(), len(start) - 1, heads, scale)
        library.backward(*shared, out.data_ptr(), lse.data_ptr(), dout.data_ptr(), dqkv.data_ptr())
        return dqkv, None, None, None, None


def padded_attention(qkv: Tensor, bias: Tensor, start: Tensor, heads: int) -> Tensor:
    """The formula of attention.c in plain torch: pad to the longest sequence, attend, take the padding away."""
    lengths = start.diff()
    sequence = torch.repeat_interleave(torch.arange(len(lengths), device=qkv.device), lengths)
    place = torch.arange(len(qkv), device=qkv.device) - start[sequence]
    shape = (len(lengths), int(lengths.max()))
    dense = qkv.new_zeros(*shape, qkv.shape[1]).index_put((sequence, place), qkv)
    tilt = bias.new_full(shape, -torch.inf).index_put((sequence, place), bias)
    q, k, v = dense.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)  # each [b, heads, u, d / heads]
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=tilt[:, None, None, :])
    return out.transpose(1, 2).flatten(-2)[sequence, place]


def softmax_attention(qkv: Tensor, multiplicity: Tensor, start: Tensor, heads: int) -> Tensor:
    """softmax(q k^T / sqrt(d / heads) + log multiplicity) v within every sequence: qkv [T, 3 d] gives [T, d].

    Sequence b owns rows start[b] to start[b + 1] - 1. A token of multiplicity 0 is attended by nobody.
    """
    bias = multiplicity.log().clamp_min(-1e30)
    library = kernel(qkv.shape[1] // 3 // heads) if qkv.device.type == "cpu" and qkv.dtype == torch.float32 else None
    if library is None:
        return padded_attention(qkv, bias, start, heads)
    return CompiledAttention.apply(qkv, bias, start, heads, library)  # type: ignore[no-any-return,no-untyped-call]


def linear_attention(qkv: Tensor, share: Tensor, tally: Tensor, tallies: int, architecture: Architecture) -> Tensor:
    """phi(q) (phi(k)^T diag(share) v) within every tally, share = multiplicity / n: qkv [T, 3 d] gives [T, d]."""
    q, k, v = qkv.unflatten(-1, (3, architecture.heads, -1)).unbind(1)  # each [T, heads, c]
    feature = FEATURE_MAPS[architecture.feature_map]
    q, k = feature(q), feature(k) * share[:, None, None]
    state = sums(k[..., :, None] * v[..., None, :], tally, tallies)  # [b, heads, c, c]
    mixed = (q[..., :, None] * state[tally]).sum(-2)
    if architecture.normalised:
        mixed = mixed / (q * sums(k, tally, tallies)[tally]).sum(-1, keepdim=True)
    return mixed.flatten(-2)


def sums(values: Tensor, tally: Tensor, tallies: int) -> Tensor:
    """The sum of values [T, ...] over the tokens of each tally: [b, ...]."""
    return values.new_zeros(tallies, *values.shape[1:]).index_add(0, tally, values)
