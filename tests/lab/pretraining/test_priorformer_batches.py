"""Batches carry exact targets, in every channel."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from priorformer_settings import SETTINGS, setting, shapes_of  # noqa: E402

from ebformer.bayes.marginal import bayes_rule, posterior  # noqa: E402
from ebformer.channels import POISSON  # noqa: E402
from ebformer.lab.pretraining.priorformer_batches import (  # noqa: E402
    PER_ATOM,
    TAIL,
    distribution,
    leaning,
    make_batch,
)
from ebformer.lab.pretraining.priorformer_loss import (  # noqa: E402
    answered,
    posterior_distance,
    posterior_divergence,
    regret,
)
from ebformer.lab.worlds.shapes import trimmed  # noqa: E402
from ebformer.networks.constants import PER_CELL  # noqa: E402
from ebformer.networks.grid import Grid  # noqa: E402
from ebformer.prior import Prior  # noqa: E402


@pytest.mark.parametrize("given", SETTINGS.values(), ids=SETTINGS)
def test_targets_are_exact_bayes(given) -> None:
    """The rules and the posteriors of a batch agree with `ebformer.bayes` on the prior itself."""
    rng = np.random.default_rng(5)
    drawn = dict(shapes_of(rng, given))
    batch = make_batch(rng, given, list(drawn.items()))
    theta = batch.theta.numpy().astype(np.float64)
    assert len(batch.world) >= 6
    for b, world in enumerate(batch.world):
        prior = Prior(*trimmed(*drawn[world], TAIL / given.n))
        seen = batch.share[b].numpy() > 0
        exact = bayes_rule(prior, batch.x[seen], batch.known[seen], channel=given.channel)
        error = (batch.bayes[b].numpy()[seen] - exact) / np.sqrt(float(batch.variance[b]))
        assert np.abs(error).max() < 0.01  # of the noise: its square is far below any regret
        pick = batch.picked[b].numpy()
        after = posterior(prior, batch.x[pick], batch.known[pick], channel=given.channel)
        gap = np.abs(1 - after.exceeds((theta[1:] + theta[:-1]) / 2) - batch.posterior[b].numpy()[:, :-1])
        assert gap.sum(axis=1).max() < 0.75  # in atoms: mass was moved to the nearest one, half a step at most


@pytest.mark.parametrize("given", SETTINGS.values(), ids=SETTINGS)
def test_nothing_is_lost_for_the_prior_itself(given) -> None:
    """A prior on the atoms of the grid, answered exactly, has regret zero and the exact posteriors."""
    rng = np.random.default_rng(3)
    whole = Grid.whole(given.channel, given.known, given.units)
    atoms = whole.between(*np.sort(whole.v_of(np.array([0.3, 0.6]) * given.theta_max))).theta[[0, 1, -1]]
    prior = atoms, np.array([0.25, 0.25, 0.5])
    batch = make_batch(rng, given, [(str(copy), prior) for copy in range(6)])
    weights = torch.full((len(batch.world), len(batch.theta)), 1e-12)
    for atom, weight in zip(*prior, strict=True):
        weights[:, int(torch.argmin((batch.theta - atom).abs()))] = weight
    assert float(regret(batch, weights.log()).max()) < 1e-8
    posteriors = answered(batch, weights.log())
    assert float(posterior_distance(batch, posteriors).max()) < 1e-8
    assert float(posterior_divergence(batch, posteriors).max()) < 1e-4
    flat = answered(batch, torch.full_like(weights, -np.log(weights.shape[1])))
    assert float(posterior_divergence(batch, flat).min()) > 0.1


def test_a_tally_has_all_its_units_and_no_impossible_observation() -> None:
    for given in SETTINGS.values():
        rng = np.random.default_rng(7)
        batch = make_batch(rng, given, shapes_of(rng, given))
        assert batch.n.tolist() == [given.n] * len(batch.world)
        torch.testing.assert_close(batch.share.sum(-1), torch.ones(len(batch.world)))
        for known, units in zip(given.known, given.units, strict=True):
            own = batch.share.numpy()[:, batch.known == known].sum(axis=1)
            np.testing.assert_allclose(own, units / given.n, rtol=1e-5)
        assert given.channel.possible(batch.x).all()
        assert given.channel.possible_pair(batch.x, batch.known).all()


def test_mass_beyond_either_end_counts_to_the_outermost_atoms() -> None:
    wide, narrow = Grid(POISSON, 1.0, 0, 25), Grid(POISSON, 1.0, 5, 15)
    fine = np.zeros(25 * PER_CELL * PER_ATOM)
    fine[[0, 150, -1]] = [0.2, 0.5, 0.3]
    cumulative = distribution(fine, wide, narrow)
    assert len(cumulative) == len(narrow.theta)
    assert cumulative[0] == pytest.approx(0.2)
    assert cumulative[-1] == pytest.approx(0.7)  # mass above the top counts as above every atom


def test_units_that_lean_are_on_the_whole_those_of_the_prior() -> None:
    """Where better known units have larger thetas, each level has a prior of its own; their mean is the prior."""
    rng = np.random.default_rng(0)
    u = np.linspace(0.0, 8.0, 200)
    prior = rng.dirichlet(np.ones(200), size=3).astype(np.float32)
    given = setting("normal", [0.5, 1.0, 2.0], [300, 400, 300], 4.0)
    leaning_up = leaning(prior, u, type(given)(given.channel, given.known, given.units, 4.0, lean=0.5))
    means = leaning_up @ u
    assert (np.diff(means, axis=0) < 0).all()  # levels are in order of their noise
    assert np.abs(np.average(means, axis=0, weights=given.units) - prior @ u).max() < 0.25
