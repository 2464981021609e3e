"""Newton's method for atoms and weights of the NPMLE together: where it starts close enough, it ends at the maximum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv, dtrtrs

from ebformer.channels.base import Floats
from ebformer.estimators.npmle.sample import Sample
from ebformer.estimators.npmle.weights import reweigh


class Mixture(NamedTuple):
    """Atoms and weights [k], with A, A' and A'' at the atoms, each [u, k], and F [u]."""

    theta: Floats
    w: Floats
    jet: tuple[Floats, Floats, Floats]
    f: Floats

    @classmethod
    def of(cls, sample: Sample, theta: Floats, w: Floats) -> Mixture:
        jet = sample.jet(theta)
        return cls(theta, w, jet, jet[0] @ w)


def slide(sample: Sample, lattice: Floats, theta: Floats, w: Floats, steps: int = 15) -> tuple[Floats, Floats, int]:
    """Newton's method for atoms and weights together, in v (weights) and alpha = v * (shift of the atom).

    Newton works in theta: in sqrt(theta) every atom would be stationary at 0. An atom whose weight a whole step would
    take below 0 is given up if the weights, adjusted on their own, have no use for it.
    """
    now = Mixture.of(sample, theta, w)
    damping, step = 0.0, 0
    while step < steps:
        step += 1
        model = QuadraticModel.of(sample, now)
        if float(np.abs(model.gradient).max()) < 1e-13:
            break
        found = damped_step(sample, lattice, now, model, damping)
        if found is None:
            break
        now, whole, damping = found
        damping = 0.0 if damping < 1e-5 else damping / 10
        if not whole:
            w, _ = reweigh(now.jet[0], sample.q, now.w, now.w, 1e-15, steps=2)
            now = Mixture.of(sample, now.theta[w > 0], w[w > 0])
    order = np.argsort(now.theta)
    return now.theta[order], now.w[order], step


class QuadraticModel(NamedTuple):
    """The log-likelihood around a mixture, in v and in alpha of the atoms that may move, each divided by its `scale`.

    v A(theta + alpha / v) = v A + alpha A' + alpha^2 A'' / (2 v) + ..., so the Hessian of the negative log-likelihood
    is J' diag(q / F^2) J, J = [A, A'], plus bend = -D'' / w on the diagonal of alpha, with no mixed term.
    """

    j: Floats
    bend: Floats
    gradient: Floats
    scale: Floats
    moving: NDArray[np.intp]
    """Which atoms: an atom at an end of the interval stays there if D rises beyond it."""

    @classmethod
    def of(cls, sample: Sample, at: Mixture) -> QuadraticModel:
        a, da, dda = at.jet
        c = sample.q / at.f
        d, dd, ddd = c @ a, c @ da, c @ dda
        moving = np.flatnonzero(((at.theta > sample.low) | (dd > 0)) & ((at.theta < sample.high) | (dd < 0)))
        k, bend = at.w.size, -ddd[moving] / at.w[moving]
        j = np.concatenate([a, da[:, moving]], axis=1) * (np.sqrt(sample.q) / at.f)[:, None]
        scale = np.sqrt((j * j).sum(axis=0) + np.concatenate([np.zeros(k), np.maximum(bend, 0.0)]))
        gradient = np.concatenate([d - 1, dd[moving]]) / scale
        return cls(j / scale, bend / scale[k:] ** 2, gradient, scale, moving)


def damped_step(
    sample: Sample, lattice: Floats, now: Mixture, model: QuadraticModel, damping: float
) -> tuple[Mixture, bool, float] | None:
    """Damp Newton's step (Levenberg) until it does not lower the likelihood nor move an atom by three cells or more.

    Returns the mixture it leads to, whether the step was taken whole (else it stops before a weight reaches 0), and the
    damping that it took; None if no damping helps.
    """
    k, cells = now.w.size, np.arange(lattice.size, dtype=np.float64)
    place = np.interp(now.theta, lattice, cells)
    while damping < 1e3:
        y = damped_newton(model.j, model.bend, model.gradient, damping) / model.scale
        sinking = float((-y[:k] / now.w).max())
        part = 1.0 if sinking < 1 else 0.9 / sinking
        w = now.w + part * y[:k]
        shift = np.zeros(k)
        shift[model.moving] = part * y[k:] / w[model.moving]
        theta = np.minimum(np.maximum(now.theta + shift, sample.low), sample.high)
        if float(np.abs(np.interp(theta, lattice, cells) - place).max()) < 3:
            trial = Mixture.of(sample, theta, w / w.sum())
            if float(sample.q @ np.log1p(trial.f / now.f - 1)) > -1e-15:
                return trial, part == 1.0, damping
        damping = max(10 * damping, 1e-6)
    return None


def damped_newton(j: Floats, bend: Floats, gradient: Floats, damping: float) -> Floats:
    """(J'J + diag(0, bend) + damping I)^-1 gradient, or with the positive part of bend where that is not definite."""
    size, k = gradient.size, gradient.size - bend.size
    h = j.T @ j
    h.flat[:: size + 1] += damping
    h.flat[k * (size + 1) :: size + 1] += bend
    _, y, failed = dposv(h, gradient)
    if failed:
        # The triangle of a QR factorisation keeps digits that J'J has lost.
        rows = np.diag(np.sqrt(np.concatenate([np.zeros(k), np.maximum(bend, 0.0)]) + damping + 1e-300))
        r = np.linalg.qr(np.concatenate([j, rows]), mode="r")
        y, _ = dtrtrs(r, dtrtrs(r, gradient, trans=1)[0])
    return np.asarray(y)
