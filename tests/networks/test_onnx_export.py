"""What onnxruntime answers is what the package answers."""

from pathlib import Path

import numpy as np
import pytest

from ebformer.cli import ebformer
from ebformer.networks import zoo
from ebformer.networks.architecture import Architecture
from ebformer.networks.estimates import estimate
from ebformer.networks.onnx_export import export
from ebformer.networks.weights import Weights
from ebformer.tally import Tally

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def answers(path: Path, values: np.ndarray, multiplicity: np.ndarray) -> np.ndarray:
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    given = {"x": values.astype(np.float32), "multiplicity": multiplicity.astype(np.float32)}
    return np.asarray(session.run(["estimate"], given)[0])


@pytest.mark.parametrize("name", zoo.names("transformer"))
def test_shipped_networks_answer_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    from click.testing import CliRunner

    assert CliRunner().invoke(ebformer, ["export", name, "--onnx", "-o", str(path)]).exit_code == 0
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
def test_every_kind_of_network_answers_the_same(architecture: Architecture, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    arrays = {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in architecture.shapes().items()}
    weights = Weights(architecture, arrays)
    export(weights, tmp_path / "network.onnx")
    tally = Tally.of(rng.poisson(5.0, 100))
    found = answers(tmp_path / "network.onnx", tally.values, tally.multiplicity)
    np.testing.assert_allclose(found, estimate(weights, tally, precision="float64"), rtol=1e-3, atol=1e-4)


def test_a_method_that_is_no_network_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    from ebformer.cli import main

    with pytest.raises(SystemExit):
        main(["export", "gamma", "--onnx"])
    assert "'gamma' cannot be exported: choose among" in capsys.readouterr().err
