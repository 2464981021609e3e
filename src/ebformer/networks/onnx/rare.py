"""Rare events (networks/rare.py), as parts of priorformer's graph."""

from __future__ import annotations

import numpy as np

from ebformer.networks.onnx.channels import ChannelGraph, Observed
from ebformer.networks.onnx.graph import Value
from ebformer.networks.onnx.tracks import normalised
from ebformer.networks.rare import ALIKE, FARTHEST, NEAREST, POINTS, RARE, SMALL


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
    weights = (-ALIKE * (n - 1.0) / n * deviance(distance)).exp() * distance.gradient()
    theta, weights = end + side * distance, normalised(weights).unsqueeze(0)
    return graph.where(turned, theta.reversed(), theta), graph.where(turned, weights.reversed(), weights)


def mean_in_agreement(mean: Value, seen: Observed) -> Value:
    """The factor that brings the mean of a prior within one standard error of the mean count, where events are rare."""
    observed, where = seen.mean(seen.x), mean.graph.where
    away = seen.x - observed
    error = (seen.mean(away * away).at_least(1.0 / seen.n) / seen.n).sqrt()
    return where(observed >= RARE, 1.0, mean.clip(observed - error, observed + error) / mean)
