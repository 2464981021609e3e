"""`ebformer train`: a run begins, refuses to be overwritten, continues, and ships with a card."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner

from command_line import ebformer
from ebformer.errors import InputError
from ebformer.lab.commands import train
from ebformer.networks import weights

torch = pytest.importorskip("torch")


def call(*arguments: str) -> str:
    result = CliRunner().invoke(train.command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


# The card measures on [0, 50], where the smoke recipe, which knows [0, 10], may warn.
@pytest.mark.filterwarnings("ignore::ebformer.networks.estimates.OutsideTrainingRange")
def test_a_run_begins_continues_and_ships(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    call("smoke", "--steps", "4", "--folder", str(folder))
    assert json.loads((folder / "recipe.json").read_text())["training"]["steps"] == 4
    with pytest.raises(InputError, match="--resume"):
        call("smoke", "--folder", str(folder))
    call("smoke", "--folder", str(folder), "--resume")  # already done: nothing is trained, nothing is lost
    assert (folder / "log.csv").read_text().count("\n") == 2

    monkeypatch.setattr(train, "CARD_SIZES", (64,))
    monkeypatch.setattr(train, "CARD_PRIORS", 2)
    call("smoke", "--folder", str(folder), "--ship", str(tmp_path / "zoo"))
    shipped = weights.load(tmp_path / "zoo" / "smoke.safetensors")
    card = (tmp_path / "zoo" / "smoke.md").read_text()
    assert shipped.sha256 in card
    assert f"{shipped.config.parameters:,}" in card
    assert "neural 64" in card
    assert (tmp_path / "zoo" / "smoke.png").stat().st_size > 0


def test_a_run_that_was_stopped_before_its_first_record_is_not_shipped(tmp_path: Path) -> None:
    from ebformer.lab.pretraining import loop, recipes, runs

    begun = runs.begin(tmp_path / "run", recipes.RECIPES["smoke"])
    loop.Run(begun.network(), begun.training, tmp_path / "run").save()
    with pytest.raises(InputError, match="before its first record"):
        call("smoke", "--folder", str(tmp_path / "run"), "--ship", str(tmp_path / "zoo"))


def test_a_recipe_file_is_a_recipe_and_minutes_become_steps(tmp_path: Path) -> None:
    call("smoke", "--steps", "1", "--folder", str(tmp_path / "first"))
    again = tmp_path / "again"
    call(str(tmp_path / "first" / "recipe.json"), "--minutes", "0.001", "--folder", str(again))
    first, second = (json.loads((path / "recipe.json").read_text()) for path in (tmp_path / "first", again))
    assert second["training"].pop("steps") >= 1
    assert first["training"].pop("steps") == 1
    assert first == second


def test_a_leg_without_the_one_before_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    from ebformer.lab.pretraining.recipes import RECIPES

    (tmp_path / "mine.json").write_text(json.dumps(RECIPES["smoke"].describe() | {"start": ["yours"]}))
    with pytest.raises(InputError, match="starts from yours, which is neither a recipe nor a finished run"):
        call(str(tmp_path / "mine.json"), "--folder", str(tmp_path / "mine"))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]


def test_earlier_legs_are_trained_first_and_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ebformer.lab.pretraining.recipes import RECIPES

    monkeypatch.setitem(RECIPES, "early", RECIPES["smoke"])
    monkeypatch.setitem(RECIPES, "late", replace(RECIPES["smoke"], start=("early",)))
    call("late", "--steps", "2", "--folder", str(tmp_path / "late"))
    early = (tmp_path / "early" / "state.pt").stat().st_mtime_ns
    assert (tmp_path / "late" / "state.pt").stat().st_mtime_ns > early
    with pytest.raises(InputError, match="--resume"):
        call("late", "--folder", str(tmp_path / "late"))
    assert (tmp_path / "early" / "state.pt").stat().st_mtime_ns == early


def test_anybodys_world_trains_any_network_in_any_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of docs/training.md: the world lies in the present folder, and a run goes on with it."""
    page = (Path(__file__).parents[3] / "docs" / "training.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(# my_worlds\.py\n.*?)```", page, re.DOTALL)
    (tmp_path / "my_worlds.py").write_text(example)
    monkeypatch.chdir(tmp_path)
    call("priorformer-smoke", "--world", "my_worlds:Bumps", "--steps", "2", "--folder", "bumps")
    call("priorformer-smoke", "--folder", "bumps", "--resume")
    described = json.loads((tmp_path / "bumps" / "recipe.json").read_text())
    assert [(study["channel"], list(study["worlds"])) for study in described["studies"]] == [
        ("poisson", ["my_worlds:Bumps"])
    ]
    call("smoke", "--world", "my_worlds:Bumps, gammas", "--steps", "1", "--folder", "both")
    assert json.loads((tmp_path / "both" / "recipe.json").read_text())["worlds"] == ["my_worlds:Bumps", "gammas"]
    for name in ("my_worlds:Nothing", "no_worlds:Bumps", "json:loads", "nowhere"):
        with pytest.raises(InputError, match=name):
            call("smoke", "--world", name, "--folder", "wrong")


def test_priorformer_ships_with_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train, "CARD_SIZES", (64,))
    monkeypatch.setattr(train, "CARD_PRIORS", 2)
    run = ("priorformer-smoke", "--folder", str(tmp_path / "priorformer-smoke"))
    call(*run, "--steps", "2", "--world", "gammas,bells,betas")
    call(*run, "--ship", str(tmp_path))
    shipped = weights.load(tmp_path / "priorformer-smoke.safetensors")
    card = (tmp_path / "priorformer-smoke.md").read_text()
    for told in (shipped.sha256, f"{shipped.config.parameters:,}", "normal 27 %", "gammas", "2 steps", "ebformer 0."):
        assert told in card
    assert (tmp_path / "priorformer-smoke.png").stat().st_size > 0


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(InputError, match="neither a recipe"):
        call("T25r")


@pytest.mark.parametrize("content", ["{", "[]", "3", '{"training": {}}', '{"training": {"betas": 1}}'])
def test_a_file_without_a_recipe_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "mine.json").write_text(content)
    with pytest.raises(InputError, match=r"mine\.json holds no recipe"):
        call(str(tmp_path / "mine.json"), "--folder", str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_torchrun_shares_a_run_between_two_processes(tmp_path: Path) -> None:
    """One process writes, both draw: one log, and other weights than one process finds."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # With --standalone the processes meet by heartbeats, which a busy machine may miss.
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(port))
    together = (*torchrun, "-m", "ebformer", "train", "smoke", "--steps", "3", "--folder", str(tmp_path / "two"))
    done = subprocess.run(together, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "two" / "log.csv").read_text().count("\n") == 2
    call("smoke", "--steps", "3", "--folder", str(tmp_path / "one"))
    two, one = (
        torch.load(tmp_path / name / "state.pt", weights_only=True)["network"]["embed.weight"]
        for name in ("two", "one")
    )
    assert not torch.equal(two, one)  # the second process drew other tallies


def test_ctrl_c_before_the_first_checkpoint_promises_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("ebformer.lab.pretraining.loop.write_log", press)
    done = ebformer("train", "smoke", "--folder", tmp_path / "r")
    assert done.returncode == 130
    assert not (tmp_path / "r" / "state.pt").exists()
    assert done.stderr.endswith("with --resume goes on from the last checkpoint, one every 180 seconds\n")
