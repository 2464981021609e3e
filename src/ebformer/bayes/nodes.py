"""Few atoms in the place of many: what the next observation cannot tell apart.

P(y at most this | theta) varies no faster than the noise of y. So in the stable coordinate u(theta) a polynomial
through its values at the Chebyshev nodes of a cell, a few deviations of that noise wide, is exact to all digits. The
posterior mean of the polynomial is a sum over nodes whose weights are posterior means of Lagrange's polynomials
(Trefethen, Approximation Theory and Approximation Practice, 2013, chapter 5): however many atoms a cell has, `NODES`
will do.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ebformer.channels.base import Channel
from ebformer.distributions import DiscretePosterior, Floats

NODES, WIDTH = 28, 4.0
"""So many nodes on a cell that is so many deviations of the noise wide: the error is below 1e-14."""
UNLIKELY = 1e-15
"""All that is left out of a unit weighs at most this."""
ANGLES = np.pi * (np.arange(NODES) + 0.5) / NODES
CHEBYSHEV = np.cos(ANGLES)
BARYCENTRIC = np.sin(ANGLES) * (-1.0) ** np.arange(NODES)


class Nodes(NamedTuple):
    """theta and weight [p], one unit after the other; unit [p] says whose, first [m] where each begins."""

    theta: Floats
    weight: Floats
    unit: np.ndarray
    first: np.ndarray


def nodes(channel: Channel, after: DiscretePosterior, future: Floats) -> Nodes:
    """What every unit's posterior comes to for a next observation of which `future` [m] is known."""
    weights = after.weights.reshape(-1, after.atoms.size)
    ahead = future.reshape(-1)
    alike = np.argsort(ahead, kind="stable")
    ends = [*(np.flatnonzero(np.diff(ahead[alike])) + 1).tolist(), ahead.size]
    pieces = []
    for start, end in pairwise([0, *ends]):
        rows = alike[start:end]
        theta, weight = _thinned(channel, after.atoms, weights[rows], ahead[rows[:1]])
        kept = np.flatnonzero(np.abs(weight) > UNLIKELY / theta.size)
        pieces.append((theta[kept % theta.size], weight.reshape(-1)[kept], rows[kept // theta.size]))
    theta, weight, unit = (np.concatenate(piece) for piece in zip(*pieces, strict=True))
    order = np.argsort(unit, kind="stable")
    theta, weight, unit = theta[order], weight[order], unit[order]
    return Nodes(theta, weight, unit, np.searchsorted(unit, np.arange(weights.shape[0])))


def _thinned(channel: Channel, atoms: Floats, weights: Floats, known: Floats) -> tuple[Floats, Floats]:
    """Atoms [k'] and weights [m, k'] of units whose next look has the same noise, from those [k] and [m, k]."""
    likely = np.flatnonzero((weights > UNLIKELY / atoms.size).any(axis=0))
    atoms, weights = atoms[likely[0] : likely[-1] + 1], weights[:, likely[0] : likely[-1] + 1]
    u = channel.coordinate(atoms)
    width = WIDTH * float(channel.noise(known)[0])
    cells = max(int(np.ceil((u[-1] - u[0]) / width)), 1)
    if atoms.size <= NODES * cells:
        return atoms, weights
    half = 0.5 * (u[-1] - u[0]) / cells
    ends = np.searchsorted(u, u[0] + 2.0 * half * np.arange(1, cells))
    thetas, shares, start = [], [], 0
    for cell, end in enumerate([*ends.tolist(), atoms.size]):
        inside = slice(start, end)
        if end - start <= NODES:
            thetas.append(atoms[inside])
            shares.append(weights[:, inside])
        else:
            centre = u[0] + half * (2 * cell + 1)
            thetas.append(channel.at_coordinate(centre + half * CHEBYSHEV))
            shares.append(weights[:, inside] @ lagrange((u[inside] - centre) / half))
        start = end
    return np.concatenate(thetas), np.concatenate(shares, axis=1)


def lagrange(s: Floats) -> Floats:
    """The polynomials that are 1 at one Chebyshev node and 0 at the others, at s [n] in [-1, 1]: [n, NODES].

    >>> float(lagrange(np.array([0.3]))[0] @ CHEBYSHEV**7) - 0.3**7 < 1e-15
    True
    """
    away = s[:, None] - CHEBYSHEV
    parts = BARYCENTRIC / np.where(away == 0.0, 1e-300, away)
    return np.asarray(parts / parts.sum(axis=1, keepdims=True))
