"""Newton's method for atoms and weights of the NPMLE together: where it starts close enough, it ends at the maximum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv, dtrtrs

from ebformer.distributions import Floats
from ebformer.estimators.npmle import loops
from ebformer.estimators.npmle.columns import LEAST
from ebformer.estimators.npmle.sample import Sample


class Mixture(NamedTuple):
    """Sorted atoms and weights [k], F [u], and the log-likelihood around them to second order.

    `curve` [3, k] are D, D' and D'' at the atoms and `gram` [2k, 2k] is J' diag(q / F^2) J with J = [A, A'].
    """

    theta: Floats
    w: Floats
    f: Floats
    curve: Floats
    gram: Floats

    @classmethod
    def of(cls, sample: Sample, theta: Floats, w: Floats) -> Mixture:
        order = np.argsort(theta)
        theta, w, k = theta[order], w[order], theta.size
        compiled = loops.expand(sample.jet(theta), sample.q, w) if len(sample.blocks) == 1 else None
        if compiled is not None:
            return cls(theta, w, *compiled)
        f, curve, gram = np.empty(sample.q.size), np.zeros((3, k)), np.zeros((2, k, 2, k))
        for block in sample.blocks:
            cols = block.reach(theta)
            a, da, dda = block.sample.jet(theta[cols])
            some = np.maximum(a @ w[cols], LEAST)
            f[block.rows] = some
            c = block.sample.q / some
            for total, each in zip(curve, (a, da, dda), strict=True):
                total[cols] += c @ each
            j = np.concatenate([a, da], axis=1) * (np.sqrt(block.sample.q) / some)[:, None]
            gram[:, cols, :, cols] += (j.T @ j).reshape(2, a.shape[1], 2, a.shape[1])
        return cls(theta, w, f, curve, gram.reshape(2 * k, 2 * k))


def slide(sample: Sample, theta: Floats, w: Floats, steps: int = 15) -> tuple[Floats, Floats, int]:
    """Newton's method for atoms and weights together, in v (weights) and alpha = v * (shift of the atom).

    Newton works in theta: in sqrt(theta) every atom would be stationary at 0. Atoms whose weight a step would take
    below 0 are given up.
    """
    now = Mixture.of(sample, theta, w)
    damping, step = 0.0, 0
    while step < steps:
        step += 1
        found = damped_step(sample, now, damping)
        if found is None:
            break
        now, damping = found
        damping = 0.0 if damping < 1e-5 else damping / 10
    return now.theta, now.w, step


def damped_step(sample: Sample, now: Mixture, damping: float) -> tuple[Mixture, float] | None:
    """Damp Newton's step (Levenberg) until it does not lower the likelihood nor move an atom by three cells or more.

    Returns the mixture it leads to and the damping that it took; None at a maximum or if no damping helps.
    """
    lattice = sample.lattice
    cells = np.arange(lattice.size, dtype=np.float64)
    place = np.interp(now.theta, lattice, cells)
    while damping < 1e3:
        steepest, w, alpha = newton_step(sample, now, damping)
        if steepest < 1e-13:
            return None
        kept = np.flatnonzero(w)
        theta = np.minimum(np.maximum(now.theta[kept] + alpha[kept] / w[kept], sample.low), sample.high)
        if kept.size and float(np.abs(np.interp(theta, lattice, cells) - place[kept]).max()) < 3:
            trial = Mixture.of(sample, theta, w[kept] / w.sum())
            if float(sample.q @ np.log(trial.f / now.f)) > -1e-15:
                return trial, damping
        damping = max(10 * damping, 1e-6)
    return None


def newton_step(sample: Sample, now: Mixture, damping: float) -> tuple[float, Floats, Floats]:
    """How steep the log-likelihood is, and the weights [k] and alpha [k] that maximise its damped quadratic model.

    Weights that would turn negative are 0, for good. An atom at an end of the interval stays there if D rises beyond.
    """
    k, slope = now.w.size, now.curve[1]
    moves = ((now.theta > sample.low) | (slope > 0)) & ((now.theta < sample.high) | (slope < 0))
    compiled = loops.newton_step(now.curve, now.gram, now.w, moves, damping)
    if compiled is not None:
        return compiled
    model = QuadraticModel.of(now)
    held = np.concatenate([np.zeros(k, dtype=bool), ~moves])
    steepest = float(np.abs(model.gradient[~held]).max())
    y = np.zeros(2 * k)
    while True:
        free = np.flatnonzero(~held)
        right = model.gradient - model.gram[:, held] @ y[held]
        y[free] = damped_newton(sample, now, model, free, right[free], damping)
        w = np.where(held[:k], 0.0, now.w + y[:k] / model.scale[:k])
        gone = w < 0
        if not gone.any():
            return steepest, w, y[k:] / model.scale[k:]
        if not (w > 0).any():
            return steepest, np.zeros(k), np.zeros(k)
        held |= np.tile(gone, 2)
        y = np.where(held, np.concatenate([np.where(held[:k], -now.w * model.scale[:k], 0.0), np.zeros(k)]), y)


class QuadraticModel(NamedTuple):
    """The log-likelihood around a mixture, in v and alpha of every atom, each divided by its `scale`.

    v A(theta + alpha / v) = v A + alpha A' + alpha^2 A'' / (2 v) + ..., so the Hessian of the negative log-likelihood
    is J' diag(q / F^2) J, J = [A, A'], plus bend = -D'' / w on the diagonal of alpha, with no mixed term.
    """

    gram: Floats
    bend: Floats
    gradient: Floats
    scale: Floats

    @classmethod
    def of(cls, at: Mixture) -> QuadraticModel:
        d, slope, second = at.curve
        bend = np.concatenate([np.zeros(at.w.size), -second / at.w])
        scale = np.sqrt(at.gram.diagonal() + np.maximum(bend, 0.0))
        gradient = np.concatenate([d - 1, slope]) / scale
        return cls(at.gram / scale / scale[:, None], bend / scale**2, gradient, scale)


def damped_newton(
    sample: Sample, at: Mixture, model: QuadraticModel, free: NDArray[np.intp], right: Floats, damping: float
) -> Floats:
    """(J'J + diag(bend) + damping I)^-1 right, or with the positive part of bend where that is not definite."""
    upward = np.maximum(model.bend, 0.0)
    for bend in (model.bend, upward):
        h = model.gram[free[:, None], free]
        h.flat[:: free.size + 1] += damping + bend[free]
        _, y, failed = dposv(h, right)
        if not failed:
            return np.asarray(y)
    # The triangle of a QR factorisation keeps digits that J'J has lost.
    r = np.diag(np.sqrt(upward[free] + damping + 1e-300))
    for rows in jacobian(sample, at):
        r = np.asarray(np.linalg.qr(np.concatenate([r, (rows / model.scale)[:, free]]), mode="r"))
    y, _ = dtrtrs(r, dtrtrs(r, right, trans=1)[0])
    return np.asarray(y)


def jacobian(sample: Sample, at: Mixture) -> Iterator[Floats]:
    """diag(sqrt(q) / F) [A, A'], block by block."""
    for block in sample.blocks:
        a, da, _ = block.sample.jet(at.theta)
        yield np.concatenate([a, da], axis=1) * (np.sqrt(block.sample.q) / at.f[block.rows])[:, None]
