"""Worlds: distributions over priors, to measure estimators on and to pre-train networks in."""

from ebformer.worlds.base import MEASURING, TRAINING, PaperThetaMax, Priors, ThetaMaxLaw, World
from ebformer.worlds.dirichlet import Dirichlet
from ebformer.worlds.mixture import Mixture
from ebformer.worlds.neural import Neural

__all__ = ["MEASURING", "TRAINING", "Dirichlet", "Mixture", "Neural", "PaperThetaMax", "Priors", "ThetaMaxLaw", "World"]
