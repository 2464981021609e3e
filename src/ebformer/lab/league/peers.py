"""Methods of other packages that are installed beside this one, as estimators.

ashrink (PyPI, GPL) mixes gammas, betas or normals that share a mode. It is asked for by `pip install ashrink` alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

import numpy as np

from ebformer.channels.beta_prior import BetaPrior
from ebformer.channels.gamma_prior import GammaPrior
from ebformer.channels.mixed_prior import ConjugateMixture
from ebformer.channels.normal_prior import NormalPrior
from ebformer.estimators.base import Estimator
from ebformer.prior import ConjugatePrior
from ebformer.rule import BayesRule, Rule
from ebformer.tally import Tally

POINT = 1e9
"""The strength, in units of what one unit tells, of the part that stands for a point mass at the mode."""


@dataclass(frozen=True)
class Ashrink(Estimator):
    """ashrink's weights of its own default parts, one of them a point at the mode; the answers follow from them.

    ashrink has to be told the mode. Here it is the overall rate or proportion, as a user would who knows no better; of
    effects it is always 0.
    """

    name: ClassVar[str] = "ashrink"
    channels: ClassVar[tuple[str, ...]] = ("poisson", "binomial", "normal")
    monotone: ClassVar[bool] = False
    answers_unseen: ClassVar[bool] = True
    unequal_known: ClassVar[bool] = True

    def fit(self, tally: Tally) -> Rule:
        """Hand every unit to ashrink and make a prior of what it finds."""
        package: Any = import_module("ashrink")
        x, known = (np.repeat(each, tally.multiplicity) for each in (tally.x, tally.known))
        parts: ConjugatePrior
        if tally.channel.name == "normal":
            found = package.fit(x, known)
            scales = np.asarray(found.prior.scales, dtype=np.float64)
            scales = np.where(scales > 0, scales, known.min() / np.sqrt(POINT))
            parts, weights = NormalPrior(np.zeros(scales.size), scales), found.prior.weights  # type: ignore[arg-type]
        else:
            poisson = tally.channel.name == "poisson"
            mode = float(np.clip(x.sum() / known.sum(), 1e-9, np.inf if poisson else 1.0 - 1e-9))
            found = (package.fit_poisson if poisson else package.fit_binomial)(x, known, null_value=mode)
            strength = np.concatenate([[POINT], found.strengths])
            a, b = 1.0 + mode * strength, 1.0 + (1.0 - mode) * strength
            parts = GammaPrior(a, strength) if poisson else BetaPrior(a, b)  # type: ignore[arg-type]
            weights = found.mixture_weights
        weights = np.asarray(weights, dtype=np.float64)
        return BayesRule(self.name, ConjugateMixture(parts, weights / weights.sum()), channel=tally.channel)


PEERS = {"ashrink": Ashrink}
"""By the name of the package."""


def installed() -> dict[str, Estimator]:
    """The methods of those packages that can be imported here."""
    return {name: method() for name, method in PEERS.items() if release(name) is not None}


def release(package: str) -> str | None:
    """Which version is installed, if any is.

    >>> release("numpy") == np.__version__, release("no-such-package")
    (True, None)
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return None
