"""Can a quantity be read off the activations? Layer norm, linear map and GELU (Alain and Bengio 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from ebformer.distributions import Floats
from ebformer.networks.constants import LAYER_NORM_EPSILON

FAINTEST = 1e-6
"""Directions in which activations vary less than this, relative to the strongest, are the rounding of float32."""


@dataclass(frozen=True, eq=False)
class Probe:
    """activations [rows, d] -> lowest + scale * GELU(norm(activations) @ slope + intercept); no GELU where `linear`."""

    slope: Floats
    intercept: float
    scale: float = 1.0
    lowest: float = 0.0
    linear: bool = True

    def __call__(self, activations: Floats) -> Floats:
        """The quantity as read off each row."""
        line = normalised(activations) @ self.slope + self.intercept
        return np.asarray(self.lowest + self.scale * (line if self.linear else gelu(line)))


@dataclass(frozen=True, eq=False)
class Prober:
    """One layer's activations [rows, d] and the weight of every row, ready to be asked for any number of targets.

    `basis` [rows, k] spans the normalised activations and the constant, orthonormal under the weights: least squares
    are then a product, and L-BFGS takes tens of steps where activations, which are nearly collinear, take thousands.

    >>> rng = np.random.default_rng(0)
    >>> h = rng.normal(size=(500, 4))
    >>> y = gelu(normalised(h) @ np.array([1.0, -0.5, 0.3, 0.0]) + 3.0)
    >>> r_squared(Prober.of(h, np.ones(500)).fit(y)(h), y, np.ones(500)) > 0.99
    True
    """

    basis: Floats
    share: Floats
    back: Floats
    """[d + 1, k]: from coefficients of the basis to slope and intercept."""

    @classmethod
    def of(cls, activations: Floats, weight: Floats) -> Prober:
        share = weight / weight.sum()
        design = np.column_stack([normalised(activations), np.ones(len(activations))])
        _, strength, directions = np.linalg.svd(design * np.sqrt(share)[:, None], full_matrices=False)
        kept = strength > FAINTEST * strength[0]
        back = directions[kept].T / strength[kept]
        return cls(design @ back, share, back)

    def fit_linear(self, target: Floats) -> Probe:
        """Weighted least squares in closed form, without the GELU; target [rows]."""
        return Probe(*self._line(self.basis.T @ (self.share * target)))

    def fit(self, target: Floats) -> Probe:
        """The probe of least weighted squared error, by L-BFGS from the closed-form linear probe; target [rows].

        A GELU is at home near 1 and hardly goes below 0, so the target is divided by its root mean square, after its
        lowest value was taken off if that is negative.
        """
        lowest = min(0.0, float(target.min()))
        scale = float(np.sqrt(self.share @ (target - lowest) ** 2)) or 1.0
        y = (target - lowest) / scale

        def loss(coefficients: Floats) -> tuple[float, Floats]:
            line = self.basis @ coefficients
            error = gelu(line) - y
            pull = 2.0 * self.share * error * gelu_slope(line)
            return float(self.share @ error**2), self.basis.T @ pull

        start = self.basis.T @ (self.share * y)
        found, _, _ = optimize.fmin_l_bfgs_b(loss, start, maxiter=500, factr=1e6, pgtol=1e-9)
        return Probe(*self._line(found), scale, lowest, linear=False)

    def _line(self, coefficients: Floats) -> tuple[Floats, float]:
        line = self.back @ coefficients
        return line[:-1], float(line[-1])


def r_squared(read: Floats, target: Floats, weight: Floats, spread: Floats | float = 0.0) -> float:
    """1 - residual / variance of the target. `spread` is the variance of a target that is random given the row.

    >>> r_squared(np.array([1.0, 2.0]), np.array([1.0, 3.0]), np.ones(2))
    0.5
    """
    share = weight / weight.sum()
    variance = share @ ((target - share @ target) ** 2 + spread)
    return float(1.0 - share @ ((read - target) ** 2 + spread) / variance)


def ceiling(target: Floats, weight: Floats, spread: Floats | float) -> float:
    """The largest R^2 that any function of the rows can reach: that of the target's conditional mean itself."""
    return r_squared(target, target, weight, spread)


def normalised(activations: Floats) -> Floats:
    """Layer norm without its affine map, which the linear map absorbs."""
    centred = activations - activations.mean(axis=-1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + LAYER_NORM_EPSILON))


def gelu(x: Floats) -> Floats:
    """x Phi(x)."""
    return np.asarray(x * special.ndtr(x))


def gelu_slope(x: Floats) -> Floats:
    """d/dx of x Phi(x)."""
    return np.asarray(special.ndtr(x) + x * np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi))
