"""The minimax rule (the paper's gold standard): Bayes against the least favourable prior on [0, theta_max]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import ClassVar, Self

from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.estimators.least_favourable import LARGEST_THETA_MAX, least_favourable
from ebformer.rule import BayesRule
from ebformer.tally import Tally


@dataclass(frozen=True)
class Minimax(Estimator):
    """The Bayes rule of the prior on [0, theta_max] with the largest mmse; it has the least largest risk there.

    `theta_max` bounds the rates; it defaults to the largest count (1 if all are 0), over the exposure, and is the
    largest atom of `rule.prior`. It is certified for every theta_max up to 10^7. The data play no other part: no rule
    can promise more without empirical Bayes.

    >>> rule = Minimax(theta_max=50.0)(Tally.of([3, 14, 15]))
    >>> rule([0, 15, 90]).round(2)
    array([ 4.73, 18.69, 50.  ])
    >>> rule.convergence.reached
    True
    """

    name: ClassVar[str] = "minimax"
    monotone: ClassVar[bool] = True
    answers_unseen: ClassVar[bool] = True
    learns: ClassVar[bool] = False
    unequal_known: ClassVar[bool] = False

    theta_max: float | None = None

    def __post_init__(self) -> None:
        given = self.theta_max
        if given is not None and not (isinstance(given, Real) and 0 < given <= LARGEST_THETA_MAX):
            raise InputError(f"theta_max is {given!r}: give a positive number of at most {LARGEST_THETA_MAX:g}")

    def in_units(self, scale: float) -> Self:
        """The bound in other units."""
        return self if self.theta_max is None else replace(self, theta_max=self.theta_max / scale)

    def fit(self, tally: Tally) -> BayesRule:
        """The same rule for every tally with the same theta_max."""
        theta_max = float(max(tally.values[-1], 1)) if self.theta_max is None else self.theta_max
        prior, convergence = least_favourable(theta_max)
        return BayesRule(self.name, prior, convergence=convergence)
