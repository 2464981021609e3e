"""Empirical Bayes for counts: pre-trained transformers and certified classical estimators.

>>> import ebformer as eb
>>> rule = eb.estimator("gamma")(eb.Tally.of([0, 0, 3, 1, 12, 0, 2]))
>>> rule([0, 3, 20]).round(2)
array([ 0.37,  2.94, 17.49])
>>> low, high = rule.posterior(3).interval(0.9)

Names load when they are first used, so that `import ebformer` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ebformer.bayes.marginal import bayes_rule as bayes_rule
    from ebformer.bayes.marginal import mmse as mmse
    from ebformer.channels.poisson import Poisson as Poisson
    from ebformer.check import ModelWarning as ModelWarning
    from ebformer.errors import EbformerError as EbformerError
    from ebformer.errors import InputError as InputError
    from ebformer.estimators.base import Estimator as Estimator
    from ebformer.estimators.catalogue import CATALOGUE as CATALOGUE
    from ebformer.estimators.catalogue import estimator as estimator
    from ebformer.estimators.contract import check_estimator as check_estimator
    from ebformer.estimators.erm_monotone import ErmMonotone as ErmMonotone
    from ebformer.estimators.gamma import Gamma as Gamma
    from ebformer.estimators.minimax import Minimax as Minimax
    from ebformer.estimators.mle import Mle as Mle
    from ebformer.estimators.npmle.estimator import Npmle as Npmle
    from ebformer.estimators.npmle_em import NpmleEm as NpmleEm
    from ebformer.estimators.oracle import Oracle as Oracle
    from ebformer.estimators.pretrained import Pretrained as Pretrained
    from ebformer.estimators.priorformer import Priorformer as Priorformer
    from ebformer.estimators.robbins import Robbins as Robbins
    from ebformer.prior import GammaPrior as GammaPrior
    from ebformer.prior import Prior as Prior
    from ebformer.rule import Convergence as Convergence
    from ebformer.rule import Rule as Rule
    from ebformer.scikit_learn import EmpiricalBayes as EmpiricalBayes
    from ebformer.tables.frames import estimate as estimate
    from ebformer.tables.frames import shrink as shrink
    from ebformer.tally import Tally as Tally

__version__ = "0.1.0"

HOMES = {
    "CATALOGUE": "estimators.catalogue",
    "Convergence": "rule",
    "EbformerError": "errors",
    "EmpiricalBayes": "scikit_learn",
    "ErmMonotone": "estimators.erm_monotone",
    "Estimator": "estimators.base",
    "Gamma": "estimators.gamma",
    "GammaPrior": "prior",
    "InputError": "errors",
    "Minimax": "estimators.minimax",
    "Mle": "estimators.mle",
    "ModelWarning": "check",
    "Npmle": "estimators.npmle.estimator",
    "NpmleEm": "estimators.npmle_em",
    "Oracle": "estimators.oracle",
    "Poisson": "channels.poisson",
    "Pretrained": "estimators.pretrained",
    "Prior": "prior",
    "Priorformer": "estimators.priorformer",
    "Robbins": "estimators.robbins",
    "Rule": "rule",
    "Tally": "tally",
    "bayes_rule": "bayes.marginal",
    "check_estimator": "estimators.contract",
    "estimate": "tables.frames",
    "estimator": "estimators.catalogue",
    "mmse": "bayes.marginal",
    "shrink": "tables.frames",
}
"""Each public name and the module that defines it."""

__all__ = [name for name in HOMES if name != "EmpiricalBayes"]  # which needs scikit-learn


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'ebformer' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"ebformer.{HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted([*HOMES, "__version__"])
