"""Mixing distributions: the discrete `Prior` that methods answer with, on a grid or not, and conjugate ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebformer.channels import POISSON
from ebformer.channels.base import Channel
from ebformer.distributions import Floats, Posterior, Predictive
from ebformer.errors import InputError

LARGEST_PARAMETER = 1e100
"""The largest atom, and the largest parameter or one over it: twice the exponent still is a number."""
LARGEST_SHAPE = 1e30
"""The largest parameter that is a number of events: more leave a spread that is lost in the rounding of the mean."""


@dataclass(frozen=True, eq=False)
class Prior:
    """A distribution of theta with finitely many atoms: P(theta = atoms[j]) = weights[j].

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
        for name, array, bad, least in (
            ("atoms", a, ~(np.abs(a) <= LARGEST_PARAMETER), f" of at most {LARGEST_PARAMETER:g}"),
            ("weights", w, ~((w >= 0) & (w < np.inf)), " of at least 0"),
        ):
            if bad.any():
                at = int(np.flatnonzero(bad)[0])
                raise InputError(f"{name}[{at}] is {array[at]:g}: give finite numbers{least}")
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
        return self._with_atoms(self.atoms * factor)

    def reweighted(self, weights: ArrayLike) -> Self:
        """The same atoms with other weights."""
        return type(self)(self.atoms, weights)

    def _with_atoms(self, atoms: Floats) -> Self:
        return type(self)(atoms, self.weights)

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
    """A prior on a grid: each atom stands for a cell, half-way to its neighbours in the channel's stable coordinate.

    Posterior means are those of a `Prior`, but quantiles, draws and P(theta > c) spread an atom over its cell (an end
    of the domain, such as a rate of 0, stays a point, and so does `point`, an atom such as an effect of exactly 0), and
    an interval ends at the edges of cells: what lies between two points of the grid is not left out.

    >>> GridPrior([0.0, 1.0, 4.0], [0.2, 0.5, 0.3]).edges.tolist()
    [0.0, 0.25, 2.25, 6.25]
    """

    channel: Channel
    point: float | None

    def __init__(
        self, atoms: ArrayLike, weights: ArrayLike, channel: Channel = POISSON, point: float | None = None
    ) -> None:
        super().__init__(atoms, weights)
        object.__setattr__(self, "channel", channel)
        object.__setattr__(self, "point", point)

    @property
    def edges(self) -> NDArray[np.float64]:
        """The ends of the cells, [k + 1]; the outermost atoms lie in the middle of theirs, unless the domain ends."""
        if len(self) == 1:
            return np.repeat(self.atoms, 2)
        u = self.channel.coordinate(self.atoms)
        between = (u[1:] + u[:-1]) / 2
        ends = 2 * u[0] - between[0], 2 * u[-1] - between[-1]
        return self.channel.at_coordinate(np.concatenate([[ends[0]], between, [ends[1]]]))

    @property
    def points(self) -> NDArray[np.bool_]:
        """Which atoms stay points: [k]."""
        low, high = self.channel.domain
        return np.asarray((self.atoms == low) | (self.atoms == high) | (self.atoms == self.point))

    def reweighted(self, weights: ArrayLike) -> Self:
        return type(self)(self.atoms, weights, self.channel, self.point)

    def _with_atoms(self, atoms: Floats) -> Self:
        return type(self)(atoms, self.weights, self.channel, self._point_among(atoms))

    def _point_among(self, atoms: Floats) -> float | None:
        """Where the point is after all atoms moved."""
        return None if self.point is None else float(atoms[np.searchsorted(self.atoms, self.point)])

    def __eq__(self, other: object) -> bool:
        alike = isinstance(other, GridPrior) and self.channel == other.channel and self.point == other.point
        return alike and super().__eq__(other)

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.channel, self.point))


class UncertainPrior(GridPrior):
    """A prior on a grid that is itself uncertain: any of a few versions of it, all equally likely.

    `versions` [h, k] are the weights of each; `weights` are their mean, the prior of a unit that was not in the table.
    The table spoke for all of them, so the posterior of one of its units is the mean of its posteriors under each.

    >>> UncertainPrior([0.0, 1.0, 4.0], [[0.2, 0.5, 0.3], [0.4, 0.5, 0.1]]).weights.round(6).tolist()
    [0.3, 0.5, 0.2]
    """

    versions: NDArray[np.float64]

    def __init__(
        self, atoms: ArrayLike, versions: ArrayLike, channel: Channel = POISSON, point: float | None = None
    ) -> None:
        a, each = np.asarray(atoms, dtype=np.float64), np.array(versions, dtype=np.float64)
        if a.ndim != 1 or each.shape[1:] != a.shape or not np.all(each > 0) or np.ptp(each.sum(axis=1)) > 1e-6:
            raise InputError("versions of a prior are rows of positive weights, one for each atom, with one sum")
        if not np.all(a[1:] > a[:-1]):
            a, cell = np.unique(a, return_inverse=True)
            each = np.stack([np.bincount(cell, weights=row) for row in each])
        super().__init__(a, each.mean(axis=0), channel, point)
        each.flags.writeable = False
        object.__setattr__(self, "versions", each)

    def averaged(self, weights: Floats) -> Floats:
        """Posterior weights [..., k] under the mean of the versions become the mean of those under each."""
        relative = self.versions / self.weights
        return np.asarray(weights * ((1.0 / (weights @ relative.T)) @ relative / len(relative)))

    @property
    def certain(self) -> GridPrior:
        """The mean of the versions, without the doubt."""
        return GridPrior(self.atoms, self.weights, self.channel, self.point)

    def reweighted(self, weights: ArrayLike) -> Self:
        """Every version times weights / self.weights, and normalised: as uncertain as before.

        >>> doubt = UncertainPrior([1.0, 4.0], [[0.2, 0.8], [0.4, 0.6]])
        >>> doubt.reweighted([0.7, 0.3]).versions.round(3).tolist()
        [[0.576, 0.424], [0.784, 0.216]]
        """
        each = self.versions * (np.asarray(weights) / self.weights)
        return type(self)(self.atoms, each / each.sum(axis=1, keepdims=True), self.channel, self.point)

    def _with_atoms(self, atoms: Floats) -> Self:
        return type(self)(atoms, self.versions, self.channel, self._point_among(atoms))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, UncertainPrior)
            and super().__eq__(other)
            and np.array_equal(self.versions, other.versions)
        )

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.versions.tobytes()))


class ConjugatePrior(ABC):
    """A prior whose posteriors are of its own family, with closed forms for all that `bayes` asks of it.

    Subclasses are frozen dataclasses whose fields are the parameters. Vectors [h] of parameters are h priors at once:
    x with a trailing axis then gets the answers of each.
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def mean(self) -> float:
        """E theta."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Var theta."""

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """The distribution of factor * theta."""

    @abstractmethod
    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Independent thetas from this prior."""

    @property
    @abstractmethod
    def law(self) -> Posterior:
        """The distribution of theta before anything is seen."""

    @abstractmethod
    def log_marginal(self, x: Floats, known: Floats) -> Floats:
        """log f_G(x)."""

    @abstractmethod
    def marginal_cdf(self, x: Floats, known: Floats) -> Floats:
        """P(a unit shows at most x)."""

    @abstractmethod
    def posterior(self, x: Floats, known: Floats) -> Posterior:
        """The distribution of theta given x."""

    @abstractmethod
    def predictive(self, x: Floats, known: Floats, future: Floats) -> Predictive:
        """The distribution of the next observation given x."""

    @abstractmethod
    def log_predictive(self, x: Floats, known: Floats, y: Floats, future: Floats) -> Floats:
        """The log-probability, or log-density, of a next observation y given x."""

    @abstractmethod
    def mmse(self, known: float) -> float:
        """E Var[theta | x]."""

    def __str__(self) -> str:
        told = ", ".join(f"{name} {value:.4g}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({told})"

    def parameters(self) -> dict[str, Any]:
        """The parameters by name."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]


def positive_parameter(number: Any, largest: float = LARGEST_PARAMETER) -> bool:
    """Whether this can be a parameter that is positive, one or a vector of them, within the bounds.

    >>> positive_parameter(2.0), positive_parameter(np.array([1.0, 0.0])), positive_parameter("2")
    (True, False, False)
    """
    if not isinstance(number, Real | np.ndarray):
        return False
    numbers = np.asarray(number, dtype=np.float64)
    return bool(np.all((numbers >= 1.0 / LARGEST_PARAMETER) & (numbers <= largest)))


AnyPrior = Prior | ConjugatePrior
