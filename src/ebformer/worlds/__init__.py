"""Worlds: distributions over priors, to measure estimators on and to pre-train networks in."""

from ebformer.worlds.base import MEASURING, TRAINING, PaperThetaMax, Priors, ThetaMaxLaw, World
from ebformer.worlds.dirichlet import Dirichlet
from ebformer.worlds.everyday import FewAtoms, Gamma, LogNormal, PointMass, ZeroInflated, Zipf
from ebformer.worlds.least_favourable import LeastFavourable
from ebformer.worlds.mixture import Mixture
from ebformer.worlds.multinomial import Multinomial
from ebformer.worlds.neural import Neural

WORLDS: dict[str, type[World]] = {
    world.name: world
    for world in (
        Neural,
        Dirichlet,
        Mixture,
        Multinomial,
        LeastFavourable,
        PointMass,
        FewAtoms,
        Gamma,
        LogNormal,
        ZeroInflated,
        Zipf,
    )
}
"""Every world by its name; `WORLDS["neural"](theta_max=50.0)` makes one."""

__all__ = [
    "MEASURING",
    "TRAINING",
    "WORLDS",
    "Dirichlet",
    "FewAtoms",
    "Gamma",
    "LeastFavourable",
    "LogNormal",
    "Mixture",
    "Multinomial",
    "Neural",
    "PaperThetaMax",
    "PointMass",
    "Priors",
    "ThetaMaxLaw",
    "World",
    "ZeroInflated",
    "Zipf",
]
