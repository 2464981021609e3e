"""A network as an ONNX file, for other languages: the forward pass of forward.py, written as a graph.

    inputs   x             float32 [u]   the distinct counts, each once
             multiplicity  float32 [u]   how many units showed each; 0 for a count that is only asked about
    output   estimate      float32 [u]   E[theta | x], per unit of exposure

All units must have the same exposure; divide the estimates by it.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ebformer.atomic import replacing
from ebformer.networks.architecture import FREQUENCIES, Architecture
from ebformer.networks.constants import LAYER_NORM_EPSILON
from ebformer.networks.forward import Affine, Layer, ready
from ebformer.networks.weights import Weights

OPSET, IR = 18, 9
"""What onnxruntime from 1.15 on can run."""


class Graph:
    """Nodes in the order they run. A value is its name; arrays and numbers become constants."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """The result of an operator of ONNX."""
        from onnx import helper

        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        result = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, names, [result], **attributes))
        return result

    def constant(self, value: Any) -> str:
        """A constant: whole numbers are shapes and axes, others float32."""
        from onnx import numpy_helper

        array = np.asarray(value)
        array = array.astype(np.int64 if array.dtype.kind == "i" else np.float32)
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def affine(self, by: Affine, h: str) -> str:
        """W h + w for every row of h [u, in]."""
        weight, bias = by
        return self("Add", self("MatMul", h, weight.T), bias.ravel())

    def normalised(self, h: str, width: int) -> str:
        """Every row of h [u, width] with mean 0 and variance 1."""
        return self("LayerNormalization", h, np.ones(width), np.zeros(width), axis=-1, epsilon=LAYER_NORM_EPSILON)

    def gelu(self, y: str) -> str:
        """y Phi(y)."""
        return self("Mul", y, self("Add", self("Mul", self("Erf", self("Mul", y, np.sqrt(0.5))), 0.5), 0.5))


def export(weights: Weights[Architecture], path: str | os.PathLike[str]) -> None:
    """Write the network as ONNX."""
    import onnx
    from onnx import TensorProto, helper

    graph = Graph()
    estimate = _transformer(graph, weights)
    graph.nodes.append(helper.make_node("Identity", [estimate], ["estimate"]))
    given, asked = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["u"]) for name in names]
        for names in (["x", "multiplicity"], ["estimate"])
    )
    made = helper.make_graph(graph.nodes, "ebformer", given, asked, graph.constants, __doc__)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="ebformer")
    model.ir_version = IR
    onnx.checker.check_model(model, full_check=True)
    with replacing(path) as partial:
        partial.write_bytes(model.SerializeToString())


def _transformer(g: Graph, weights: Weights[Architecture]) -> str:
    """T24r and its kind: x and multiplicity to estimates."""
    network = ready(weights, "float32")
    a = network.architecture
    n = g("ReduceSum", "multiplicity", keepdims=1)
    share = g("Div", "multiplicity", n)
    z = g("Mul", g("Sqrt", g("Add", "x", 0.375)), 2.0)
    h = g.affine(network.embed, _features(g, a, z, n))
    for layer in network.layers:
        h = g("Add", h, _attention(g, a, layer, g.normalised(h, a.width), share))
        if layer.mlp is not None:
            up, down = layer.mlp
            h = g("Add", h, g.affine(down, g.gelu(g.affine(up, g.normalised(h, a.width)))))
    answer = g("Squeeze", g.affine(network.head, g.normalised(h, a.width)), [1])
    if a.embedding == "linear":
        return g.gelu(answer)
    root = g("Add", z, answer)
    return g("Mul", g("Mul", root, root), 0.25)


def _features(g: Graph, a: Architecture, z: str, n: str) -> str:
    """The description of every token, [u, f]."""
    ones = g("Add", g("Mul", "x", 0.0), 1.0)
    if a.embedding == "linear":
        columns = ["x", ones]
    else:
        columns = [g("Mul", z, 0.1), g("Mul", g("Log", g("Add", "x", 1.0)), 1 / 3), ones]
        for frequency in FREQUENCIES:
            columns += [g("Sin", g("Mul", z, frequency)), g("Cos", g("Mul", z, frequency))]
        if a.sees_n:
            log_n = g("Mul", g("Add", g("Log", g("Min", n, [a.largest_n])), -7.0), 0.5)
            columns.append(g("Mul", ones, log_n))
    return g("Concat", *(g("Unsqueeze", column, [1]) for column in columns), axis=1)


def _attention(g: Graph, a: Architecture, layer: Layer, c: str, share: str) -> str:
    """Every token of c [u, d] attends to all, weighted by their share [u]: [u, d]."""
    d, heads = a.width, a.heads
    size = d // heads
    weight, bias = layer.qkv
    # The folded rows of values end in a one per head, whose weighted sum is the normaliser; here Softmax has its own.
    values = 2 * d + np.arange(d + heads).reshape(heads, size + 1)[:, :size].ravel()
    parts = [np.arange(d), np.arange(d, 2 * d), values]
    q, k, v = (
        g("Transpose", g("Reshape", g.affine((weight[rows], bias[rows]), c), [-1, heads, size]), perm=[1, 0, 2])
        for rows in parts
    )  # [heads, u, d / heads]
    if a.attention == "softmax":
        logits = g("Add", g("MatMul", q, g("Transpose", k, perm=[0, 2, 1])), g("Log", share))
        mixed = g("MatMul", g("Softmax", logits, axis=-1), v)
    else:
        q, k = (_feature_map(g, a, each) for each in (q, k))
        weighted = g("Mul", k, g("Unsqueeze", share, [1]))  # [heads, u, d / heads]
        mixed = g("MatMul", q, g("MatMul", g("Transpose", weighted, perm=[0, 2, 1]), v))
        if a.normalised:
            mass = g("MatMul", q, g("Unsqueeze", g("ReduceSum", weighted, [1], keepdims=0), [2]))
            mixed = g("Div", mixed, mass)
    gathered: Any = g("Reshape", g("Transpose", mixed, perm=[1, 0, 2]), [-1, d])
    return g.affine(layer.out, gathered)


def _feature_map(g: Graph, a: Architecture, y: str) -> str:
    """The kernel feature of linear attention."""
    if a.feature_map == "relu":
        return g("Relu", y)
    return g("Add", g("Elu", y), 1.0) if a.feature_map == "elu+1" else y
