"""The NPMLE by a general convex solver, written apart from the package: slow, and exact on the points it is given."""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse
from scipy.special import xlogy

from ebformer.tally import Tally


def kernel(tally: Tally, theta: np.ndarray) -> np.ndarray:
    """p(x | t theta) / p(x | x), written naively and apart from the package: fine for the counts used here."""
    x, mean = tally.values[:, None].astype(float), tally.known[:, None] * theta
    return np.exp(xlogy(x, mean) - mean - xlogy(x, x) + x)


def convex_program(kernel: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, float]:
    """max sum q log(K w) over the simplex, as an exponential-cone program: weights and objective."""
    u, k = kernel.shape
    # Variables (w, s): maximise q's subject to (s_i, 1, (K w)_i / q_i) in the exponential cone, w >= 0, sum w = 1.
    # To divide by q adds a constant to s and nothing to the problem; a share of 1e-8 is then told as well as others.
    rows, right, cones = [], [], []
    rows.append(np.concatenate([np.ones((1, k)), np.zeros((1, u))], axis=1))
    right.append(np.ones(1))
    cones.append(clarabel.ZeroConeT(1))
    rows.append(np.concatenate([-np.eye(k), np.zeros((k, u))], axis=1))
    right.append(np.zeros(k))
    cones.append(clarabel.NonnegativeConeT(k))
    for i in range(u):
        block = np.zeros((3, k + u))
        block[0, k + i] = -1.0
        block[2, :k] = -kernel[i] / q[i]
        rows.append(block)
        right.append(np.array([0.0, 1.0, 0.0]))
        cones.append(clarabel.ExponentialConeT())
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix((k + u, k + u)),
        np.concatenate([np.zeros(k), -q]),
        sparse.csc_matrix(np.concatenate(rows)),
        np.concatenate(right),
        cones,
        settings,
    ).solve()
    w = np.maximum(np.array(solution.x)[:k], 0)
    w /= w.sum()
    return w, float(q @ np.log(kernel @ w))
