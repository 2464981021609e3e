"""Recipes by name, and recipes as they were described."""

from __future__ import annotations

from typing import Any

from ebformer.errors import InputError
from ebformer.lab.pretraining import priorformer_legs, transformer_legs
from ebformer.lab.pretraining.priorformer_recipe import PriorformerRecipe
from ebformer.lab.pretraining.recipe import AnyRecipe
from ebformer.lab.pretraining.transformer_recipe import TransformerRecipe

RECIPES: dict[str, AnyRecipe] = {**transformer_legs.LEGS, **priorformer_legs.LEGS}
"""Every leg by its name."""

KINDS: dict[str, type[AnyRecipe]] = {kind.family: kind for kind in (TransformerRecipe, PriorformerRecipe)}


def recipe_from(description: dict[str, Any]) -> AnyRecipe:
    """The recipe that described itself so, whatever its family.

    >>> recipe_from(RECIPES["priorformer"].describe()) == RECIPES["priorformer"]
    True
    """
    family = description.get("family", TransformerRecipe.family)  # the only one when T24r, L24r and T24f were shipped
    if family not in KINDS:
        raise InputError(f"there are no recipes of the family {family!r}: choose from {', '.join(KINDS)}")
    return KINDS[family].from_description(description)
