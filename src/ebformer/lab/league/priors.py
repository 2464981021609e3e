"""Everyday priors of rates, effects and proportions; the name of one is its definition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ebformer.channels import channel_named
from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.lab.worlds import shapes
from ebformer.lab.worlds.base import log_uniform
from ebformer.prior import Prior


def law(*parts: tuple[float, Floats | float]) -> Prior:
    """A mixture of laws by their quantiles and of points, each with its share.

    >>> law((0.9, 1.0), (0.1, 8.0))
    Prior(2 atoms from 1 to 8, mean 1.7)
    """
    return Prior(*shapes.mixture(np.array([share for share, _ in parts]), [np.atleast_1d(at) for _, at in parts]))


@dataclass(frozen=True)
class Everyday:
    """A prior as people meet it, and what is known of its units: one number for all, or log-uniform between two."""

    name: str
    channel: str
    prior: Prior
    known: tuple[float, float]

    @property
    def equal(self) -> bool:
        """Whether the same is known of all units."""
        return self.known[0] == self.known[1]

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Channel, Floats, Floats]:
        """The channel, observations of n units, and what is known of each."""
        channel = channel_named(self.channel)
        known = np.full(n, self.known[0]) if self.equal else log_uniform(rng, *self.known, n)
        known = np.rint(known) if self.channel == "binomial" else known
        return channel, channel.draw(self.prior.draw(n, rng), known, rng), known


GAMMA, EXP = shapes.gamma, np.exp
Z, U = shapes.normal(), shapes.QUANTILES
RATES = {
    "gamma .2, mean 1": law((1.0, GAMMA(0.2))),
    "gamma .5, mean .05": law((1.0, 0.05 * GAMMA(0.5))),
    "gamma 2, mean 3": law((1.0, 3.0 * GAMMA(2.0))),
    "gamma 20, mean 10": law((1.0, 10.0 * GAMMA(20.0))),
    "gamma 50, mean 500": law((1.0, 500.0 * GAMMA(50.0))),
    "lognormal .3, med 5": law((1.0, 5.0 * EXP(0.3 * Z))),
    "lognormal 1, med 1": law((1.0, EXP(Z))),
    "pareto 2, min 1": law((1.0, shapes.pareto(2.0))),
    "uniform 0-6": law((1.0, 6.0 * U)),
    "2 + exponential": law((1.0, 2.0 + shapes.weibull(1.0))),
    "2 points 1/.9 8/.1": law((0.9, 1.0), (0.1, 8.0)),
    "70% zero + gamma 2 mean 2": law((0.7, 0.0), (0.3, 2.0 * GAMMA(2.0))),
    "bimodal gammas 2, 12": law((0.6, 2.0 * GAMMA(5.0)), (0.4, 12.0 * GAMMA(30.0))),
    "gamma 4 mean 2 + .1% at 100": law((0.999, 2.0 * GAMMA(4.0)), (0.001, 100.0 * EXP(0.2 * Z))),
    "gamma 1, mean .01": law((1.0, 0.01 * GAMMA(1.0))),
    "gamma 4, mean 50": law((1.0, 50.0 * GAMMA(4.0))),
    "gamma 200, mean 5": law((1.0, 5.0 * GAMMA(200.0))),
    "lognormal .15, med 200": law((1.0, 200.0 * EXP(0.15 * Z))),
    "weibull .5, scale 1": law((1.0, shapes.weibull(0.5))),
    "uniform 5-15": law((1.0, 5.0 + 10.0 * U)),
    "30 beta .5 .5": law((1.0, 30.0 * shapes.beta(0.5, 0.5))),
    "all at 3": law((1.0, 3.0)),
    "3 points .5/.5 3/.3 12/.2": law((0.5, 0.5), (0.3, 3.0), (0.2, 12.0)),
    "half at 1 + gamma 3 mean 6": law((0.5, 1.0), (0.5, 6.0 * GAMMA(3.0))),
}
RATES_UNEQUAL = {
    "gamma 1.5, mean 2": law((1.0, 2.0 * GAMMA(1.5))),
    "gamma 10, mean .3": law((1.0, 0.3 * GAMMA(10.0))),
    "lognormal 1.5, med .2": law((1.0, 0.2 * EXP(1.5 * Z))),
    "pareto 1.5, min 2": law((1.0, 2.0 * shapes.pareto(1.5))),
    "20 beta 2 2": law((1.0, 20.0 * shapes.beta(2.0, 2.0))),
    "90% zero + lognormal 1 med 3": law((0.9, 0.0), (0.1, 3.0 * EXP(Z))),
}
EFFECTS = {
    "normal 2": law((1.0, 2.0 * Z)),
    "t3": law((1.0, shapes.student(3.0))),
    "3 points -2/.2 0/.5 3/.3": law((0.2, -2.0), (0.5, 0.0), (0.3, 3.0)),
    "exponential": law((1.0, shapes.weibull(1.0))),
    "95% zero + normal 3": law((0.95, 0.0), (0.05, 3.0 * Z)),
    "all at 0": law((1.0, 0.0)),
}
EFFECTS_UNEQUAL = {
    "laplace": law((1.0, shapes.laplace())),
    "uniform -4 to 4": law((1.0, -4.0 + 8.0 * U)),
    "normals at -3 and 3": law((0.5, -3.0 + 0.5 * Z), (0.5, 3.0 + 0.5 * Z)),
    "scales .1 2 8": law((0.8, 0.1 * Z), (0.15, 2.0 * Z), (0.05, 8.0 * Z)),
    "98% zero + 2% at 5": law((0.98, 0.0), (0.02, 5.0)),
    "normal .5 around 10": law((1.0, 10.0 + 0.5 * Z)),
}
PROPORTIONS = {
    "beta 80 240": law((1.0, shapes.beta(80.0, 240.0))),
    "beta .3 3": law((1.0, shapes.beta(0.3, 3.0))),
    "uniform": law((1.0, U)),
    "2 points .2/.7 .6/.3": law((0.7, 0.2), (0.3, 0.6)),
    "beta .4 .4": law((1.0, shapes.beta(0.4, 0.4))),
    "all at .3": law((1.0, 0.3)),
}
PROPORTIONS_UNEQUAL = {
    "beta .5 50": law((1.0, shapes.beta(0.5, 50.0))),
    "beta 30 2": law((1.0, shapes.beta(30.0, 2.0))),
    "logit normal 1": law((1.0, 1.0 / (1.0 + EXP(-Z)))),
    "30% zero + beta 2 20": law((0.3, 0.0), (0.7, shapes.beta(2.0, 20.0))),
    "betas at .1 and .5": law((0.6, shapes.beta(10.0, 90.0)), (0.4, shapes.beta(50.0, 50.0))),
    "beta 20 2000": law((1.0, shapes.beta(20.0, 2000.0))),
}
EVERYDAY = [
    Everyday(name, channel, prior, known)
    for channel, known, priors in (
        ("poisson", (1.0, 1.0), RATES),
        ("poisson", (0.2, 5.0), RATES_UNEQUAL),
        ("normal", (1.0, 1.0), EFFECTS),
        ("normal", (0.3, 3.0), EFFECTS_UNEQUAL),
        ("binomial", (20.0, 20.0), PROPORTIONS),
        ("binomial", (10.0, 400.0), PROPORTIONS_UNEQUAL),
    )
    for name, prior in priors.items()
]
"""Thirty priors of rates, twelve of effects, twelve of proportions. In names a gamma law has its shape and mean, a
lognormal one its sigma and median, a pareto law its index and least value; 8/.1 is a tenth of the units at 8."""
