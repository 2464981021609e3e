"""`ebformer train`: a run begins, refuses to be overwritten, continues, and ships with a card."""

from __future__ import annotations

import json
import subprocess
import sys
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
    from ebformer.lab.pretraining import loop, network, recipe, runs

    begun = runs.begin(tmp_path / "run", recipe.RECIPES["smoke"])
    loop.Run(network.TransformerModule(begun.architecture), begun.training, tmp_path / "run").save()
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
    with pytest.raises(InputError, match="train T24r-long there first"):
        call("T24r-short", "--folder", str(tmp_path / "T24r-short"))
    assert list(tmp_path.iterdir()) == []


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
    """One process writes, both draw: one log, other weights than one process finds, the same ones every time."""

    def train_on_two(folder: Path, *arguments: str) -> None:
        torchrun = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
        command = (*torchrun, "-m", "ebformer", "train", *arguments, "--folder", str(folder))
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    train_on_two(tmp_path / "two", "smoke", "--steps", "3")
    assert (tmp_path / "two" / "log.csv").read_text().count("\n") == 2
    alone = tmp_path / "one"
    call("smoke", "--steps", "3", "--folder", str(alone))
    two, one = (
        torch.load(folder / "state.pt", weights_only=True)["network"]["embed.weight"]
        for folder in (tmp_path / "two", alone)
    )
    assert not torch.equal(two, one)  # the second process drew other tallies

    train_on_two(tmp_path / "again", "smoke", "--steps", "3")
    again = torch.load(tmp_path / "again" / "state.pt", weights_only=True)["network"]["embed.weight"]
    assert torch.equal(two, again)


def test_ctrl_c_before_the_first_checkpoint_promises_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("ebformer.lab.pretraining.loop.write_log", press)
    done = ebformer("train", "smoke", "--folder", tmp_path / "r")
    assert done.returncode == 130
    assert not (tmp_path / "r" / "state.pt").exists()
    assert done.stderr.endswith("with --resume goes on from the last checkpoint, one every 180 seconds\n")
