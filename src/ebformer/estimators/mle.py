"""Maximum likelihood, one unit at a time: the raw rate. Every other method is measured against it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from ebformer.distributions import Floats
from ebformer.estimators.base import EVERY_CHANNEL, Estimator
from ebformer.rule import Rule
from ebformer.tally import Tally


@dataclass(frozen=True)
class MleRule(Rule):
    """theta(x) is the theta under which x is likeliest, such as x / exposure."""

    kind: ClassVar[str] = "mle"

    def rescaled(self, scale: float, known: float) -> Self:
        """The same rule; questions that say nothing of what is known mean this."""
        return replace(self, known=known)

    def _estimate(self, x: Floats, known: Floats) -> Floats:
        return self.channel.mle(x, known)

    def _content(self) -> dict[str, Any]:
        return {}

    @classmethod
    def _from_content(cls, content: dict[str, Any], **common: Any) -> MleRule:
        return cls(**common)


@dataclass(frozen=True)
class Mle(Estimator):
    """theta(x) = x / exposure, x / trials or x itself, with no help from the other units.

    >>> rule = Mle()(Tally.of([0, 2, 9]))
    >>> rule([2, 7]), rule(7, exposure=2.0).item()
    (array([2., 7.]), 3.5)
    """

    name: ClassVar[str] = "mle"
    channels: ClassVar[tuple[str, ...]] = EVERY_CHANNEL
    monotone: ClassVar[bool] = True
    answers_unseen: ClassVar[bool] = True
    learns: ClassVar[bool] = False
    unequal_known: ClassVar[bool] = True

    def fit(self, tally: Tally) -> MleRule:
        """The tally does not matter."""
        return MleRule(self.name)
