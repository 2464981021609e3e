"""Attention over the tallies of a batch, stacked without padding: softmax with multiplicities, and linear.

The compiled kernel in attention.c is for training on a CPU, where general kernels spend most of a step on heads of
dimension 4. Elsewhere, where no C compiler is at hand, and for sequences longer than the kernel has room for, the same
formula runs in plain torch on padded sequences.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from ebformer.networks.architecture import Architecture, FeatureMap
from ebformer.networks.constants import macros

FEATURE_MAPS: dict[FeatureMap, Callable[[Tensor], Tensor]] = {
    "identity": lambda x: x,
    "elu+1": lambda x: torch.nn.functional.elu(x) + 1,
    "relu": torch.relu,
}
SOURCE = Path(__file__).with_name("attention.c")
FLAGS = ("-O3", "-funroll-loops", "-march=native", "-shared", "-fPIC")
LONGEST = 16384
"""Tokens of a sequence of softmax attention that attention.c has room for."""
LEAST_LOGIT = -1e30
"""The logit of a key that nobody attends to: finite, so that none of its differences is NaN."""


@functools.cache
def kernel(head_dimension: int) -> ctypes.CDLL | None:
    """The compiled kernel for one head dimension, built once per machine; None where it cannot be built or loaded."""
    if os.name != "posix":
        return None
    own = f"-DD={head_dimension}", f"-DLONGEST={LONGEST}", f"-DLEAST_LOGIT=({LEAST_LOGIT}f)"
    told = [*FLAGS, *own, *macros("LOG2E", "EXP2")]
    key = hashlib.sha256(SOURCE.read_bytes() + repr((told, os.uname().nodename)).encode()).hexdigest()
    try:
        library = own_folder() / f"attention-{key[:16]}.so"
        if not library.exists():
            built = library.with_suffix(f".{os.getpid()}")
            compiler = shlex.split(os.environ.get("CC") or "cc")
            command = [*compiler, *told, str(SOURCE), "-o", str(built), "-lm"]
            subprocess.run(command, check=True, capture_output=True)
            built.replace(library)
        loaded = ctypes.CDLL(str(library))
    except (OSError, subprocess.CalledProcessError):
        return None
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    loaded.forward.argtypes = [pointer] * 3 + [integer] * 2 + [ctypes.c_float] + [pointer] * 2
    loaded.backward.argtypes = [pointer] * 3 + [integer] * 2 + [ctypes.c_float] + [pointer] * 4
    loaded.linear_forward.argtypes = [pointer] * 3 + [integer] * 2 + [pointer]
    loaded.linear_backward.argtypes = [pointer] * 3 + [integer] * 2 + [pointer] * 2
    return loaded


def own_folder() -> Path:
    """A temporary folder that only this user can write to, since what lies in it is loaded and run."""
    folder = Path(tempfile.gettempdir(), f"ebformer-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.lstat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to somebody else")
    return folder


class CompiledSoftmax(Function):
    """Softmax attention of attention.c as a differentiable function of qkv [T, 3 d]."""

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, bias: Tensor, start: Tensor, heads: int, library: ctypes.CDLL) -> Tensor:
        qkv, width = qkv.contiguous(), qkv.shape[1] // 3
        out, lse = qkv.new_empty(len(qkv), width), qkv.new_empty(len(qkv), heads)
        scale = (width // heads) ** -0.5
        library.forward(*pointers(qkv, bias, start), len(start) - 1, heads, scale, *pointers(out, lse))
        ctx.save_for_backward(qkv, bias, start, out, lse)
        ctx.rest = (heads, scale, library)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None, None]:
        qkv, bias, start, out, lse = ctx.saved_tensors
        heads, scale, library = ctx.rest
        dqkv, given = torch.empty_like(qkv), pointers(qkv, bias, start)
        library.backward(*given, len(start) - 1, heads, scale, *pointers(out, lse, gradients[0].contiguous(), dqkv))
        return dqkv, None, None, None, None


class CompiledLinear(Function):
    """Linear attention of attention.c as a differentiable function of qkv [T, 3 d]."""

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, share: Tensor, start: Tensor, heads: int, library: ctypes.CDLL) -> Tensor:
        qkv = qkv.contiguous()
        out = qkv.new_empty(len(qkv), qkv.shape[1] // 3)
        library.linear_forward(*pointers(qkv, share, start), len(start) - 1, heads, out.data_ptr())
        ctx.save_for_backward(qkv, share, start)
        ctx.rest = (heads, library)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None, None]:
        qkv, share, start = ctx.saved_tensors
        heads, library = ctx.rest
        dqkv, dout = torch.empty_like(qkv), gradients[0].contiguous()
        library.linear_backward(*pointers(qkv, share, start), len(start) - 1, heads, *pointers(dout, dqkv))
        return dqkv, None, None, None, None


def pointers(*tensors: Tensor) -> list[int]:
    """Where contiguous tensors begin in memory."""
    return [tensor.data_ptr() for tensor in tensors]


def compiled(qkv: Tensor, heads: int) -> ctypes.CDLL | None:
    """The kernel that can run on these tensors, if there is one."""
    return kernel(qkv.shape[1] // 3 // heads) if qkv.device.type == "cpu" and qkv.dtype == torch.float32 else None


def padded_attention(qkv: Tensor, bias: Tensor, start: Tensor, heads: int) -> Tensor:
    """The formula of attention.c in plain torch: pad to the longest sequence, attend, take the padding away."""
    lengths = start.diff()
    sequence = torch.repeat_interleave(torch.arange(len(lengths), device=qkv.device), lengths)
    place = torch.arange(len(qkv), device=qkv.device) - start[sequence]
    shape = (len(lengths), int(lengths.max()))
    dense = qkv.new_zeros(*shape, qkv.shape[1]).index_put((sequence, place), qkv)
    tilt = bias.new_full(shape, -torch.inf).index_put((sequence, place), bias)
    q, k, v = dense.reshape(*shape, 3, heads, -1).permute(2, 0, 3, 1, 4).unbind(0)  # each [b, heads, u, d / heads]
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=tilt[:, None, None, :])
    return out.transpose(1, 2).flatten(-2)[sequence, place]


def softmax_attention(qkv: Tensor, multiplicity: Tensor, start: Tensor, heads: int) -> Tensor:
    """softmax(q k^T / sqrt(d / heads) + log multiplicity) v within every sequence: qkv [T, 3 d] gives [T, d].

    Sequence b owns rows start[b] to start[b + 1] - 1. A token of multiplicity 0 is attended by nobody.
    """
    bias = multiplicity.log().clamp_min(LEAST_LOGIT)
    library = compiled(qkv, heads)
    if library is None or int(start.diff().max()) > LONGEST:
        return padded_attention(qkv, bias, start, heads)
    return CompiledSoftmax.apply(qkv, bias, start, heads, library)  # type: ignore[no-any-return,no-untyped-call]


def linear_attention(qkv: Tensor, share: Tensor, start: Tensor, tally: Tensor, architecture: Architecture) -> Tensor:
    """phi(q) (phi(k)^T diag(share) v) within every tally, share = multiplicity / n: qkv [T, 3 d] gives [T, d]."""
    library, heads = compiled(qkv, architecture.heads), architecture.heads
    if library is not None and architecture.feature_map == "identity" and not architecture.normalised:
        return CompiledLinear.apply(qkv, share, start, heads, library)  # type: ignore[no-any-return,no-untyped-call]
    return plain_linear_attention(qkv, share, tally, len(start) - 1, architecture)


def plain_linear_attention(
    qkv: Tensor, share: Tensor, tally: Tensor, tallies: int, architecture: Architecture
) -> Tensor:
    """The formula of attention.c in plain torch, for every feature map and normalisation."""
    q, k, v = qkv.reshape(len(qkv), 3, architecture.heads, -1).unbind(1)  # each [T, heads, c]
    feature = FEATURE_MAPS[architecture.feature_map]
    q, k = feature(q), feature(k) * share[:, None, None]
    state = sums(k[..., :, None] * v[..., None, :], tally, tallies)  # [b, heads, c, c]
    mixed = (q[..., :, None] * state[tally]).sum(-2)
    if architecture.normalised:
        mass = (q * sums(k, tally, tallies)[tally]).sum(-1, keepdim=True)
        # A token without any mass gathers 0, as in forward.py; adding a tiny number would make its gradient 0 * inf.
        mixed = mixed / torch.where(mass == 0, 1.0, mass)
    return mixed.flatten(-2)


def sums(values: Tensor, tally: Tensor, tallies: int) -> Tensor:
    """The sum of values [T, ...] over the tokens of each tally: [b, ...]."""
    return values.new_zeros(tallies, *values.shape[1:]).index_add(0, tally, values)
