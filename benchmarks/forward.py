"""The forward pass of T24r in numpy, torch and onnxruntime, one thread each: `python benchmarks/forward.py`.

Prints milliseconds per tally: one tally of n = 2048 on [0, 50], one of n = 10^9, and a batch of 128. The fastest of many
repetitions is reported, because other work on the machine only ever adds time.
"""

from __future__ import annotations

import os

# One thread everywhere; this has to happen before the libraries load.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import io
import time
from collections.abc import Callable, Sequence
from unittest import mock

import numpy as np
import torch
from torch import Tensor, nn

from ebformer.tally import Tally
from ebformer.transformer import estimates
from ebformer.transformer.architecture import Architecture, stabilised, token_features
from ebformer.transformer.estimates import estimate, estimate_many
from ebformer.transformer.weights import Weights

T24R = Architecture(layers=24, width=32, heads=8, weight_sets=24)


class Plain(nn.Module):
    """The collapsed network on a padded batch in ordinary torch operations: what onnxruntime can run."""

    def __init__(self, weights: Weights[Architecture]) -> None:
        super().__init__()
        self.config = weights.config
        for name, array in weights.arrays.items():
            self.register_buffer(name.replace(".", "_"), torch.from_numpy(array.copy()))

    def linear(self, name: str, h: Tensor) -> Tensor:
        return nn.functional.linear(
            h, *(getattr(self, f"{name}_{part}".replace(".", "_")) for part in ("weight", "bias"))
        )

    def norm(self, name: str, h: Tensor) -> Tensor:
        weight, bias = (getattr(self, f"{name}_{part}".replace(".", "_")) for part in ("weight", "bias"))
        return nn.functional.layer_norm(h, (self.config.width,), weight, bias)

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
    x, share, n = estimates._rectangle(tallies)
    with np.errstate(divide="ignore"):
        log_share = np.maximum(np.log(share), -1e30)
    arrays = (token_features(T24R, x, n), stabilised(x), log_share)
    features, z, log_share = (torch.from_numpy(array.astype(np.float32)) for array in arrays)
    return features, z, log_share


def onnx_session(network: Plain) -> Callable[[tuple[Tensor, Tensor, Tensor]], np.ndarray]:
    """The network in onnxruntime."""
    import onnxruntime

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


def milliseconds(run: Callable[[], object], repetitions: int) -> float:
    """CPU time of the calling process in the fastest repetition."""
    run()
    best = np.inf
    for _ in range(repetitions):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return 1e3 * best


def main() -> None:
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    arrays = {
        name: (
            rng.normal(size=shape) / np.sqrt(shape[-1]) if len(shape) == 2 else np.full(shape, name.endswith("weight"))
        )
        for name, shape in T24R.shapes().items()
    }
    weights = Weights(T24R, {name: array.astype(np.float32) for name, array in arrays.items()})

    def draw(n: int) -> Tally:
        return Tally.of(rng.poisson(rng.uniform(0, 50, n)))

    one, many = draw(2048), [draw(2048) for _ in range(128)]
    theta = np.linspace(0, 50, 2001)
    chance = np.exp(np.arange(120)[:, None] * np.log(np.maximum(theta, 1e-300)) - theta)
    chance = chance.sum(1) / np.array([float(np.prod(np.arange(1.0, k + 1))) for k in range(120)])
    multiplicity = rng.multinomial(10**9, chance / chance.sum())
    billion = Tally(np.arange(120), multiplicity)
    print(f"T24r ({T24R.parameters:,} parameters); distinct values: {len(one)} of 2048, {len(billion)} of 10^9")

    plain, exported = Plain(weights).eval(), Exported(weights).eval()
    session = onnx_session(exported)
    ways: dict[str, tuple[Callable[[Tally], object], Callable[[], object]]] = {}
    single_thread = mock.patch.object(estimates.os, "cpu_count", lambda: 1)
    chunks = [many[i : i + 8] for i in range(0, len(many), 8)]
    with torch.no_grad(), single_thread:
        ways["numpy"] = (lambda t: estimate(weights, t), lambda: estimate_many(weights, many))
        ways["torch"] = (lambda t: plain(*tensors([t])), lambda: [plain(*tensors(c)) for c in chunks])
        ways["onnxruntime"] = (lambda t: session(tensors([t])), lambda: [session(tensors(c)) for c in chunks])
        expected = estimate(weights, one, precision="float64")
        for name, (single, batch) in ways.items():
            answer = np.asarray(single(one)).ravel()
            error = np.abs(answer / expected - 1).max()
            times = [milliseconds(lambda: single(one), 30), milliseconds(lambda: single(billion), 30)]
            batched = milliseconds(batch, 5) / len(many)
            print(
                f"{name:12s} n = 2048: {times[0]:5.2f} ms   n = 10^9: {times[1]:5.2f} ms   batched: {batched:5.2f} ms"
                f"   error against float64: {error:.0e}"
            )
    start = time.perf_counter()
    estimate_many(weights, many)
    print(
        f"numpy, batched on {os.cpu_count()} cores, by the clock: {1e3 * (time.perf_counter() - start) / len(many):.2f} ms"
    )


if __name__ == "__main__":
    main()
