"""Can a quantity be read off the activations? Layer norm, linear map and GELU (Alain and Bengio 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Probe:
    """activations [rows, d] -> scale * GELU(norm(activations) @ slope + intercept), without the GELU where `linear`."""

    slope: Floats
    intercept: float
    scale: float
    linear: bool

    def __call__(self, activations: Floats) -> Floats:
        """The quantity as read off each row."""
        line = normalised(activations) @ self.slope + self.intercept
        return np.asarray(self.scale * (line if self.linear else gelu(line)))


def fit(activations: Floats, target: Floats, weight: Floats) -> Probe:
    """The probe of least weighted squared error, by L-BFGS from the closed-form linear probe.

    Shapes [rows, d], [rows], [rows]. The target is divided by its root mean square, so that a GELU near 1 can reach it.

    >>> rng = np.random.default_rng(0)
    >>> h = rng.normal(size=(500, 4))
    >>> y = gelu(normalised(h) @ np.array([1.0, -0.5, 0.3, 0.0]) + 0.2)
    >>> round(r_squared(fit(h, y, np.ones(500))(h), y, np.ones(500)), 4)
    1.0
    """
    rows, share = normalised(activations), weight / weight.sum()
    scale = float(np.sqrt(share @ target**2)) or 1.0
    y = target / scale

    def loss(parameters: Floats) -> tuple[float, Floats]:
        line = rows @ parameters[:-1] + parameters[-1]
        error = gelu(line) - y
        pull = 2.0 * share * error * gelu_slope(line)
        return float(share @ error**2), np.append(rows.T @ pull, pull.sum())

    start = fit_linear(activations, y, weight)
    found, _, _ = optimize.fmin_l_bfgs_b(
        loss, np.append(start.slope, start.intercept), maxiter=500, factr=1e4, pgtol=1e-9
    )
    return Probe(found[:-1], float(found[-1]), scale, linear=False)


def fit_linear(activations: Floats, target: Floats, weight: Floats) -> Probe:
    """The same probe without the GELU: weighted least squares in closed form."""
    rows, root = normalised(activations), np.sqrt(weight / weight.sum())
    design = np.column_stack([rows, np.ones(len(rows))]) * root[:, None]
    solution = np.linalg.lstsq(design, target * root, rcond=1e-10)[0]
    return Probe(solution[:-1], float(solution[-1]), 1.0, linear=True)


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
    return np.asarray(centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5))


def gelu(x: Floats) -> Floats:
    """x Phi(x)."""
    return np.asarray(x * special.ndtr(x))


def gelu_slope(x: Floats) -> Floats:
    """d/dx of x Phi(x)."""
    return np.asarray(special.ndtr(x) + x * np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi))
