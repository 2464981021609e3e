"""The NPMLE apart from the package: plain likelihoods, its certificate on a fine grid, and a general convex solver."""

from __future__ import annotations

from collections.abc import Callable

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln, xlog1py, xlogy

from ebformer.prior import Prior
from ebformer.tally import Tally

Floats = NDArray[np.float64]

BLOCK = 2_000_000
"""Entries of a matrix that are computed at a time."""


def _poisson(x: Floats, theta: Floats, t: Floats) -> Floats:
    return xlogy(x, t * theta) - t * theta - gammaln(x + 1)


def _zero_truncated(x: Floats, theta: Floats, t: Floats) -> Floats:
    seen = -np.expm1(-t * np.where(theta > 0, theta, 1.0))
    return np.where(theta > 0, _poisson(x, theta, t) - np.log(seen), np.where(x == 1, 0.0, -np.inf))


def _binomial(x: Floats, theta: Floats, m: Floats) -> Floats:
    ways = gammaln(m + 1) - gammaln(x + 1) - gammaln(m - x + 1)
    return ways + xlogy(x, theta) + xlog1py(m - x, -theta)


def _normal(x: Floats, theta: Floats, s: Floats) -> Floats:
    return -0.5 * ((x - theta) / s) ** 2 - np.log(s) - 0.5 * np.log(2 * np.pi)


def _root(theta: Floats) -> Floats:
    return 2 * np.sqrt(theta)


def _square(u: Floats) -> Floats:
    return (u / 2) ** 2


LOG_LIKELIHOOD: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    "poisson": _poisson,
    "zero-truncated": _zero_truncated,
    "binomial": _binomial,
    "normal": _normal,
}
COORDINATE: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "poisson": (_root, _square),
    "zero-truncated": (_root, _square),
    "binomial": (lambda theta: 2 * np.arcsin(np.sqrt(theta)), lambda u: np.sin(u / 2) ** 2),
    "normal": (lambda theta: theta, lambda u: u),
}
"""In which the noise is the same everywhere, and back."""


def log_likelihood(tally: Tally, theta: Floats) -> Floats:
    """log p(x | theta) [u, k], written naively: fine for the observations used here."""
    with np.errstate(divide="ignore"):
        return LOG_LIKELIHOOD[tally.channel.name](tally.x[:, None], np.asarray(theta), tally.known[:, None])


def kernel(tally: Tally, theta: Floats) -> Floats:
    """p(x | theta) [u, k], each row divided by its largest value."""
    best = tally.channel.mle(tally.x, tally.known)
    with np.errstate(divide="ignore"):
        largest = LOG_LIKELIHOOD[tally.channel.name](tally.x, best, tally.known)
    return np.exp(log_likelihood(tally, theta) - largest[:, None])


def log_marginal(tally: Tally, prior: Prior) -> Floats:
    """log f(x) [u]."""
    terms = log_likelihood(tally, prior.atoms)
    largest = terms.max(axis=1)
    return np.log(np.exp(terms - largest[:, None]) @ prior.weights) + largest


def gradient(tally: Tally, prior: Prior, theta: Floats) -> Floats:
    """D(theta) = sum (m_k / n) p(x_k | theta) / f(x_k)."""
    q, log_f = tally.multiplicity / tally.n, log_marginal(tally, prior)
    pieces = np.array_split(theta, max(1, theta.size * len(tally) // BLOCK))
    return np.concatenate([q @ np.exp(log_likelihood(tally, piece) - log_f[:, None]) for piece in pieces])


def independent_gap(tally: Tally, prior: Prior, theta_max: float = np.inf, spacing: float = 0.05) -> float:
    """max D - 1 over a grid, even in the stable coordinate, and then ever closer to its highest points.

    `spacing` is in standard deviations of the least noise among the observations.
    """
    there, back = COORDINATE[tally.channel.name]
    noise = tally.known if tally.channel.name == "normal" else tally.known**-0.5
    mle = tally.channel.mle(tally.x, tally.known)
    low, high = (float(there(np.asarray(min(end, theta_max)))) for end in (mle.min(), mle.max()))
    u = np.linspace(low, high, 2 + int((high - low) / (spacing * noise.min())))
    d = gradient(tally, prior, np.minimum(back(u), theta_max))
    width, highest = (high - low) / (u.size - 1), float(d.max())
    crest = np.flatnonzero((d >= np.append(d[1:], 0)) & (d >= np.append(0, d[:-1])) & (d > 0.9))
    close = u[crest[np.argsort(d[crest])[-200:]]]
    for _ in range(4):
        near = np.clip(close[:, None] + width * np.linspace(-1, 1, 9), low, high)
        at_near = gradient(tally, prior, np.minimum(back(near.ravel()), theta_max)).reshape(near.shape)
        close = near[np.arange(close.size), at_near.argmax(axis=1)]
        highest, width = max(highest, float(at_near.max())), width / 4
    return highest - 1


def objective(tally: Tally, prior: Prior) -> float:
    """The log-likelihood per unit."""
    return float(tally.multiplicity / tally.n @ log_marginal(tally, prior))


def convex_program(kernel: Floats, q: Floats) -> tuple[Floats, float]:
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
    settings.iterative_refinement_reltol = settings.iterative_refinement_abstol = 1e-15
    settings.iterative_refinement_max_iter = 50
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
