"""Decisions from posteriors: who is beyond a bar, which list keeps its share of errors, who can be told apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ebformer.distributions import Floats, Posterior
from ebformer.errors import InputError

Side = Literal["above", "below", "apart"]
"""Which thetas are discoveries: those above the bar, below it, or on the side of it that their posterior favours."""
GRADE_LEVEL = 0.9
"""How sure it must be that a unit is behind the first of a grade before a new grade begins."""


@dataclass(frozen=True)
class Bar:
    """A number to compare thetas with, as it is or as a multiple of the mean of all units.

    The mean is that of the observations: all events over all exposure, all successes over all trials, or the mean
    effect weighted by precision. It does not depend on the method.

    >>> print(Bar.of("1.5x"), "is", Bar.of("1.5x").at(mean=4.0))
    1.5x is 6 (1.5 times the mean of all units)
    """

    number: float
    times_mean: bool = False
    origin: str = field(default="", compare=False, repr=False)

    @classmethod
    def of(cls, given: float | str | Bar) -> Bar:
        """From a number, or from text such as "0.3" or "1.5x"."""
        if isinstance(given, Bar):
            return given
        times_mean = isinstance(given, str) and given.strip().lower().endswith("x")
        try:
            if isinstance(given, bool) or not isinstance(given, str | Real):
                raise ValueError
            number = float(given.strip().lower().removesuffix("x") if isinstance(given, str) else given)
        except ValueError:
            number = np.nan
        if not np.isfinite(number) or (times_mean and number <= 0):
            raise InputError(f"the bar is {given!r}: give a number, or one with an x for times the mean, such as 1.5x")
        return cls(number, times_mean)

    def at(self, mean: float) -> Bar:
        """The same as a number, for units with this mean."""
        if not self.times_mean:
            return self
        if not mean > 0:
            raise InputError(f"the mean of all units is {mean:g}, so {self} says nothing: give a number instead")
        return Bar(self.number * mean, origin=f" ({self.number:g} times the mean of all units)")

    def __str__(self) -> str:
        digits = 4 if self.origin else 6  # of a number that was given, all that matter
        return f"{self.number:.{digits}g}{'x' * self.times_mean}{self.origin}"


def p_above(after: Posterior, bar: float) -> Floats:
    """P(theta > bar | x)."""
    return after.exceeds(bar)


def p_below(after: Posterior, bar: float) -> Floats:
    """P(theta < bar | x): mass at the bar itself is neither above nor below.

    >>> from ebformer.distributions import DiscretePosterior
    >>> after = DiscretePosterior(np.array([-1.0, 0.0, 2.0]), np.array([[0.1, 0.5, 0.4]]))
    >>> [round(p(after, 0.0).item(), 9) for p in (p_below, p_above, lfsr)]
    [0.1, 0.4, 0.6]
    """
    return np.asarray(1.0 - after.exceeds(np.nextafter(bar, -np.inf)))


def lfsr(after: Posterior, null: float = 0.0) -> Floats:
    """The local false sign rate, min(P(theta <= null), P(theta >= null)) (Stephens 2017).

    That is the probability that theta is not on the side of the null which its posterior favours; mass at the null is
    on neither side.
    """
    return np.asarray(np.minimum(1.0 - after.exceeds(null), after.exceeds(np.nextafter(null, -np.inf))))


def error(after: Posterior, side: Side, bar: float) -> Floats:
    """The probability that a unit is no discovery: 1 - `p_above`, 1 - `p_below` or `lfsr`."""
    if side == "apart":
        return lfsr(after, bar)
    return 1.0 - (p_above if side == "above" else p_below)(after, bar)


def selected(errors: Floats, multiplicity: NDArray[np.int64], fdr: float) -> NDArray[np.bool_]:
    """The longest list whose mean probability of error is at most `fdr`, as kinds of units: [u] from errors [u].

    The mean of P(error | all x) over a list is the expected share of errors in it (Muller, Parmigiani and Rice 2006).
    Units with equal probabilities are in it together or not at all.

    >>> selected(np.array([0.01, 0.3, 0.05]), np.array([1, 1, 2]), 0.1).tolist()
    [True, False, True]
    """
    check_fdr(fdr)
    level, which = np.unique(errors, return_inverse=True)
    units = np.bincount(which, multiplicity)
    mean = np.cumsum(units * level) / np.cumsum(units)
    return np.asarray((mean <= fdr)[which])


def check_fdr(fdr: float) -> None:
    """An `InputError` unless this can be a share of false discoveries.

    >>> check_fdr(0.1)
    """
    if not (isinstance(fdr, Real) and 0 < fdr < 1):
        raise InputError(f"the share of false discoveries is {fdr!r}: give a number between 0 and 1, such as 0.1")


def grades(weights: Floats, ranks: Floats, level: float = GRADE_LEVEL) -> NDArray[np.int64]:
    """1 for the leader and all that cannot be told from it, and so on down: [u] for units whose ranks are [u].

    Units are taken by expected rank. A new grade begins at the first unit that lies behind the first of its grade with
    probability `level` at least, ties counting half. `weights` [u, k] are P(theta in cell k), as `ranking.cells` gives
    them.

    >>> grades(np.array([[0.0, 0.1, 0.9], [0.0, 0.4, 0.6], [1.0, 0.0, 0.0]]), np.array([1.3, 1.7, 3.0])).tolist()
    [1, 1, 2]
    """
    order = np.argsort(ranks, kind="stable")
    found, first, grade = np.empty(ranks.size, dtype=np.int64), 0, 1
    while True:
        rest = order[first:]
        lead = weights[rest[0]]
        ahead = 1.0 - np.cumsum(lead) + 0.5 * lead  # P(the first is above cell k), ties half
        behind = np.flatnonzero(weights[rest] @ ahead >= level)
        end = int(behind[0]) if behind.size else rest.size
        found[rest[:end]] = grade
        if end == rest.size:
            return found
        first, grade = first + end, grade + 1
