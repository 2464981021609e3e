"""priorformer's grid (networks/grid.py), as a part of its graph."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ebformer.networks.constants import PER_CELL
from ebformer.networks.grid import BEND, DECAYS, LOWEST, MARGIN, SPACING, WIDTH
from ebformer.networks.likelihood import NEGLIGIBLE
from ebformer.networks.onnx.channels import ChannelGraph, Observed
from ebformer.networks.onnx.graph import Graph, Value


@dataclass(frozen=True, eq=False)
class GridGraph:
    """The stretch of the grid of a channel that observations can speak about: cells first, ..., last - 1."""

    of: ChannelGraph
    noise: Value
    length: Value | None
    """v at the upper end of the domain, if it has one."""
    first: Value
    last: Value

    @classmethod
    def around(cls, of: ChannelGraph, seen: Observed) -> GridGraph:
        """The grid of reduced observations."""
        noise, length = 1.0 / seen.mean(of.precision(seen.known)).sqrt(), None
        where, (bounded, closed) = noise.graph.where, map(math.isfinite, of.channel.domain)
        if closed:
            whole = float(of.channel.coordinate(np.array(of.channel.domain[1])))
            ends = 2.0 * -LOWEST + SPACING
            length = ((whole / noise + ends) / WIDTH).ceil() * WIDTH - ends
            noise = whole / length
        v = of.coordinate(of.mle(seen.x, seen.known)) / noise
        given_up = MARGIN * (1.0 / of.precision(seen.known).sqrt() / noise - 1.0).at_least(0.0)
        there = seen.units > 0.0
        bottom = where(there, v + given_up - MARGIN, np.inf).min()
        top = where(there, v - given_up + MARGIN, -np.inf).max()
        edge = (LOWEST if bounded else SPACING / 2.0) - SPACING / 2.0
        first, last = ((bottom - edge) / WIDTH).floor(), ((top - edge) / WIDTH).ceil()
        if bounded:
            first = where(bottom < BEND, 0.0, first)
        if length is not None:
            last = where(top > length - BEND, (length - 2.0 * LOWEST + SPACING) / WIDTH, last)
        return cls(of, noise, length, first, last)

    @property
    def graph(self) -> Graph:
        return self.noise.graph

    @property
    def bounded(self) -> bool:
        """Whether the domain has a lower end."""
        return math.isfinite(self.of.channel.domain[0])

    @property
    def mirrored(self) -> bool:
        return self.bounded == (self.length is not None)

    @property
    def start(self) -> float:
        return LOWEST if self.bounded else SPACING / 2.0

    def atoms(self, finer: Value) -> tuple[Value, Value]:
        """v and theta of `finer` points for each atom; one for each is the atoms themselves."""
        ends = (PER_CELL * end * finer for end in (self.first, self.last))
        index = self.graph.range(*ends) - (finer - 1.0) / 2.0
        u = self.start + index * (SPACING / finer)
        v, where = self.v(u), self.graph.where
        low, high = self.of.channel.domain
        theta = self.of.at_coordinate(self.noise * v)
        if self.bounded:
            outermost = u < LOWEST + SPACING / 2
            v, theta = where(outermost, 0.0, v), where(outermost, low, theta)
        if self.length is not None:
            outermost = u > self.length - LOWEST - SPACING / 2
            v, theta = where(outermost, self.length, v), where(outermost, high, theta)
        return v, theta

    def v(self, u: Value) -> Value:
        v = bent(u) if self.bounded else u
        if self.length is None:
            return v
        return self.graph.where(u > self.length - BEND, self.length - bent(self.length - u), v)

    @cached_property
    def points(self) -> tuple[Value, Value]:
        return self.atoms(self.graph.number(1.0))

    @property
    def theta(self) -> Value:
        return self.points[1]

    @cached_property
    def inner(self) -> Value:
        """1 at the atoms that are no ends of the domain, 0 at the others."""
        low, high = self.of.channel.domain
        return (self.theta > low).cast("DOUBLE") * (self.theta < high).cast("DOUBLE")

    def likelihood(self, seen: Observed) -> Value:
        """p(x | theta) over its maximum over all theta, from NEGLIGIBLE to 1: [u, a]."""
        return (-self.of.deviance(seen.x, self.theta, seen.known)).at_least(math.log(NEGLIGIBLE)).exp()

    def conjugate_family(self) -> tuple[Value, Value]:
        """Log base weights [a] and statistics [2, a]."""
        where, inside, theta = self.graph.where, self.inner > 0.0, self.theta
        some = (theta * self.inner).max()  # a theta within the domain stands in for its ends
        statistics = self.of.sufficient(where(inside, theta, some) if self.bounded else theta)
        return where(inside, theta.gradient().at_least(1e-300), 0.0).log(), statistics

    def edges(self) -> tuple[Value, Value]:
        """How near the ends of the domain lie to every cell, and the same the other way round: [8, cells] each."""
        u = self.start + WIDTH * self.graph.range(self.first, self.last) + SPACING * (PER_CELL - 1) / 2
        nowhere = u * 0.0
        far = [nowhere] * len(DECAYS) + [nowhere + BEND]
        below = felt(u) if self.bounded else far
        above = felt(self.length - u) if self.length is not None else far
        return self.graph.stack(below + above), self.graph.stack(above + below).reversed()


def bent(u: Value) -> Value:
    """The distance v from an end of the domain at u."""
    return u.graph.where(u >= BEND, u, BEND * (u.at_most(BEND) / BEND - 1.0).exp())


def felt(u: Value) -> list[Value]:
    """An end of the domain at a distance u."""
    return [*((bent(u) / -scale).exp() for scale in DECAYS), u.at_most(BEND)]
