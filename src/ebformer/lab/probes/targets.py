"""Quantities to look for in a network: what Robbins would need, what NPMLE would need, and the answer itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ebformer.bayes.marginal import bayes_rule, log_marginal, posterior
from ebformer.distributions import Floats
from ebformer.estimators.npmle.estimator import Npmle
from ebformer.networks.architecture import stabilised
from ebformer.prior import Prior
from ebformer.tally import Tally


@dataclass(frozen=True, eq=False)
class Target:
    """A number per distinct value of a tally; `spread` is its variance where it is random given the value."""

    value: Floats
    spread: Floats


def targets(tally: Tally, prior: Prior) -> dict[str, Target]:
    """Every quantity by name, for a tally drawn from a known prior.

    `frequency` N(x) and `robbins` (x + 1) N(x + 1) / (N(x) + 1) are what Robbins uses, `marginal` f(x) under the fitted
    NPMLE what NPMLE uses; `value` is x itself and `bayes` the oracle's answer. Where x says nearly all about that,
    `correction`, 2 sqrt(theta_G(x)) - 2 sqrt(x + 3/8), asks for the rest, on the scale where noise is even.
    `atom weight` is PMF(theta), the weight of the atom that produced the unit: units of equal x share one activation,
    so only E[PMF(theta) | x] can be read off, and its spread bounds R^2.

    >>> found = targets(Tally.of([0, 0, 1, 3]), Prior([0.5, 2.0], [0.5, 0.5]))
    >>> found["frequency"].value.tolist(), found["robbins"].value.tolist()
    ([2.0, 1.0, 1.0], [0.3333333333333333, 0.0, 0.0])
    """
    x, frequency = tally.values, tally.multiplicity.astype(float)
    after = np.zeros(len(tally))
    follows = np.flatnonzero(np.diff(x) == 1)
    after[follows] = frequency[follows + 1]
    fitted = Npmle()(tally).prior
    assert fitted is not None
    weights = posterior(prior, x).weights  # type: ignore[attr-defined]  # P(atom j | x), [u, k]
    mean, bayes = weights @ prior.weights, bayes_rule(prior, x)
    exact = np.zeros(len(tally))
    return {
        "frequency": Target(frequency, exact),
        "robbins": Target((x + 1) * after / (frequency + 1), exact),
        "marginal": Target(np.exp(log_marginal(fitted, x)), exact),
        "bayes": Target(bayes, exact),
        "correction": Target(2.0 * np.sqrt(bayes) - stabilised(x), exact),
        "value": Target(x.astype(float), exact),
        "atom weight": Target(mean, weights @ prior.weights**2 - mean**2),
    }
