"""Robbins' estimator: the Bayes rule (x+1) f(x+1) / f(x) with empirical frequencies in place of the marginal f."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.rule import CurveRule
from ebformer.tally import Tally

Variant = Literal["plus-one", "plain", "clipped"]


@dataclass(frozen=True)
class Robbins(Estimator):
    """theta(x) = (x+1) N(x+1) / (N(x) + 1), where N(x) units showed x: Robbins (1956) as the paper benchmarks it.

    `variant="plain"` is the formula itself, without the plus one; it has no value (nan) where N(x) = 0.
    `variant="clipped"` is that of section 4.1: the plain formula, at most M, for x < d, and M from d on. No variant is
    monotone, and none says anything of counts that no unit showed.

    >>> tally = Tally([0, 1, 2], [6, 3, 1])
    >>> Robbins()(tally)([0, 1, 2]).round(4)
    array([0.4286, 0.5   , 0.    ])
    >>> Robbins("plain")(tally)([0, 1, 2]).round(4)
    array([0.5   , 0.6667, 0.    ])
    >>> Robbins("clipped", d=2, M=0.6)(tally)([0, 1, 2])
    array([0.5, 0.6, 0.6])
    """

    name: ClassVar[str] = "robbins"
    monotone: ClassVar[bool] = False
    answers_unseen: ClassVar[bool] = False
    unequal_known: ClassVar[bool] = False

    variant: Variant = "plus-one"
    d: int | None = None
    M: float | None = None

    def __post_init__(self) -> None:
        if self.variant not in ("plus-one", "plain", "clipped"):
            raise InputError(f"the variant of robbins is {self.variant!r}: give 'plus-one', 'plain' or 'clipped'")
        if {self.d is None, self.M is None} != {self.variant != "clipped"}:
            raise InputError("robbins takes both d and M with variant='clipped' and neither of them otherwise")
        if self.d is not None and self.M is not None and not (self.d > 0 and 0 < self.M < np.inf):
            raise InputError(f"clipped robbins has d = {self.d} and M = {self.M:g}: give two positive numbers")

    def in_units(self, scale: float) -> Self:
        """M bounds theta, so M / scale bounds it in other units."""
        return self if self.M is None else replace(self, M=self.M / scale)

    def fit(self, tally: Tally) -> RobbinsRule:
        """Keep the frequencies."""
        return RobbinsRule(self.name, tally, self)


@dataclass(frozen=True)
class RobbinsRule(CurveRule):
    """The frequencies of a tally, read by one variant of Robbins' formula."""

    kind: ClassVar[str] = "robbins"

    bare: Tally
    """The counts without their common exposure."""
    options: Robbins

    def curve(self, x: Floats) -> Floats:
        """The estimate of exposure * theta at every x."""
        here, above = self._frequency(x), (x + 1.0) * self._frequency(x + 1)
        if self.options.variant == "plus-one":
            return np.asarray(above / (here + 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            plain = above / here
        if self.options.d is None or self.options.M is None:
            return np.asarray(np.where(here > 0, plain, np.nan))
        # 0 / 0, at counts without any neighbour, is no evidence of a rate above 0.
        return np.where(x < self.options.d, np.minimum(np.nan_to_num(plain, nan=0.0), self.options.M), self.options.M)

    def _frequency(self, x: Floats) -> Floats:
        at = np.minimum(np.searchsorted(self.bare.values, x), len(self.bare) - 1)
        return np.where(self.bare.values[at] == x, self.bare.multiplicity[at], 0).astype(np.float64)

    def _content(self) -> dict[str, Any]:
        tally = {"values": self.bare.values.tolist(), "multiplicity": self.bare.multiplicity.tolist()}
        return {"tally": tally, "options": asdict(self.options)}

    @classmethod
    def _from_content(cls, content: dict[str, Any], **common: Any) -> RobbinsRule:
        return cls(bare=Tally(**content["tally"]), options=Robbins(**content["options"]), **common)
