"""The torch twin and the numpy forward are two computations of one function, in every channel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from priorformer_settings import SETTINGS, shapes_of  # noqa: E402

from ebformer.lab.pretraining.priorformer_batches import GridBatch, make_batch  # noqa: E402
from ebformer.lab.pretraining.priorformer_network import PriorformerModule, grown  # noqa: E402
from ebformer.lab.pretraining.runs import arrays  # noqa: E402
from ebformer.networks.constants import PER_CELL  # noqa: E402
from ebformer.networks.grid import Grid  # noqa: E402
from ebformer.networks.likelihood import Likelihood  # noqa: E402
from ebformer.networks.priorformer import PriorformerNetwork, smoothed  # noqa: E402
from ebformer.networks.priorformer_block import PriorformerConfig  # noqa: E402
from ebformer.networks.weights import Weights  # noqa: E402

CONFIG = PriorformerConfig(blocks=3, width=16, em_steps=5)


def random_network(seed: int) -> PriorformerModule:
    """A network whose every parameter matters: heads start at zero, which would hide everything before them."""
    torch.manual_seed(seed)
    network = PriorformerModule(CONFIG)
    for block in network.blocks:
        torch.nn.init.normal_(block.head.weight, std=0.1)
    return network


def in_numpy(network: PriorformerModule, batch: GridBatch, b: int) -> tuple[Grid, np.ndarray]:
    """The grid that a tally of the batch has in use, and the weights that the numpy network gives its atoms."""
    count = np.rint((batch.share[b] * batch.n[b]).numpy())
    x, known, count = batch.x[count > 0], batch.known[count > 0], count[count > 0]
    grid, n = Grid.of(batch.grid.channel, x, known, count), float(count.sum())
    ready = PriorformerNetwork(Weights(CONFIG, arrays(network)))
    order = Likelihood.order(grid, x, known)
    likelihood = Likelihood.of(grid, x[order], known[order], np.float32)
    share = (count[order] / n).astype(np.float32)
    answers = ready.answers(likelihood, share, n, grid.edges(), *ready.start(grid, likelihood, share, n))
    return grid, smoothed(grid, np.exp(answers[-1].astype(np.float64)), n)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_numpy_forward_is_the_torch_twin(setting) -> None:
    """The same atoms and, up to single precision, the same weights: the tally alone decides, not its neighbours."""
    rng, network = np.random.default_rng(1), random_network(1)
    batch = make_batch(rng, setting, shapes_of(rng, setting))
    with torch.no_grad():
        answers = network(batch)[-1].exp().numpy()
    widths = set()
    for b, answer in enumerate(answers):
        inside = np.repeat(batch.inside[b].numpy(), PER_CELL)
        grid, weights = in_numpy(network, batch, b)
        np.testing.assert_allclose(grid.theta, batch.theta.numpy()[inside], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(weights, answer[inside], rtol=5e-4, atol=2e-5)
        assert answer[~inside].sum() < 1e-12
        widths.add(len(weights))
    assert len(widths) > 1  # or the tallies would not have had different grids


def test_fresh_blocks_after_trained_ones_hardly_change_the_answer() -> None:
    small, config = random_network(2), replace(CONFIG, blocks=5)
    large = PriorformerModule(config)
    large.load_state_dict(grown(small.state_dict(), config))
    setting = SETTINGS["poisson, equal"]
    rng = np.random.default_rng(0)
    batch = make_batch(rng, setting, shapes_of(rng, setting))
    with torch.no_grad():
        before, after = small(batch), large(batch)
    for old, new in zip(before[:-1], after, strict=False):  # the last is smoothed
        assert torch.equal(old, new)
    moved = (after[-1].exp() - before[-1].exp()).abs().sum(-1)
    assert float(moved.max()) < 0.1
    assert float((after[0].exp() - before[-1].exp()).abs().sum(-1).min()) > float(moved.max())  # a trained block moves
