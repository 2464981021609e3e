"""Who is on top: expected ranks and the probability of being among the best m, under independent posteriors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ebformer.channels.mixtures import MixedPosterior
from ebformer.distributions import DiscretePosterior, Floats, GridPosterior, Posterior


def gauss_legendre(nodes: int) -> tuple[Floats, Floats]:
    """Nodes and weights of a quadrature on [0, 1]."""
    at, weights = np.polynomial.legendre.leggauss(nodes)
    return 0.5 * at + 0.5, 0.5 * weights


FINE, COARSE = gauss_legendre(24), gauss_legendre(6)
"""For cells that hold many units, and for those that hold less than one."""
MOST_CELLS = 1024
"""Units in one cell are ordered at random, so cells near the top must hold few; time and memory ask for few cells."""
MOST_EDGES = 8 * MOST_CELLS
"""Where there are more edges, those of the cells are chosen among fewer."""
MOST_TERMS = 2**24
"""So many terms of mixtures are summed, for all units and cells."""
SMALL, ORDER = 0.1, 14
"""Up to this probability functions of p (z - 1), which is 0.2 at most, are summed by their series of this order."""


def cells(posteriors: list[Posterior], multiplicity: NDArray[np.int64]) -> Floats:
    """P(theta_j in cell k) on one ladder of cells, lowest first: [u, k] for the u kinds of units of all posteriors.

    The cells are the atoms of discrete posteriors and the cells of grids; a continuous posterior is cut at quantiles of
    its units. Where these are more than `MOST_CELLS`, neighbours are taken together, by how many of the units (as many
    of each kind as `multiplicity` says) are expected above them.

    >>> one = DiscretePosterior(np.array([1.0, 2.0]), np.array([[0.25, 0.75]]))
    >>> cells([one], np.array([3])).tolist()
    [[0.25, 0.75]]
    """
    posteriors = _simplified(posteriors)
    edges = np.unique(np.concatenate([_edges(posterior) for posterior in posteriors]))
    if edges.size > MOST_EDGES:  # every posterior has a grid of its own
        edges = edges[:: -(edges.size // (2 * MOST_CELLS))][::-1]
    if edges.size > MOST_CELLS:
        units = np.split(multiplicity, np.cumsum([posterior.mean.size for posterior in posteriors])[:-1])
        ahead = sum(each @ posterior.exceeds(edges) for each, posterior in zip(units, posteriors, strict=True))
        edges = edges[_rungs(np.sqrt(ahead)) | _rungs(np.log1p(ahead))]
    weights = []
    for posterior in posteriors:
        above = posterior.exceeds(edges)
        above[:, -1] = 0.0  # whatever lies beyond the last quantile belongs to the last cell
        weights.append(-np.diff(above, axis=1, prepend=1.0))
    return np.concatenate(weights)


def _simplified(posteriors: list[Posterior]) -> list[Posterior]:
    """The same, but where mixtures over parameters have too many terms, the laws with their means and variances.

    Only units by the thousands have so many, and these leave next to no doubt about the parameters.
    """
    mixed = [posterior for posterior in posteriors if isinstance(posterior, MixedPosterior)]
    if sum(each.mean.size * each.weights.shape[-1] for each in mixed) * MOST_CELLS <= MOST_TERMS:
        return posteriors
    return [each.matched if isinstance(each, MixedPosterior) else each for each in posteriors]


def _rungs(height: Floats) -> NDArray[np.bool_]:
    """Which of these heights, falling to 0, to keep as half of `MOST_CELLS` even steps; the last among them."""
    kept = np.zeros(height.size, dtype=bool)
    at = np.searchsorted(-height, np.linspace(-height[0], 0.0, MOST_CELLS // 2))
    kept[np.append(np.minimum(at, height.size - 1), height.size - 1)] = True
    return kept


def _edges(posterior: Posterior) -> Floats:
    if isinstance(posterior, GridPosterior):
        return posterior.edges[1:]
    if isinstance(posterior, DiscretePosterior):
        return posterior.atoms
    if isinstance(posterior, MixedPosterior):  # any edges will do, and these are at hand
        posterior = posterior.matched
    levels = (np.arange(25) + 0.5) / 25
    spread = np.argsort(posterior.mean)[np.unique(np.linspace(0, posterior.mean.size - 1, 25).astype(int))]
    return np.asarray(posterior.quantile(levels)[spread].ravel())


def expected_rank(weights: Floats, multiplicity: NDArray[np.int64]) -> Floats:
    """E[rank], 1 being the highest rate and ties broken at random: 1/2 + sum_k w_k (A_k + T_k / 2).

    `weights` [u, k] as `cells` gives them for u kinds of units, `multiplicity` [u] how many units of each kind; A_k and
    T_k are the expected numbers of units above and inside cell k (Laird and Louis 1989).

    >>> expected_rank(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1, 2])).tolist()
    [1.0, 2.5]
    """
    inside = multiplicity @ weights
    return np.asarray(0.5 + weights @ (inside.sum() - np.cumsum(inside) + 0.5 * inside))


def p_top(weights: Floats, multiplicity: NDArray[np.int64], m: int) -> Floats:
    """P(unit is among the m highest rates), ties broken at random; shapes as in `expected_rank`.

    Given that a unit sits in cell k with tie-breaker s ~ U(0, 1), the number of other units ahead of it is
    Poisson-binomial with p_j = P(theta_j above k) + (1 - s) P(theta_j in k). Its distribution is read off the
    characteristic function (Hong 2013), and s is integrated by quadrature.

    >>> p_top(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1, 2]), m=2).round(6).tolist()
    [1.0, 0.5]
    """
    if m >= multiplicity.sum():
        return np.ones(weights.shape[0])
    above = np.maximum(1.0 - np.cumsum(weights, axis=1), 0.0)
    mean_above, mean_inside = multiplicity @ above, multiplicity @ weights
    reach = 8.0 * np.sqrt(m) + 20.0  # farther than this from m the answer is 0 or 1 to nine digits
    answer = np.zeros(weights.shape[0])
    for k in np.flatnonzero(mean_above < m + reach):
        first = max(0.0, 1.0 - (m + reach - mean_above[k]) / mean_inside[k]) if mean_inside[k] > 0 else 0.0
        last = min(1.0, 1.0 - (m - reach - mean_above[k]) / mean_inside[k]) if mean_inside[k] > 0 else 1.0
        if last <= first:
            answer += weights[:, k]
            continue
        here = np.flatnonzero(weights[:, k] > 1e-12)
        chance = np.full(here.size, 1.0 - last)
        for node, share in zip(*(COARSE if mean_inside[k] < 1.0 else FINE), strict=True):
            behind = 1.0 - first - (last - first) * node
            ahead = np.clip(above[:, k] + behind * weights[:, k], 0.0, 1.0)
            chance += share * (last - first) * fewer_others_ahead(ahead, multiplicity, here, m)
        answer[here] += weights[here, k] * chance
    return np.clip(answer, 0.0, 1.0)


def fewer_others_ahead(p: Floats, multiplicity: NDArray[np.int64], kinds: NDArray[np.intp], m: int) -> Floats:
    """P(fewer than m of the other units are ahead) for one unit of each of these kinds, p_j being each unit's chance.

    >>> fewer_others_ahead(np.array([0.5]), np.array([3]), np.array([0]), 1).round(12).tolist()
    [0.25]
    """
    mean = float(multiplicity @ p)
    spread = 10.0 * np.sqrt(mean) + 30.0
    start = max(0, int(mean - spread))
    if start >= m:
        return np.zeros(kinds.size)
    # An odd length keeps z away from -1, where a unit with p = 1/2 could not be divided out.
    length = 2 * int(spread + 1) + 1
    if start + length <= m:
        return np.ones(kinds.size)
    z = np.exp(2j * np.pi * np.arange(length // 2 + 1) / length)
    large = p > SMALL
    single = large & (multiplicity == 1)  # a product is ten times as fast as a sum of logarithms
    several = large & ~single
    log_phi = np.log1p(p[several, None] * (z - 1)).T @ multiplicity[several]
    small, units = p[~large], multiplicity[~large].astype(np.float64)
    for order in range(1, ORDER + 1):
        units = units * small
        log_phi -= units.sum() * (1 - z) ** order / order
    counted = np.exp(-2j * np.pi * np.outer(np.arange(length // 2 + 1), np.arange(start, m)) / length).sum(axis=1)
    folded = np.where(np.arange(length // 2 + 1) == 0, 1.0, 2.0) / length
    all_units = folded * np.exp(log_phi) * np.prod(1 + p[single, None] * (z - 1), axis=0) * counted
    own = p[kinds]
    # One unit is divided out of the product: 1 / (1 - p (1 - z)), as a geometric series where it can be one.
    series = (all_units * (1 - z) ** np.arange(ORDER + 1)[:, None]).sum(axis=1).real
    chance = np.polynomial.polynomial.polyval(own, series)
    sizeable = own > SMALL
    chance[sizeable] = (all_units / (1 + own[sizeable, None] * (z - 1))).sum(axis=1).real
    return np.asarray(np.clip(chance, 0.0, 1.0))
