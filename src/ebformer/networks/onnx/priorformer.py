"""priorformer as ONNX: the walk from a table to a prior and to posterior means, written as one graph.

    inputs   x             float64 [u]     observations: counts, successes or effects
             exposure      float64 [u]     what is known of each; in the other channels it is called trials or se
             multiplicity  float64 [u]     how many units showed each; 0 for one that is only asked about
    outputs  theta         float64 [a]     candidate rates, probabilities or effects, rising
             weights       float64 [a]     the prior that the network reads off the table: P(theta)
             posterior     float64 [u, a]  P(theta | x), with how unsure the network is of its prior
             estimate      float64 [u]     E[theta | x]

The graph is that of one channel. Every step is explained where it is defined: networks/priorformer.py.
"""

from __future__ import annotations

import math
import os

import numpy as np

from ebformer.errors import InputError
from ebformer.networks.constants import (
    GAP_UNIT,
    LARGEST_GAP,
    LARGEST_LOG_COUNT,
    LARGEST_LOG_FACTOR,
    LEAST_LOG_COUNT,
    LOG_COUNT_UNIT,
    PER_CELL,
    RMS_NORM_EPSILON,
    SURPRISE_UNIT,
    TRACK_FEATURES,
)
from ebformer.networks.em_track import LOWEST_LOG_WEIGHT
from ebformer.networks.onnx.channels import GRAPHS, ChannelGraph, Observed
from ebformer.networks.onnx.graph import END, Graph, Value
from ebformer.networks.onnx.grid import GridGraph
from ebformer.networks.onnx.rare import all_at_an_end, at_an_end, mean_in_agreement
from ebformer.networks.onnx.tracks import conjugate_start, em_factor, em_track, normalised, polished
from ebformer.networks.prior_uncertainty import FARTHEST, KNOWN_BEFORE, LEAST_SPREAD
from ebformer.networks.priorformer import (
    FINER,
    LARGEST_LOG_N,
    LEAST_LOG_NEAR,
    LEAST_MASS,
    LEAST_VARIANCE,
    LOG_N_UNIT,
    MOST_SMOOTHED,
    SMOOTHED,
)
from ebformer.networks.priorformer_block import PriorformerConfig
from ebformer.networks.weights import Weights


def export(weights: Weights[PriorformerConfig], path: str | os.PathLike[str], channel: str = "poisson") -> None:
    """Write the network for one channel as ONNX."""
    if channel not in GRAPHS:
        raise InputError(f"priorformer serves no channel {channel!r}: choose among {', '.join(GRAPHS)}")
    of, graph = GRAPHS[channel], Graph(np.float64)
    known = of.channel.keyword
    seen = Observed(Value(graph, "x"), Value(graph, known), Value(graph, "multiplicity"))
    theta, versions = prior(weights, of, seen)
    after = posterior(of, seen, theta, versions)
    outputs = {
        "theta": (theta, ["a"]),
        "weights": (versions.mean(0), ["a"]),
        "posterior": (after, ["u", "a"]),
        "estimate": (after @ theta, ["u"]),
    }
    inputs = {name: ["u"] for name in ("x", known, "multiplicity")}
    graph.save(path, inputs, outputs, (__doc__ or "").replace("exposure  ", f"{known:<10}"))


def prior(network: Weights[PriorformerConfig], of: ChannelGraph, seen: Observed) -> tuple[Value, Value]:
    """The points [a] of the prior, rising, and their weights in versions that are equally likely, [h, a]."""
    graph = seen.x.graph
    if not of.channel.whole:
        return learnt(network, of, seen)
    theta, versions = graph.branch(
        all_at_an_end(of, seen), lambda: at_an_end(of, seen), lambda: learnt(network, of, seen)
    )
    return theta, versions


def learnt(network: Weights[PriorformerConfig], of: ChannelGraph, seen: Observed) -> tuple[Value, Value]:
    """The prior that the network reads off the observations."""
    graph, n = seen.x.graph, seen.n
    x, known, origin, scale = of.reduced(seen)
    x = graph("Round", x * 2.0**20) / 2.0**20
    reduced = Observed(x, known.cast("FLOAT").cast("DOUBLE"), seen.units)
    grid = GridGraph.around(of, reduced)
    versions = read(network, grid, reduced)
    points = graph.where(n <= FINER, 2.0, 4.0)
    theta = grid.atoms(points)[1]
    ones = graph.range(0.0, points) * 0.0 + 1.0 / points
    each = (versions.unsqueeze(2) * ones).reshape(4, -1)
    if of.channel.whole:
        theta = mean_in_agreement(of, theta, each.mean(0), reduced)
    turned, theta = scale < 0.0, origin + scale * theta
    return graph.where(turned, theta.reversed(), theta), graph.where(turned, each.reversed(), each)


def posterior(of: ChannelGraph, seen: Observed, theta: Value, versions: Value) -> Value:
    """The mean of the posteriors under each version, [u, a]."""
    deviance = of.deviance(seen.x, theta, seen.known)
    likelihood = (deviance.min(1, keep=True) - deviance).exp()
    each = likelihood.unsqueeze(1) * versions  # [u, h, a]
    return (each / each.sum(2, keep=True)).mean(1)


def read(network: Weights[PriorformerConfig], grid: GridGraph, seen: Observed) -> Value:
    """The weights that the network gives the atoms, in four versions that it cannot tell apart: [4, a]."""
    n = seen.n
    likelihood, share = grid.likelihood(seen), seen.units / n
    flat = grid.theta * 0.0 - (grid.theta * 0.0 + 1.0).sum().log()
    em = flat + em_factor(likelihood, share, flat)[2].log()
    precision = reliability(likelihood, share, em, n.at_most(math.exp(LARGEST_LOG_N)))
    *_, track = em_track(likelihood, share, (em, em * 0.0, n * 0.0), network.config.blocks, network.config.em_steps)
    own, (edges, mirror) = conjugate_start(grid, likelihood, share, em), grid.edges()
    answer = blocks(network, likelihood, share, n, edges, (own, em, precision, track)).exp()
    if grid.mirrored:
        start = own.reversed(), em.reversed(), precision.reversed(), track.reversed()
        other = blocks(network, likelihood.reversed(), share, n, mirror, start).exp()
        answer = (answer + other.reversed()) / 2.0
    weights = polished(likelihood, share, n, smoothed(grid, answer, n))
    return uncertain(grid, likelihood, seen.units, weights)


def reliability(likelihood: Value, share: Value, log_weights: Value, n: Value) -> Value:
    """One over the standard error of every D_j, roughly."""
    f, ratio, d = em_factor(likelihood, share, log_weights)
    variance = (ratio / f) @ (likelihood * likelihood) - d * d
    return (n / (variance.at_least(0.0) + LEAST_VARIANCE)).sqrt()


def blocks(
    network: Weights[PriorformerConfig],
    likelihood: Value,
    share: Value,
    n: Value,
    edges: Value,
    start: tuple[Value, Value, Value, Value],
) -> Value:
    """The log-weights of the atoms after the last block, [a]."""
    graph, (own, flat, precision, track) = n.graph, start
    log_n = n.log().at_most(LARGEST_LOG_N)
    near = flat.exp().reshape(-1, PER_CELL).sum(1).at_least(LEAST_MASS).log() + log_n
    near = near.clip(LEAST_LOG_NEAR, LARGEST_LOG_COUNT) / LOG_COUNT_UNIT
    rows = graph.stack([near, near * 0.0 + log_n / LOG_N_UNIT])
    static = graph("Concat", rows, edges, axis=0).transpose()  # [cells, 10]
    h, windows = None, within_reach(near, network.config.reach)
    for i in range(network.config.blocks):
        em = track.row(i)
        tracks = [(own, em_factor(likelihood, share, own)[2]), (em, em_factor(likelihood, share, em)[2])]
        log_count = [(each + log_n).clip(LEAST_LOG_COUNT, LARGEST_LOG_COUNT) / LOG_COUNT_UNIT for each, _ in tracks]
        gradient = [d.log().clip(-LARGEST_LOG_FACTOR, LARGEST_LOG_FACTOR) for _, d in tracks]
        surprise = [arcsinh((d - 1.0) * precision) / SURPRISE_UNIT for _, d in tracks]
        gap = (em - own).clip(-LARGEST_GAP, LARGEST_GAP)
        of_atoms = graph.stack([*log_count, *gradient, *surprise, gap / GAP_UNIT])
        of_cells = of_atoms.reshape(TRACK_FEATURES, -1, PER_CELL).transpose(1, 0, 2)
        features = graph("Concat", of_cells.reshape(-1, TRACK_FEATURES * PER_CELL), static, axis=1)
        h, moves = block(network, i, h, features, windows)
        along, towards, shift = (moves.row(each) for each in range(3))
        own = own + (1.0 + along) * gradient[0] + gap * graph("Sigmoid", towards) + shift
        own = (own - own.max()).at_least(LOWEST_LOG_WEIGHT)
        own = own - own.exp().sum().log()
    return own


def block(
    network: Weights[PriorformerConfig], i: int, h: Value | None, features: Value, windows: tuple[Value, Value]
) -> tuple[Value, Value]:
    """The state h [j, d], at first none, and features [j, f] to the next state and three moves of every atom [3, a]."""
    graph, config = features.graph, network.config

    def array(name: str) -> Value:
        return graph.stored(network.arrays[f"blocks.{i}.{name}"].T)

    told = features @ array("embed.weight") + array("embed.bias")
    h = told if h is None else h + told
    mixed = attend(rms_norm(h) @ array("qkv.weight"), array("nearness"), config.width, config.heads, windows)
    h = h + mixed @ array("out.weight")
    up = rms_norm(h) @ array("up.weight") + array("up.bias")
    h = h + (up * graph("Sigmoid", up)) @ array("down.weight")
    said = rms_norm(h) @ array("head.weight") + array("head.bias")
    return h, said.reshape(-1, 3, PER_CELL).transpose(1, 0, 2).reshape(3, -1)


def within_reach(cells: Value, reach: int) -> tuple[Value, Value]:
    """Of every cell, the numbers of those within reach, of which some are beyond the ends, and minus infinity there.

    Both [cells, 2 reach + 1]; of one that does not exist the number is of another, and minus infinity takes it out.
    """
    graph = cells.graph
    count = (cells * 0.0 + 1.0).sum()
    number = graph.range(0.0, count).unsqueeze(1) + np.arange(-reach, reach + 1.0)
    exists = number.clip(0.0, count - 1.0)
    difference = number - exists
    return exists.cast("INT64"), graph.where(difference * difference > 0.0, -np.inf, 0.0)


def attend(qkv: Value, nearness: Value, width: int, heads: int, windows: tuple[Value, Value]) -> Value:
    """Attention of every cell to those within reach: [j, 3 d] to [j, d]."""
    graph, (near, outside), size = qkv.graph, windows, width // heads
    parts = qkv.reshape(-1, 3, heads, size).transpose(1, 0, 2, 3)
    q, k, v = (parts.row(each) for each in range(3))  # [j, heads, size]
    keys, values = (graph("Gather", each, near, axis=0) for each in (k, v))  # [j, 2 reach + 1, heads, size]
    logits = (q.unsqueeze(1) * keys).sum(3) / math.sqrt(size) + nearness + outside.unsqueeze(2)
    attention = graph("Softmax", logits, axis=1)
    return (attention.unsqueeze(3) * values).sum(1).reshape(-1, width)


def rms_norm(h: Value) -> Value:
    """h divided by its root mean square, cell by cell."""
    return h / ((h * h).mean(1, keep=True) + RMS_NORM_EPSILON).sqrt()


def arcsinh(y: Value) -> Value:
    """log(y + sqrt(y^2 + 1)), which is odd."""
    size = y.at_least(-y)
    return y.graph("Sign", y) * (size + (size * size + 1.0).sqrt()).log()


def smoothed(grid: GridGraph, weights: Value, n: Value) -> Value:
    """The weight of every atom shared with its neighbours, all but the ends of the domain."""
    shared = (SMOOTHED / n).at_most(MOST_SMOOTHED) * grid.inner * weights
    none = weights.part(0, 1) * 0.0
    from_below = weights.graph("Concat", none, shared.part(0, -1), axis=0)
    from_above = weights.graph("Concat", shared.part(1, END), none, axis=0)
    return normalised(weights - 2.0 * shared + grid.inner * (from_below + from_above))


def uncertain(grid: GridGraph, likelihood: Value, units: Value, weights: Value) -> Value:
    """Four priors [4, a], equally likely, that the data cannot tell apart (prior_uncertainty.py)."""
    graph, v = weights.graph, grid.points[0]
    mean, noise = (weights * v).sum(), graph.number(1.0)
    if grid.bounded:
        noise = mean.at_most(noise)
    if grid.length is not None:
        noise = (grid.length - mean).at_most(noise)
    away = v - mean
    narrow = LEAST_SPREAD * noise
    z = (away / ((weights * away * away).sum() + narrow * narrow).sqrt()).clip(-FARTHEST, FARTHEST)
    tilts = graph.stack([z, z * z])
    tilts = tilts - (tilts @ weights).unsqueeze(1)
    score = ((weights * tilts) @ likelihood.transpose()) / (likelihood @ weights)  # [2, m]
    information = (score * units) @ score.transpose() + KNOWN_BEFORE * np.eye(2)
    a, b, c = (information.row(i).row(j) for i, j in ((0, 0), (0, 1), (1, 1)))
    root = (a * c - b * b).sqrt()
    rows = graph.stack([c + root, -b]), graph.stack([-b, a + root])
    steps = math.sqrt(2.0) * graph.stack(rows) / (root * (a + c + 2.0 * root).sqrt())
    logs = weights.log() + graph("Concat", steps, -steps, axis=0) @ tilts
    found = (logs - logs.max(1, keep=True)).exp()
    return found / found.sum(1, keep=True)
