"""Who is on top: expected ranks and the probability of being among the best m, under independent posteriors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ebformer.channels.closed_forms import ClosedFormPosterior
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
MOST_EDGES = 2**16
"""Edges of all posteriors among which the cells are chosen."""
MOST_TERMS = 2**24
"""So many terms of mixtures are summed, for all units and cells."""
AT_ONCE = 2**20
"""Complex numbers that are held at once."""
NOBODY = 1e-12
"""Of smaller probability no unit is in a cell."""
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
    most = max(2, MOST_EDGES // len(posteriors))
    edges = np.unique(np.concatenate([_thinned(_edges(posterior), most) for posterior in posteriors]))
    edges = _thinned(edges, max(2 * MOST_CELLS, most))  # of many posteriors, each with a grid of its own
    sizes = [posterior.mean.size for posterior in posteriors]
    if edges.size > MOST_CELLS:
        units = np.split(multiplicity, np.cumsum(sizes)[:-1])
        ahead = sum(_ahead(posterior, each, edges) for each, posterior in zip(units, posteriors, strict=True))
        edges = edges[_rungs(np.sqrt(ahead)) | _rungs(np.log1p(ahead))]
    weights, first = np.empty((sum(sizes), edges.size)), 0
    for size, posterior in zip(sizes, posteriors, strict=True):
        above = _above(posterior, edges)
        above[:, -1] = 0.0  # whatever lies beyond the last quantile belongs to the last cell
        mine = weights[first : first + size]
        mine[:, 0] = 1.0 - above[:, 0]
        np.subtract(above[:, :-1], above[:, 1:], out=mine[:, 1:])
        first += size
    return weights


def _ahead(posterior: Posterior, units: NDArray[np.int64], edges: Floats) -> Floats:
    """How many of these units are expected above each edge."""
    if isinstance(posterior, DiscretePosterior):  # all units together are one mixture on the same atoms
        together = replace(posterior, weights=units @ posterior.weights / units.sum())
        return np.asarray(units.sum() * together.exceeds(edges))
    near = posterior.matched if isinstance(posterior, MixedPosterior) else posterior  # any edges will do
    some = _blocks(np.arange(edges.size), posterior.mean.size)
    return np.concatenate([units @ _above(near, edges[block]) for block in some])


def _above(posterior: Posterior, edges: Floats) -> Floats:
    """P(theta_j > edge), [u, k]: to sixteen places, which tails of laws with formulas have for a tenth of the time."""
    if isinstance(posterior, MixedPosterior):
        return 1.0 - posterior.below(edges)
    if isinstance(posterior, ClosedFormPosterior):
        return 1.0 - posterior.facing(edges).below(edges)
    return posterior.exceeds(edges)


def _thinned(edges: Floats, most: int) -> Floats:
    """As many of them as `most`, evenly, the last among them."""
    if edges.size <= most:
        return edges
    edges = np.sort(edges)
    return np.asarray(edges[np.linspace(0, edges.size - 1, most).round().astype(int)])


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
    above = 1.0 - np.cumsum(weights, axis=1)
    np.maximum(above, 0.0, out=above)
    mean_above, mean_inside = multiplicity @ above, multiplicity @ weights
    reach = 8.0 * np.sqrt(m) + 20.0  # farther than this from m the answer is 0 or 1 to nine digits
    answer = np.zeros(weights.shape[0])
    for k in np.flatnonzero(mean_above < m + reach):
        first, last = 0.0, 1.0
        if mean_inside[k] > NOBODY:
            first = max(0.0, 1.0 - (m + reach - mean_above[k]) / mean_inside[k])
            last = min(1.0, 1.0 - (m - reach - mean_above[k]) / mean_inside[k])
        if last <= first:
            answer += weights[:, k]
            continue
        here = np.flatnonzero(weights[:, k] > NOBODY)
        node, share = COARSE if mean_inside[k] < 1.0 else FINE
        behind = 1.0 - first - (last - first) * node
        ahead = np.clip(above[:, k] + behind[:, None] * weights[:, k], 0.0, 1.0)
        chance = share @ fewer_others_ahead(ahead, multiplicity, here, m)
        answer[here] += weights[here, k] * (1.0 - last + (last - first) * chance)
    return np.clip(answer, 0.0, 1.0)


def fewer_others_ahead(p: Floats, multiplicity: NDArray[np.int64], kinds: NDArray[np.intp], m: int) -> Floats:
    """P(fewer than m of the other units are ahead) for one unit of each of these kinds: [s, kinds].

    p [s, u] is each unit's chance of being ahead, s times over.

    >>> fewer_others_ahead(np.array([[0.5]]), np.array([3]), np.array([0]), 1).round(12).tolist()
    [[0.25]]
    """
    mean, n = p @ multiplicity, int(multiplicity.sum())
    spread = 10.0 * np.sqrt(mean.max()) + 30.0
    start = max(0, int(mean.min() - spread))
    # An odd length keeps z away from -1, where a unit with p = 1/2 could not be divided out.
    length = 2 * int(spread + 1 + np.ptp(mean) / 2) + 1
    if start + length > n:
        start, length = (0, n + 1 + n % 2) if n < length else (max(0, n + 1 - length), length)
    if start >= m:
        return np.zeros((len(p), kinds.size))
    if start + length <= m:
        return np.ones((len(p), kinds.size))
    half = np.arange(length // 2 + 1)
    z = np.exp(2j * np.pi * half / length)
    large = (p > SMALL).any(axis=0)
    phi = _log_series(p[:, ~large], multiplicity[~large], z)
    single = large & (multiplicity == 1)  # a product is ten times as fast as a sum of logarithms
    for block in _blocks(np.flatnonzero(large & ~single), len(p) * z.size):
        phi += np.einsum("suz,u->sz", np.log1p(p[:, block, None] * (z - 1)), multiplicity[block])
    phi = np.exp(phi)
    for block in _blocks(np.flatnonzero(single), len(p) * z.size):
        phi *= np.prod(1 + p[:, block, None] * (z - 1), axis=1)
    counted = np.exp(-2j * np.pi * half * start / length) * _geometric_sum(z.conj(), m - start)
    phi *= np.where(half == 0, 1.0, 2.0) / length * counted
    own = p[:, kinds]
    # One unit is divided out of the product: 1 / (1 - p (1 - z)), as a geometric series where it can be one.
    chance = np.zeros(own.shape)
    for power in (1 - z) ** np.arange(ORDER, -1, -1)[:, None]:
        chance = chance * own + (phi @ power).real[:, None]
    at = np.flatnonzero(own.ravel() > SMALL)
    for block in _blocks(at, z.size):
        row, its = block // kinds.size, own.ravel()[block]
        chance.ravel()[block] = (phi[row] / (1 + its[:, None] * (z - 1))).sum(axis=1).real
    return np.asarray(np.clip(chance, 0.0, 1.0))


def _log_series(p: Floats, multiplicity: NDArray[np.int64], z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """sum_j multiplicity_j log(1 + p_j (z - 1)) for small p [s, u], by its series: [s, z]."""
    powers, sums = p.copy(), np.empty((ORDER, len(p)))
    for order in range(ORDER):
        sums[order] = powers @ multiplicity / (order + 1)
        powers *= p
    return np.asarray(-(sums.T @ (1 - z) ** np.arange(1, ORDER + 1)[:, None]))


def _geometric_sum(z: NDArray[np.complex128], terms: int) -> NDArray[np.complex128]:
    """1 + z + ... + z^(terms - 1) on the unit circle, z[0] being 1."""
    found = np.full(z.shape, terms, dtype=np.complex128)
    found[1:] = (1 - z[1:] ** terms) / (1 - z[1:])
    return found


def _blocks(at: NDArray[np.intp], each: int) -> list[NDArray[np.intp]]:
    """These in blocks, so that `each` numbers for every one of them take no more than `AT_ONCE`."""
    size = max(1, AT_ONCE // each)
    return [at[first : first + size] for first in range(0, at.size, size)]
