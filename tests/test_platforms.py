"""Where ebformer runs: without a compiler it gives the same answers, and on other machines it says why not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ebformer
from ebformer.estimators.npmle import loops
from ebformer.networks import kernels
from ebformer.networks.libraries import compiled_from

PACKAGE = Path(ebformer.__file__).parent
ASK = """
import json, sys, warnings
import numpy as np
import ebformer as eb
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
t = rng.uniform(0.5, 4.0, 60)
x = rng.poisson(rng.gamma(2.0, 2.0, 60) * t)
names = ("npmle", "npmle-em", "npmle-smooth", "newton", "gamma", "gamma-mixture", "priorformer")
found = {name: eb.estimate(x, exposure=t, method=name).tolist() for name in names}
found |= {name: eb.estimate(x, method=name).tolist() for name in ("T24r", "npmle")}
print(json.dumps(found))
"""


def answers(folder: Path) -> dict[str, list[float]]:
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True)
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(not list(PACKAGE.rglob("*.so")), reason="nothing is compiled here")
def test_without_a_compiler_the_answers_are_the_same(tmp_path: Path) -> None:
    shutil.copytree(
        PACKAGE, tmp_path / "ebformer", ignore=shutil.ignore_patterns("*.so", "*.dll", "lab", "__pycache__")
    )
    compiled, plain = answers(PACKAGE.parent), answers(tmp_path)
    for name, found in plain.items():
        digits = 1e-5 if name in ("priorformer", "T24r") else 1e-8  # networks compute in single precision
        assert np.array(found) == pytest.approx(np.array(compiled[name]), rel=digits), name


@pytest.mark.parametrize("pretence", ["sys.maxsize = 2**31 - 1", "sys.byteorder = 'big'"])
def test_other_machines_are_refused_in_a_sentence(pretence: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import lazy_loader, sys; {pretence}; import ebformer"], capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == "ImportError: ebformer needs a 64-bit Python on a little-endian machine"


def test_libraries_are_looked_for_beside_the_package_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for module, source in ((kernels, "kernels.c"), (loops, "loops.c")):
        home = Path(str(module.__file__)).parent
        path = compiled_from(home / source)
        assert path.is_absolute()
        assert path.parent == home
