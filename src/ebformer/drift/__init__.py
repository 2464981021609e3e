"""How rates move from one look to the next: the law, its cells, its answers, its words, and how it is learnt."""

from ebformer.drift.answers import Earlier
from ebformer.drift.law import Drift
from ebformer.drift.record import PARAMETERS

__all__ = ["PARAMETERS", "Drift", "Earlier"]
