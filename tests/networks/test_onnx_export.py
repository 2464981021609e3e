"""What onnxruntime answers is what the package answers."""

from pathlib import Path

import numpy as np
import pytest

from command_line import ebformer
from ebformer.channels import channel_named
from ebformer.networks import zoo
from ebformer.networks.architecture import Architecture
from ebformer.networks.estimates import estimate
from ebformer.networks.onnx import priorformer, transformer
from ebformer.networks.onnx.channels import GRAPHS
from ebformer.networks.priorformer import PriorformerNetwork
from ebformer.networks.priorformer_block import PriorformerConfig
from ebformer.networks.weights import Weights, save
from ebformer.rule import BayesRule
from ebformer.tally import Tally

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def session(path: Path):  # type: ignore[no-untyped-def]
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1  # threads that wait would take the other tests' time
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def answers(path: Path, values: np.ndarray, multiplicity: np.ndarray) -> np.ndarray:
    given = {"x": values.astype(np.float32), "multiplicity": multiplicity.astype(np.float32)}
    return np.asarray(session(path).run(["estimate"], given)[0])


@pytest.mark.parametrize("name", zoo.names("transformer"))
def test_shipped_networks_answer_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    assert ebformer("export", name, "--onnx", "-o", path).returncode == 0
    rng = np.random.default_rng(0)
    tally, unseen = Tally.of(rng.poisson(rng.uniform(0, 40, 300))), np.array([60, 1])
    found = answers(path, np.append(tally.values, unseen), np.append(tally.multiplicity, [0, 0]))
    weights = zoo.load(name)
    expected = np.append(estimate(weights, tally), estimate(weights, tally, at=unseen))
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)
    same = Tally([3], [100])
    np.testing.assert_allclose(answers(path, same.values, same.multiplicity), estimate(weights, same), rtol=1e-3)


@pytest.mark.parametrize(
    "architecture",
    [
        Architecture(layers=3, width=8, heads=2, embedding="linear"),
        Architecture(layers=2, width=8, heads=2, attention="linear", feature_map="elu+1", normalised=True),
        Architecture(layers=2, width=8, heads=4, attention="linear", feature_map="relu", mlp=False, sees_n=False),
    ],
    ids=["linear embedding", "elu, normalised", "relu, no mlp"],
)
def test_every_kind_of_transformer_answers_the_same(architecture: Architecture, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    arrays = {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in architecture.shapes().items()}
    weights = Weights(architecture, arrays)
    transformer.export(weights, tmp_path / "network.onnx")
    tally = Tally.of(rng.poisson(5.0, 100))
    found = answers(tmp_path / "network.onnx", tally.values, tally.multiplicity)
    np.testing.assert_allclose(found, estimate(weights, tally, precision="float64"), rtol=1e-3, atol=1e-4)


def tables(name: str) -> dict[str, Tally]:
    """Few units and many, equal and unequal, ordinary and rare, and nothing but an end of the domain."""
    rng, channel = np.random.default_rng(2), channel_named(name)

    def drawn(theta: np.ndarray, known: np.ndarray | float) -> Tally:
        each = np.broadcast_to(np.asarray(known, dtype=np.float64), theta.shape)
        x = channel.draw(theta, each, rng)
        return Tally.of(x if channel.whole else np.round(x * 4) / 4, each, channel=channel)

    def some(n: int) -> np.ndarray:
        return rng.integers(1, 6, n) / (3.0 if name == "normal" else 0.5)

    if name == "poisson":
        return {
            "few": drawn(rng.gamma(2.0, 1.0, 9), some(9)),
            "equal": drawn(rng.gamma(2.0, 1.0, 300), 3.0),
            "many": drawn(rng.gamma(0.3, 2.0, 200_000), some(200_000)),
            "high": drawn(rng.normal(900.0, 40.0, 100), 1.0),
            "rare": drawn(rng.gamma(1.0, 1e-3, 5000), some(5000)),
            "few events": Tally([0, 1], [97, 3], exposure=[2.0, 2.0]),
            "none": drawn(np.zeros(50), some(50)),
        }
    if name == "binomial":
        return {
            "few": drawn(rng.beta(3.0, 8.0, 9), some(9)),
            "equal": drawn(rng.beta(30.0, 80.0, 300), 40.0),
            "many": drawn(rng.beta(2.0, 1.0, 200_000), some(200_000)),
            "mostly successes": drawn(rng.beta(9.0, 0.3, 500), some(500)),
            "rare": drawn(rng.beta(1.0, 1e3, 5000), some(5000)),
            "few failures": Tally([19, 20], [2, 100], trials=[20, 20]),
            "only successes": drawn(np.ones(50), some(50)),
            "none": drawn(np.zeros(50), some(50)),
        }
    return {
        "few": drawn(rng.normal(0.0, 2.0, 9), some(9)),
        "equal": drawn(rng.normal(500.0, 2.0, 300), 1.0),
        "many": drawn(rng.normal(0.0, 1.0, 200_000), some(200_000)),
        "mostly zero": drawn(3.0 * rng.binomial(1, 0.1, 1000), some(1000)),
    }


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_priorformer_answers_the_same_in_every_channel(name: str, tmp_path: Path) -> None:
    path, channel, weights = tmp_path / "network.onnx", channel_named(name), zoo.load("priorformer")
    told = ebformer("export", "priorformer", "--onnx", "--channel", name, "-o", path)
    assert told.returncode == 0
    assert f"x, {channel.keyword} and multiplicity in" in told.stderr
    network = session(path)
    for tally in tables(name).values():
        rule = BayesRule("priorformer", PriorformerNetwork(weights, np.float64).prior(tally), channel=channel)
        unseen, known = np.array([2.0, 0.0]), np.array([2.0, 7.0])
        given = {
            "x": np.append(tally.x, unseen),
            channel.keyword: np.append(tally.known, known),
            "multiplicity": np.append(tally.multiplicity, [0.0, 0.0]),
        }
        found = dict(zip([each.name for each in network.get_outputs()], network.run(None, given), strict=True))
        expected = rule(given["x"], given[channel.keyword])
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found["estimate"], expected, rtol=1e-7, atol=1e-9 * scale)
        np.testing.assert_allclose(found["weights"] @ found["theta"], rule.prior.mean, rtol=1e-7, atol=1e-9 * scale)
        np.testing.assert_allclose(found["posterior"].sum(axis=1), 1.0)
        assert (np.diff(found["theta"]) >= 0).all()


def test_a_unit_of_which_nothing_is_known_gets_the_mean_of_the_prior(tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    priorformer.export(zoo.load("priorformer"), path)
    given = {"x": [0.0, 1.0, 5.0, 0.0], "exposure": [1.0, 1.0, 2.0, 0.0], "multiplicity": [9.0, 4.0, 1.0, 0.0]}
    theta, weights, estimate = session(path).run(
        ["theta", "weights", "estimate"], {name: np.array(each) for name, each in given.items()}
    )
    assert estimate[3] == pytest.approx(theta @ weights)


def test_a_priorformer_of_another_size_answers_the_same(tmp_path: Path) -> None:
    config, rng = PriorformerConfig(blocks=2, width=8, heads=2, reach=3, em_steps=8), np.random.default_rng(3)
    arrays = {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in config.shapes().items()}
    save(tmp_path / "mine.safetensors", Weights(config, arrays))
    assert ebformer("export", "mine.safetensors", folder=tmp_path).returncode == 0
    tally = tables("poisson")["high"]
    expected = BayesRule("mine", PriorformerNetwork(Weights(config, arrays), np.float64).prior(tally))(tally.x)
    given = {"x": tally.x, "exposure": tally.known, "multiplicity": tally.multiplicity.astype(np.float64)}
    found = session(tmp_path / "mine-poisson.onnx").run(["estimate"], given)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    told = ebformer("export", "gamma", "--onnx", folder=tmp_path)
    assert told.returncode == 1
    assert "'gamma' cannot be exported: choose among" in told.stderr
    told = ebformer("export", "T24r", "--channel", "normal", folder=tmp_path)
    assert told.returncode == 1
    assert "T24r reads counts only" in told.stderr
