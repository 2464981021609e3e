"""What priorformer's graph asks of a channel: the formulas of ebformer.channels, written as parts of a graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from ebformer.channels.base import Channel
from ebformer.channels.binomial import Binomial
from ebformer.channels.normal import Normal
from ebformer.channels.poisson import Poisson
from ebformer.networks.onnx.graph import Value


@dataclass(frozen=True, eq=False)
class Observed:
    """Observations [u], what is known of each, and how many units showed it: 0 where it is only asked about."""

    x: Value
    known: Value
    units: Value

    @property
    def n(self) -> Value:
        return self.units.sum()

    def mean(self, of: Value) -> Value:
        """Over the units."""
        return (self.units * of).sum() / self.n


class ChannelGraph(ABC):
    """One channel; every function means what it means in `Channel`."""

    channel: ClassVar[Channel]

    @abstractmethod
    def reduced(self, seen: Observed) -> tuple[Value, Value, Value, Value]:
        """x, known, origin and scale."""

    @abstractmethod
    def precision(self, known: Value) -> Value:
        """One over the square of the noise."""

    @abstractmethod
    def mle(self, x: Value, known: Value) -> Value: ...

    @abstractmethod
    def coordinate(self, theta: Value) -> Value: ...

    @abstractmethod
    def at_coordinate(self, u: Value) -> Value: ...

    @abstractmethod
    def deviance(self, x: Value, theta: Value, known: Value) -> Value:
        """[u] against [a] is [u, a]."""

    @abstractmethod
    def sufficient(self, theta: Value) -> Value:
        """[2, a]."""


class PoissonGraph(ChannelGraph):
    """Counts over exposures."""

    channel = Poisson()

    def reduced(self, seen: Observed) -> tuple[Value, Value, Value, Value]:
        mean = seen.mean(seen.known)
        return seen.x, seen.known / mean, mean * 0.0, 1.0 / mean

    def precision(self, known: Value) -> Value:
        return known

    def mle(self, x: Value, known: Value) -> Value:
        return x / known

    def coordinate(self, theta: Value) -> Value:
        return 2.0 * theta.sqrt()

    def at_coordinate(self, u: Value) -> Value:
        half = 0.5 * u.at_least(0.0)
        return half * half

    def deviance(self, x: Value, theta: Value, known: Value) -> Value:
        return counted(x.unsqueeze(1), known.unsqueeze(1) * theta)

    def sufficient(self, theta: Value) -> Value:
        return theta.graph.stack([theta.log(), theta])


class BinomialGraph(ChannelGraph):
    """Successes out of trials."""

    channel = Binomial()

    def reduced(self, seen: Observed) -> tuple[Value, Value, Value, Value]:
        where, failures = seen.x.graph.where, seen.known - seen.x
        turned = (seen.units * seen.x).sum() > (seen.units * failures).sum()
        return where(turned, failures, seen.x), seen.known, where(turned, 1.0, 0.0), where(turned, -1.0, 1.0)

    def precision(self, known: Value) -> Value:
        return known

    def mle(self, x: Value, known: Value) -> Value:
        return x / known

    def coordinate(self, theta: Value) -> Value:
        # onnxruntime has the arc sine in single precision only: a step of Newton's doubles its digits.
        graph, root = theta.graph, theta.sqrt()
        arc = graph("Asin", root.cast("FLOAT")).cast("DOUBLE")
        return 2.0 * (arc + (root - graph("Sin", arc)) / graph("Cos", arc).at_least(1e-3))

    def at_coordinate(self, u: Value) -> Value:
        sine = u.graph("Sin", 0.5 * u.clip(0.0, 3.141592653589793))
        return sine * sine

    def deviance(self, x: Value, theta: Value, known: Value) -> Value:
        x, known = x.unsqueeze(1), known.unsqueeze(1)
        return counted(x, known * theta) + counted(known - x, known * (1.0 - theta))

    def sufficient(self, theta: Value) -> Value:
        return theta.graph.stack([theta.log(), (1.0 - theta).log()])


class NormalGraph(ChannelGraph):
    """Effects with standard errors, never turned round: in double precision that changes no answer."""

    channel = Normal()

    def reduced(self, seen: Observed) -> tuple[Value, Value, Value, Value]:
        precision = self.precision(seen.known)
        origin = seen.mean(precision * seen.x) / seen.mean(precision)
        typical = 1.0 / seen.mean(precision).sqrt()
        return (seen.x - origin) / typical, seen.known / typical, origin, typical

    def precision(self, known: Value) -> Value:
        return 1.0 / (known * known)

    def mle(self, x: Value, known: Value) -> Value:
        return x

    def coordinate(self, theta: Value) -> Value:
        return theta

    def at_coordinate(self, u: Value) -> Value:
        return u

    def deviance(self, x: Value, theta: Value, known: Value) -> Value:
        z = (x.unsqueeze(1) - theta) / known.unsqueeze(1)
        return 0.5 * z * z

    def sufficient(self, theta: Value) -> Value:
        return theta.graph.stack([theta, theta * theta])


GRAPHS = {each.channel.name: each() for each in (PoissonGraph, BinomialGraph, NormalGraph)}


def counted(x: Value, mean: Value) -> Value:
    """The deviance of a count: x log(x / mean) - x + mean."""
    found = x.graph.where(x > 0.0, x * (x / mean).log(), 0.0)
    return found - x + mean
