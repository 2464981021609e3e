"""A pre-trained transformer as an estimator: it reads the prior off the tally and answers at once."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from ebformer.distributions import Floats
from ebformer.errors import InputError, WeightsError
from ebformer.estimators.base import Estimator
from ebformer.networks import weights as weights_file
from ebformer.networks import zoo
from ebformer.networks.architecture import Architecture
from ebformer.networks.estimates import estimate
from ebformer.networks.forward import Precision
from ebformer.networks.weights import Weights
from ebformer.rule import CurveRule
from ebformer.tally import Tally, whole_numbers


@dataclass(frozen=True, eq=False)
class NetworkRule(CurveRule):
    """What a network answers for one tally: `fitted` at the values that were seen, and a query token for any other.

    It is written down as the name and SHA-256 of a shipped network and the tally, and refuses to be read with others.
    """

    kind: ClassVar[str] = "network"

    bare: Tally
    """The counts without their common exposure."""
    weights: Weights[Architecture] = field(repr=False)
    fitted: Floats = field(repr=False)
    """[u], at `bare.values`."""
    precision: Precision = "float32"
    excess: float = 0.0
    """What is taken off the answers of the network, or added where negative: `excess_over_mean`."""

    @classmethod
    def of(
        cls, method: str, bare: Tally, weights: Weights[Architecture], precision: Precision, **common: Any
    ) -> NetworkRule:
        """Run the network once on the distinct values of the tally."""
        rates = _rates(weights, bare, None, precision, method)
        excess = excess_over_mean(rates, bare)
        return cls(method, bare, weights, np.maximum(rates - excess, 0.0), precision, excess, **common)

    def curve(self, x: Floats) -> Floats:
        """The estimates at any whole numbers x [u] up to 2^53."""
        at = np.minimum(np.searchsorted(self.bare.values, x), len(self.bare) - 1)
        answers, unseen = self.fitted[at], self.bare.values[at] != x
        if unseen.any():
            asked = whole_numbers(x[unseen], "x")
            rates = _rates(self.weights, self.bare, asked, self.precision, self.method)
            answers[unseen] = np.maximum(rates - self.excess, 0.0)
        return answers

    def _content(self) -> dict[str, Any]:
        if self.method not in zoo.names("transformer") or zoo.load(self.method).sha256 != self.weights.sha256:
            raise InputError(
                f"a rule of {self.method} cannot be saved, since that network is not shipped with ebformer; "
                "save the estimates it gives instead"
            )
        return {
            "network": self.method,
            "sha256": self.weights.sha256,
            "precision": self.precision,
            "values": self.bare.values.tolist(),
            "multiplicity": self.bare.multiplicity.tolist(),
        }

    @classmethod
    def _from_content(cls, content: dict[str, Any], **common: Any) -> NetworkRule:
        weights, tally = zoo.load(content["network"]), Tally(content["values"], content["multiplicity"])
        if weights.sha256 != content["sha256"]:
            raise WeightsError(
                f"this rule was fitted by another version of {content['network']} (SHA-256 {content['sha256']}, here "
                f"{weights.sha256}): fit the tally again, or install the ebformer that wrote the rule"
            )
        precision: Precision = "float64" if content["precision"] == "float64" else "float32"
        return cls.of(bare=tally, weights=weights, precision=precision, **common)


def _rates(
    weights: Weights[Architecture], tally: Tally, at: NDArray[np.int64] | None, precision: Precision, name: str
) -> Floats:
    """The network's estimates as rates: the GELU output of the linear embedding dips to -0.17, which no rate does."""
    rates = np.maximum(estimate(weights, tally, at, precision, name), 0.0)
    if not np.isfinite(rates).all():
        raise WeightsError(f"{name} answers with what is no number: its weights are not those of a trained network")
    return rates


def excess_over_mean(rates: Floats, tally: Tally) -> float:
    """The d nearest to 0 for which the mean m of max(rates - d, 0) is one that the mean count c allows.

    Whatever the prior, E theta_G(x) = E x, and E (x - theta_G(x))^2 <= E (x - theta)^2 = E x since theta_G(x) is a
    conditional mean. So for n Bayes estimates (m - c)^2 <= 3 m / n, but for chance. After n zeros this is the rule of
    three, m <= 3 / n; a network that was trained on larger rates, and reads n up to a point only, does not know it.
    Of all estimates with such a mean, max(rates - d, 0) are the nearest in mean square: a projection onto a convex set,
    so nearer than before to all Bayes estimates in it. Beyond the counts that a network was trained for its estimates
    may be too low on the whole: then d is negative.

    >>> round(0.03 - excess_over_mean(np.array([0.03]), Tally([0], [10**6])), 12)
    3e-06
    >>> excess_over_mean(np.array([1.1, 2.9]), Tally([1, 3], [50, 50]))
    0.0
    >>> round(excess_over_mean(np.array([800.0]), Tally([1000], [300])), 3)
    -196.843
    """
    n, c = tally.n, float(tally.multiplicity @ tally.values) / tally.n
    most = c + 1.5 / n + np.sqrt(3.0 / n * (c + 0.75 / n))
    order = np.argsort(-rates)
    units = tally.multiplicity[order]
    # The mean of max(rates - d, 0) is the largest, over k, sum of (rates - d) units / n over the k highest rates.
    total = np.cumsum(units * rates[order])
    least = 2.0 * c + 3.0 / n - most
    if total[-1] < n * least:
        return float(total[-1] / n - least)
    # Rounded up, so that no more is left than the mean count allows.
    return max(0.0, float(np.max((total - n * most) / np.cumsum(units))) * (1.0 + 2.0**-50))


@dataclass(frozen=True)
class Pretrained(Estimator):
    """A network that was pre-trained on synthetic worlds: shipped ones go by their name in the zoo.

    Beyond the counts and sample sizes it was trained for it still answers, with an `OutsideTrainingRange` warning.
    Where its mean estimate is one that the mean count does not allow, all estimates move by as much as that takes
    (`excess_over_mean`); this is rare unless events are, or counts are beyond that range. Nothing makes a network
    monotone in x.

    >>> rule = Pretrained("T24r")(Tally([0, 1, 2, 3], [600, 250, 100, 50]))
    >>> bool(0 < rule(0) < rule(3) < 3), rule([0, 40]).shape
    (True, (2,))
    """

    monotone: ClassVar[bool] = False
    answers_unseen: ClassVar[bool] = True
    unequal_known: ClassVar[bool] = False

    name: str  # type: ignore[misc]  # one class serves every shipped network, so here the name is an option
    weights: Weights[Architecture] | None = field(default=None, repr=False)
    """Those of the shipped network of this name, unless given."""
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        if not isinstance(self.network.config, Architecture):
            raise InputError(f"{self.name} is not a transformer on tallies: its weights are of another family")
        if self.precision not in get_args(Precision):
            raise InputError(f"the precision is {self.precision!r}: choose from {', '.join(get_args(Precision))}")

    @property
    def network(self) -> Weights[Architecture]:
        """The weights in use."""
        return zoo.load(self.name, "transformer") if self.weights is None else self.weights

    @classmethod
    def load(cls, path: str | os.PathLike[str], precision: Precision = "float32") -> Pretrained:
        """A network of your own, from a file that `ebformer.networks.weights.save` wrote."""
        return cls(Path(path).stem, weights_file.load(path), precision)

    def fit(self, tally: Tally) -> NetworkRule:
        """Run the network once on the distinct values of the tally."""
        return NetworkRule.of(self.name, tally, self.network, self.precision)
