"""Worlds by name: ours, and anybody's as module:Name."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module

from ebformer.errors import InputError
from ebformer.lab.worlds import dirichlet, effects, everyday, proportions, rates
from ebformer.lab.worlds.base import World
from ebformer.lab.worlds.least_favourable import LeastFavourable
from ebformer.lab.worlds.mixture import MixtureOfWorlds
from ebformer.lab.worlds.multinomial import Multinomial
from ebformer.lab.worlds.neural import Neural
from ebformer.lab.worlds.universal import Universal, Universals

OF_THE_PAPER = (Neural, dirichlet.Dirichlet, MixtureOfWorlds, Multinomial, LeastFavourable, Universal, Universals)
OF_RATES = (
    dirichlet.CoarseDirichlet,
    dirichlet.FineDirichlet,
    everyday.PointMass,
    everyday.FewAtoms,
    everyday.GammaWorld,
    everyday.LogNormal,
    everyday.ZeroInflated,
    everyday.Zipf,
    rates.Gammas,
    rates.Tails,
    rates.Groups,
    rates.Alike,
    rates.Few,
    rates.Spaced,
    rates.Smooth,
    rates.Edged,
)
OF_EFFECTS = (
    effects.Bells,
    effects.Skewed,
    effects.Flat,
    effects.Modes,
    effects.Scales,
    effects.Sparse,
    effects.FewEffects,
)
OF_PROPORTIONS = (
    proportions.Betas,
    proportions.Wide,
    proportions.Logits,
    proportions.Spiked,
    proportions.Kinds,
    proportions.FewProportions,
    proportions.Pushed,
)

WORLDS: dict[str, type[World]] = {
    world.name: world for world in (*OF_THE_PAPER, *OF_RATES, *OF_EFFECTS, *OF_PROPORTIONS)
}
"""Every world by its name; `WORLDS["neural"](theta_max=50.0)` makes one."""


@cache
def world_named(name: str) -> World:
    """The world of this name, or one of anybody's module, in the present folder perhaps: `my_worlds:Bumps`.

    >>> world_named("gammas")
    Gammas(theta_max=50.0)
    >>> world_named("ebformer.lab.worlds.dirichlet:FineDirichlet").alpha
    500.0
    """
    if name in WORLDS:
        return WORLDS[name]()
    module, colon, attribute = name.partition(":")
    if not colon:
        raise InputError(f"there is no world {name}: choose from {', '.join(WORLDS)}, or write module:Name")
    if "" not in sys.path:
        sys.path.append("")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise InputError(f"the world {name} cannot be imported: {error}") from error
    made = found() if isinstance(found, type) and issubclass(found, World) else found
    if not isinstance(made, World):
        raise InputError(
            f"{name} is {found!r}: give a subclass of ebformer.lab.worlds.World, or a world of such a kind"
        )
    return made
