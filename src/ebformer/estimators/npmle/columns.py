"""The likelihood of every observation at some points, and what a solver asks of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ebformer.distributions import Floats
from ebformer.estimators.npmle.sample import Block, Sample

LEAST = 1e-30
"""The least F: an observation in whose reach there is no atom at all."""


class Piece(NamedTuple):
    """A of the observations `rows` at the points `cols`; elsewhere these observations are silent."""

    rows: NDArray[np.intp] | slice
    cols: slice
    a: Floats


@dataclass(frozen=True, eq=False)
class Columns:
    """A [u, k] at points [k], which are sorted.

    >>> from ebformer.tally import Tally
    >>> columns = Columns.of(Sample.of(Tally.of([0, 1])), np.array([1.0, 2.0]))
    >>> columns.mix(np.array([0.5, 0.5])).round(3), columns.pull(np.array([1.0, 1.0])).round(3)
    (array([0.252, 0.868]), array([1.368, 0.871]))
    """

    points: Floats
    pieces: list[Piece]
    observations: int

    @classmethod
    def of(cls, sample: Sample, points: Floats, blocks: Iterable[Block] | None = None) -> Columns:
        """A of all observations, or of those in some blocks only."""
        pieces = []
        for block in sample.blocks if blocks is None else blocks:
            cols = block.reach(points)
            pieces.append(Piece(block.rows, cols, block.sample.kernel(points[cols])))
        return cls(points, pieces, sample.x.size)

    def joined(self, other: Columns) -> tuple[Columns, NDArray[np.intp]]:
        """The columns of both, and which of the points, one's and then the other's, they are."""
        points, first = np.unique(np.concatenate([self.points, other.points]), return_index=True)
        pieces = []
        for one, two in zip(self.pieces, other.pieces, strict=True):
            here = np.concatenate([self.points[one.cols], other.points[two.cols]])
            found, order = np.unique(here, return_index=True)
            start = int(np.searchsorted(points, found[0])) if found.size else 0
            a = np.take(np.concatenate([one.a, two.a], axis=1), order, axis=1)
            pieces.append(Piece(one.rows, slice(start, start + found.size), a))
        return Columns(points, pieces, self.observations), first

    def divided(self, price: Floats) -> Columns:
        """Every column divided by its price [k]."""
        pieces = [Piece(rows, cols, a / price[cols]) for rows, cols, a in self.pieces]
        return Columns(self.points, pieces, self.observations)

    @property
    def whole(self) -> Floats | None:
        """A [u, k] in one piece, unless it is in several."""
        return self.pieces[0].a if len(self.pieces) == 1 else None

    def mix(self, weights: Floats) -> Floats:
        """F = A v [u]."""
        f = np.zeros(self.observations)
        for piece in self.pieces:
            f[piece.rows] = piece.a @ weights[piece.cols]
        return np.maximum(f, LEAST)

    def pull(self, c: Floats) -> Floats:
        """c A [k]: with c = q / F, this is D at the points."""
        d = np.zeros(self.points.size)
        for piece in self.pieces:
            d[piece.cols] += c[piece.rows] @ piece.a
        return d

    def gram(self, chosen: NDArray[np.intp], scale: Floats) -> Floats:
        """B'B with B = diag(scale) A, of the chosen columns only."""
        h = np.zeros((chosen.size, chosen.size))
        for piece in self.pieces:
            i, j = np.searchsorted(chosen, [piece.cols.start, piece.cols.stop])
            b = np.take(piece.a, chosen[i:j] - piece.cols.start, axis=1) * scale[piece.rows, None]
            h[i:j, i:j] += b.T @ b
        return h
