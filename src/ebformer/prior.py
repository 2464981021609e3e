"""Mixing distributions: the discrete `Prior` that estimators answer with, on a grid or not, and the conjugate
`GammaPrior`."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebformer.errors import InputError


@dataclass(frozen=True, eq=False)
class Prior:
    """A distribution of rates with finitely many atoms: P(theta = atoms[j]) = weights[j].

    `atoms` and `weights` are float64 [k]; atoms are sorted and distinct, weights positive with sum 1. Atoms given twice
    are merged, atoms of weight 0 left out.

    >>> prior = Prior([4.0, 1.0], [0.25, 0.75])
    >>> prior.atoms.tolist(), prior.weights.tolist(), prior.mean
    ([1.0, 4.0], [0.75, 0.25], 1.75)
    """

    atoms: NDArray[np.float64]
    weights: NDArray[np.float64]

    def __init__(self, atoms: ArrayLike, weights: ArrayLike) -> None:
        try:
            a, w = (np.atleast_1d(np.asarray(numbers, dtype=np.float64)) for numbers in (atoms, weights))
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"the atoms and weights of a prior are numbers: {error}") from error
        if a.ndim != 1 or a.shape != w.shape or a.size == 0:
            raise InputError(f"a prior needs as many weights as atoms, at least one: got {w.shape} and {a.shape}")
        for name, array in (("atoms", a), ("weights", w)):
            bad = ~((array >= 0) & (array < np.inf))
            if bad.any():
                at = int(np.flatnonzero(bad)[0])
                raise InputError(f"{name}[{at}] is {array[at]:g}: give finite numbers of at least 0")
        total = float(w.sum())
        if abs(total - 1.0) > 1e-6:
            raise InputError(f"the weights of a prior add up to 1, not {total:.9g}")
        if not (np.all(w > 0) and np.all(a[1:] > a[:-1])):
            a, cell = np.unique(a[w > 0], return_inverse=True)
            w = np.asarray(np.bincount(cell, weights=w[w > 0]), dtype=np.float64)
        # Weights that add up to 1 already, to rounding, keep their bits, so that a prior survives being written down.
        w = w if abs(total - 1.0) < 1e-14 else w / total
        a, w = a.copy(), w.copy()  # the caller may go on writing into theirs
        a.flags.writeable = w.flags.writeable = False
        object.__setattr__(self, "atoms", a)
        object.__setattr__(self, "weights", w)

    @property
    def mean(self) -> float:
        """E theta."""
        return float(self.atoms @ self.weights)

    @property
    def variance(self) -> float:
        """Var theta."""
        return float((self.atoms - self.mean) ** 2 @ self.weights)

    def scaled(self, factor: float) -> Self:
        """The distribution of factor * theta."""
        return type(self)(self.atoms * factor, self.weights)

    def draw(self, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Independent rates from this prior."""
        return rng.choice(self.atoms, size=size, p=self.weights)

    def __len__(self) -> int:
        return int(self.atoms.size)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return np.array_equal(self.atoms, other.atoms) and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash((self.atoms.tobytes(), self.weights.tobytes()))

    def __repr__(self) -> str:
        low, high = self.atoms[0], self.atoms[-1]
        reach = f"1 atom at {low:.4g}" if len(self) == 1 else f"{len(self)} atoms from {low:.4g} to {high:.4g}"
        return f"{type(self).__name__}({reach}, mean {self.mean:.4g})"


class GridPrior(Prior):
    """A prior on a grid: each atom stands for a cell of rates, half-way to its neighbours in sqrt(theta).

    Posterior means are those of a `Prior`, but quantiles, draws and P(theta > c) spread an atom over its cell (0 stays
    a point), and an interval ends at the edges of cells: what lies between two points of the grid is not left out.

    >>> GridPrior([0.0, 1.0, 4.0], [0.2, 0.5, 0.3]).edges.tolist()
    [0.0, 0.25, 2.25, 6.25]
    """

    @property
    def edges(self) -> NDArray[np.float64]:
        """The ends of the cells, [k + 1]; the outermost atoms lie in the middle of theirs, unless that is below 0."""
        root = np.sqrt(self.atoms)
        between = (root[1:] + root[:-1]) / 2
        if len(self) == 1:
            return np.repeat(self.atoms, 2)
        ends = max(0.0, 2 * root[0] - between[0]), 2 * root[-1] - between[-1]
        return np.concatenate([[ends[0]], between, [ends[1]]]) ** 2


@dataclass(frozen=True)
class GammaPrior:
    """theta ~ Gamma(shape, rate), with density proportional to theta^(shape - 1) exp(-rate theta).

    >>> GammaPrior(2.0, 4.0).mean, GammaPrior(2.0, 4.0).variance
    (0.5, 0.125)
    """

    shape: float
    rate: float

    def __post_init__(self) -> None:
        for name, number in (("shape", self.shape), ("rate", self.rate)):
            if not (isinstance(number, Real) and 0 < number < np.inf):
                raise InputError(f"the {name} of a gamma prior is {number!r}: give a positive finite number")

    @property
    def mean(self) -> float:
        """E theta."""
        return self.shape / self.rate

    @property
    def variance(self) -> float:
        """Var theta."""
        return self.shape / self.rate**2

    def scaled(self, factor: float) -> GammaPrior:
        """The distribution of factor * theta."""
        if not factor > 0:
            raise InputError(f"a gamma prior is scaled by {factor!r}: give a positive number")
        return GammaPrior(self.shape, self.rate / factor)

    def draw(self, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Independent rates from this prior."""
        return rng.gamma(self.shape, 1.0 / self.rate, size=size)
