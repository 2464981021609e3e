"""A cluster gives the table of one process, to Python and to the command."""

import joblib
import pytest

from command_line import ebformer
from ebformer.estimators.mle import Mle
from ebformer.estimators.robbins import Robbins
from ebformer.lab.arena import Arena, draw_trials, read
from ebformer.lab.worlds import Multinomial, PointMass

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # the cluster's own complaints about ports and garbage are not ours to judge
]


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as two:
        yield two


def numbers(losses):
    """Everything but the clock."""
    return [repr(loss[:-1]) for loss in losses]


def test_a_dask_cluster_of_two_workers_gives_the_same_table(cluster):
    trials = draw_trials([PointMass(), Multinomial()], [50, 400], priors=6, repeats=2, seed=0)
    arena = Arena({"mle": Mle(), "robbins": Robbins()}, trials)
    with distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        assert numbers(arena.run()) == numbers(arena.run(workers=1))


def test_the_cluster_of_an_address_gives_the_table_of_one_process(cluster, tmp_path):
    design = ["arena", "--world", "multinomial", "--n", "64", "--priors", "6", "--estimators", "mle,robbins"]
    assert ebformer(*design, "--workers", "1", "-o", tmp_path / "alone.csv").returncode == 0
    done = ebformer(*design, "--cluster", cluster.scheduler_address, "-o", tmp_path / "cluster.csv")
    assert done.returncode == 0, done.stderr
    assert numbers(read(tmp_path / "cluster.csv")) == numbers(read(tmp_path / "alone.csv"))
