"""Real data: hockey, baseball, books and small classics, each a list of holdouts, and how well methods predict them.

>>> from ebformer.lab.fielddata import Holdout, score
>>> from ebformer.channels.gamma_prior import GammaPrior
>>> from ebformer.rule import BayesRule
>>> season = Holdout.of([9, 0, 3], [6, 1, 4], data="goals", case="1990")
>>> round(score(season, BayesRule("gamma", GammaPrior(3.0, 1.0))).rmse_improvement, 1)
66.3
"""

from ebformer.lab.fielddata.holdout import Holdout
from ebformer.lab.fielddata.scoring import evaluate, score

__all__ = ["Holdout", "evaluate", "score"]
