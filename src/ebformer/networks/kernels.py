"""A softmax layer in two halves, EM steps and the blocks of priorformer in C, where the installation found a compiler;
elsewhere numpy runs them.

`hatch_build.py` compiles kernels.c when the package is installed, with the numbers of constants.py.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.networks import libraries
from ebformer.networks.constants import (
    BEYOND,
    HEAD_SIZES,
    LARGEST_REACH,
    LOG2E,
    NEAR_HEAD_SIZES,
    PER_CELL,
    ROWS,
)

Array = NDArray[Any]
Affine = tuple[Array, Array]

SOURCE = Path(__file__).with_name("kernels.c")
FAR = -1e4
"""Added to the logit of a cell out of reach."""


@functools.cache
def library() -> ctypes.CDLL | None:
    """The library that belongs to the source beside this module, or None."""
    return load(libraries.compiled_from(SOURCE))


def load(path: Path) -> ctypes.CDLL | None:
    """The library at `path`, told what its functions take; None where numpy has to do its work."""
    loaded = libraries.load(path)
    if loaded is None:
        return None
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    loaded.attention.argtypes = [pointer] * 3 + [integer] * 5 + [pointer] * 4
    loaded.mlp.argtypes = [pointer] + [integer] * 3 + [pointer] * 4
    loaded.attention.restype = loaded.mlp.restype = None
    loaded.near_block.argtypes = [pointer] * 4 + [integer] * 6 + [pointer] * 11
    loaded.near_block.restype = None
    loaded.em_steps.argtypes = [pointer] * 5 + [integer] * 5 + [ctypes.c_float] * 3
    loaded.em_steps.restype = integer
    loaded.em_track.argtypes = [pointer] * 5 + [integer] * 5 + [ctypes.c_float] * 4
    loaded.all_blocks.argtypes = [pointer] * 9 + [integer] * 7 + [ctypes.c_float] * 2
    loaded.em_track.restype = loaded.all_blocks.restype = None
    return loaded


def attention(h: Array, share: Array, heads: int, qkv: Affine, out: Affine) -> bool:
    """Add softmax attention, layer norm included, to h [d, b, u]; False, with h as it was, where numpy has to do it."""
    (d, b, u), rows, compiled = h.shape, len(qkv[0]), library()
    if compiled is None or h.dtype != np.float32 or d // heads not in HEAD_SIZES or rows > ROWS:
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
    compiled, given = library(), (likelihood, share, log_weights, velocity)
    if compiled is None or any(array.dtype != np.float32 for array in given):
        return None
    room = np.empty(2 * log_weights.size, dtype=np.float32)
    constants = check, stride, least, largest
    return int(compiled.em_steps(*addresses(*given, room), *likelihood.shape, steps, run, *constants))


class NearBlock:
    """The arrays of a block of priorformer as kernels.c takes them: matrices [out, in], logits in powers of two."""

    def __init__(self, arrays: dict[str, Array], heads: int) -> None:
        self.heads, self.reach = heads, arrays["nearness"].shape[1] // 2
        d, features = arrays["embed.weight"].shape
        self.shape, self.answers = (d, features), len(arrays["head.bias"])
        qkv, in_twos = arrays["qkv.weight"].astype(np.float32), np.float32(LOG2E)
        qkv[:d] *= in_twos / np.sqrt(np.float32(d // heads))
        beyond = ((0, 0), (BEYOND, BEYOND))
        given = arrays | {
            "qkv.weight": qkv,
            "nearness": np.pad(arrays["nearness"][:, ::-1], beyond, constant_values=FAR) * in_twos,
            "zero": np.zeros(4 * d),
        }
        order = (
            "embed.weight embed.bias qkv.weight nearness out.weight up.weight up.bias down.weight head.weight head.bias"
        )
        self.rows = [np.ascontiguousarray(given[name], dtype=np.float32) for name in (*order.split(), "zero")]
        self.addresses = addresses(*self.rows)
        self.fits = d // heads in NEAR_HEAD_SIZES and 4 * d <= ROWS and self.reach <= LARGEST_REACH

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy, or a block sent to another process, has its arrays elsewhere."""
        self.__dict__ |= state
        self.addresses = addresses(*self.rows)

    def __call__(self, h: Array, features: Array) -> tuple[Array, Array] | None:
        """The state h [j, d] and features [j, f] to the next state and to what is said of the atoms [j, answers].

        None where numpy has to do it.
        """
        compiled = library()
        if compiled is None or h.dtype != np.float32 or not self.fits:
            return None
        (d, f), cells = self.shape, len(h)
        state, read = np.array(h.T, order="C"), np.ascontiguousarray(features.T)
        said, room = np.empty((self.answers, cells), dtype=np.float32), np.empty((3 * d, cells), dtype=np.float32)
        sizes = d, f, cells, self.heads, self.reach, self.answers
        compiled.near_block(*addresses(state, read, said, room), *sizes, *self.addresses)
        return state.T, said.T


def em_track(
    likelihood: Array,
    share: Array,
    log_weights: Array,
    blocks: int,
    em_steps: tuple[int, int, float, float, float],
    lowest: float,
) -> Array | None:
    """Log-weights [blocks, a] of EM from those given [a], after every so many steps; None where numpy has to do it.

    `em_steps` are the steps and the constants of `em_track`, and `lowest` is the least log-weight.
    """
    compiled, given = library(), (likelihood, share, log_weights)
    if compiled is None or any(array.dtype != np.float32 for array in given):
        return None
    a = log_weights.size
    track, room = np.empty((blocks, a), dtype=np.float32), np.empty(3 * a, dtype=np.float32)
    changed = log_weights.copy(), track, room
    compiled.em_track(*addresses(likelihood, share, *changed), *likelihood.shape, blocks, *em_steps, lowest)
    return track


def all_blocks(
    blocks: Sequence[NearBlock],
    likelihood: Array,
    share: Array,
    log_weights: Array,
    precision: Array,
    track: Array,
    static: Array,
    lowest: float,
    log_n: float,
) -> Array | None:
    """What all blocks of priorformer answer one after another, log-weights [blocks, a]; None where numpy has to do it.

    `track` [blocks, a] is what EM has reached beside every block, `static` [f, a / PER_CELL] are features that never
    change, and `lowest` is the least log-weight.
    """
    compiled, given = library(), (likelihood, share, precision, log_weights, track)
    single = all(array.dtype == np.float32 for array in (*given, static))
    if compiled is None or not single or not all(block.fits for block in blocks):
        return None
    (m, a), (d, f), first = likelihood.shape, blocks[0].shape, blocks[0]
    answers = np.empty((len(blocks), a), dtype=np.float32)
    features = np.empty((f, static.shape[1]), dtype=np.float32)
    features[-len(static) :] = static
    changed = features, answers, np.empty(4 * d * (a // PER_CELL) + 6 * a, dtype=np.float32)
    arrays = np.array([address for block in blocks for address in block.addresses], dtype=np.uintp)
    sizes = m, a, len(blocks), d, f, first.heads, first.reach
    compiled.all_blocks(*addresses(*given, *changed, arrays), *sizes, lowest, log_n)
    return answers


def addresses(*arrays: Array) -> list[int]:
    """Where contiguous arrays begin in memory."""
    return [array.ctypes.data for array in arrays]
