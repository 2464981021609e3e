"""Theorem 4.2's target: the NPMLE among priors on [0, M], and its limit when part of the sample escapes to infinity.

An observation x >> M has p(x | theta) / p(x | M) = (theta / M)^x e^(M - theta), which tends to 1 at theta = M and to 0
below. A share of observations that escapes to infinity therefore acts like one that only theta = M can produce, and

    maximise  sum_x p(x) log f_Q(x) + escaped log Q({M})  over priors Q on [0, M]

extends the estimator to distributions with mass at infinity (lemma `npmle_cont`; see docs/theorems.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ebformer.bayes.marginal import bayes_rule
from ebformer.channels import POISSON
from ebformer.distributions import Floats
from ebformer.errors import ConvergenceError, InputError
from ebformer.estimators.npmle.sample import Sample
from ebformer.estimators.npmle.solver import maximise
from ebformer.prior import Prior

GAP = 1e-8
"""The largest derivative of the log-likelihood towards any rate in [0, M] that passes for 0."""
INFINITY = 1e30
"""A count at infinity: (theta / M)^INFINITY is 1 at theta = M and 0 at every smaller number of double precision."""


def bounded_npmle(x: ArrayLike, share: ArrayLike, M: float, escaped: float = 0.0) -> Prior:
    """The prior on [0, M] that maximises the likelihood of shares of counts, certified as the catalogue's NPMLE is.

    >>> bounded_npmle([1, 8], [0.5, 0.5], M=10.0).atoms.round(3).tolist()
    [1.0, 7.946]
    >>> bounded_npmle([0], [1.0], M=5.0).atoms.tolist()
    [0.0]
    >>> bounded_npmle([0], [0.8], M=5.0, escaped=0.2).atoms.tolist()
    [0.0, 5.0]
    """
    counts = np.append(np.asarray(x, dtype=np.float64), INFINITY)
    q = np.append(np.asarray(share, dtype=np.float64), escaped)
    if not M > 0:
        raise InputError(f"M is {M}: give a positive number")
    if counts.shape != q.shape or not (np.isfinite(q) & (q >= 0) & (counts >= 0)).all() or not q.any():
        raise InputError(
            "x and share do not match: give one share of at least 0 for every count of at least 0, not all 0"
        )
    counts, q = counts[q > 0], q[q > 0]
    solution = maximise(Sample.of_shares(POISSON, counts, np.ones(counts.size), q / q.sum(), M), GAP)
    if solution.gap > GAP:
        raise ConvergenceError(f"the bounded NPMLE stopped at a gap of {solution.gap:.1e}: report the sample")
    return solution.prior


def clipped_npmle(x: ArrayLike, share: ArrayLike, d: int, M: float, escaped: float = 0.0) -> Floats:
    """[d + 1]: the estimates at 0, ..., d. Beyond d, theorem 4.2 answers M."""
    return bayes_rule(bounded_npmle(x, share, M, escaped), np.arange(d + 1))
