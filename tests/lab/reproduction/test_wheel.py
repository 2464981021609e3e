"""What only the laboratory needs, and not to run, does not travel with every installation."""

import shutil
import zipfile
from pathlib import Path

import pytest

from ebformer.lab.reproduction import training_worlds

ROOT = Path(__file__).parents[3]


def test_weights_of_the_ablation_stay_in_the_repository(tmp_path, monkeypatch, capsys):
    builders = pytest.importorskip("hatchling.builders.wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore", "hatch_build.py"):
        shutil.copy(ROOT / name, tmp_path)
    here = training_worlds.FOLDER.relative_to(ROOT)
    for weights in (here / "mixture.safetensors", Path("src/ebformer/networks/zoo/T24r.safetensors")):
        (tmp_path / weights).parent.mkdir(parents=True)
        shutil.copy(ROOT / weights, tmp_path / weights)
    shutil.copy(ROOT / "src/ebformer/__init__.py", tmp_path / "src/ebformer")
    monkeypatch.setenv("CC", "false")
    (wheel,) = builders.WheelBuilder(str(tmp_path)).build(directory=str(tmp_path / "dist"), versions=["standard"])
    packed = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".safetensors")]
    assert packed == ["ebformer/networks/zoo/T24r.safetensors"]
