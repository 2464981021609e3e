"""A researcher: a world, a method and a network of her own, trained, exported and scored beside ours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import ebformer as eb
from command_line import ebformer
from ebformer.rule import BayesRule

pytest.importorskip("torch")
runtime = pytest.importorskip("onnxruntime")

WORLD = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ebformer.lab.worlds import World


@dataclass(frozen=True)
class Bumps(World):
    """Two groups of rates, each 10 % wide."""

    name: ClassVar[str] = "bumps"

    def sample(self, rng, theta_max, fineness):
        centre = rng.random((len(theta_max), 2, 1))
        atoms = theta_max[:, None, None] * centre * np.linspace(0.9, 1.0, 20)
        share = rng.dirichlet([1.0, 1.0], len(theta_max))
        return atoms.reshape(-1, 40), share.repeat(20, axis=1) / 20
'''


@dataclass(frozen=True)
class Halfway(eb.Estimator):
    """Everybody is half-way to the mean: a prior of two atoms as far apart as the counts are."""

    name: ClassVar[str] = "halfway"
    monotone, answers_unseen, unequal_known = True, True, True

    def fit(self, tally: eb.Tally) -> BayesRule:
        spread = np.sqrt(max(tally.multiplicity @ (tally.x / tally.known - tally.mean) ** 2 / tally.n, 0.0))
        return BayesRule(self.name, eb.Prior(np.maximum(tally.mean + spread * np.array([-1.0, 1.0]), 0.0), [0.5, 0.5]))


def run(*arguments: str | Path, folder: Path) -> None:
    done = ebformer(*arguments, folder=folder)
    assert done.returncode == 0, done.stderr


# A smoke recipe knows rates up to 10 only, and is asked about more.
@pytest.mark.filterwarnings("ignore::ebformer.networks.estimates.OutsideTrainingRange")
def test_a_world_a_method_and_a_network_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ebformer.lab.arena import Arena, draw_trials
    from ebformer.lab.commands import train
    from ebformer.lab.worlds.named import world_named

    (tmp_path / "own_worlds.py").write_text(WORLD, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(train, "CARD_SIZES", (64,))
    monkeypatch.setattr(train, "CARD_PRIORS", 2)
    run("train", "smoke", "--world", "own_worlds:Bumps", "--steps", "3", "--folder", "run", folder=tmp_path)
    run("train", "smoke", "--folder", "run", "--ship", "shelf", folder=tmp_path)
    weights = tmp_path / "shelf" / "smoke.safetensors"

    run("export", weights, "-o", "mine.onnx", folder=tmp_path)
    tally = eb.Tally.of(np.random.default_rng(0).poisson(4.0, 300))
    session = runtime.InferenceSession(str(tmp_path / "mine.onnx"), providers=["CPUExecutionProvider"])
    given = {"x": tally.values.astype(np.float32), "multiplicity": tally.multiplicity.astype(np.float32)}
    mine = eb.Pretrained.load(weights)
    elsewhere = np.asarray(session.run(["estimate"], given)[0])
    assert np.allclose(elsewhere, mine(tally).fitted + mine(tally).excess, rtol=2e-3, atol=2e-3)

    beside = ["--world", "own_worlds:Bumps", "--estimators", f"mle,{weights}", "--n", "64", "--priors", "2"]
    run("arena", *beside, "--workers", "1", "-o", "scores.csv", folder=tmp_path)
    assert str(weights) in (tmp_path / "scores.csv").read_text(encoding="utf-8")

    eb.check_estimator(Halfway())
    rivals = {"mle": eb.Mle(), "halfway": Halfway(), "mine": mine, "priorformer": eb.Priorformer()}
    bumps = replace(world_named("own_worlds:Bumps"), theta_max=8.0)
    losses = Arena(rivals, draw_trials([bumps], [200], priors=6)).run(tmp_path / "losses.csv", workers=1)
    regret = {name: np.mean([loss.regret for loss in losses if loss.estimator == name]) for name in rivals}
    assert set(regret) == set(rivals)
    assert np.isfinite(list(regret.values())).all()
    assert regret["priorformer"] < regret["mle"]
