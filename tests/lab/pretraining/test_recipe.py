"""Recipes survive JSON, and the published protocol has the gradient of its collapsed form."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ebformer.errors import InputError  # noqa: E402
from ebformer.lab.pretraining.loop import optimisers  # noqa: E402
from ebformer.lab.pretraining.network import TransformerModule  # noqa: E402
from ebformer.lab.pretraining.recipes import RECIPES, recipe_from  # noqa: E402
from ebformer.lab.pretraining.transformer_legs import LEGS  # noqa: E402
from ebformer.lab.pretraining.transformer_recipe import Thinned, TransformerRecipe, untied  # noqa: E402
from ebformer.lab.worlds.base import PaperThetaMax  # noqa: E402
from ebformer.networks.architecture import Architecture  # noqa: E402


@pytest.mark.parametrize("name", RECIPES)
def test_json_round_trip(name: str) -> None:
    text = json.dumps(RECIPES[name].describe(), allow_nan=False)
    assert recipe_from(json.loads(text)) == RECIPES[name]


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(InputError, match="momentum"):
        recipe_from(RECIPES["smoke"].describe() | {"momentum": 1})


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"worlds": ["martian"]}, "there is no world martian"),
        ({"worlds": ["sparse"]}, "a world of the normal channel"),
        ({"worlds": []}, "names no world"),
        ({"family": "forest"}, "family 'forest'"),
        ({"theta_max": 600.0}, "theta_max is 600"),  # the grid of rates ends at 500, where larger ones would pile up
        ({"n": [0, 9]}, "n goes from 0 to 9"),
        ({"targets": "bayes"}, "targets are 'bayes'"),
        ({"training": RECIPES["smoke"].describe()["training"] | {"schedule": "linear"}}, "schedule is 'linear'"),
    ],
)
def test_what_would_train_something_else_is_refused(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        recipe_from(RECIPES["smoke"].describe() | change)


def test_the_paper_models_never_see_what_they_are_measured_on() -> None:
    for recipe in LEGS.values():
        assert set(recipe.worlds) <= {"neural", "dirichlet"} or recipe.worlds == ("universals",)
    for name in ("T24r", "L24r", "T24f", "paper"):
        assert set(RECIPES[name].worlds) == {"neural", "dirichlet"}
    assert RECIPES["paper"].architecture.parameters == 25_601


def test_untied_weights_answer_as_the_tied_ones() -> None:
    torch.manual_seed(0)
    tied = Architecture(layers=6, weight_sets=2)
    start = TransformerModule(tied)
    torch.nn.init.normal_(start.head.weight)
    loose = TransformerModule(replace(tied, weight_sets=6))
    loose.load_state_dict(untied(start.state_dict(), tied, loose.architecture))
    batch = replace(RECIPES["smoke"], architecture=tied).draw(np.random.default_rng(0))
    torch.testing.assert_close(loose(batch.tokens), start(batch.tokens))


def gradients(network: TransformerModule, recipe: TransformerRecipe, seed: int) -> dict[str, torch.Tensor]:
    network.zero_grad()
    recipe.loss(network, recipe.draw(np.random.default_rng(seed))).backward()
    return {name: parameter.grad.clone() for name, parameter in network.named_parameters()}


@pytest.mark.slow
def test_twenty_published_steps_have_the_gradient_of_their_collapsed_form() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    paper = replace(RECIPES["paper"], tallies=1)  # one sequence of 512 units instead of 192, for time
    network = TransformerModule(paper.architecture)
    (adam,) = optimisers(network, paper.training)
    for step in range(20):
        for group in adam.param_groups:
            group["lr"] = paper.training.rate(step)
        published = gradients(network, paper, step)
        collapsed = gradients(network, replace(paper, collapsed=True), step)
        for name, gradient in published.items():
            scale = float(gradient.abs().max())
            assert float((gradient - collapsed[name]).abs().max()) <= 2e-3 * scale + 1e-6, (step, name)
            network.get_parameter(name).grad = gradient
        adam.step()


def test_thinning_is_undone_by_the_weights() -> None:
    # Weighted means under the thinned law are means under the paper's law, up to the constant P(kept).
    rng, thinned = np.random.default_rng(0), Thinned(50.0)
    kept, plain = thinned.draw(rng, 200_000), PaperThetaMax().draw(rng, 200_000)
    weights = thinned.weights(kept)
    for power in (0.5, 1.0):
        assert np.average(kept**power, weights=weights) == pytest.approx(np.mean(plain**power), rel=0.02)
