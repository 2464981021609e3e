"""Rare events (networks/rare.py), as parts of priorformer's graph."""

from __future__ import annotations

import numpy as np

from ebformer.networks.onnx.channels import ChannelGraph, Observed
from ebformer.networks.onnx.graph import Value
from ebformer.networks.onnx.tracks import normalised
from ebformer.networks.rare import ALIKE, FARTHEST, FEW, NEAREST, POINTS, RARE, SMALL


def all_at_an_end(of: ChannelGraph, seen: Observed) -> Value:
    """Whether all units show no events at all, only failures or only successes."""
    events = (seen.units * seen.x).sum()
    if not np.isfinite(of.channel.domain[1]):
        return events <= 0.0
    return events * (seen.units * (seen.known - seen.x)).sum() <= 0.0


def at_an_end(of: ChannelGraph, seen: Observed) -> tuple[Value, Value]:
    """The points [a], rising, and weights [1, a] of the prior then."""
    graph, n = seen.x.graph, seen.n
    low, high = of.channel.domain
    turned = (seen.units * seen.x).sum() > 0.0
    end, side = graph.where(turned, high if np.isfinite(high) else low, low), graph.where(turned, -1.0, 1.0)

    def deviance(distance: Value) -> Value:
        return seen.units @ of.deviance(seen.x, end + side * distance, seen.known)

    far = np.geomspace(NEAREST, FARTHEST, POINTS)
    distance = SMALL / deviance(graph.number([SMALL])) * far
    distance = graph("Compress", distance, distance < high - low, axis=0)
    # Both ends of the domain are alike, and 0 is the lower one: distances have the coordinates of thetas.
    weights = (-ALIKE * (n - 1.0) / n * deviance(distance)).exp() * of.coordinate(distance).gradient()
    theta, weights = end + side * distance, normalised(weights).unsqueeze(0)
    return graph.where(turned, theta.reversed(), theta), graph.where(turned, weights.reversed(), weights)


def mean_in_agreement(of: ChannelGraph, theta: Value, weights: Value, seen: Observed) -> Value:
    """Thetas drawn to 0, or from it, until the mean count is within one standard error of that seen.

    Events are few or rare then, and observations reduced: where successes were the rule, they are failures.
    """
    where, observed = theta.graph.where, seen.mean(seen.x)
    expected = seen.mean(seen.known) * (weights * theta).sum()
    away = seen.x - observed
    error = (seen.units * away * away).sum().at_least(1.0).sqrt() / seen.n
    factor = expected.clip(observed - error, observed + error) / expected
    if np.isfinite(of.channel.domain[1]):
        factor = (of.channel.domain[1] / theta.max()).at_most(factor)
    ordinary = where(seen.n * observed >= FEW, observed, 0.0) >= RARE
    return theta * where(ordinary, 1.0, factor)
