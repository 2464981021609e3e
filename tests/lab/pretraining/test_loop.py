"""A run survives being killed, stops when it diverges, and several processes are one larger batch."""

from __future__ import annotations

import csv
import multiprocessing
import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")


from ebformer.lab.pretraining.loop import DivergenceError, Task, Training, train  # noqa: E402
from ebformer.lab.pretraining.network import TransformerModule  # noqa: E402
from ebformer.lab.pretraining.recipes import RECIPES  # noqa: E402
from ebformer.lab.pretraining.runs import processes  # noqa: E402

TRAINING = Training(steps=24, warmup=5, muon=1.0, seed=3)
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["torch._dynamo"])  # what optimisers import, for seconds, is imported once for all
RECIPE = replace(RECIPES["smoke"], training=TRAINING, n=(32, 256), tallies=4)


def trained(folder: Path, killed_at: int | None = None) -> TransformerModule:
    """The small run, from the start or from the folder's checkpoint; at some step the process may kill itself."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    draws = 0

    def draw(rng: np.random.Generator):
        nonlocal draws
        draws += 1
        if draws == killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return RECIPE.draw(rng)

    task = Task(draw, RECIPE.loss, RECIPE.task(tallies_per_cell=4).evaluate)
    return train(
        TransformerModule(RECIPE.architecture),
        task,
        TRAINING,
        folder,
        log_every=5,
        evaluate_every=10,
        checkpoint_every_seconds=0,
    )


def log(folder: Path) -> list[dict[str, str]]:
    with (folder / "log.csv").open() as file:
        return [{k: v for k, v in row.items() if not k.endswith("seconds")} for row in csv.DictReader(file)]


def test_killed_and_resumed_gives_the_same_numbers(tmp_path: Path) -> None:
    whole = trained(tmp_path / "whole")
    process = PROCESSES.Process(target=trained, args=(tmp_path / "killed", 13))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    resumed = trained(tmp_path / "killed")
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, resumed.state_dict()[name]), name
    assert log(tmp_path / "whole") == log(tmp_path / "killed")


def test_training_lowers_the_loss(tmp_path: Path) -> None:
    torch.manual_seed(0)
    recipe = replace(RECIPES["smoke"], training=Training(steps=120, warmup=10), n=(64, 512))
    train(TransformerModule(recipe.architecture), recipe.task(4), recipe.training, tmp_path, log_every=20)
    losses = [float(row["loss"]) for row in log(tmp_path)]
    assert losses[-1] < 0.5 * losses[0]


def test_divergence_stops_with_the_last_good_checkpoint(tmp_path: Path) -> None:
    network, steps = torch.nn.Linear(1, 1), 0

    def bad(network: torch.nn.Linear, batch: float) -> torch.Tensor:
        nonlocal steps
        steps += 1
        return network.weight.sum() * (float("nan") if steps > 3 else 1.0)

    with pytest.raises(DivergenceError, match=r"diverged at step 3 .*last good checkpoint is .*state\.pt"):
        train(network, Task(lambda rng: 0.0, bad), Training(steps=9), tmp_path, checkpoint_every_seconds=0)
    kept = torch.load(tmp_path / "state.pt", weights_only=True)
    assert kept["progress"]["step"] == 3
    assert all(torch.isfinite(tensor).all() for tensor in kept["network"].values())


def joined(rank: int, port: int, folder: Path) -> None:
    """One of two processes; both take part in every step. They meet where torchrun's do: in a store of the parent."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank), "WORLD_SIZE": "2"}
    os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "True"
    with processes(threads=1, device="cpu"):
        torch.save(trained(folder).state_dict(), folder / f"rank{rank}.pt")
        torch.save(trained(folder / "again").state_dict(), folder / f"again{rank}.pt")


def test_two_processes_hold_the_same_weights_every_time_and_write_one_run(tmp_path: Path) -> None:
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    both = [PROCESSES.Process(target=joined, args=(rank, store.port, tmp_path)) for rank in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    first, *others = (
        torch.load(tmp_path / f"{name}.pt", weights_only=True) for name in ("rank0", "rank1", "again0", "again1")
    )
    assert all(torch.equal(first[name], other[name]) for other in others for name in first)
    kept = torch.load(tmp_path / "state.pt", weights_only=True)
    assert len(kept["generators"]) == 2
    assert kept["generators"][0] != kept["generators"][1]
