"""How strongly one estimator outranks another: Plackett-Luce coefficients, with a word on whether they exist."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from ebformer.arena.summary import Paired
from ebformer.errors import InputError

REGULARISATION = 0.01
"""choix's alpha where the likelihood has no maximum; the values then say who is ahead, not by how much."""


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
        reason = f"the order is {groups} on every prior"
        return f"not identified, since {reason}: regularised (choix, alpha = {REGULARISATION:g})"


def plackett_luce(paired: Paired, reference: str = "mle") -> PlackettLuce:
    """Fit the ranking of every prior, by choix (Maystre and Grossglauser 2015); tied losses count half each way.

    >>> values = np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]])
    >>> fit = plackett_luce(Paired(("npmle", "mle"), (0, 1, 2), values))
    >>> round(fit["npmle"], 6) == round(float(np.log(2)), 6), fit.identified
    (True, True)
    """
    try:
        import choix
    except ImportError as error:
        raise InputError("Plackett-Luce coefficients need choix: pip install 'ebformer[arena]'") from error
    if reference not in paired.estimators:
        raise InputError(f"the reference {reference} is not in the table: choose among {', '.join(paired.estimators)}")
    size = len(paired.estimators)
    if size < 2 or not paired.priors:
        raise InputError(
            f"Plackett-Luce ranks at least 2 estimators on at least 1 prior that all have played, not {size} on "
            f"{len(paired.priors)}: play more"
        )
    forward = np.argsort(paired.values, axis=1, kind="stable")
    backward = size - 1 - np.argsort(paired.values[:, ::-1], axis=1, kind="stable")
    rankings = np.concatenate([forward, backward]) if np.any(forward != backward) else forward
    tiers = _tiers(np.any(paired.values[:, :, None] <= paired.values[:, None, :], axis=0))
    alpha = 0.0 if len(tiers) == 1 else REGULARISATION
    strength = choix.ilsr_rankings(size, rankings.tolist(), alpha=alpha, max_iter=1000)
    strength = strength - strength[paired.estimators.index(reference)]
    names = tuple(tuple(paired.estimators[i] for i in tier) for tier in tiers)
    return PlackettLuce(paired.estimators, tuple(strength.tolist()), names)


def _tiers(beats: NDArray[np.bool_]) -> list[list[int]]:
    """Strongly connected groups of the graph "i was at least as good as j once", best group first."""
    count, group = connected_components(beats, directed=True, connection="strong")
    members = [np.flatnonzero(group == g).tolist() for g in range(count)]
    return sorted(members, key=lambda tier: -int(beats[tier[0]].sum()))
