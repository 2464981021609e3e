"""Effects with standard errors: x ~ Normal(theta, se^2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ebformer.channels.base import Channel, Parts, Reduced, Symmetry, longer_tail
from ebformer.channels.bounds import LARGEST, positive
from ebformer.channels.words import Advice, Words
from ebformer.distributions import Floats

STEP = 0.125
"""Distance, in standard errors, of the points that stand for a continuum of effects: sums over them are integrals to
exp(-2 pi c / STEP), below 1e-15 for all that vary no faster than the noise does."""


class Normal(Channel):
    """p(x | theta) = exp(-(x - theta)^2 / (2 s^2)) / sqrt(2 pi s^2), with standard error s.

    >>> Normal().log_likelihood([0.0, 2.0], 0.0, 1.0).round(6)
    array([-0.918939, -2.918939])
    """

    name = "normal"
    keyword = "se"
    words = Words(
        x="effect",
        xs="effects",
        known="standard error",
        knowns="standard errors",
        theta="effect",
        thetas="true effects",
        ask_x="give numbers from -1e50 to 1e50",
        ask_known="give positive numbers from 1e-50 to 1e50",
        seen="{name} {x} with {unit} {known}",
        amount="standard error {}",
        scale="its standard error",
    )
    advice = Advice(
        fits="normal with a mixing distribution fits",
        narrow="the effects vary less than their standard errors say: are these too large, or effects left out?",
        wide=(
            "effects are more spread than their standard errors explain where these are large and less where small: "
            "the standard errors seem wrong, so trust the intervals less"
        ),
        misfit="the effects do not look like true effects with normal noise: are some rounded, capped or left out?",
        trend=(
            "units with smaller standard errors have {direction} effects: "
            "the precision tells about the unit, so make it a covariate (--covariates with its column, in Python "
            "covariates=[...]); without, estimates of imprecise units lean the wrong way"
        ),
        parts=(
            "Noise that is added to split an effect makes independent parts only if the standard errors are right; "
            "where they are too small, methods that shrink least are flattered."
        ),
    )
    column = "effect"
    whole = False
    domain = inside = (-np.inf, np.inf)
    usual_future = None
    conjugate = "normal"
    loss = "squared"
    deviation = "difference"
    widths = (2.0**-7, 2.0**-5)

    def possible(self, x: Floats) -> NDArray[np.bool_]:
        with np.errstate(invalid="ignore"):
            found: NDArray[np.bool_] = (x >= -LARGEST) & (x <= LARGEST)
            return found

    def possible_known(self, known: Floats) -> NDArray[np.bool_]:
        return positive(known)

    def mle(self, x: Floats, known: Floats) -> Floats:
        return np.array(np.broadcast_arrays(x, known)[0])

    def log_peak(self, x: Floats, known: Floats) -> Floats:
        return np.broadcast_arrays(-np.log(np.sqrt(2.0 * np.pi) * known), x)[0]

    def deviance(self, x: Floats, theta: Floats, known: Floats) -> Floats:
        return np.asarray(0.5 * ((x - theta) / known) ** 2)

    def fall(self, x: Floats, theta: Floats, known: Floats, best: Floats) -> Floats:
        return np.asarray(((best - theta) / known) * (((x - theta) + (x - best)) / (2.0 * known)))

    def derivatives(self, x: Floats, theta: Floats, known: Floats) -> tuple[Floats, Floats]:
        z = (x - theta) / known
        return z / known, (z * z - 1.0) / known / known

    def concave(self, x: Floats, known: Floats) -> tuple[Floats, Floats]:
        return x - known, x + known

    def within(self, x: Floats, known: Floats, depth: float) -> tuple[Floats, Floats]:
        reach = np.sqrt(2.0 * depth) * known
        return x - reach, x + reach

    def coordinate(self, theta: Floats) -> Floats:
        return np.asarray(theta, dtype=np.float64)

    def at_coordinate(self, u: Floats) -> Floats:
        return np.asarray(u, dtype=np.float64)

    def noise(self, known: Floats) -> Floats:
        return np.asarray(known, dtype=np.float64)

    def natural(self, theta: Floats) -> Floats:
        return np.asarray(theta, dtype=np.float64)

    def at_natural(self, eta: Floats) -> Floats:
        return np.asarray(eta, dtype=np.float64)

    def around(self, mean: Floats, spread: Floats) -> Any:
        from ebformer.channels.normal_prior import NormalPosterior

        return NormalPosterior(*np.broadcast_arrays(mean, spread))

    def log_around(self, x: Floats, known: Floats, mean: Floats, spread: Floats) -> Floats:
        from ebformer.channels.normal_prior import normal_log_density

        return normal_log_density(x, mean, np.hypot(spread, known))

    def mean(self, theta: Floats, known: Floats) -> Floats:
        return np.broadcast_arrays(theta, known)[0]

    def variance(self, theta: Floats, known: Floats) -> Floats:
        return np.broadcast_arrays(known**2, theta)[0]

    def cdf(self, x: Floats, theta: Floats, known: Floats) -> Floats:
        return np.asarray(ndtr((x - theta) / known))

    def nodes(self, low: float, high: float, known: float) -> tuple[Floats, Floats]:
        count = 1 + int(np.ceil((high - low + 18.0 * known) / (STEP * known)))
        x = low - 9.0 * known + STEP * known * np.arange(count, dtype=np.float64)
        return x, np.full(x.size, STEP * known)

    def draw(self, theta: Floats, known: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(rng.normal(theta, known))

    def pooled(self, x: Floats, known: Floats, weight: Floats) -> float:
        return float((weight / known**2) @ x) / float((weight / known**2).sum())

    def about(self, common: float | None) -> str:
        return f", with {'unequal standard errors' if common is None else f'standard error {common:.6g}'}"

    def standard(self, x: Floats, known: float) -> tuple[Floats, float, float]:
        return x / known, 1.0, known

    def reduced(self, x: Floats, known: Floats, units: NDArray[Any]) -> Reduced:
        """Errors of mean precision 1; effects of weighted mean 0, the longer tail above."""
        typical, origin = _typical(known, units), self.pooled(x, known, units)
        turned = longer_tail(units, (x - origin) / known)
        return Reduced(turned * (x - origin) / typical, known / typical, origin, turned * typical)

    def split(self, x: Floats, known: Floats, folds: int, rng: np.random.Generator) -> list[Parts]:
        """Parts x_k ~ Normal(theta / folds, s^2 / folds) that add up to x, each taken back to the scale of x."""
        noise = rng.normal(size=(folds, x.size)) * (known / np.sqrt(folds))
        parts = x / folds + noise - noise.mean(axis=0)
        most, few = np.sqrt(folds / (folds - 1.0)), np.sqrt(folds)
        return [Parts((x - part) * folds / (folds - 1.0), known * most, part * folds, known * few) for part in parts]

    def unbiased_square(self, x: Floats, known: Floats) -> Floats:
        return np.asarray(x**2 - known**2)

    def merge(self, x: Floats, known: Floats, units: NDArray[Any], width: float) -> tuple[Floats, Floats]:
        """Errors move to the root mean square of a bin of log s, effects to the mean of a bin of width * s.

        Spread evenly over a bin, effects have noise of variance s^2 (1 + width^2 / 12): that is what it may cost.
        """
        _, of_known = np.unique(np.floor(np.log(known) / width), return_inverse=True)
        s = np.sqrt(np.bincount(of_known, units * known**2) / np.bincount(of_known, units))[of_known]
        _, cell = np.unique(np.floor(x / (width * s)), return_inverse=True)
        _, of_x = np.unique(of_known * (cell.max() + 1) + cell, return_inverse=True)
        return (np.bincount(of_x, units * x) / np.bincount(of_x, units))[of_x], s

    def sufficient(self, theta: Floats) -> Floats:
        return np.stack([theta, theta**2])

    def bin(self, x: Floats, known: Floats, width: float) -> tuple[Floats, Floats]:
        """log2 s is binned, and x in steps of `width` times the power of two below s."""
        octave = np.log2(known)
        return np.floor(x / (width * np.exp2(np.floor(octave)))), np.floor(octave / width)

    def unbin(self, x: Floats, known: Floats, width: float, at: tuple[float, float]) -> tuple[Floats, Floats]:
        return (x + at[0]) * width * np.exp2(np.floor(known * width)), np.exp2((known + at[1]) * width)

    def scale(self, theta: Floats, known: Floats) -> Floats:
        return known

    def summands(self, x: Floats, known: Floats) -> tuple[Floats, Floats]:
        """Precisions add up, and so do effects weighted by them."""
        return x / (known * known), 1.0 / (known * known)

    def added_up(self, x: Floats, known: Floats) -> tuple[Floats, Floats]:
        return x / known, 1.0 / np.sqrt(known)

    def conjugate_prior(self, **parameters: Any) -> Any:
        from ebformer.channels.normal_prior import NormalPrior

        return NormalPrior(**parameters)

    def hyperprior(self, x: Floats, known: Floats, units: Floats) -> Any:
        """The spread is measured in standard errors, of which the harmonic mean of the squares is typical."""
        from ebformer.channels.hyperprior import Hyperprior
        from ebformer.channels.normal_prior import NormalPrior

        return Hyperprior(NormalPrior, self.pooled(x, known, units), scale=_typical(known, units))

    def symmetries(self) -> Sequence[Symmetry]:
        return [
            Symmetry("a constant added to all effects", lambda x, s: (x + 7.0, s), lambda theta: theta + 7.0),
            Symmetry("effects in other units", lambda x, s: (2.5 * x, 2.5 * s), lambda theta: 2.5 * theta, 2.5),
            Symmetry("all effects the other way round", lambda x, s: (-x, s), lambda theta: -theta),
        ]


def _typical(known: Floats, units: NDArray[Any]) -> float:
    """The standard error whose precision is the mean of all; no square leaves the range of numbers on the way."""
    smallest = float(known.min())
    return float(smallest / np.sqrt(float(units @ (smallest / known) ** 2) / float(units.sum())))
