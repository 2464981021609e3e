"""The oracle: the Bayes rule of a prior that is known. No method can have a smaller risk under that prior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from ebformer.bayes.marginal import AnyPrior
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.rule import BayesRule
from ebformer.tally import Tally


@dataclass(frozen=True)
class Oracle(Estimator):
    """theta_G(x) = E_G[theta | x] for a given prior G, whatever the tally.

    >>> from ebformer.prior import GammaPrior
    >>> Oracle(GammaPrior(2.0, 1.0))(Tally.of([0, 4]))([0, 4])
    array([1., 3.])
    """

    name: ClassVar[str] = "oracle"
    monotone: ClassVar[bool] = True
    answers_unseen: ClassVar[bool] = True
    unequal_exposure: ClassVar[bool] = True

    prior: AnyPrior

    def __post_init__(self) -> None:
        if not isinstance(self.prior, AnyPrior):
            raise InputError(f"the prior of the oracle is {self.prior!r}: give a Prior or a GammaPrior")

    def at_exposure(self, exposure: float) -> Self:
        """The prior of exposure * theta."""
        return replace(self, prior=self.prior.scaled(exposure))

    def fit(self, tally: Tally) -> BayesRule:
        """The tally does not matter."""
        return BayesRule(self.name, self.prior)
