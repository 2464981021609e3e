"""Where priorformer's own track begins: nearly at the conjugate prior of greatest likelihood.

Conjugate priors are an exponential family on the atoms, w_j = base_j exp(eta . T_j). Its two parameters climb the
likelihood by steps of Berndt, Hall, Hall and Hausman (1974): the covariance of the scores of the units stands for the
curvature, so that every step goes up, and none is longer than one deviation of the prior that it moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.networks.grid import Grid
from ebformer.networks.likelihood import NEGLIGIBLE, Likelihood

Array = NDArray[Any]

CONJUGATE_SHARE, CONJUGATE_STEPS, LEAST_CURVATURE = 0.9, 12, 0.02
"""How much of its start is the conjugate prior, the steps that find it, and the least part of the curvature of its
complete data that is believed of what is seen."""


def conjugate_start(grid: Grid, likelihood: Likelihood, share: Array, flat_start: Array) -> Array:
    """Log-weights [a]: CONJUGATE_SHARE of the conjugate prior, and for the rest those of the other track, [a]."""
    base, statistics = grid.conjugate_family()
    begun = np.exp(flat_start.astype(np.float64))
    begun /= begun.sum()
    inner = np.where(grid.inner, begun, 0.0)
    inner /= inner.sum()
    statistics = whitened(statistics, inner) * grid.inner
    eta = nearest(base, statistics, flat_start.astype(np.float64), inner)
    exact = likelihood.in_double  # of few units the scores nearly cancel: single precision would move the answer
    for _ in range(CONJUGATE_STEPS):
        weights = family(base, statistics, eta)
        marginal, *moments = exact.marginal(np.concatenate([weights[None], weights * statistics]))
        mean = statistics @ weights
        far = np.array(moments) + NEGLIGIBLE * mean[:, None]  # what no atom of weight explains leaves the mean alone
        scores = far / (marginal + NEGLIGIBLE) - mean[:, None]  # of every unit, [2, m]
        around = statistics - mean[:, None]
        spread = (around * weights) @ around.T
        curvature = (scores * share) @ scores.T + LEAST_CURVATURE * (spread + 1e-6 * np.eye(2))
        step = np.linalg.solve(curvature, scores @ share)
        eta = eta + step / max(1.0, np.sqrt(step @ spread @ step))
    weights = CONJUGATE_SHARE * family(base, statistics, eta) + (1.0 - CONJUGATE_SHARE) * begun
    return np.asarray(np.log(weights).astype(flat_start.dtype))


def family(base: Array, statistics: Array, eta: Array) -> Array:
    """The weights of one member."""
    logarithm = base + eta @ statistics
    weights = np.exp(logarithm - logarithm.max())
    return np.asarray(weights / weights.sum())


def whitened(statistics: Array, weights: Array) -> Array:
    """Statistics [2, a] turned and scaled to mean 0 and covariance 1 under the weights."""
    around = statistics - (statistics @ weights)[:, None]
    covariance = (around * weights) @ around.T
    covariance += 1e-6 * np.diag(np.diag(covariance)) + 1e-30 * np.eye(2)
    return np.asarray(np.linalg.solve(np.linalg.cholesky(covariance), around))


def nearest(base: Array, statistics: Array, log_weights: Array, weights: Array) -> Array:
    """eta of the member whose log-weights come closest to those given, on the average over the weights."""
    design = np.concatenate([np.ones((1, len(base))), statistics])
    above = np.where(weights > 0.0, log_weights - np.where(weights > 0.0, base, 0.0), 0.0)
    return np.asarray(np.linalg.solve((design * weights) @ design.T + 1e-6 * np.eye(3), (design * weights) @ above)[1:])
