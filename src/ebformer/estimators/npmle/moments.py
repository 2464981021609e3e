"""Where proportions of few trials leave the prior open: one choice among the likeliest, the same for everybody.

The likelihood of m trials is a polynomial of degree m in theta, so data of at most m trials speak of the first m
moments of the prior alone. On the border of what moments can be, they fix the prior; inside it many priors have them,
all equally likely, and a solver could return any of these.
"""

from __future__ import annotations

import numpy as np

from ebformer.distributions import Floats
from ebformer.prior import Prior


def fewest_atoms(prior: Prior, moments: int) -> Prior:
    """The prior on [0, 1] with the same first `moments` moments that has the fewest atoms; the ends count half.

    For an odd number there is one, Gauss's. For an even number there are two, with an atom at 0 or at 1 (Gauss and
    Radau); their mean does not change where successes and failures change places.

    >>> fewest_atoms(Prior([0.1, 0.5, 0.6], [0.2, 0.3, 0.5]), 1).atoms.round(9).tolist()
    [0.47]
    >>> fewest_atoms(Prior([0.1, 0.5, 0.6], [0.2, 0.3, 0.5]), 2).atoms.round(3).tolist()
    [0.0, 0.402, 0.547, 1.0]
    """
    theta, w = prior.atoms, prior.weights
    index = theta.size - 0.5 * ((theta == 0.0) | (theta == 1.0)).sum()
    if 2 * index < moments + 1:
        return prior  # no other prior has these moments
    if moments % 2:
        return Prior(*gauss(theta, w, (moments + 1) // 2))
    halves = [radau(theta, w, moments // 2), radau(1.0 - theta, w, moments // 2)]
    atoms = np.concatenate([halves[0][0], 1.0 - halves[1][0]])
    return Prior(atoms, 0.5 * np.concatenate([weights for _, weights in halves]))


def gauss(theta: Floats, w: Floats, size: int) -> tuple[Floats, Floats]:
    """Atoms and weights [size] with the same total and the same first 2 size - 1 moments.

    They are eigenvalues of multiplication by theta among polynomials of degree below `size`, for which Lanczos's
    iteration finds an orthonormal basis [m, size] (Golub and Welsch 1969).
    """
    basis = np.sqrt(w / w.sum())[:, None]
    while basis.shape[1] < size:
        beyond = theta * basis[:, -1]
        for _ in range(2):  # once leaves rounding
            beyond = beyond - basis @ (beyond @ basis)
        basis = np.concatenate([basis, (beyond / np.sqrt(beyond @ beyond))[:, None]], axis=1)
    atoms, vectors = np.linalg.eigh(basis.T @ (theta[:, None] * basis))
    return np.clip(atoms, 0.0, 1.0), w.sum() * vectors[0] ** 2


def radau(theta: Floats, w: Floats, size: int) -> tuple[Floats, Floats]:
    """An atom at 0, and `size` others with weights so that the total and the first 2 size moments stay."""
    atoms, shares = gauss(theta[theta > 0], (w * theta)[theta > 0], size)
    weights = shares / atoms
    return np.append(0.0, atoms), np.append(max(w.sum() - weights.sum(), 0.0), weights)
