"""priorformer as an estimator: the network reads a prior off the tally, and the rule is that prior's Bayes rule."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.networks import priorformer, zoo
from ebformer.networks import weights as weights_file
from ebformer.networks.priorformer_block import PriorformerConfig
from ebformer.networks.weights import Weights
from ebformer.rule import BayesRule, Rule
from ebformer.tally import Tally


@dataclass(frozen=True)
class Priorformer(Estimator):
    """A transformer over a grid of candidate rates whose answer is a prior: the default method of ebformer.

    Being a Bayes rule, the answer rises with x, stays on the grid (which ends a little beyond the largest rate seen),
    has intervals and predictions, and uses the exposure of every unit. It takes about as long for a thousand
    million units as for a thousand.

    >>> rule = Priorformer()(Tally([0, 1, 2, 3, 7], [60, 25, 10, 4, 1]))
    >>> bool(0 < rule(0) < rule(3) < 3), rule.posterior(7).interval(0.9)[0].shape
    (True, ())
    """

    channels: ClassVar[tuple[str, ...]] = ("poisson", "binomial", "normal")
    monotone: ClassVar[bool] = True
    answers_unseen: ClassVar[bool] = True
    unequal_known: ClassVar[bool] = True

    name: str = "priorformer"  # type: ignore[misc]  # one class serves every shipped priorformer
    weights: Weights[PriorformerConfig] | None = field(default=None, repr=False)
    """Those of the shipped network of this name, unless given."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InputError(f"{self.name!r} is no name of a network: give it as text, such as 'priorformer'")
        if not isinstance(self.weights, Weights | None):
            raise InputError(
                f"the weights are a {type(self.weights).__name__}: Priorformer.load reads them from a file"
            )
        if not isinstance(self.network.weights.config, PriorformerConfig):
            raise InputError(f"{self.name} is of a family that does not answer with a prior: use ebformer.Pretrained")

    @property
    def network(self) -> priorformer.PriorformerNetwork:
        """The network in use."""
        return ready(zoo.load(self.name, "priorformer") if self.weights is None else self.weights)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Priorformer:
        """A network of your own, from a file that `ebformer.networks.weights.save` wrote."""
        return cls(Path(path).stem, weights_file.load(path))

    def fit(self, tally: Tally) -> BayesRule:
        """Run the network once on the tally."""
        return self._read(self.network, tally)

    def fit_without_zeros(self, tally: Tally) -> Rule:
        """Run the network at every step of EM, on ranges that take it a moment each."""
        from ebformer.estimators.unseen_zeros import fit_with_zeros

        network = replace(self.network, largest_grid=priorformer.LARGEST_GRID // 8)
        return fit_with_zeros(functools.partial(self._read, network), tally)

    def _read(self, network: priorformer.PriorformerNetwork, tally: Tally) -> BayesRule:
        return BayesRule(self.name, network.prior(tally), channel=tally.channel)


@functools.lru_cache(maxsize=8)
def ready(weights: Weights[PriorformerConfig]) -> priorformer.PriorformerNetwork:
    """The network with its arrays laid out, once per file."""
    return priorformer.PriorformerNetwork(weights)
