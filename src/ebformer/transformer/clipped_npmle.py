"""Theorem 4.2's target: the NPMLE among priors on [0, M], and its limit when part of the sample escapes to infinity.

An observation x >> M has p(x | theta) / p(x | M) = (theta / M)^x e^(M - theta), which tends to 1 at theta = M and to 0
below. A share of observations that escapes to infinity therefore acts like one that only theta = M can produce, and

    maximise  sum_x p(x) log f_Q(x) + escaped log Q({M})  over priors Q on [0, M]

extends the estimator to distributions with mass at infinity (lemma `npmle_cont`; see docs/theorems.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

from ebformer.channel import deviance
from ebformer.errors import ConvergenceError
from ebformer.posterior import bayes_rule
from ebformer.prior import Prior

Floats = NDArray[np.float64]

GAP, ACCEPTED = 1e-8, 1e-6
"""By how much a candidate rate may still promise to raise the log-likelihood: where to stop, and what is accepted."""


def bounded_npmle(x: ArrayLike, share: ArrayLike, M: float, escaped: float = 0.0, candidates: int = 301) -> Prior:
    """The prior on [0, M], on candidates even in sqrt(theta), that maximises the likelihood of shares of counts.

    Constrained Newton (Wang 2007): the log-likelihood, expanded to second order around the current marginals, is a
    non-negative least squares problem in the weights of the support and of the crests of the gradient.

    >>> bounded_npmle([1, 8], [0.5, 0.5], M=10.0).atoms.round().tolist()
    [1.0, 8.0]
    >>> bounded_npmle([0], [1.0], M=5.0).atoms.tolist()
    [0.0]
    """
    theta = np.linspace(0, np.sqrt(M), candidates) ** 2
    theta[-1] = M
    # Rows may be scaled freely; relative to their largest entry on [0, M] none overflows or vanishes.
    log_kernel = -deviance(np.asarray(x, dtype=np.float64)[:, None], theta)
    kernel = np.exp(log_kernel - log_kernel.max(axis=1, keepdims=True))
    q = np.asarray(share, dtype=np.float64)
    if escaped > 0:
        kernel, q = np.vstack([kernel, theta == M]), np.append(q, escaped)
    q = q / q.sum()
    weights = np.zeros(candidates)
    weights[:: candidates // 10] = 1.0
    weights /= weights.sum()
    for _ in range(100):
        f = kernel @ weights
        gradient = (q / f) @ kernel
        if gradient.max() < 1 + GAP:
            break
        weights = _newton_step(kernel, q, f, gradient, weights)
    if gradient.max() > 1 + ACCEPTED:
        raise ConvergenceError(f"the bounded NPMLE stopped at a gap of {gradient.max() - 1:.1e}: use fewer candidates")
    return Prior(theta[weights > 0], weights[weights > 0] / weights.sum())


def _newton_step(kernel: Floats, q: Floats, f: Floats, gradient: Floats, weights: Floats) -> Floats:
    padded = np.pad(gradient, 1, constant_values=-np.inf)
    crest = (gradient >= padded[:-2]) & (gradient >= padded[2:])
    free = np.flatnonzero(crest | (weights > 1e-14))
    # Weights that add up to 1 and minimise |S w - 2| minimise |(S - 2) w|, and so does, once rescaled, the solution
    # with (sum w - 1)^2 added to the objective (Haskell and Hanson 1981).
    rows = np.sqrt(q)[:, None] * (kernel[:, free] / f[:, None] - 2)
    target = np.zeros_like(weights)
    target[free] = nnls(np.vstack([rows, np.ones(free.size)]), np.append(np.zeros(f.size), 1.0))[0]
    target /= target.sum()
    before, step = q @ np.log(f), 1.0
    slope = gradient @ (target - weights)
    while step > 1e-9:
        tried = (1 - step) * weights + step * target
        with np.errstate(divide="ignore"):
            if q @ np.log(kernel @ tried) >= before + 0.1 * step * slope:
                break
        step /= 2
    return tried


def clipped_npmle(x: ArrayLike, share: ArrayLike, d: int, M: float, escaped: float = 0.0) -> Floats:
    """[d + 1]: the estimates at 0, ..., d. Beyond d, theorem 4.2 answers M."""
    return bayes_rule(bounded_npmle(x, share, M, escaped), np.arange(d + 1))
