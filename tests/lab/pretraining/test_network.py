"""The torch network is the numpy one: same arrays, same answers; and a unit is a unit, collapsed or not."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ebformer.lab.pretraining.network import Tokens, TransformerModule  # noqa: E402
from ebformer.lab.pretraining.runs import arrays  # noqa: E402
from ebformer.networks.architecture import Architecture  # noqa: E402
from ebformer.networks.estimates import estimate  # noqa: E402
from ebformer.networks.weights import Weights  # noqa: E402
from ebformer.tally import Tally  # noqa: E402

ARCHITECTURES = [
    Architecture(layers=4),
    Architecture(layers=4, weight_sets=4, embedding="linear", sees_n=False),
    Architecture(layers=4, attention="linear"),
    Architecture(layers=4, attention="linear", feature_map="elu+1", normalised=True),
    Architecture(layers=4, sees_n=False, mlp=False, width=16, heads=2),
]
COUNTS = np.random.default_rng(0).poisson(np.random.default_rng(1).gamma(2.0, 5.0, 300))


def shaken(architecture: Architecture) -> TransformerModule:
    """A network whose every array is off its starting value, so that a slip in any of them shows."""
    torch.manual_seed(0)
    network = TransformerModule(architecture)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return network


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda a: f"{a.attention}-{a.embedding}-{a.feature_map}")
def test_torch_and_numpy_agree(architecture: Architecture) -> None:
    network = shaken(architecture)
    assert {name: array.shape for name, array in arrays(network).items()} == architecture.shapes()
    halves = [Tally.of(COUNTS[:120]), Tally.of(COUNTS)]  # two ragged tallies at once
    x, multiplicity = (np.concatenate([getattr(t, name) for t in halves]) for name in ("values", "multiplicity"))
    with torch.no_grad():
        answers = network(Tokens.of(architecture, x, multiplicity, np.array([len(t) for t in halves]))).numpy()
    weights = Weights(architecture, arrays(network))
    exact = np.concatenate([estimate(weights, tally, precision="float64") for tally in halves])
    np.testing.assert_allclose(answers, exact, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("architecture", ARCHITECTURES[:3], ids=lambda a: f"{a.attention}-{a.embedding}")
def test_collapsed_tokens_answer_as_units_do(architecture: Architecture) -> None:
    network, tally = shaken(architecture), Tally.of(COUNTS)
    with torch.no_grad():
        collapsed = network(Tokens.of(architecture, tally.values, tally.multiplicity, np.array([len(tally)])))
        units = network(Tokens.of(architecture, COUNTS, np.ones_like(COUNTS), np.array([len(COUNTS)])))
    where = np.searchsorted(tally.values, COUNTS)
    torch.testing.assert_close(units, collapsed[where], rtol=1e-4, atol=1e-4)


def test_an_untrained_network_is_the_mle_up_to_three_eighths() -> None:
    architecture, x = Architecture(layers=2), np.arange(60)
    with torch.no_grad():
        answers = TransformerModule(architecture)(Tokens.of(architecture, x, np.ones_like(x), np.array([60])))
    np.testing.assert_allclose(answers.numpy(), x + 0.375, rtol=1e-5)
