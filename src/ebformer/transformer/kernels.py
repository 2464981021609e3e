"""A softmax layer in two halves and EM steps in C, where the installation found a compiler; elsewhere numpy runs them.

`hatch_build.py` compiles kernels.c when the package is installed. The library bears a hash of its source in its name,
so that one built from another version is never called.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Affine = tuple[Array, Array]

SOURCE = Path(__file__).with_name("kernels.c")
COORDINATES = (1, 2, 4, 8, 16)
"""Of a head: those that kernels.c is compiled for."""
ROWS = 256
"""Of the arrays that a token passes through: as many as kernels.c makes room for."""


@functools.cache
def library() -> ctypes.CDLL | None:
    """The library that belongs to the source beside this module, or None; a bundled application may have neither."""
    try:
        source = SOURCE.read_bytes()
    except OSError:
        return None
    return load(SOURCE.with_name(f"kernels-{hashlib.sha256(source).hexdigest()[:12]}.so"))


def load(path: Path) -> ctypes.CDLL | None:
    """The library at `path`; None if it is missing or needs another processor."""
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError:
        return None
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    loaded.attention.argtypes = [pointer] * 3 + [integer] * 5 + [pointer] * 4
    loaded.mlp.argtypes = [pointer] + [integer] * 3 + [pointer] * 4
    loaded.attention.restype = loaded.mlp.restype = None
    loaded.em_steps.argtypes = [pointer] * 5 + [integer] * 5 + [ctypes.c_float] * 3
    loaded.em_steps.restype = integer
    return loaded if loaded.runs_here() else None


def attention(h: Array, share: Array, heads: int, qkv: Affine, out: Affine) -> bool:
    """Add softmax attention, layer norm included, to h [d, b, u]; False, with h as it was, where numpy has to do it."""
    (d, b, u), rows, compiled = h.shape, len(qkv[0]), library()
    if compiled is None or h.dtype != np.float32 or d // heads not in COORDINATES or rows > ROWS:
        return False
    room = np.empty((rows, b, u), dtype=np.float32)
    compiled.attention(*addresses(h, share, room), d, b, u, share.shape[1], heads, *addresses(*qkv, *out))
    return True


def mlp(h: Array, up: Affine, down: Affine) -> bool:
    """Add the MLP, layer norm included, to h [d, t]; False, with h as it was, where numpy has to do it."""
    (d, t), hidden, compiled = h.shape, len(up[0]), library()
    if compiled is None or h.dtype != np.float32 or hidden > ROWS:
        return False
    compiled.mlp(h.ctypes.data, d, hidden, t, *addresses(*up, *down))
    return True


def em_steps(
    likelihood: Array,
    share: Array,
    log_weights: Array,
    velocity: Array,
    steps: int,
    run: int,
    check: int,
    stride: float,
    least: float,
    largest: float,
) -> int | None:
    """Move log_weights and velocity [a] by EM steps for likelihood [m, a]; returns the new run of momentum.

    The last four are the constants of `em_track`. None, with all as it was, where numpy has to do it.
    """
    compiled = library()
    if compiled is None or {array.dtype.name for array in (likelihood, share, log_weights, velocity)} != {"float32"}:
        return None
    room = np.empty(2 * log_weights.size, dtype=np.float32)
    moved = addresses(likelihood, share, log_weights, velocity, room)
    return int(compiled.em_steps(*moved, *likelihood.shape, steps, run, check, stride, least, largest))


def addresses(*arrays: Array) -> list[int]:
    """Where contiguous arrays begin in memory."""
    return [array.ctypes.data for array in arrays]
