"""Covariates: which columns tell about a unit, what they let expect of it, and how much that tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ebformer.channels.base import Channel
from ebformer.channels.bounds import LARGEST, SMALLEST
from ebformer.distributions import Floats
from ebformer.encoding import Encoding
from ebformer.errors import InputError
from ebformer.regression import Blend, Kind, read_regression
from ebformer.saved import finite


@dataclass(frozen=True)
class Covariates:
    """The columns that tell about a unit's rate beside its observation, and the kind of regression."""

    names: tuple[str, ...]
    regression: Kind = "trees"

    @classmethod
    def named(cls, names: Sequence[str] | None, regression: Kind | None) -> Covariates | None:
        """Those of these names, where some are named; a kind of regression without any is refused."""
        if names is not None:
            return cls(tuple(names), regression or "trees")
        if regression is not None:
            raise InputError(f"regression is {regression}, and no covariates are named: name some, or leave it out")
        return None

    def __post_init__(self) -> None:
        if self.regression not in get_args(Kind):
            raise InputError(f"the regression is {self.regression!r}: choose trees or linear")
        if not self.names:
            raise InputError("no covariate is named: name at least one column, or leave covariates out")
        object.__setattr__(self, "names", tuple(dict.fromkeys(self.names)))  # one that is named twice tells no more


@dataclass(frozen=True, eq=False)
class Expectation:
    """What covariates let expect of a unit, and how much they tell.

    `explained` is the share of the spread of theta that the expectations of units which a regression has not seen
    account for; None where there is no spread to explain. `importance` is each covariate's part of what they tell
    together: how much worse unseen units are predicted when it is permuted. `mean` is that of all units together. Where
    covariates tell nothing, the same is expected of everybody, and no prior `moves`: rules are those without them.
    """

    encoding: Encoding
    regression: Blend
    step: float
    mean: float
    explained: float | None
    importance: Mapping[str, float]
    moves: bool = True
    """Whether rules are of deviations from what is expected."""

    def of(self, channel: Channel, columns: Mapping[str, NDArray[Any]]) -> Floats:
        """The expected theta [n] of units with these covariates, by the mean of the regressions of all folds."""
        return rounded(channel, self.regression.eta(self.encoding.numbers(columns)), self.step)

    def of_everybody(self, channel: Channel, n: int) -> Floats:
        """The same for n units of which nothing is known, where covariates tell none apart."""
        return rounded(channel, np.full(n, self.regression.start), self.step)

    def __str__(self) -> str:
        told = ", ".join(f"{name} {100 * share:.0f} %" for name, share in self.importance.items())
        if not self.importance:
            one = len(self.encoding.names) == 1
            named = f"covariate{'s' * (not one)} {', '.join(self.encoding.names)} tell{'s' * one}"
            return f"the {named} no more than chance would"
        if self.explained is None:
            return f"of what the covariates tell: {told}"
        return f"the covariates explain {100 * self.explained:.0f} % of the spread; of what they tell: {told}"

    def record(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "names": list(self.encoding.names),
            "categories": [list(each) for each in self.encoding.categories],
            "regression": self.regression.record(),
            "step": self.step,
            "mean": self.mean,
            "explained": self.explained,
            "importance": dict(self.importance),
            "moves": self.moves,
        }

    @classmethod
    def from_record(cls, found: dict[str, Any]) -> Expectation:
        """What `record` wrote; nothing in it is executed."""
        encoding = Encoding(
            tuple(map(str, found["names"])), tuple(tuple(map(str, each)) for each in found["categories"])
        )
        regression, explained = read_regression(found["regression"]), found["explained"]
        step = finite(found["step"])
        if len(encoding.names) != len(encoding.categories) or not SMALLEST <= step <= LARGEST:
            raise ValueError("covariates without their kinds")
        importance = {str(name): finite(share) for name, share in found["importance"].items()}
        share = None if explained is None else finite(explained)
        moves = found.get("moves", True) is not False  # those of earlier versions all do
        if not moves and regression.parts:
            raise ValueError("the same expected of everybody, by covariates")
        return cls(encoding, regression, step, finite(found["mean"]), share, importance, moves)


def rounded(channel: Channel, eta: Floats, step: float) -> Floats:
    """theta at natural parameters rounded to whole steps, and within the domain."""
    with np.errstate(over="ignore"):
        theta = channel.at_natural(np.round(eta / step) * step)
    low, high = np.clip(channel.inside, -LARGEST, LARGEST).tolist()
    return np.asarray(np.clip(theta, low, high))
