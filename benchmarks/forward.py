"""The forward pass of T24r in numpy with and without kernels.c, torch, the training network and onnxruntime.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/forward.py

Prints CPU milliseconds per tally on one thread: one tally of n = 2048 on [0, 50], one of n = 10^9, and a batch of 128.
The fastest of many repetitions is reported, because other work on the machine only ever adds time. What numpy takes by
the clock on all cores comes beneath.
"""

from __future__ import annotations

import argparse
import io
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from unittest import mock

import numpy as np
import onnxruntime
import torch
from torch import Tensor, nn

from ebformer.bayes.marginal import log_marginal
from ebformer.lab.pretraining.network import Tokens, TransformerModule
from ebformer.networks import kernels
from ebformer.networks.architecture import Architecture, stabilised, token_features
from ebformer.networks.estimates import estimate, estimate_many, rectangle
from ebformer.networks.weights import Weights
from ebformer.prior import Prior
from ebformer.tally import Tally

T24R = Architecture(layers=24, width=32, heads=8, weight_sets=24)


class Plain(nn.Module):
    """The collapsed network on a padded batch in ordinary torch operations: what onnxruntime can run."""

    def __init__(self, weights: Weights[Architecture]) -> None:
        super().__init__()
        self.config = weights.config
        for name, array in weights.arrays.items():
            self.register_buffer(name.replace(".", "_"), torch.from_numpy(array.copy()))

    def both(self, name: str) -> tuple[Tensor, Tensor]:
        name = name.replace(".", "_")
        return getattr(self, f"{name}_weight"), getattr(self, f"{name}_bias")

    def linear(self, name: str, h: Tensor) -> Tensor:
        return nn.functional.linear(h, *self.both(name))

    def norm(self, name: str, h: Tensor) -> Tensor:
        return nn.functional.layer_norm(h, (self.config.width,), *self.both(name))

    def forward(self, features: Tensor, z: Tensor, log_share: Tensor) -> Tensor:
        """features [b, u, f], z [b, u], log_share [b, u]: estimates [b, u]."""
        a, (b, u) = self.config, z.shape
        h = self.linear("embed", features)
        for layer in range(a.layers):
            of = f"sets.{a.set_of(layer)}"
            qkv = self.linear(f"{of}.attention.qkv", self.norm(f"{of}.norm1", h))
            q, k, v = qkv.reshape(b, u, 3, a.heads, -1).permute(2, 0, 3, 1, 4)
            mixed = self.attend(q, k, v, log_share[:, None, None, :]).transpose(1, 2).reshape(b, u, a.width)
            h = h + a.gain * self.linear(f"{of}.attention.out", mixed)
            up = self.linear(f"{of}.mlp.up", self.norm(f"{of}.norm2", h))
            h = h + a.gain * self.linear(f"{of}.mlp.down", nn.functional.gelu(up))
        return (z + self.linear("head", self.norm("norm", h))[..., 0]) ** 2 / 4

    def attend(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)


class Exported(Plain):
    """The same with attention spelled out, which onnxruntime runs faster than its own attention of small heads."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        scores = q @ k.transpose(-1, -2) * (self.config.heads / self.config.width) ** 0.5
        return torch.softmax(scores + bias, -1) @ v


def tensors(tallies: Sequence[Tally]) -> tuple[Tensor, Tensor, Tensor]:
    """The inputs of `Plain`."""
    x, share, n = rectangle(tallies)
    with np.errstate(divide="ignore"):
        log_share = np.maximum(np.log(share), -1e30)
    arrays = (token_features(T24R, x, n), stabilised(x), log_share)
    features, z, log_share = (torch.from_numpy(array.astype(np.float32)) for array in arrays)
    return features, z, log_share


def twin(weights: Weights[Architecture]) -> Callable[[Sequence[Tally]], np.ndarray]:
    """The network of pre-training, whose attention is compiled C and whose tallies need no padding."""
    network = TransformerModule(T24R)
    network.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in weights.arrays.items()})

    def run(tallies: Sequence[Tally]) -> np.ndarray:
        pairs = [(tally.values, tally.multiplicity) for tally in tallies]
        x, multiplicity = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        return network(Tokens.of(T24R, x, multiplicity, np.array([len(tally) for tally in tallies]))).numpy()

    return run


def onnx_session(network: Plain) -> Callable[[tuple[Tensor, Tensor, Tensor]], np.ndarray]:
    """The network in onnxruntime."""
    buffer = io.BytesIO()
    names = ["features", "z", "log_share"]
    axes = {name: {0: "b", 1: "u"} for name in names}
    torch.onnx.export(
        network, tensors([Tally([0, 3], [1, 2])]), buffer, input_names=names, dynamic_axes=axes, dynamo=False
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(buffer.getvalue(), options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, dict(zip(names, (t.numpy() for t in inputs), strict=True)))[0]


def milliseconds(run: Callable[[], object], repetitions: int, clock: Callable[[], float] = time.process_time) -> float:
    """The fastest repetition: CPU time of the process, unless by another clock."""
    run()
    best = np.inf
    for _ in range(repetitions):
        start = clock()
        run()
        best = min(best, clock() - start)
    return 1e3 * best


def random_weights(rng: np.random.Generator) -> Weights[Architecture]:
    """Matrices with entries of variance 1 / inputs, norms 1, biases 0."""
    arrays = {}
    for name, shape in T24R.shapes().items():
        matrix = len(shape) == 2
        arrays[name] = rng.normal(size=shape) / np.sqrt(shape[1]) if matrix else np.full(shape, "norm" in name)
        arrays[name] = (arrays[name] * (matrix or name.endswith("weight"))).astype(np.float32)
    return Weights(T24R, arrays)


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    weights, x = random_weights(rng), np.arange(120)
    chance = np.exp(log_marginal(Prior(np.linspace(0, 50, 501), np.full(501, 1 / 501)), x))

    def draw(n: int) -> Tally:
        return Tally(x, rng.multinomial(n, chance / chance.sum()))

    one, billion, many = draw(2048), draw(10**9), [draw(2048) for _ in range(128)]
    print(f"T24r ({T24R.parameters:,} parameters); distinct values: {len(one)} of 2048, {len(billion)} of 10^9")
    plain, session, trained = Plain(weights).eval(), onnx_session(Exported(weights).eval()), twin(weights)
    chunks = [many[i : i + 8] for i in range(0, len(many), 8)]
    large_chunks = [many[i : i + 32] for i in range(0, len(many), 32)]
    ours: tuple[Callable[[Tally], object], Callable[[], object]] = (
        lambda t: estimate(weights, t),
        lambda: estimate_many(weights, many),
    )
    ways = {
        "numpy": ours,
        "numpy and C": ours,
        "torch": (lambda t: plain(*tensors([t])), lambda: [plain(*tensors(chunk)) for chunk in chunks]),
        "pre-training": (lambda t: trained([t]), lambda: [trained(chunk) for chunk in large_chunks]),
        "onnxruntime": (lambda t: session(tensors([t])), lambda: [session(tensors(chunk)) for chunk in chunks]),
    }
    if kernels.library() is None:
        print("kernels.c is not compiled: pip install --editable .")
        del ways["numpy and C"]
    exact = estimate(weights, one, precision="float64")
    for name, (single, batch) in ways.items():
        used = (lambda: None) if name == "numpy" else kernels.library
        with mock.patch.object(kernels, "library", used), torch.no_grad():
            with mock.patch("os.cpu_count", return_value=1):
                error = np.abs(np.asarray(single(one)).ravel() / exact - 1).max()
                small, large = (milliseconds(partial(single, tally), 30) for tally in (one, billion))
                batched = milliseconds(batch, 5) / len(many)
            print(
                f"{name:12s} n = 2048: {small:5.2f} ms   n = 10^9: {large:5.2f} ms   batched: {batched:5.2f} ms   "
                f"error against float64: {error:.0e}"
            )
            if batch is ours[1]:
                clock = milliseconds(batch, 5, time.perf_counter) / len(many)
                print(f"{name:12s} batched on {os.cpu_count()} cores, by the clock: {clock:.2f} ms")


if __name__ == "__main__":
    main()
