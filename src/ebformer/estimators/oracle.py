"""The oracle: the Bayes rule of a prior that is known. No method can have a smaller risk under that prior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from ebformer.bayes.marginal import admits
from ebformer.channels import channels
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.prior import AnyPrior
from ebformer.rule import BayesRule
from ebformer.tally import Tally


@dataclass(frozen=True)
class Oracle(Estimator):
    """theta_G(x) = E_G[theta | x] for a given prior G, whatever the tally.

    >>> from ebformer.channels.gamma_prior import GammaPrior
    >>> Oracle(GammaPrior(2.0, 1.0))(Tally.of([0, 4]))([0, 4])
    array([1., 3.])
    """

    name: ClassVar[str] = "oracle"
    monotone: ClassVar[bool] = True
    answers_unseen: ClassVar[bool] = True
    learns: ClassVar[bool] = False
    unequal_known: ClassVar[bool] = True

    prior: AnyPrior

    def __post_init__(self) -> None:
        if not isinstance(self.prior, AnyPrior):
            raise InputError(f"the prior of the oracle is {self.prior!r}: give a Prior or a conjugate one")

    @property
    def channels(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those whose thetas the prior can be of."""
        return tuple(each.name for each in channels() if admits(each, self.prior))

    def in_units(self, scale: float) -> Self:
        """The prior of theta / scale."""
        return replace(self, prior=self.prior.scaled(1.0 / scale))

    def fit(self, tally: Tally) -> BayesRule:
        """The tally does not matter."""
        return BayesRule(self.name, self.prior, channel=tally.channel)
