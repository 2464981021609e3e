"""Random tallies of every channel: smooth, discrete, sparse and heavy-tailed priors, equal and very unequal units."""

from __future__ import annotations

import numpy as np

from ebformer.tally import Tally

CHANNELS = "poisson", "binomial", "normal", "zero-truncated"


def random_tally(name: str, rng: np.random.Generator, most: float = 1e5) -> Tally:
    """1 to `most` units, log-uniform: trials from 1 to 5000, errors and exposures over two decades, or all alike.

    Units of a table without zeros have to be alike.
    """
    n = int(10 ** rng.uniform(0, np.log10(most)))
    prior, size = rng.integers(4), 1 if rng.random() < 0.25 or name == "zero-truncated" else n
    if name == "binomial":
        theta = (
            rng.beta(*rng.uniform(0.3, 20, 2), n),
            rng.choice(rng.random(4), n),
            np.where(rng.random(n) < 0.5, 0.0, rng.beta(1, 30, n)),
            rng.beta(0.3, 0.3, n),
        )[prior]
        trials = np.floor(10 ** rng.uniform(0, np.log10(5000), size)) * np.ones(n)
        return Tally.of(rng.binomial(trials.astype(int), theta), trials=trials)
    known = 10 ** rng.uniform(-1, 1, 1 if name == "zero-truncated" else size) * np.ones(n)
    if name == "normal":
        theta = (
            rng.normal(rng.normal(0, 100), 3, n),
            rng.choice(rng.normal(0, 5, 4), n),
            np.where(rng.random(n) < 0.9, 0.0, rng.normal(0, 4, n)),
            3 * rng.standard_t(3, n),
        )[prior]
        return Tally.of(rng.normal(theta, known), se=known)
    theta = (
        rng.gamma(rng.uniform(0.3, 5), rng.uniform(0.1, 10), n),
        rng.choice(rng.gamma(1, 10, 4), n),
        np.where(rng.random(n) < 0.6, 0.05, rng.gamma(2, 2, n)),
        rng.pareto(1.5, n),
    )[prior]
    counts = rng.poisson(theta * known)
    if name == "poisson":
        return Tally.of(counts, exposure=known)
    seen = counts > 0
    return (
        Tally.of(counts[seen], exposure=known[seen], zeros="missing") if seen.any() else random_tally(name, rng, most)
    )
