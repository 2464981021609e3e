"""Maximum likelihood over mixtures of conjugate laws of a common width, certified as the NPMLE is.

theta given a centre c has the law `channel.around(c, width)`: gamma, beta or normal, with mean c and a deviation of
`width` in the stable coordinate. With p(x | c) in place of p(x | theta) the mixture over centres is a convex problem
again: it is the likeliest if and only if D(c) = sum_k q_k p(x_k | c) / f(x_k) <= 1 for every centre. Centres lie
between the lowest and the highest raw rate.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import binom

from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.estimators.npmle.columns import Columns, Piece
from ebformer.estimators.npmle.lattice import ORDER, interpolation
from ebformer.estimators.npmle.newton import slide
from ebformer.estimators.npmle.sample import Block
from ebformer.estimators.npmle.solver import Candidate, sparse_start
from ebformer.estimators.npmle.weights import crests, em_steps, reweigh
from ebformer.tally import Tally

STEP = 0.2
"""Spacing of the lattice of centres, per standard deviation of an observation around its centre."""
FINEST = STEP / 3
"""Lattices are not made finer than this."""
MOST_CENTRES = 2**13
"""Wider a range is not searched: weights of so many centres take a gigabyte to find. Tables over ten decades have less
than a thousand."""
AT_ONCE = 16_384
"""Densities that are computed at a time: what lies between then stays in the cache, which is several times faster."""
LEAST = 1e-12
"""A centre at an end of the domain is this share of the mean away from it, so that its law is not a point."""
EM_STEPS = 15
ROUNDS = 30
FINISH = 1e-9
"""Newton's method gets here at no cost; the tolerance is what is promised."""
MESH = np.linspace(0.0, 1.0, 9)
"""Where around the highest nodes a maximum of D is sought, and again, NARROWER times."""
NARROWER = 4
APART = 0.7
"""Cells of the lattice between centres that are taken for two."""


class Observed(NamedTuple):
    """Distinct observations x [u], what is known, shares q [u], and from where to where, in u, centres may be."""

    channel: Channel
    x: Floats
    known: Floats
    q: Floats
    low: float
    high: float
    edge: float

    @classmethod
    def of(cls, tally: Tally) -> Observed:
        channel, raw = tally.channel, tally.channel.mle(tally.x, tally.known)
        low, high = (float(u) for u in channel.coordinate(np.array([raw.min(), raw.max()])))
        start, end = channel.domain
        edge = LEAST * min(tally.mean - start, end - tally.mean) if np.isfinite(start) else 0.0
        return cls(channel, tally.x, tally.known, tally.multiplicity / tally.n, low, high, edge)

    def centres(self, u: Floats) -> Floats:
        """Centres at coordinates u, inside of the domain."""
        low, high = self.channel.domain
        last = np.nextafter(high - self.edge, low)  # next to 1 there may be no room for the edge
        return np.clip(self.channel.at_coordinate(u), low + self.edge, last)

    def log_density(self, centres: Floats, width: float) -> Floats:
        """log p(x | centre), [u, k], some rows at a time."""
        logs = np.empty((self.x.size, centres.size))
        rows = max(1, AT_ONCE // centres.size)
        for start in range(0, self.x.size, rows):
            some = slice(start, start + rows)
            x, known = self.x[some, None], self.known[some, None]
            logs[some] = self.channel.log_around(x, known, centres, np.asarray(width))
        return logs


@dataclass(frozen=True, eq=False)
class CentreLattice:
    """A = p(x | c) [u, k] at evenly spaced coordinates, each row divided by its largest; in between, interpolated.

    `slide` moves centres on it as it moves atoms of the NPMLE on a `Sample`, in the stable coordinate.
    """

    lattice: Floats
    columns: Columns
    q: Floats
    log_scale: Floats

    @classmethod
    def of(cls, observed: Observed, width: float, step: float = STEP) -> CentreLattice:
        narrowest = float(np.hypot(width, observed.channel.noise(observed.known).min()))
        size = max(ORDER, 2 + int((observed.high - observed.low) / (step * narrowest)))
        if size > MOST_CENTRES:
            words = observed.channel.words
            raise InputError(f"these {words.xs} lie too far apart for npmle-smooth: use npmle")
        u = np.linspace(observed.low, observed.high, size)
        a = observed.log_density(observed.centres(u), width)
        log_scale = a.max(axis=1)
        a -= log_scale[:, None]
        return cls(u, whole(u, np.exp(a, out=a)), observed.q, log_scale)

    @property
    def low(self) -> float:
        return float(self.lattice[0])

    @property
    def high(self) -> float:
        return float(self.lattice[-1])

    @property
    def cell(self) -> float:
        return float(self.lattice[1] - self.lattice[0])

    @functools.cached_property
    def blocks(self) -> list[Any]:
        return [Block(slice(None), self, -np.inf, np.inf, self.cell)]  # type: ignore[arg-type]

    @functools.cached_property
    def rows(self) -> Floats:
        """A by nodes, [k, x]."""
        return np.ascontiguousarray(self.columns.pieces[0].a.T)

    def interpolation(self, u: Floats) -> tuple[NDArray[np.intp], Floats]:
        """The nodes around coordinates u [m] and their shares in a value there, both [m, ORDER]."""
        return interpolation((u - self.low) / self.cell, self.lattice.size)

    def jet(self, u: Floats, orders: int = 3) -> tuple[Floats, ...]:
        """A and its first two derivatives at coordinates u, each [x, m]: of the polynomials between the nodes."""
        around, share = self.interpolation(u)
        several = [share]
        while len(several) < orders:
            several.append(several[-1] @ SLOPES / self.cell)
        found = np.empty((orders, u.size, self.q.size))
        for at, (start, shares) in enumerate(zip(around[:, 0], np.stack(several, axis=1), strict=True)):
            found[:, at] = shares @ self.rows[start : start + ORDER]
        return tuple(np.ascontiguousarray(each.T) for each in found)

    def between(self, u: Floats) -> Columns:
        """The columns at other coordinates."""
        return whole(u, *self.jet(u, 1))

    def peaks(self, atoms: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Every local maximum of D, under weights at these points, that may exceed 1, and D there."""
        columns = self.between(atoms)
        c = self.q / columns.mix(weights)
        nodes, on_lattice = np.concatenate([self.lattice, atoms]), self.columns.pull(c)
        order = np.argsort(nodes, kind="stable")
        nodes = nodes[order]
        at = np.flatnonzero(crests(np.concatenate([on_lattice, columns.pull(c)])[order], 0.95))
        # An atom may lie on a point of the lattice, so that its neighbour is itself: a cell on either side is searched.
        left, right = np.maximum(nodes[at] - self.cell, self.low), np.minimum(nodes[at] + self.cell, self.high)
        row = np.arange(at.size)
        for _ in range(NARROWER):
            mesh = left[:, None] + (right - left)[:, None] * MESH
            around, share = self.interpolation(mesh.reshape(-1))
            height = (share * on_lattice[around]).sum(axis=1).reshape(mesh.shape)
            top = height.argmax(axis=1)
            left, right = mesh[row, np.maximum(top - 1, 0)], mesh[row, np.minimum(top + 1, MESH.size - 1)]
        return mesh[row, top], height[row, top]

    def united(self, points: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """One centre, at the mean, for neighbours closer than APART cells."""
        group = np.concatenate([[0], np.cumsum(np.diff(points) > APART * self.cell)])
        mass = np.bincount(group, weights=weights)
        return np.bincount(group, weights=weights * points) / mass, np.asarray(mass, dtype=np.float64)


def slopes() -> Floats:
    """The derivatives at 0, ..., ORDER - 1 of the polynomials that are 1 at one of these and 0 at the others.

    >>> bool(np.allclose(slopes() @ np.arange(12.0) ** 3, 3 * np.arange(12.0) ** 2))
    True
    """
    nodes = np.arange(ORDER)
    sign = (-1.0) ** nodes * binom(ORDER - 1, nodes)
    apart = nodes[:, None] - nodes + np.eye(ORDER)
    found = sign / sign[:, None] / apart
    np.fill_diagonal(found, 0.0)
    np.fill_diagonal(found, -found.sum(axis=1))
    return np.asarray(found)


SLOPES = slopes()


class Smooth(NamedTuple):
    """Centres and weights [k] of the likeliest mixture, its mean log-likelihood, the certified gap and the rounds."""

    centres: Floats
    weights: Floats
    log_likelihood: float
    gap: float
    rounds: int


def likeliest(observed: Observed, width: float, tolerance: float, step: float = STEP) -> Smooth:
    """The likeliest mixture of laws of this width, to a gap of `tolerance` or the least that was found.

    The weights of a lattice of centres are found first. Then neighbours are united and Newton's method moves centres
    and weights together. Where D exceeds 1 still, centres are added to the lattice's there, and again (Wang 2007). If
    the exact D is higher than the interpolated one by more than that, a lattice of half the `step` is taken.

    >>> found = likeliest(Observed.of(Tally.of([0, 0, 3, 1, 12])), 0.5, 1e-9)
    >>> found.centres.round(2).tolist(), found.weights.round(2).tolist(), found.gap <= 1e-9
    ([0.16, 1.65, 12.0], [0.34, 0.45, 0.2], True)
    """
    if observed.low == observed.high:
        centre = observed.centres(np.array([observed.low]))
        return Smooth(centre, np.ones(1), float(observed.q @ observed.log_density(centre, width)[:, 0]), 0.0, 0)
    lattice, q = CentreLattice.of(observed, width, step), observed.q
    columns, size = lattice.columns, lattice.lattice.size
    move: Any = slide
    dense = em_steps(columns, q, np.full(size, 1.0 / size), EM_STEPS)
    weights, _ = reweigh(columns, q, dense, sparse_start(dense), tolerance / 4)
    goal, found = max(tolerance / 10, min(tolerance, FINISH)), list[Candidate]()
    for _ in range(ROUNDS):
        support = weights > 0
        points, weights = columns.points[support], weights[support]
        found.append(Candidate.of(lattice, *move(lattice, *lattice.united(points, weights))[:2]))
        if found[-1].gap <= goal:
            break
        found.append(Candidate.of(lattice, points, weights))
        if found[-1].gap <= goal:
            break
        new = np.unique(np.concatenate([found[-1].tops, found[-2].atoms, found[-2].tops]))
        columns, which = lattice.between(points).joined(lattice.between(new))
        weights = np.concatenate([weights, np.zeros(new.size)])[which]
        weights, _ = reweigh(columns, q, weights, weights, tolerance / 4)
    best = min(found, key=lambda candidate: candidate.gap)
    fewer = Candidate.of(lattice, *lattice.united(best.atoms, best.weights))
    if fewer.gap <= max(goal, best.gap):  # Newton's method may move two centres to the same place
        best = fewer

    def exact(points: Floats) -> Floats:
        return np.exp(observed.log_density(observed.centres(points), width) - lattice.log_scale[:, None])

    f = exact(best.atoms) @ best.weights
    gap = float(((q / f) @ exact(np.concatenate([best.tops, best.atoms]))).max()) - 1.0
    if gap > tolerance and step > FINEST:
        return likeliest(observed, width, tolerance, step / 2)
    log_likelihood = float(q @ (np.log(f) + lattice.log_scale))
    return Smooth(observed.centres(best.atoms), best.weights, log_likelihood, max(gap, 0.0), len(found))


def whole(u: Floats, a: Floats) -> Columns:
    """Columns A [x, u] in one piece."""
    return Columns(u, [Piece(slice(None), slice(0, u.size), np.ascontiguousarray(a))], a.shape[0])
