"""How strongly one estimator outranks another: Plackett-Luce coefficients, with a word on whether they exist."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from ebformer.distributions import Floats
from ebformer.errors import ConvergenceError, InputError
from ebformer.lab.arena.summary import Paired

REGULARISATION = 0.01
"""The rate alpha added where the likelihood has no maximum; the values then say who is ahead, not by how much."""
TIED = 1e-9
"""Losses whose relative difference is at most this are equal: beyond it lies the rounding of equal answers."""
STEPS = 1000
"""Steps that the coefficients may take to settle."""
SETTLED = 1e-8
"""The mean change of a coefficient in a step below which it is the last."""


@dataclass(frozen=True)
class PlackettLuce:
    """coefficient[i] - coefficient[j] is the log-odds that i has the lower loss of the two; the reference is at 0.

    The maximum of the likelihood exists exactly when no group of estimators always beats all the others (Hunter 2004).
    `tiers` lists such groups, best first; where there is more than one, the coefficients are regularised.
    """

    estimators: tuple[str, ...]
    coefficients: tuple[float, ...]
    tiers: tuple[tuple[str, ...], ...]

    def __getitem__(self, estimator: str) -> float:
        return self.coefficients[self.estimators.index(estimator)]

    @property
    def identified(self) -> bool:
        """Whether the likelihood has a maximum."""
        return len(self.tiers) == 1

    @property
    def note(self) -> str:
        """What to print under the coefficients."""
        if self.identified:
            return "maximum likelihood"
        groups = " over ".join(", ".join(tier) for tier in self.tiers)
        return f"not identified, since the order is always {groups}: regularised (alpha = {REGULARISATION:g})"


def plackett_luce(paired: Paired, reference: str = "mle") -> PlackettLuce:
    """Fit the rankings, one per prior or case; tied losses count as every order of the tied, equally weighted.

    >>> values = np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]])
    >>> fit = plackett_luce(Paired(("npmle", "mle"), (0, 1, 2), values))
    >>> round(fit["npmle"], 6) == round(float(np.log(2)), 6), fit.identified
    (True, True)
    """
    if reference not in paired.estimators:
        raise InputError(f"the reference {reference} is not in the table: choose among {', '.join(paired.estimators)}")
    size = len(paired.estimators)
    if size < 2 or not paired.cases:
        raise InputError(
            f"Plackett-Luce ranks at least 2 estimators on at least 1 prior that all have played, not {size} on "
            f"{len(paired.cases)}: play more"
        )
    place = _places(paired.values)
    tiers = _tiers(np.any(place[:, :, None] <= place[:, None, :], axis=0))
    strength = _strengths(*_choices(place), alpha=0.0 if len(tiers) == 1 else REGULARISATION)
    strength = strength - strength[paired.estimators.index(reference)]
    names = tuple(tuple(paired.estimators[i] for i in tier) for tier in tiers)
    return PlackettLuce(paired.estimators, tuple(strength.tolist()), names)


def _places(losses: Floats) -> NDArray[np.int64]:
    """The place of every estimator in every ranking, 0 for the lowest loss; the tied share one.

    >>> _places(np.array([[2.0, 1.0, 1.0 + 1e-12]])).tolist()
    [[1, 0, 0]]
    """
    order = np.argsort(losses, axis=1, kind="stable")
    ascending = np.take_along_axis(losses, order, axis=1)
    above = ~(np.diff(ascending, axis=1) <= TIED * np.abs(ascending[:, 1:]))
    place = np.zeros(losses.shape, dtype=np.int64)
    np.put_along_axis(place, order[:, 1:], np.cumsum(above, axis=1), axis=1)
    return place


def _choices(place: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """A ranking as choices of the best among those left: who is left, and how often who was chosen, [choices, size].

    With m tied, all of their m! orders are equally likely. So what is left of the tied is, for each number k, each of
    their subsets of size k with probability 1 / C(m, k), and any of it may be chosen next.
    """
    left: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for ranking in place.tolist():
        for at in set(ranking):
            tied = tuple(i for i, other in enumerate(ranking) if other == at)
            left[tied, tuple(i for i, other in enumerate(ranking) if other > at)] += 1
    chosen: dict[tuple[int, ...], Floats] = {}
    for (tied, below), rankings in left.items():
        for k in range(1, len(tied) + 1):
            for some in combinations(tied, k):
                wins = chosen.setdefault(tuple(sorted(some + below)), np.zeros(place.shape[1]))
                wins[list(some)] += rankings / (comb(len(tied), k) * k)
    among = np.zeros((len(chosen), place.shape[1]))
    for row, group in zip(among, chosen, strict=True):
        row[list(group)] = 1.0
    return among, np.array(list(chosen.values()))


def _strengths(among: Floats, wins: Floats, alpha: float) -> Floats:
    """Iterative Luce spectral ranking (Maystre and Grossglauser 2015).

    The library choix, which tests compare with, has no ties and loses its digits where upsets are one in a thousand.
    Estimators are the states of a Markov chain that moves from each loser of a choice to its winner, at a rate of one
    over the summed weights of all who were left. The weights that are its stationary law maximise the likelihood.
    """
    size = among.shape[1]
    strength = np.zeros(size)
    for _ in range(STEPS):
        weight = np.exp(strength)
        rates = alpha + among.T @ (wins / (among @ weight)[:, None])
        before, strength = strength, np.asarray(np.log(size * _stationary(rates)))
        if np.abs(strength - before).mean() <= SETTLED:
            return strength
    raise ConvergenceError(f"Plackett-Luce coefficients have not settled after {STEPS} steps: play more")


def _stationary(rates: Floats) -> Floats:
    """The stationary law of a Markov chain with these rates from row to column, whatever the diagonal says.

    Grassmann, Taksar and Heyman (1985): states are taken out one by one. Nothing is subtracted, so that tiny
    probabilities, of one who hardly ever wins, are exact as well.

    >>> _stationary(np.array([[0.0, 1.0], [3.0, 0.0]])).tolist()
    [0.75, 0.25]
    """
    left, size = rates.copy(), len(rates)
    for last in range(size - 1, 0, -1):
        left[:last, last] /= left[last, :last].sum()
        left[:last, :last] += np.outer(left[:last, last], left[last, :last])
    law = np.ones(size)
    for state in range(1, size):
        law[state] = law[:state] @ left[:state, state]
    return np.asarray(law / law.sum())


def _tiers(beats: NDArray[np.bool_]) -> list[list[int]]:
    """Strongly connected groups of the graph "i was at least as good as j once", best group first."""
    count, group = connected_components(beats, directed=True, connection="strong")
    members = [np.flatnonzero(group == g).tolist() for g in range(count)]
    return sorted(members, key=lambda tier: -int(beats[tier[0]].sum()))
