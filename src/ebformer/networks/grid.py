"""The grid of candidate rates that priorformer works on: atoms, cells of four atoms, and the likelihood of a tally.

Atoms are even in u, where u = 2 sqrt(theta) from 1/2 on (one unit of u is one standard deviation of the Poisson noise,
whatever the rate) and logarithmic below, so that rare events are resolved too. The grid is fixed once and for all; a
tally uses the stretch of it that its counts can speak about.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ebformer.channels.poisson import deviance
from ebformer.networks.constants import PER_CELL

Floats = NDArray[np.float64]

LOWEST, SPACING = -2.0, 0.125
"""u of the first atom, and distance of two atoms in u."""
BEND = 0.5
"""Below this value of 2 sqrt(theta) the coordinate is logarithmic."""
MARGIN = 2.4
"""How far, in standard deviations of the noise, the grid reaches beyond the largest observed rate."""
REACH, PIECE, SPAN = 13.0, 512, 32.0
"""Many atoms are not held against all observations, but against at most PIECE of them within SPAN noise deviations of
each other, and then only the atoms within REACH deviations of one of these."""
FINENESS = 8.0
"""Atoms taken together span at most SPACING / FINENESS of the noise of a unit and of their distance from 0, in u."""
NEGLIGIBLE = 1e-20
"""The least relative likelihood, ten deviations off: zeros would have no logarithm, and denormal numbers are slow."""
LARGE = 1e9
"""Beyond this count the logarithm of its likelihood is a small difference of large numbers, unless taken with care."""


def rate(u: NDArray[Any]) -> Floats:
    """theta at a coordinate u.

    >>> rate(np.array([-1.0, 0.5, 2.0, 10.0])).round(6).tolist()
    [0.000155, 0.0625, 1.0, 25.0]
    """
    return np.where(u >= BEND, u, BEND * np.exp(np.minimum(u, BEND) / BEND - 1.0)) ** 2 / 4.0


def coordinate(theta: NDArray[Any]) -> Floats:
    """u at a rate theta, the inverse of `rate`; rates below that of the first atom are sent there.

    >>> coordinate(np.array([0.0, 0.0625, 25.0])).tolist()
    [-2.0, 0.5, 10.0]
    """
    root = 2.0 * np.sqrt(theta)
    low = BEND + BEND * np.log(np.maximum(root, 1e-300) / BEND)
    return np.asarray(np.maximum(np.where(root >= BEND, root, low), LOWEST))


def atoms(first: int, last: int) -> Floats:
    """The rates of the atoms in cells first, ..., last - 1; the very first atom of the grid is theta = 0.

    >>> atoms(0, 2).round(6).tolist()
    [0.0, 5e-06, 8e-06, 1.3e-05, 2.1e-05, 3.5e-05, 5.7e-05, 9.4e-05]
    """
    index = np.arange(first * PER_CELL, last * PER_CELL)
    return np.where(index == 0, 0.0, rate(LOWEST + SPACING * index))


def middles(first: int, last: int) -> Floats:
    """u in the middle of cells first, ..., last - 1.

    >>> middles(0, 2).tolist()
    [-1.8125, -1.3125]
    """
    return np.asarray(LOWEST + SPACING * (PER_CELL * np.arange(first, last) + (PER_CELL - 1) / 2))


def extent(x: NDArray[Any], exposure: NDArray[Any] | float = 1.0) -> tuple[int, int]:
    """The cells [first, last) that a tally uses: from well below its smallest rate to MARGIN beyond its largest.

    A unit of small exposure counts with the lower end of what its rate may be: one event in a short time says little.

    >>> extent(np.array([0, 3, 49])), extent(np.array([9_900, 10_100]))
    ((0, 37), (393, 411))
    >>> extent(np.array([1, 49]), np.array([1e-6, 1.0]))
    (0, 37)
    """
    root, scale = 2.0 * np.sqrt(x), 1.0 / np.sqrt(exposure)
    top = float(np.max(root * scale - MARGIN * np.maximum(scale - 1.0, 0.0))) + MARGIN
    bottom = float(np.min((root - 4.0) * scale))
    width = SPACING * PER_CELL
    first = 0 if bottom < BEND else int((bottom - LOWEST) // width)
    return first, int(np.ceil((max(top, MARGIN) - LOWEST) / width))


def strides(exposure: Floats) -> NDArray[np.int64]:
    """How many neighbouring atoms a unit may take for one: a power of two, 1 above 1 / 256 of the mean exposure.

    >>> strides(np.array([1.0, 1e-2, 1e-3, 1e-4])).tolist()
    [1, 1, 2, 8]
    """
    return np.exp2(np.floor(np.log2(np.maximum(1.0 / (FINENESS * np.sqrt(exposure)), 1.0)))).astype(np.int64)


def groups(theta: Floats, stride: int) -> NDArray[np.intp]:
    """The first atoms of groups of `stride` neighbours, or fewer near 0, where all likelihoods of x > 0 rise steeply.

    >>> groups(np.array([0.0, 63.0, 64.0, 65.0, 66.0, 67.0]), 4).tolist()
    [0, 1, 2, 4]
    """
    width = np.exp2(np.floor(np.log2(np.clip(2.0 * np.sqrt(theta) / FINENESS, 1.0, stride))))
    return np.flatnonzero(np.arange(len(theta)) % width == 0)


def relative_likelihood(
    x: NDArray[Any], theta: Floats, exposure: NDArray[Any] | float = 1.0, dtype: type = np.float64
) -> NDArray[Any]:
    """p(x_k | t_k theta_j) divided by its maximum over all rates, [atoms, observations]: from NEGLIGIBLE to 1.

    The logarithm is always taken in double precision.

    >>> relative_likelihood(np.array([4]), np.array([1.0, 4.0])).round(4).tolist()
    [[0.0785], [1.0]]
    """
    x, t = np.asarray(x, dtype=np.float64), np.broadcast_to(exposure, x.shape)
    logarithm: Floats
    if x.max(initial=0.0) > LARGE:
        logarithm = -deviance(x, np.multiply.outer(theta, t))
    else:
        most = x * np.log(t) - xlogy(x, x) + x
        with np.errstate(divide="ignore"):
            log_theta = np.maximum(np.log(theta), -1e280)  # finite, so that x = 0 gives 0 under theta = 0
        logarithm = np.multiply.outer(log_theta, x)
        logarithm -= np.multiply.outer(theta, t)
        logarithm += most
    np.maximum(logarithm, math.log(NEGLIGIBLE), out=logarithm)
    return np.exp(logarithm.astype(dtype, copy=False))


class Piece(NamedTuple):
    """Some observations and the atoms that they speak about, which units of small exposure read in groups."""

    observations: slice
    atoms: slice
    matrix: NDArray[Any]
    """[observations, groups]: the likelihood at the mean rate of each group."""
    starts: NDArray[np.intp] | None = None
    """The first atom of each group, counted from the first of the piece; None where every atom is its own."""

    def gather(self, weights: NDArray[Any]) -> NDArray[Any]:
        """The weights [..., a] of all atoms, summed over each group of the piece: [..., groups]."""
        own = weights[..., self.atoms]
        return own if self.starts is None else np.add.reduceat(own, self.starts, axis=-1)

    def scatter(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values [..., groups], given to every atom of the group."""
        if self.starts is None:
            return values
        sizes = np.diff(self.starts, append=self.atoms.stop - self.atoms.start)
        return np.repeat(values, sizes, axis=-1)


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The relative likelihood of m observations under a atoms, in pieces: cost is linear in the range of the counts.

    >>> whole = Likelihood.of(np.array([0.0, 4.0]), np.ones(2), np.array([1.0, 4.0]), np.float64)
    >>> whole.marginal(np.array([0.5, 0.5])).round(4).tolist(), whole.pull_back(np.array([1.0, 0.0])).round(4).tolist()
    ([0.1931, 0.5392], [0.3679, 0.0183])
    """

    pieces: tuple[Piece, ...]
    shape: tuple[int, int]

    @classmethod
    def of(cls, x: NDArray[Any], exposure: Floats, theta: Floats, dtype: type) -> Likelihood:
        """Observations sorted by their strides, then by x / exposure; atoms sorted."""

        def matrix(some: slice, rates: Floats) -> NDArray[Any]:
            return np.ascontiguousarray(relative_likelihood(x[some], rates, exposure[some], dtype).T)

        everything = slice(0, len(x)), slice(0, len(theta))
        if len(theta) <= PIECE:
            return cls((Piece(*everything, matrix(everything[0], theta)),), (len(x), len(theta)))
        middle, far, stride = 2.0 * np.sqrt(x / exposure), REACH / np.sqrt(exposure), strides(exposure)
        edges = np.flatnonzero((np.diff(stride) != 0) | (np.diff(middle // (SPAN * stride)) != 0)) + 1
        bounds = np.unique(np.concatenate([[0, len(x)], edges, np.arange(0, len(x), PIECE)])).tolist()
        pieces = list[Piece]()
        for some in itertools.starmap(slice, itertools.pairwise(bounds)):
            ends = np.array([np.min((middle - far)[some]), np.max((middle + far)[some])])
            near = slice(*np.searchsorted(theta, np.maximum(ends, 0.0) ** 2 / 4.0).tolist())
            rates, starts = theta[near], None
            if stride[some.start] > 1:
                starts = groups(rates, stride[some.start])
                rates = np.add.reduceat(rates, starts) / np.diff(starts, append=len(rates))
            pieces.append(Piece(some, near, matrix(some, rates), starts))
        return cls(tuple(pieces), (len(x), len(theta)))

    def marginal(self, weights: NDArray[Any]) -> NDArray[Any]:
        """f_k = sum_j p(x_k | theta_j) w_j: weights [..., a] to [..., m]."""
        if len(self.pieces) == 1:
            matrix = self.pieces[0].matrix
            return np.dot(matrix, weights) if weights.ndim == 1 else weights @ matrix.T  # type: ignore[no-any-return]
        return np.concatenate([piece.gather(weights) @ piece.matrix.T for piece in self.pieces], axis=-1)

    def pull_back(self, ratio: NDArray[Any]) -> NDArray[Any]:
        """D_j = sum_k r_k p(x_k | theta_j): ratios [..., m] to [..., a]."""
        if len(self.pieces) == 1:
            return np.dot(ratio, self.pieces[0].matrix)  # type: ignore[no-any-return]
        shape = (*ratio.shape[:-1], self.shape[1])
        total = np.full(shape, NEGLIGIBLE * ratio.sum(axis=-1, keepdims=True), dtype=ratio.dtype)
        for piece in self.pieces:
            total[..., piece.atoms] += piece.scatter(ratio[..., piece.observations] @ piece.matrix)
        return total

    @cached_property
    def squared(self) -> Likelihood:
        """p(x_k | theta_j)^2 in the place of p(x_k | theta_j)."""
        return Likelihood(tuple(piece._replace(matrix=piece.matrix**2) for piece in self.pieces), self.shape)
