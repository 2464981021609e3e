"""Thetas that move live on cells, even in the stable coordinate: laws cut into them, and priors as atoms."""

from __future__ import annotations

import numpy as np

from ebformer.channels.base import Channel
from ebformer.distributions import DiscretePosterior, Floats, GridPosterior, Posterior
from ebformer.prior import AnyPrior, ConjugatePrior, GridPrior, Prior

MOST_CELLS, FINEST = 1024, 8192
"""The next theta lives on at most this many cells, even in the stable coordinate; a prior on more where looks at units
are so precise that they need them."""
NEGLIGIBLE = 1e-7
"""What of a continuous prior is left out at each end when it is cut into cells."""


def coordinate_variance(prior: AnyPrior, channel: Channel) -> float:
    """The variance between units in the stable coordinate.

    >>> from ebformer.channels import POISSON
    >>> coordinate_variance(Prior([0.0, 4.0], [0.5, 0.5]), POISSON)
    4.0
    """
    if isinstance(prior, ConjugatePrior):
        u = channel.coordinate(continuous(prior, channel).quantile((np.arange(512) + 0.5) / 512))
        return float(u.var())
    u = channel.coordinate(prior.atoms)
    return float(prior.weights @ (u - prior.weights @ u) ** 2)


def continuous(prior: ConjugatePrior, channel: Channel) -> Posterior:
    """A conjugate prior as the distribution of one unit about which nothing is known."""
    variance = channel.variance(np.asarray(prior.mean), np.asarray(1.0))
    law: Posterior = channel.next_look.around(np.asarray(prior.mean), np.sqrt(prior.variance / variance))
    return law


def on_atoms(prior: AnyPrior, channel: Channel, noise: float = np.inf) -> Prior:
    """The prior on atoms: one that is continuous is cut into cells, finer than the noise of a look."""
    if isinstance(prior, Prior):
        return prior
    cut = in_cells(continuous(prior, channel), channel, noise)
    return GridPrior(cut.atoms, cut.weights / cut.weights.sum(), channel)


def in_cells(after: Posterior, channel: Channel, noise: float = np.inf) -> GridPosterior:
    """Continuous posteriors on one set of cells, even in the stable coordinate and finer than the noise of a look."""
    low, high = channel.coordinate(np.stack([after.quantile(NEGLIGIBLE).min(), after.quantile(1 - NEGLIGIBLE).max()]))
    edges = even_edges(channel, low, high, min((high - low) / MOST_CELLS, noise / 8), FINEST)
    return GridPosterior(middles(channel, edges), shares(after, edges), edges, np.zeros(edges.size - 1, dtype=bool))


def even_edges(channel: Channel, low: float, high: float, step: float, most: int = MOST_CELLS) -> Floats:
    """The ends of at least two cells from low to high in the stable coordinate, or to where thetas end."""
    ends = channel.coordinate(np.clip(channel.at_coordinate(np.array([low, high])), *channel.domain))
    count = int(np.clip(np.ceil((ends[1] - ends[0]) / step), 2, most))
    return channel.at_coordinate(np.linspace(ends[0], ends[1], count + 1))


def middles(channel: Channel, edges: Floats) -> Floats:
    """The mean theta of each cell, by Simpson's rule in the stable coordinate."""
    u = channel.coordinate(edges)
    return np.asarray((edges[:-1] + 4.0 * channel.at_coordinate((u[1:] + u[:-1]) / 2) + edges[1:]) / 6.0)


def shares(law: Posterior, edges: Floats) -> Floats:
    """What of a law falls into each cell; what falls outside belongs to the outermost."""
    above = law.exceeds(edges[1:-1])
    ends = np.ones((*above.shape[:-1], 1)), np.zeros((*above.shape[:-1], 1))
    return np.asarray(-np.diff(np.concatenate([ends[0], above, ends[1]], axis=-1), axis=-1))


def gathered(after: DiscretePosterior, channel: Channel) -> DiscretePosterior:
    """Posteriors on at most twice `MOST_CELLS` atoms, even in the stable coordinate, with the same means.

    These lie twice as close as the cells of the next theta, so it moves as if from where it was.
    """
    most = 2 * MOST_CELLS
    if after.atoms.size <= most:
        return after
    low, high = channel.coordinate(after.atoms[[0, -1]])
    atoms = channel.at_coordinate(np.linspace(low, high, most))
    rows = [split(weights, after.atoms, atoms) for weights in after.weights.reshape(-1, after.atoms.size)]
    return DiscretePosterior(atoms, np.array(rows).reshape(*after.weights.shape[:-1], most))


def split(weights: Floats, thetas: Floats, atoms: Floats) -> Floats:
    """The weights of thetas on sorted atoms, each shared by its two neighbours so that the mean stays."""
    right = np.clip(np.searchsorted(atoms, thetas), 1, atoms.size - 1)
    beyond, gap = thetas - atoms[right - 1], atoms[right] - atoms[right - 1]
    share = np.clip(np.divide(beyond, gap, out=np.zeros_like(beyond), where=gap > 0), 0.0, 1.0)  # rounding closes gaps
    left = np.bincount(right - 1, weights * (1.0 - share), atoms.size)
    return np.asarray(left + np.bincount(right, weights * share, atoms.size), dtype=np.float64)
