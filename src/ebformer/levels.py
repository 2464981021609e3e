"""What may be asked of distributions: levels, thresholds and draws, checked; and which whole number reaches a level."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from ebformer.errors import InputError

if TYPE_CHECKING:
    from ebformer.distributions import Floats, Predictive


def check_draws(n: int, rng: np.random.Generator) -> None:
    """An `InputError` unless n draws can be taken from a generator of random numbers.

    >>> check_draws(2, np.random.default_rng(0))
    """
    if not (isinstance(n, Integral) and n >= 0):
        raise InputError(f"the number of draws is {n!r}: give a whole number of at least 0")
    if not isinstance(rng, np.random.Generator):
        raise InputError(f"draws need a generator of random numbers, not {rng!r}: give numpy.random.default_rng(0)")


def against(levels: Floats, parameter: Floats) -> Floats:
    """A parameter per observation, given trailing axes so that it broadcasts against levels: x.shape + (1, ...).

    >>> against(np.zeros((2, 3)), np.zeros(5)).shape
    (5, 1, 1)
    """
    return parameter.reshape(parameter.shape + (1,) * levels.ndim)


def tails(level: float) -> tuple[float, float]:
    """The probabilities below the two ends of an equal-tailed interval, which leaves something out at either end.

    >>> tails(0.5)
    (0.25, 0.75)
    """
    if not (isinstance(level, Real) and 0 < level < 1):
        raise InputError(f"the level of an interval is {level!r}: give a probability between 0 and 1")
    if (1 + level) / 2 == 1:
        raise InputError(f"the level of an interval is {level!r}, which nothing is outside of: give a smaller one")
    return (1 - level) / 2, (1 + level) / 2


def probabilities(q: ArrayLike) -> Floats:
    """Numbers in [0, 1], or an `InputError` that names the first offender.

    >>> probabilities([0.05, 0.95]).tolist()
    [0.05, 0.95]
    """
    levels = _numbers(q, "the level of a quantile")
    bad = ~((levels >= 0) & (levels <= 1))
    if bad.any():
        raise InputError(f"the level of a quantile is {levels[bad].flat[0]:g}: give a probability between 0 and 1")
    return levels


def thresholds(c: ArrayLike) -> Floats:
    """Numbers that thetas can be compared with, or an `InputError` where one is NaN.

    >>> thresholds([-1, 0.5]).tolist()
    [-1.0, 0.5]
    """
    levels = _numbers(c, "the number to exceed")
    if np.isnan(levels).any():
        raise InputError("the number to exceed is nan: give a number")
    return levels


def next_numbers(y: ArrayLike) -> Floats:
    """Numbers that a next observation can be compared with, or an `InputError`.

    >>> next_numbers([0, 2]).tolist()
    [0.0, 2.0]
    """
    return _numbers(y, "the next observation")


def _numbers(given: ArrayLike, name: str) -> Floats:
    """An array of numbers, or an `InputError` that says what should have been some."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is {given!r}: give numbers") from error


def below_one(q: ArrayLike) -> Floats:
    """Probabilities below 1, or an `InputError`: no next observation is certain to be the largest.

    >>> below_one(0.5).item()
    0.5
    """
    levels = probabilities(q)
    if bool(np.any(levels == 1)):
        raise InputError("the level of a quantile is 1, and no count is certain to be enough: give a number below 1")
    return levels


def whole_quantile(cdf: Callable[[Floats], Floats], levels: Floats, law: Predictive) -> NDArray[np.int64]:
    """The smallest y >= 0 with cdf(y) >= level, of every unit of a law: x.shape + levels.shape."""
    found = first_reaching(cdf, levels.reshape(-1), law)
    return found.reshape(found.shape[:-1] + levels.shape)


def first_reaching(cdf: Callable[[Floats], Floats], levels: Floats, law: Predictive) -> NDArray[np.int64]:
    """The same for levels (q,), or x.shape + (q,) where units have their own: x.shape + (q,), as cdf has it.

    Searched from where a normal law with the same moments has it, by secants and every third step by halves.
    """
    goal = levels * (1 - 1e-14)
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = np.sqrt(law.variance)[..., None]
        near = np.floor(law.mean[..., None] + deviation * np.clip(ndtri(goal), -10.0, 10.0))
    near = np.where(np.isfinite(near), np.maximum(near, 0.0), 0.0)
    reach = np.where(np.isfinite(deviation), np.maximum(np.floor(0.25 * deviation), 1.0), 1.0) + 0.0 * near
    below, above = np.maximum(near - reach, -1.0), near + reach
    under, over = cdf(below), cdf(above)
    while True:
        low = (under >= goal) & (below >= 0)
        high = ~low & (over < goal)
        if not bool(np.any(low | high)):
            break
        _check_written(above[high])
        reach = 4.0 * reach
        below, above = (
            np.where(high, above, np.where(low, np.maximum(below - reach, -1.0), below)),
            np.where(low, below, np.where(high, above + reach, above)),
        )
        under, over = np.where(high, over, under), np.where(low, under, over)
        found = cdf(np.where(low, below, above))
        under, over = np.where(low, found, under), np.where(high, found, over)
    # Beyond 2^53 neighbouring floats are further apart than counts, so that what ends the search is no count between.
    step = 0
    while bool(np.any((below < (middle := np.maximum(np.floor(0.5 * (below + above)), 0.0))) & (middle < above))):
        step += 1
        if step % 3:
            with np.errstate(divide="ignore", invalid="ignore"):
                secant = np.floor(below + (goal - under) / (over - under) * (above - below))
            middle = np.where((secant > below) & (secant < above), secant, middle)
        found = cdf(middle)
        reached = found >= goal
        # Illinois: the end that stays counts half, so that both ends move.
        under, over = (
            np.where(reached, goal + 0.5 * (under - goal), found),
            np.where(reached, found, goal + 0.5 * (over - goal)),
        )
        below, above = np.where(reached, below, middle), np.where(reached, middle, above)
    _check_written(above)
    return above.astype(np.int64)


def _check_written(counts: Floats) -> None:
    if bool(np.any(counts >= 2.0**63)):
        raise InputError(f"a next count may reach {counts.max():.0e}, more than can be written: ask for less exposure")


def on_whole_numbers(log_pmf: Callable[[Floats], Floats], y: Floats) -> Floats:
    """log_pmf where y is a whole number of at least 0, and -inf, the logarithm of 0, elsewhere.

    >>> on_whole_numbers(lambda y: 0 * y, np.array([2.0, 0.5])).tolist()
    [0.0, -inf]
    """
    possible = (y >= 0) & (y < np.inf) & (y == np.floor(y))
    return np.where(possible, log_pmf(np.where(possible, y, 0.0)), -np.inf)
