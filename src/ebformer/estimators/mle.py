"""Maximum likelihood, one unit at a time: the count itself. Every other method is measured against it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ebformer.bayes.marginal import Floats
from ebformer.estimators.base import Estimator
from ebformer.rule import Rule
from ebformer.tally import Tally


@dataclass(frozen=True)
class MleRule(Rule):
    """theta(x) = x / exposure."""

    kind: ClassVar[str] = "mle"

    def at_exposure(self, exposure: float) -> Self:
        """The same rule; questions that name no exposure mean this one."""
        return replace(self, exposure=exposure)

    def _estimate(self, x: Floats, exposure: Floats) -> Floats:
        return np.asarray(x / exposure)

    def _content(self) -> dict[str, Any]:
        return {}

    @classmethod
    def _from_content(cls, content: dict[str, Any], **common: Any) -> MleRule:
        return cls(**common)


@dataclass(frozen=True)
class Mle(Estimator):
    """theta(x) = x / exposure, with no help from the other units.

    >>> rule = Mle()(Tally.of([0, 2, 9]))
    >>> rule([2, 7]), rule(7, exposure=2.0).item()
    (array([2., 7.]), 3.5)
    """

    name: ClassVar[str] = "mle"
    monotone: ClassVar[bool] = True
    answers_unseen: ClassVar[bool] = True
    unequal_exposure: ClassVar[bool] = True

    def fit(self, tally: Tally) -> MleRule:
        """The tally does not matter."""
        return MleRule(self.name)
