"""The torch twin and the numpy forward are two computations of one function; batches carry exact targets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ebformer.bayes.marginal import bayes_rule, posterior
from ebformer.lab.pretraining.priorformer_batches import GridBatch, distribution, make_batch
from ebformer.lab.pretraining.priorformer_network import PriorformerModule, grown
from ebformer.lab.pretraining.priorformer_recipe import PriorformerRecipe, exposures, regret
from ebformer.lab.pretraining.priorformer_worlds import LARGEST_RATE, SINGLE, Draw, draw_priors, theta_max
from ebformer.networks.constants import PER_CELL
from ebformer.networks.priorformer import PriorformerNetwork
from ebformer.networks.priorformer_block import PriorformerConfig
from ebformer.networks.weights import Weights
from ebformer.prior import Prior

Array = NDArray[Any]

CONFIG = PriorformerConfig(blocks=3, width=16, em_steps=5)


def random_network(seed: int) -> PriorformerModule:
    """A network whose every parameter matters: heads start at zero, which would hide everything before them."""
    torch.manual_seed(seed)
    network = PriorformerModule(CONFIG)
    for block in network.blocks:
        torch.nn.init.normal_(block.head.weight, std=0.1)  # type: ignore[union-attr, arg-type]
    return network


def observations(batch: GridBatch, b: int) -> tuple[Array, Array, Array]:
    """Counts, exposures and multiplicities of one tally, sorted by rate."""
    count = np.rint((batch.share[b] * batch.n[b]).numpy()).astype(np.int64)
    seen = np.flatnonzero(count)
    order = seen[np.argsort(batch.x[seen] / batch.exposure[seen], kind="stable")]
    return batch.x[order], batch.exposure[order], count[order]


def draws(rng: np.random.Generator, top: float, each: int = 2) -> list[Draw]:
    worlds = {"neural": 1.0, "dirichlet": 1.0, "few": 1.0, "smooth": 1.0, "everyday": 1.0}
    return draw_priors(rng, np.full(5 * each, top), worlds)


@pytest.mark.parametrize("top", [0.3, 50.0, 300.0])
@pytest.mark.parametrize("exposed", [False, True])
def test_numpy_forward_is_the_torch_twin(top: float, exposed: bool) -> None:
    rng = np.random.default_rng(int(top))
    network = random_network(1)
    weights = Weights(CONFIG, {name: array.numpy() for name, array in network.state_dict().items()})
    exposure, units = exposures(rng, 500, 2 * top) if exposed else (None, np.full(10, 500))
    batch = make_batch(rng, draws(rng, top), units, exposure)
    with torch.no_grad():
        answers = network(batch)[-1].exp().numpy()
    for b in range(len(answers)):
        inside = np.repeat(batch.inside[b].numpy(), PER_CELL)
        prior = Prior(*PriorformerNetwork(weights).read(*observations(batch, b)))
        twin = Prior(batch.theta.numpy()[inside].astype(np.float64), answers[b][inside] / answers[b][inside].sum())
        assert prior.atoms[-1] == pytest.approx(twin.atoms[-1], rel=1e-5)
        x, t = batch.x, batch.exposure
        np.testing.assert_allclose(bayes_rule(prior, x, t), bayes_rule(twin, x, t), rtol=1e-4, atol=1e-5)


def test_answers_do_not_depend_on_the_other_tallies_of_a_batch() -> None:
    """The grid of a tally is its own: a wide neighbour may widen the batch, not the answer."""
    rng = np.random.default_rng(0)
    network = random_network(2).eval()
    narrow, wide = Draw("few", np.array([2.0, 9.0]), np.array([0.5, 0.5])), Draw("few", np.array([400.0]), np.ones(1))
    both = make_batch(rng, [narrow, wide], np.array([300, 300]))
    weights = Weights(CONFIG, {name: array.numpy() for name, array in network.state_dict().items()})
    _, alone = PriorformerNetwork(weights).read(*observations(both, 0))
    with torch.no_grad():
        inside = np.repeat(both.inside[0].numpy(), PER_CELL)
        answer = network(both)[-1][0].exp().numpy()
    assert answer[~inside].sum() < 1e-12
    np.testing.assert_allclose(answer[inside], alone, atol=2e-5)


@pytest.mark.parametrize("exposed", [False, True])
def test_targets_are_exact_bayes(exposed: bool) -> None:
    """The rule and the posteriors of a batch agree with `ebformer.bayes.marginal` on the prior itself."""
    rng = np.random.default_rng(5)
    drawn = draws(rng, 30.0)
    exposure, units = (np.array([0.5, 2.0]), np.array([150, 50])) if exposed else (None, np.full(10, 200))
    batch = make_batch(rng, drawn, units, exposure)
    for b, draw in enumerate(drawn):
        prior = Prior(draw.atoms, draw.weights)
        seen = batch.share[b].numpy() > 0
        x, t = batch.x[seen], batch.exposure[seen]
        np.testing.assert_allclose(
            batch.bayes[b].numpy()[seen], bayes_rule(prior, x, t), rtol=3e-3
        )  # 3e-3 squared is far below any regret
        pick = batch.picked[b].numpy()
        exact = posterior(prior, batch.x[pick], batch.exposure[pick])
        theta = batch.theta.numpy().astype(np.float64)
        middle = (theta[1:] + theta[:-1]) / 2
        gap = np.abs(1 - exact.exceeds(middle) - batch.posterior[b].numpy()[:, :-1])
        assert gap.sum(axis=1).max() < 0.75  # in atoms: mass was moved to the nearest one, half a step at most


def test_regret_vanishes_for_the_prior_itself() -> None:
    """A prior on the atoms of the grid, answered exactly, has regret zero."""
    rng = np.random.default_rng(3)
    draw = Draw("few", np.array([4.0, 16.0]), np.array([0.25, 0.75]))  # u = 4 and 8 are atoms of the grid
    batch = make_batch(rng, [draw], np.array([5000]))
    weights = torch.full((1, len(batch.theta)), 1e-12)
    for atom, weight in zip(draw.atoms, draw.weights, strict=True):
        weights[0, int(torch.argmin((batch.theta - atom).abs()))] = weight
    assert float(regret(batch, weights.log())) < 1e-9


def test_distribution_keeps_mass_beyond_both_ends() -> None:
    fine = np.zeros(300)
    fine[[0, 150, 299]] = [0.2, 0.5, 0.3]
    cumulative = distribution(fine, 20, 60)
    assert cumulative[0] == pytest.approx(0.2)
    assert cumulative[-1] == pytest.approx(0.7)  # mass above the top counts as above every atom


def test_training_priors_are_priors() -> None:
    rng = np.random.default_rng(4)
    everything = dict.fromkeys(["neural", *SINGLE], 1.0)
    for _ in range(20):
        for draw in draw_priors(rng, np.full(len(everything), theta_max(rng)), everything):
            assert draw.weights.sum() == pytest.approx(1)
            assert draw.weights.min() >= 0
            assert 0 <= draw.atoms.min() <= draw.atoms.max() <= LARGEST_RATE


def test_edges_matter() -> None:
    """An edged prior ends at theta_max and has mass there, or nothing about edges is learnt from it."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        top = theta_max(rng)
        draw = SINGLE["edged"](rng, top)
        assert draw.atoms.max() == pytest.approx(top)
        assert draw.weights[2 * np.sqrt(draw.atoms) > 2 * np.sqrt(top) - 3].sum() > 0.05


def test_a_few_steps_lower_the_loss() -> None:
    """On one fixed batch, gradient descent on the loss overfits: gradients reach every parameter."""
    recipe = PriorformerRecipe(config=CONFIG, tallies=8)
    network = random_network(6)
    batch = recipe.draw(np.random.default_rng(8))
    optimiser = torch.optim.AdamW(network.parameters(), 3e-3)
    losses = []
    for _ in range(15):
        optimiser.zero_grad()
        loss = recipe.loss(network, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        assert all(p.grad is not None and float(p.grad.abs().max()) > 0 for p in network.parameters())
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]


def test_fresh_blocks_after_trained_ones_hardly_change_the_answer() -> None:
    small, config = random_network(2), replace(CONFIG, blocks=5)
    large = PriorformerModule(config)
    large.load_state_dict(grown(small.state_dict(), config))
    batch = make_batch(np.random.default_rng(0), draws(np.random.default_rng(1), 20.0), np.full(10, 300))
    with torch.no_grad():
        before, after = small(batch), large(batch)
    for old, new in zip(before[:-1], after, strict=False):  # the last is smoothed
        assert torch.equal(old, new)
    moved = (after[-1].exp() - before[-1].exp()).abs().sum(-1)
    assert float(moved.max()) < 0.1
    assert float((after[0].exp() - before[-1].exp()).abs().sum(-1).min()) > float(moved.max())  # a trained block moves
