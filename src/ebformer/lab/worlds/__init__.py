"""Worlds: distributions over priors, to measure estimators on and to pre-train networks in."""

from ebformer.lab.worlds.base import MEASURING, TRAINING, PaperThetaMax, Priors, ThetaMaxLaw, World
from ebformer.lab.worlds.dirichlet import Dirichlet
from ebformer.lab.worlds.everyday import FewAtoms, GammaWorld, LogNormal, PointMass, ZeroInflated, Zipf
from ebformer.lab.worlds.least_favourable import LeastFavourable
from ebformer.lab.worlds.mixture import MixtureOfWorlds
from ebformer.lab.worlds.multinomial import Multinomial
from ebformer.lab.worlds.named import WORLDS, world_named
from ebformer.lab.worlds.neural import Neural
from ebformer.lab.worlds.universal import Universal

__all__ = [
    "MEASURING",
    "TRAINING",
    "WORLDS",
    "Dirichlet",
    "FewAtoms",
    "GammaWorld",
    "LeastFavourable",
    "LogNormal",
    "MixtureOfWorlds",
    "Multinomial",
    "Neural",
    "PaperThetaMax",
    "PointMass",
    "Priors",
    "ThetaMaxLaw",
    "Universal",
    "World",
    "ZeroInflated",
    "Zipf",
    "world_named",
]
