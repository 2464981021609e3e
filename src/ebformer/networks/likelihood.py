"""The likelihood of a tally on priorformer's grid, held in pieces so that cost is linear in the range of the thetas."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.networks.grid import Grid

REACH, PIECE, SPAN = 13.0, 512, 32.0
"""Many atoms are not held against all observations, but against at most PIECE of them within SPAN noise deviations of
each other, and then only the atoms within REACH deviations of one of these."""
FINENESS = 8.0
"""Atoms taken together span at most SPACING / FINENESS of a unit's noise, and of their distance from an end, in u."""
NEGLIGIBLE = 1e-20
"""The least relative likelihood, ten deviations off: zeros would have no logarithm, and denormal numbers are slow."""


def strides(noise: Floats) -> NDArray[np.int64]:
    """How many neighbouring atoms a unit may take for one: a power of two, 1 below 16 times the typical noise.

    >>> strides(np.array([1.0, 10.0, 32.0, 100.0])).tolist()
    [1, 1, 4, 8]
    """
    return np.exp2(np.floor(np.log2(np.maximum(noise / FINENESS, 1.0)))).astype(np.int64)


def groups(v: Floats, stride: int) -> NDArray[np.intp]:
    """The first atoms of groups of `stride` neighbours, or fewer where v, the distance from an end, is small.

    There all likelihoods but that of the end itself rise steeply.

    >>> groups(np.array([0.0, 15.9, 16.0, 16.1, 16.2, 16.4]), 4).tolist()
    [0, 1, 2, 4]
    """
    width = np.exp2(np.floor(np.log2(np.clip(v / FINENESS, 1.0, stride))))
    return np.flatnonzero(np.arange(len(v)) % width == 0)


def relative_likelihood(
    channel: Channel, x: NDArray[Any], theta: Floats, known: Floats, dtype: type = np.float64
) -> NDArray[Any]:
    """p(x_k | theta_j) divided by its maximum over all theta, [atoms, observations]: from NEGLIGIBLE to 1.

    The logarithm is always taken in double precision.

    >>> from ebformer.channels import POISSON
    >>> relative_likelihood(POISSON, np.array([4.0]), np.array([1.0, 4.0]), np.ones(1)).round(4).tolist()
    [[0.0785], [1.0]]
    """
    logarithm = -channel.deviance(np.asarray(x, dtype=np.float64), theta[:, None], known)
    np.maximum(logarithm, math.log(NEGLIGIBLE), out=logarithm)
    return np.exp(logarithm.astype(dtype, copy=False))


class Piece(NamedTuple):
    """Some observations and the atoms that they speak about, which noisy units read in groups."""

    observations: slice
    atoms: slice
    matrix: NDArray[Any]
    """[observations, groups]: the likelihood at the mean theta of each group."""
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
    """The relative likelihood of m observations under a atoms, in pieces: cost is linear in the range of the thetas.

    >>> from ebformer.channels import POISSON
    >>> whole = Likelihood.of(Grid(POISSON, 1.0, 6, 8), np.array([0.0, 4.0]), np.ones(2), np.float64)
    >>> whole.marginal(np.full(8, 0.125)).round(4).tolist(), whole.pull_back(np.array([1.0, 0.0])).shape
    ([0.5968, 0.0165], (8,))
    """

    pieces: tuple[Piece, ...]
    shape: tuple[int, int]

    @classmethod
    def of(cls, grid: Grid, x: NDArray[Any], known: Floats, dtype: type) -> Likelihood:
        """Observations sorted as `order` does."""
        theta = grid.theta

        def matrix(some: slice, thetas: Floats) -> NDArray[Any]:
            return np.ascontiguousarray(relative_likelihood(grid.channel, x[some], thetas, known[some], dtype).T)

        everything = slice(0, len(x)), slice(0, len(theta))
        if len(theta) <= PIECE:
            return cls((Piece(*everything, matrix(everything[0], theta)),), (len(x), len(theta)))
        middle, v = grid.v_of(grid.channel.mle(x, known)), grid.v_of(theta)
        noise = grid.channel.noise(known) / grid.noise
        far, stride = REACH * noise, strides(noise)
        edges = np.flatnonzero((np.diff(stride) != 0) | (np.diff(middle // (SPAN * stride)) != 0)) + 1
        bounds = np.unique(np.concatenate([[0, len(x)], edges, np.arange(0, len(x), PIECE)])).tolist()
        pieces = list[Piece]()
        for some in itertools.starmap(slice, itertools.pairwise(bounds)):
            ends = [np.min((middle - far)[some]), np.max((middle + far)[some])]
            near = slice(*np.searchsorted(v, ends).tolist())
            thetas, starts = theta[near], None
            if stride[some.start] > 1:
                distance = np.minimum(v[near] - grid.low, grid.length - v[near])
                starts = groups(distance, stride[some.start])
                thetas = np.add.reduceat(thetas, starts) / np.diff(starts, append=len(thetas))
            pieces.append(Piece(some, near, matrix(some, thetas), starts))
        return cls(tuple(pieces), (len(x), len(theta)))

    @staticmethod
    def order(grid: Grid, x: NDArray[Any], known: Floats) -> NDArray[np.intp]:
        """By how coarsely observations read the grid, then by the theta that suits them best."""
        noise = grid.channel.noise(known) / grid.noise
        return np.lexsort((grid.channel.mle(x, known), strides(noise)))

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
    def reflected(self) -> Likelihood:
        """The same with the atoms the other way round."""
        size = self.shape[1]
        pieces = []
        for observations, atoms, matrix, starts in self.pieces:
            near = slice(size - atoms.stop, size - atoms.start)
            if starts is not None:
                starts = atoms.stop - atoms.start - np.append(starts[1:], atoms.stop - atoms.start)[::-1]
            pieces.append(Piece(observations, near, np.ascontiguousarray(matrix[:, ::-1]), starts))
        return Likelihood(tuple(pieces), self.shape)

    @cached_property
    def squared(self) -> Likelihood:
        """p(x_k | theta_j)^2 in the place of p(x_k | theta_j)."""
        return Likelihood(tuple(piece._replace(matrix=piece.matrix**2) for piece in self.pieces), self.shape)

    @cached_property
    def in_double(self) -> Likelihood:
        """The same numbers in double precision."""
        wide = (piece._replace(matrix=piece.matrix.astype(np.float64, copy=False)) for piece in self.pieces)
        return Likelihood(tuple(wide), self.shape)
