"""How rates move from one look to the next: the law, its cells, its answers, its words, and how it is learnt."""

from ebformer.drift.answers import Earlier
from ebformer.drift.law import PARAMETERS, Drift

__all__ = ["PARAMETERS", "Drift", "Earlier"]
