"""What loops.c computes, where the installation found a compiler: the same as weights.py and newton.py, faster."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ebformer.distributions import Floats
from ebformer.networks import libraries
from ebformer.networks.kernels import addresses

SOURCE = Path(__file__).with_name("loops.c")
CHUNK = 32
"""Rows that loops.c sums at once."""


@functools.cache
def library() -> ctypes.CDLL | None:
    """The library, or None where numpy has to do its work."""
    return load(libraries.compiled_from(SOURCE))


def load(path: Path) -> ctypes.CDLL | None:
    """The library at `path`, told what its functions take."""
    loaded = libraries.load(path)
    if loaded is not None:
        pointer, integer, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
        loaded.em_steps.argtypes = [*[pointer] * 3, *[integer] * 3, pointer]
        loaded.reweigh.argtypes = [*[pointer] * 4, *[integer] * 2, number, integer, *[pointer] * 2]
        loaded.expand.argtypes = [*[pointer] * 5, *[integer] * 2, *[pointer] * 4]
        loaded.newton_step.argtypes = [*[pointer] * 4, integer, number, *[pointer] * 3]
        loaded.em_steps.restype = loaded.expand.restype = None
        loaded.reweigh.restype, loaded.newton_step.restype = integer, number
    return loaded


def em_steps(a: Floats, q: Floats, weights: Floats, steps: int) -> Floats | None:
    """The weights [k] after EM steps for A [u, k]."""
    c = library()
    if c is None:
        return None
    (u, k), w, room = a.shape, weights.copy(), np.empty(a.shape[1])
    c.em_steps(*addresses(a, q, w), u, k, steps, *addresses(room))
    return w


def reweigh(
    a: Floats, q: Floats, weights: Floats, sparse: Floats, tolerance: float, steps: int
) -> tuple[Floats, int] | None:
    """What `weights.reweigh` answers for columns A [u, k]."""
    c = library()
    if c is None:
        return None
    (u, k), w, v = a.shape, weights.copy(), sparse.copy()
    room, indices = np.empty(4 * u + k * (2 * k + 7 + CHUNK)), np.empty(3 * k, dtype=np.int64)
    taken = c.reweigh(*addresses(a, q, w, v), u, k, tolerance, steps, *addresses(room, indices))
    return w, int(taken)


def expand(jet: tuple[Floats, Floats, Floats], q: Floats, w: Floats) -> tuple[Floats, Floats, Floats] | None:
    """F [u], D, D' and D'' [3, k] and the Gram matrix [2k, 2k] of diag(sqrt(q) / F) [A, A'], from A, A' and A''."""
    c = library()
    if c is None:
        return None
    u, k = jet[0].shape
    f, curve, gram, room = np.empty(u), np.empty((3, k)), np.empty((2 * k, 2 * k)), np.empty(2 * k * CHUNK)
    c.expand(*addresses(*jet, q, w), u, k, *addresses(f, curve, gram, room))
    return f, curve, gram


def newton_step(
    curve: Floats, gram: Floats, w: Floats, moves: NDArray[np.bool_], damping: float
) -> tuple[float, Floats, Floats] | None:
    """What `newton.newton_step` answers, unless the Hessian is too close to singular."""
    c, k = library(), w.size
    if c is None:
        return None
    step, room, indices = np.empty((2, k)), np.empty(8 * k * (k + 2)), np.empty(2 * k, dtype=np.int64)
    steepest = c.newton_step(*addresses(curve, gram, w, moves), k, damping, *addresses(step, room, indices))
    return None if steepest < 0 else (steepest, step[0], step[1])
