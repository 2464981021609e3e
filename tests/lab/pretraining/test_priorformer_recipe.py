"""priorformer's recipe: every step draws what it says, lowers the loss, and is the same after a kill."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ebformer.channels import channel_named  # noqa: E402
from ebformer.errors import InputError  # noqa: E402
from ebformer.lab.pretraining import runs  # noqa: E402
from ebformer.lab.pretraining.loop import Task, train  # noqa: E402
from ebformer.lab.pretraining.priorformer_legs import LEGS  # noqa: E402
from ebformer.lab.pretraining.priorformer_recipe import sample_size  # noqa: E402
from ebformer.lab.pretraining.recipes import RECIPES, recipe_from  # noqa: E402
from ebformer.lab.worlds import world_named  # noqa: E402
from ebformer.networks import weights as weights_file  # noqa: E402
from ebformer.networks.priorformer_block import PriorformerConfig  # noqa: E402

SMOKE = LEGS["priorformer-smoke"]
ONE_WORLD = zip(SMOKE.studies, ("gammas", "bells", "betas"), strict=True)
SMALL = replace(
    SMOKE,
    tallies=8,
    studies=tuple(replace(study, worlds={world: (8, 8, 8)}) for study, world in ONE_WORLD),
    sizes=((10, 300, 1.0),),
).planned(steps=6)


@pytest.mark.parametrize("study", LEGS["priorformer"].studies, ids=lambda study: study.channel)
def test_the_worlds_of_a_study_give_priors_on_the_domain_of_its_channel(study) -> None:
    rng, domain = np.random.default_rng(4), channel_named(study.channel).domain
    for name in study.worlds:
        top = study.setting(rng, 100).theta_max
        priors = world_named(name).sample(rng, np.full(8, min(top, domain[1])), 4)
        atoms, weights = study.turned(rng, priors[0]), priors[1]
        assert weights.min() >= 0
        np.testing.assert_allclose(weights.sum(axis=1), 1.0)
        assert np.isfinite(atoms).all()
        assert domain[0] <= atoms[weights > 0].min() <= atoms[weights > 0].max() <= domain[1]


@pytest.mark.parametrize("study", LEGS["priorformer"].studies, ids=lambda study: study.channel)
def test_the_units_of_a_setting_are_possible_and_add_up(study) -> None:
    rng = np.random.default_rng(2)
    for n in (1, 5, 40, 3000):
        for _ in range(20):
            setting = study.setting(rng, n)
            assert setting.n == n
            assert setting.units.min() >= 1
            assert setting.channel.possible_known(setting.known).all()
    assert study.watched(200).n == 200


def test_sample_sizes_follow_their_law() -> None:
    rng = np.random.default_rng(0)
    sizes = np.array([sample_size(rng, LEGS["priorformer"].sizes) for _ in range(20_000)])
    assert sizes.min() >= 1
    assert sizes.max() <= 2_000_000
    expected = 0.25 + 0.15 * np.log(64) / np.log(2e6)
    assert np.mean(sizes < 64) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"studies": []}, "names no channel"),
        ({"sizes": [[5, 64, 0.5]]}, "sizes add up to 0.5"),
        ({"sizes": [[64, 5, 1.0]]}, "from 64 to 5"),
        ({"tallies": 3}, "3 tallies"),
        ({"tallies": 9}, "share 8 tallies of a step: let them share 9"),
        ({"momentum": 1}, "momentum"),
        ({"studies": [{"channel": "poisson", "chance": 1.0, "unequal": 0.0, "worlds": {"bells": [4, 4, 4]}}]}, "bells"),
        ({"studies": [{"channel": "gamma", "chance": 1.0, "unequal": 0.0, "worlds": {}}]}, "channel 'gamma'"),
    ],
)
def test_what_would_train_something_else_is_refused(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        recipe_from(json.loads(json.dumps(SMALL.describe() | change)))


def test_other_worlds_keep_the_channels_in_proportion() -> None:
    whole = LEGS["priorformer"]
    recipe = whole.on(["sparse", "tails", "few"])
    assert [study.channel for study in recipe.studies] == ["poisson", "normal"]
    counts, effects, _ = (study.chance for study in whole.studies)
    assert recipe.studies[0].chance == pytest.approx(counts / (counts + effects))
    assert recipe.studies[0].worlds == {"tails": (16, 16, 16), "few": (16, 16, 16)}
    with pytest.raises(InputError, match="betas is a world of the binomial channel"):
        recipe.on(["betas"])


def test_a_few_steps_lower_the_loss() -> None:
    """On one fixed batch, gradient descent on the loss overfits: gradients reach every parameter."""
    torch.manual_seed(6)
    network = SMALL.network()
    for block in network.blocks:
        torch.nn.init.normal_(block.head.weight, std=0.1)  # at zero they would hide everything before them
    batch = SMALL.draw(np.random.default_rng(8))
    optimiser = torch.optim.AdamW(network.parameters(), 3e-3)
    losses = []
    for _ in range(12):
        optimiser.zero_grad()
        loss = SMALL.loss(network, batch)
        loss.backward()
        assert all(p.grad is not None and float(p.grad.abs().max()) > 0 for p in network.parameters())
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]


def test_interrupted_and_resumed_gives_the_same_weights(tmp_path: Path) -> None:
    """Ctrl-C waits for the end of the step and a checkpoint; from there the run goes on as if nothing had happened."""
    torch.set_num_threads(1)

    def trained(folder: Path, interrupted_at: int | None = None) -> dict[str, torch.Tensor]:
        draws = 0

        def draw(rng: np.random.Generator):
            nonlocal draws
            draws += 1
            if draws == interrupted_at:
                signal.raise_signal(signal.SIGINT)
            return SMALL.draw(rng)

        torch.manual_seed(0)
        network = SMALL.network()
        return train(network, Task(draw, SMALL.loss), SMALL.training, folder, log_every=2).state_dict()

    whole = trained(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "stopped", interrupted_at=3)
    assert torch.load(tmp_path / "stopped" / "state.pt", weights_only=True)["progress"]["step"] == 3
    resumed = trained(tmp_path / "stopped")
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_the_road_from_random_weights_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Legs come in order, finished ones are not repeated, equal seeds give equal weights, and the file says it all."""
    larger = replace(SMALL, architecture=replace(SMALL.architecture, blocks=3), start=("first",))
    monkeypatch.setitem(RECIPES, "first", SMALL.planned(steps=2))
    shipped = []
    for home in (tmp_path / "one", tmp_path / "two"):
        last = home / "last"
        assert list(runs.road(larger, last)) == [home / "first", last]
        with runs.processes(1, "cpu"):
            for place, leg in runs.road(larger, last).items():
                runs.run(place, runs.begin(place, leg.planned(steps=2)))
        assert runs.finished(last)
        assert list(runs.road(larger, last)) == [last]
        shipped.append(runs.ship(last, tmp_path / f"{home.name}.safetensors"))
    one, two = shipped
    assert one.config == PriorformerConfig(blocks=3, width=16, reach=8, em_steps=4)
    assert all(np.array_equal(one.arrays[name], two.arrays[name]) for name in one.arrays)

    made = weights_file.load(tmp_path / "one.safetensors").provenance
    assert recipe_from(made["recipe"]) == larger.planned(steps=2)
    assert recipe_from(made["legs"]["first"]["recipe"]) == RECIPES["first"]
    assert made["steps"] == made["legs"]["first"]["steps"] == 2
    assert set(made["code"]) == {"ebformer", "commit", "torch"}
    assert made["range"] == {"n": [10, 300]}


def test_a_network_cannot_begin_with_more_blocks_than_it_has(tmp_path: Path) -> None:
    recipe = replace(SMALL, start=("priorformer",))  # the shipped one, which is larger in every way
    with pytest.raises(InputError, match="cannot begin with"):
        runs.run(tmp_path / "run", recipe)
