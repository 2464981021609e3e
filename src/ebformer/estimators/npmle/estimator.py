"""The nonparametric maximum likelihood estimator of the prior, exact and certified."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from ebformer.channels.base import Channel
from ebformer.errors import InputError
from ebformer.estimators.base import EVERY_CHANNEL, Estimator
from ebformer.estimators.npmle.moments import fewest_atoms
from ebformer.estimators.npmle.parts import maximise_by_parts
from ebformer.estimators.npmle.sample import Sample
from ebformer.rule import BayesRule, Convergence
from ebformer.tally import Tally


@dataclass(frozen=True)
class Npmle(Estimator):
    """The Bayes rule of the prior that maximises the likelihood of the tally (Kiefer and Wolfowitz 1956).

    G is that prior if and only if D(theta) = sum_k (m_k / n) p(x_k | theta) / f(x_k) <= 1 for every theta (Lindsay
    1983). The certificate is gap = max D - 1 over the whole interval: the log-likelihood per unit is within `gap` of
    the largest, and gap <= min(1e-6, 0.01 / n) is asked for. Of priors that are equally likely, as there are for
    proportions of a few trials, the one of fewest atoms is taken. `theta_max` bounds the atoms.

    >>> rule = Npmle()(Tally.of([0, 0, 0, 8, 9]))
    >>> rule([0, 4, 9]).round(3)
    array([1.000e-03, 8.498e+00, 8.498e+00])
    >>> rule.prior.atoms.round(3).tolist(), rule.convergence.reached
    ([0.0, 8.498], True)
    """

    name: ClassVar[str] = "npmle"
    channels: ClassVar[tuple[str, ...]] = EVERY_CHANNEL
    monotone: ClassVar[bool] = True
    answers_unseen: ClassVar[bool] = True
    unequal_known: ClassVar[bool] = True

    theta_max: float | None = None

    def __post_init__(self) -> None:
        if self.theta_max is not None and not np.isfinite(self.theta_max):
            raise InputError(f"theta_max is {self.theta_max:g}: give a finite number")

    def remark_on(self, channel: Channel) -> str | None:
        """A prior of few points says how far off theta may be, but not how sure that is."""
        from ebformer.estimators.catalogue import default_method

        others = " or ".join(
            dict.fromkeys([default_method(channel), "npmle-smooth" if channel.conjugate else "npmle-em"])
        )
        return (
            "intervals of npmle are too narrow, since its prior is a handful of points: "
            f"keep its estimates, but take intervals from {others}"
        )

    def in_units(self, scale: float) -> Self:
        """The bound in other units."""
        return self if self.theta_max is None else replace(self, theta_max=self.theta_max / scale)

    def fit(self, tally: Tally) -> BayesRule:
        """Maximise, certify and say how well."""
        low = tally.channel.domain[0]
        if self.theta_max is not None and not self.theta_max > low:
            raise InputError(f"theta_max is {self.theta_max:g}: give a number above {low:g}")
        tolerance = min(1e-6, 0.01 / tally.n)
        solution = maximise_by_parts(Sample.of(tally, self.theta_max), tolerance)
        evidence = Convergence(solution.gap, solution.iterations, solution.gap <= tolerance, "max D - 1 over all theta")
        moments, prior = tally.channel.moments_seen(tally.known), solution.prior
        if moments is not None and self.theta_max is None:
            prior = fewest_atoms(prior, moments)
        return BayesRule(self.name, prior, channel=tally.channel, convergence=evidence)
