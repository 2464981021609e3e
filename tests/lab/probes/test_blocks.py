"""A network cut off after its last block is the network itself; what is measured on the way has known limits."""

import numpy as np
import pytest

from ebformer.lab.probes.blocks import NPMLE, cut_off, watch
from ebformer.lab.worlds import FewAtoms
from ebformer.networks.priorformer import PriorformerNetwork
from ebformer.networks.priorformer_block import PriorformerConfig
from ebformer.networks.weights import Weights
from ebformer.prior import Prior
from ebformer.tally import Tally


@pytest.fixture(scope="module")
def weights():
    config, rng = PriorformerConfig(blocks=3, width=8, heads=2, reach=8, em_steps=4), np.random.default_rng(0)
    arrays = {name: 0.1 * rng.normal(size=shape).astype(np.float32) for name, shape in config.shapes().items()}
    return Weights(config, arrays)


def test_nothing_cut_off_is_the_whole_network(weights):
    tally = Tally.of([0, 0, 1, 2, 2, 5, 9])
    whole, cut = PriorformerNetwork(weights).prior(tally), cut_off(weights, 3).prior(tally)
    assert np.array_equal(whole.atoms, cut.atoms)
    assert np.array_equal(whole.weights, cut.weights)
    assert not np.allclose(cut_off(weights, 2).prior(tally).weights, whole.weights)


def test_no_block_passes_the_maximum_of_the_likelihood(weights):
    found = watch(weights, FewAtoms(10.0), seed=0, n=200, priors=4)
    assert {f.stage for f in found} == {"1", "2", "3", NPMLE}
    for f in found:
        assert f.regret >= 0
        assert f.distance >= 0
        assert f.atoms >= 1
        assert f.shortfall >= -1e-4 if f.stage != NPMLE else f.shortfall == 0


def test_the_true_prior_has_no_regret_and_no_distance():
    from ebformer.lab.probes.blocks import _measured

    truth, tally = Prior([1.0, 5.0], [0.5, 0.5]), Tally.of([0, 1, 4, 7])
    regret, distance, atoms, _ = _measured(truth, truth, tally, 0.0)
    assert (regret, distance) == (0.0, 0.0)
    assert abs(atoms - 2) < 1e-12
    moved = Prior([1.5, 5.5], [0.5, 0.5])
    assert abs(_measured(moved, truth, tally, 0.0)[1] - 0.5) < 1e-12
