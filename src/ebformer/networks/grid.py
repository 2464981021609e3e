"""The grid of candidate thetas that priorformer works on: atoms, and cells of four atoms.

v is the channel's stable coordinate in which the noise of a typical unit has standard deviation 1, whatever theta is.
Atoms are even in u, which is v but near an end of the channel's domain (a rate of 0, a probability of 0 or 1), where it
becomes logarithmic, so that rare events are resolved too. A tally uses the stretch of the grid that it can speak about.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.networks.constants import PER_CELL

LOWEST, SPACING = -2.0, 0.125
"""u of the first atom where the domain has a lower end, and distance of two atoms in u."""
WIDTH = SPACING * PER_CELL
"""Of a cell, in u."""
BEND = 0.5
"""Closer to an end of the domain than this, in v, the coordinate u is logarithmic."""
MARGIN = 2.4
"""How far, in standard deviations of the noise, the grid reaches beyond the outermost observations."""
DECAYS = (1.0, 4.0, 16.0)
"""The scales on which a cell's distance from an end of the domain is felt."""


def bent(u: NDArray[Any]) -> Floats:
    """The distance v from an end of the domain at u, both measured from there.

    >>> bent(np.array([-1.0, 0.5, 2.0])).round(4).tolist()
    [0.0249, 0.5, 2.0]
    """
    return np.where(u >= BEND, u, BEND * np.exp(np.minimum(u, BEND) / BEND - 1.0))


def unbent(v: NDArray[Any]) -> Floats:
    """u at a distance v from an end of the domain, the inverse of `bent`; what is nearer than LOWEST is sent there.

    >>> unbent(np.array([0.0, 0.5, 2.0])).tolist()
    [-2.0, 0.5, 2.0]
    """
    low = BEND + BEND * np.log(np.maximum(v, 1e-300) / BEND)
    return np.asarray(np.maximum(np.where(v >= BEND, v, low), LOWEST))


@dataclass(frozen=True)
class Grid:
    """Cells first, ..., last - 1 of the grid of a channel, in which the noise of a typical unit is `noise`.

    >>> from ebformer.channels import POISSON
    >>> Grid(POISSON, 1.0, 0, 2).theta.round(6).tolist()
    [0.0, 5e-06, 8e-06, 1.3e-05, 2.1e-05, 3.5e-05, 5.7e-05, 9.4e-05]
    """

    channel: Channel
    noise: float
    """Of the stable coordinate."""
    first: int = 0
    last: int = 0

    @classmethod
    def of(cls, channel: Channel, x: NDArray[Any], known: Floats, units: NDArray[Any]) -> Grid:
        """The stretch that observations, each of so many units, can speak about.

        A unit of which little is known counts with the end of what it may be that lies nearer to the others: one event
        in a short time says little.

        >>> from ebformer.channels import POISSON
        >>> one = np.ones(2)
        >>> [Grid.of(POISSON, np.array(x), one, one).stretch for x in ([0, 49], [9_900, 10_100])]
        [(0, 37), (397, 411)]
        """
        whole = cls.whole(channel, known, units)
        bottom, top = whole.spoken_of(x, known)
        return whole.between(float(np.min(bottom)), float(np.max(top)))

    @classmethod
    def whole(cls, channel: Channel, known: Floats, units: NDArray[Any]) -> Grid:
        """The grid of such units, of no cells yet: the precision of a typical one is the mean of all."""
        noise = 1.0 / math.sqrt(float(units @ channel.noise(known) ** -2.0) / float(units.sum()))
        return cls(channel, cls.fitting(channel, noise))

    def spoken_of(self, x: NDArray[Any], known: Floats) -> tuple[Floats, Floats]:
        """The lowest and the highest v that each observation asks for."""
        v, noise = self.v_of(self.channel.mle(x, known)), self.channel.noise(known) / self.noise
        given_up = MARGIN * np.maximum(noise - 1.0, 0.0)
        return v + given_up - MARGIN, v - given_up + MARGIN

    def between(self, bottom: float, top: float) -> Grid:
        """The cells between two values of v; near an end of the domain, all up to the end."""
        edge = self.start - SPACING / 2.0
        first = 0 if bottom < self.low + BEND else math.floor((bottom - edge) / WIDTH)
        last = self.cells if top > self.length - BEND else math.ceil((top - edge) / WIDTH)
        return replace(self, first=first, last=int(last))

    @staticmethod
    def fitting(channel: Channel, noise: float) -> float:
        """The noise, or a little less, so that a domain with two ends holds whole cells and atoms at either end."""
        low, high = (float(channel.coordinate(np.array(end))) for end in channel.domain)
        if not math.isfinite(high - low):
            return noise
        ends = 2.0 * -LOWEST + SPACING
        return (high - low) / (WIDTH * math.ceil(((high - low) / noise + ends) / WIDTH) - ends)

    @cached_property
    def low(self) -> float:
        """v at the lower end of the domain: 0, or minus infinity."""
        return 0.0 if math.isfinite(self.channel.domain[0]) else -math.inf

    @cached_property
    def origin(self) -> float:
        """The stable coordinate where v is 0."""
        return float(self.channel.coordinate(np.array(self.channel.domain[0]))) if self.low == 0.0 else 0.0

    @cached_property
    def length(self) -> float:
        """v at the upper end of the domain."""
        return (float(self.channel.coordinate(np.array(self.channel.domain[1]))) - self.origin) / self.noise

    @property
    def start(self) -> float:
        """u of the atom number 0; where no end is, atoms lie at half steps from v = 0, alike on either side."""
        return LOWEST if self.low == 0.0 else SPACING / 2.0

    @property
    def cells(self) -> float:
        """How many cells there are up to the upper end of the domain."""
        return round((self.length + 2.0 * -LOWEST + SPACING) / WIDTH) if math.isfinite(self.length) else math.inf

    @property
    def mirrored(self) -> bool:
        """Whether the other way round the grid is the same."""
        return math.isfinite(self.low) == math.isfinite(self.length)

    def own_mirror_image(self, x: NDArray[Any], known: Floats, units: NDArray[Any]) -> bool:
        """Whether this stretch and these observations, of so many units each, are the same the other way round.

        >>> from ebformer.channels import channel_named
        >>> one, normal = np.ones(3), channel_named("normal")
        >>> [Grid.of(normal, x, one, one).own_mirror_image(x, one, one) for x in np.array([[-2.0, 0, 2], [-3, 0, 2]])]
        [True, False]
        """
        ends = math.isfinite(self.length)
        if not self.mirrored or self.first + self.last != (self.cells if ends else 0):
            return False
        v = self.v_of(self.channel.mle(x, known)) - (self.length / 2.0 if ends else 0.0)
        v = np.rint(v * 2.0**20)  # what rounding errors cannot change
        one, other = (np.lexsort((units, known, each)) for each in (v, -v))
        return all(np.array_equal(a[one], b[other]) for a, b in ((v, -v), (known, known), (units, units)))

    @property
    def stretch(self) -> tuple[int, int]:
        return self.first, self.last

    def v(self, u: NDArray[Any]) -> Floats:
        """v at u."""
        v = bent(u) if self.low == 0.0 else np.asarray(u, dtype=np.float64)
        return np.where(u > self.length - BEND, self.length - bent(self.length - u), v) if self.length < np.inf else v

    def v_of(self, theta: NDArray[Any]) -> Floats:
        """v at theta."""
        return np.asarray((self.channel.coordinate(theta) - self.origin) / self.noise)

    def u_of(self, theta: NDArray[Any]) -> Floats:
        """u at theta; what is nearer to an end than its neighbouring atom is sent to the end."""
        v = self.v_of(theta)
        u = unbent(v) if self.low == 0.0 else v
        return np.where(v > self.length - BEND, self.length - unbent(self.length - v), u) if self.length < np.inf else u

    def theta_at(self, u: NDArray[Any]) -> Floats:
        """theta at u."""
        return self.channel.at_coordinate(self.origin + self.noise * self.v(u))

    def atoms(self, finer: int = 1) -> tuple[Floats, Floats]:
        """u and theta of the atoms, or of `finer` points for each; the outermost are the ends of the domain."""
        step = SPACING / finer
        index = np.arange(self.first * PER_CELL * finer, self.last * PER_CELL * finer) - (finer - 1) / 2
        u = np.asarray(self.start + step * index, dtype=np.float64)
        theta = self.theta_at(u)
        if self.low == 0.0:
            theta[u < LOWEST + SPACING / 2] = self.channel.domain[0]
        theta[u > self.length - LOWEST - SPACING / 2] = self.channel.domain[1]
        return u, theta

    @cached_property
    def theta(self) -> Floats:
        """The atoms; the very first and the very last of a grid are the ends of the domain.

        >>> from ebformer.channels import channel_named
        >>> binomial = channel_named("binomial")
        >>> whole = Grid.of(binomial, np.array([0.0, 1.0]), np.ones(2), np.ones(2))
        >>> whole.theta[[0, -1]].tolist(), bool(np.allclose(whole.theta + whole.theta[::-1], 1.0))
        ([0.0, 1.0], True)
        """
        return self.atoms()[1]

    @cached_property
    def inner(self) -> NDArray[np.bool_]:
        """Which atoms are no ends of the domain."""
        low, high = self.channel.domain
        return np.asarray((self.theta > low) & (self.theta < high))

    def conjugate_family(self) -> tuple[Floats, Floats]:
        """The conjugate priors as an exponential family on the atoms: log base weights [a], statistics [2, a].

        Ends of the domain have no density: their base weight is 0.
        """
        theta = np.where(self.inner, self.theta, self.theta[self.inner][0])
        with np.errstate(divide="ignore"):
            base = np.log(np.where(self.inner, np.maximum(np.gradient(self.theta), 1e-300), 0.0))
        return base, self.channel.sufficient(theta)

    def edges(self) -> Floats:
        """How near the ends of the domain lie to the middle of every cell: [8, cells], 4 for either end."""
        u = self.start + WIDTH * np.arange(self.first, self.last) + SPACING * (PER_CELL - 1) / 2
        below = np.asarray(u, dtype=np.float64) if self.low == 0.0 else np.full(u.shape, np.inf)
        return np.stack([felt for end in (below, np.asarray(self.length - u)) for felt in _felt(end)])

    def reflected_edges(self) -> Floats:
        """`edges`, the other way round."""
        return np.roll(self.edges(), 1 + len(DECAYS), axis=0)[:, ::-1]


def _felt(u: Floats) -> list[Floats]:
    """An end of the domain at a distance u: on three scales, and how deep in the logarithmic part the cell lies."""
    return [*(np.exp(bent(u) / -scale) for scale in DECAYS), np.minimum(u, BEND)]
