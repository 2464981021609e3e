"""Worlds for `selection.py`: priors, what is known of the units, the bar and which side of it is a discovery.

Choices about lists were made with `WORLDS` in view. `HELD_OUT` has other shapes and other parameters, and judges them.
"""

from __future__ import annotations

import numpy as np
from coverage import EFFECTS, PROBABILITIES, RATES, Draw, fixed, gamma, lognormal, mixed
from scipy.special import expit

from ebformer.selection import Side

World = tuple[dict[str, Draw], Draw, str, Side]


def log_uniform(low: float, high: float) -> Draw:
    """Even in the logarithm."""
    return lambda rng, n: np.exp(rng.uniform(np.log(low), np.log(high), n))


FAR_FROM_A_BAR = {"gamma .5, mean .05", "gamma 50, mean 500", "gamma 4 mean 2 + .1% at 100"}
"""Priors under which hardly anybody can be told to be above 1.5 times the mean."""
WORLDS: dict[str, World] = {
    "poisson": (
        {name: draw for name, draw in RATES.items() if name not in FAR_FROM_A_BAR}
        | {"gamma 4, mean 20": lambda rng, n: rng.gamma(4.0, 5.0, n)},
        log_uniform(0.5, 8.0),
        "1.5x",
        "above",
    ),
    "binomial": (
        PROBABILITIES
        | {
            "beta 5, 95": lambda rng, n: rng.beta(5.0, 95.0, n),
            "beta 20, 60": lambda rng, n: rng.beta(20.0, 60.0, n),
            "two groups": mixed(0.9, lambda rng, n: rng.beta(30, 270, n), lambda rng, n: rng.beta(60, 240, n)),
        },
        lambda rng, n: np.maximum(np.round(log_uniform(10.0, 500.0)(rng, n)), 1.0),
        "1.25x",
        "above",
    ),
    "normal": (
        {name: draw for name, draw in EFFECTS.items() if name not in ("null", "narrow")}
        | {
            "sparse-strong": mixed(0.98, fixed(0.0), fixed(5.0)),
            "half zero": mixed(0.5, fixed(0.0), lambda rng, n: rng.normal(0.0, 2.0, n)),
            "scales": mixed(0.8, lambda rng, n: rng.normal(0.0, 0.1, n), lambda rng, n: rng.normal(0.0, 3.0, n)),
            "centred exponential": lambda rng, n: rng.exponential(2.0, n) - 2.0,
            "shifted": lambda rng, n: rng.normal(1.0, 1.0, n),
            "bimodal": mixed(0.7, lambda rng, n: rng.normal(-1.0, 0.5, n), lambda rng, n: rng.normal(3.0, 0.5, n)),
            "small": lambda rng, n: rng.normal(0.0, 0.5, n),
        },
        log_uniform(0.3, 3.0),
        "0",
        "apart",
    ),
    "normal-again": (
        {
            "80 % zero, uniform": mixed(0.8, fixed(0.0), lambda rng, n: rng.uniform(-4.0, 4.0, n)),
            "90 % zero, laplace": mixed(0.9, fixed(0.0), lambda rng, n: rng.laplace(0.0, 2.0, n)),
            "99 % zero, normal": mixed(0.99, fixed(0.0), lambda rng, n: rng.normal(0.0, 4.0, n)),
            "70 % zero, exponential": mixed(0.7, fixed(0.0), lambda rng, n: rng.exponential(2.0, n)),
            "all zero": fixed(0.0),
            "logistic": lambda rng, n: rng.logistic(0.0, 0.8, n),
            "two bumps": mixed(0.5, lambda rng, n: rng.normal(-1.5, 0.5, n), lambda rng, n: rng.normal(1.5, 0.5, n)),
            "log-normal": lambda rng, n: rng.lognormal(0.0, 1.0, n),
            "narrow, off 0": lambda rng, n: rng.normal(0.3, 0.3, n),
        },
        log_uniform(0.3, 3.0),
        "0",
        "apart",
    ),
}


def normal(centre: float, deviation: float) -> Draw:
    """A normal law."""
    return lambda rng, n: rng.normal(centre, deviation, n)


def logit_normal(centre: float, deviation: float) -> Draw:
    """Log-odds with a normal law."""
    return lambda rng, n: expit(rng.normal(centre, deviation, n))


HELD_OUT: dict[str, World] = {
    "poisson": (
        {
            "gamma 1, mean .6": gamma(1.0, 0.6),
            "gamma 6, mean 8": gamma(6.0, 8.0),
            "lognormal .6, med 3": lognormal(0.6, 3.0),
            "lognormal 1.4, med .4": lognormal(1.4, 0.4),
            "weibull 1.5": lambda rng, n: 4.0 * rng.weibull(1.5, n),
            "half-normal": lambda rng, n: np.abs(rng.normal(0.0, 3.0, n)),
            "triangular": lambda rng, n: rng.triangular(0.5, 1.0, 5.0, n),
            "inverse gamma 4": lambda rng, n: 9.0 / rng.gamma(4.0, 1.0, n),
            "3 points": mixed(0.6, fixed(0.5), mixed(0.5, fixed(2.0), fixed(5.0))),
            "85 % at 1, others gamma": mixed(0.85, fixed(1.0), gamma(3.0, 4.0)),
        },
        lambda rng, n: np.exp(rng.normal(0.5, 0.7, n)),
        "1.4x",
        "above",
    ),
    "binomial": (
        {
            "logit-normal -1, .4": logit_normal(-1.0, 0.4),
            "logit-normal -3, .8": logit_normal(-3.0, 0.8),
            "logit-normal .5, 1.2": logit_normal(0.5, 1.2),
            "beta 1, 9": lambda rng, n: rng.beta(1.0, 9.0, n),
            "beta 12, 12": lambda rng, n: rng.beta(12.0, 12.0, n),
            "beta 3, 60": lambda rng, n: rng.beta(3.0, 60.0, n),
            "triangular": lambda rng, n: rng.triangular(0.1, 0.2, 0.7, n),
            "uniform .2 to .6": lambda rng, n: rng.uniform(0.2, 0.6, n),
            "2 points": mixed(0.8, fixed(0.3), fixed(0.5)),
            "half at .1": mixed(0.5, fixed(0.1), lambda rng, n: rng.beta(4.0, 16.0, n)),
        },
        lambda rng, n: 5.0 + rng.negative_binomial(1.5, 0.02, n),
        "1.2x",
        "above",
    ),
    "normal": (
        {
            "0 .6": normal(0.0, 0.6),
            ".7 1.2": normal(0.7, 1.2),
            "-.3 .25": normal(-0.3, 0.25),
            "t6": lambda rng, n: 0.5 + rng.standard_t(6.0, n),
            "secant": lambda rng, n: np.arcsinh(np.tan(np.pi * (rng.random(n) - 0.5))),
            "weibull - 1": lambda rng, n: 2.5 * rng.weibull(1.5, n) - 1.0,
            "triangular": lambda rng, n: rng.triangular(-2.0, -1.0, 3.0, n),
            "three humps": mixed(0.4, normal(-0.5, 0.3), mixed(0.5, normal(-4.0, 0.5), normal(2.0, 0.5))),
            "two scales": mixed(0.75, normal(0.0, 0.5), normal(0.5, 3.0)),
            "all zero": fixed(0.0),
            "40 % zero, laplace": mixed(0.4, fixed(0.0), lambda rng, n: rng.laplace(0.0, 2.5, n)),
            "88 % zero, either side": mixed(
                0.88, fixed(0.0), lambda rng, n: (1.5 + rng.gamma(2.0, 1.0, n)) * rng.choice([-1, 1], n)
            ),
            "96 % zero, uniform": mixed(0.96, fixed(0.0), lambda rng, n: rng.uniform(1.0, 6.0, n)),
        },
        lambda rng, n: 0.4 + rng.gamma(2.0, 0.4, n),
        "0",
        "apart",
    ),
}
