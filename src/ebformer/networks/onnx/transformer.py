"""The transformer family as ONNX: the forward pass of forward.py, written as a graph.

    inputs   x             float32 [u]   the distinct counts, each once
             multiplicity  float32 [u]   how many units showed each; 0 for a count that is only asked about
    output   estimate      float32 [u]   the expected count of each, E[theta | x] times the exposure

All units must have the same exposure; divide the estimates by it.
"""

from __future__ import annotations

import os

import numpy as np

from ebformer.networks.architecture import FREQUENCIES, Architecture
from ebformer.networks.constants import LAYER_NORM_EPSILON
from ebformer.networks.forward import Affine, Layer, ready
from ebformer.networks.onnx.graph import Graph, Value
from ebformer.networks.weights import Weights


def export(weights: Weights[Architecture], path: str | os.PathLike[str]) -> None:
    """Write the network as ONNX."""
    graph = Graph(np.float32)
    answer = estimate(weights, Value(graph, "x"), Value(graph, "multiplicity"))
    graph.save(path, {"x": ["u"], "multiplicity": ["u"]}, {"estimate": (answer, ["u"])}, __doc__ or "")


def estimate(weights: Weights[Architecture], x: Value, multiplicity: Value) -> Value:
    """T24r and its kind: counts and how many units showed each to estimates."""
    network = ready(weights, "float32")
    a = network.architecture
    n = multiplicity.sum(0, keep=True)
    z = (x + 0.375).sqrt() * 2.0
    h = affine(network.embed, features(a, x, z, n))
    for layer in network.layers:
        h = h + attention(a, layer, normalised(h, a.width), multiplicity / n)
        if layer.mlp is not None:
            up, down = layer.mlp
            h = h + affine(down, gelu(affine(up, normalised(h, a.width))))
    answer = affine(network.head, normalised(h, a.width)).reshape(-1)
    if a.embedding == "linear":
        return gelu(answer)
    root = z + answer
    return root * root * 0.25


def features(a: Architecture, x: Value, z: Value, n: Value) -> Value:
    """The description of every token, [u, f]."""
    g, ones = x.graph, x * 0.0 + 1.0
    if a.embedding == "linear":
        return g.stack([x, ones]).transpose()
    rows = [z * 0.1, (x + 1.0).log() * (1 / 3), ones]
    for frequency in FREQUENCIES:
        rows += [g("Sin", z * frequency), g("Cos", z * frequency)]
    if a.sees_n:
        rows.append(ones * ((n.at_most(a.largest_n).log() - 7.0) * 0.5))
    return g.stack(rows).transpose()


def attention(a: Architecture, layer: Layer, c: Value, share: Value) -> Value:
    """Every token of c [u, d] attends to all, weighted by their share [u]: [u, d]."""
    d, heads = a.width, a.heads
    size = d // heads
    weight, bias = layer.qkv
    # The folded rows of values end in a one per head, whose weighted sum is the normaliser; here Softmax has its own.
    values = 2 * d + np.arange(d + heads).reshape(heads, size + 1)[:, :size].ravel()
    q, k, v = (
        affine((weight[rows], bias[rows]), c).reshape(-1, heads, size).transpose(1, 0, 2)
        for rows in (np.arange(d), np.arange(d, 2 * d), values)
    )  # [heads, u, d / heads]
    if a.attention == "softmax":
        logits = q @ k.transpose(0, 2, 1) + share.log()
        mixed = c.graph("Softmax", logits, axis=-1) @ v
    else:
        q, k = feature_map(a, q), feature_map(a, k)
        weighted = k * share.unsqueeze(1)  # [heads, u, d / heads]
        mixed = q @ (weighted.transpose(0, 2, 1) @ v)
        if a.normalised:
            mixed = mixed / (q @ weighted.sum(1).unsqueeze(2))
    return affine(layer.out, mixed.transpose(1, 0, 2).reshape(-1, d))


def feature_map(a: Architecture, y: Value) -> Value:
    """The kernel feature of linear attention."""
    if a.feature_map == "relu":
        return y.at_least(0.0)
    return y.graph("Elu", y) + 1.0 if a.feature_map == "elu+1" else y


def affine(by: Affine, h: Value) -> Value:
    """W h + w for every row of h [u, in]."""
    weight, bias = by
    return h @ weight.T + bias.ravel()


def normalised(h: Value, width: int) -> Value:
    """Every row of h [u, width] with mean 0 and variance 1."""
    ones, zeros = np.ones(width), np.zeros(width)
    return h.graph("LayerNormalization", h, ones, zeros, axis=-1, epsilon=LAYER_NORM_EPSILON)


def gelu(y: Value) -> Value:
    """y Phi(y)."""
    return y * (y.graph("Erf", y * np.sqrt(0.5)) * 0.5 + 0.5)
