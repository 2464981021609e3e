"""Do intervals of batting averages hold, all and those of the leaders? `python benchmarks/batting.py [TABLES]`.

True averages are drawn from beta(99, 308), and hits at the at-bats of the batters of `ebformer datasets half-season`.
Shares of 90 % intervals that hold the truth, over all batters and over the twenty with the highest estimates, and their
standard errors over tables.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from ebformer.datasets import DATASETS
from ebformer.estimators.catalogue import estimator
from ebformer.tally import Tally

LEADERS = 20


def main(tables: int) -> None:
    warnings.simplefilter("ignore")
    season = DATASETS["half-season"].table()
    at_bats = season["at_bats"][season["role"] == "batter"]
    for name in ("priorformer", "beta"):
        rng, held = np.random.default_rng(0), []
        for _ in range(tables):
            theta = rng.beta(99, 308, at_bats.size)
            hits = rng.binomial(at_bats, theta)
            after = estimator(name)(Tally.of(hits, trials=at_bats)).posterior(hits, trials=at_bats)
            low, high = after.interval(0.9)
            holds = (low <= theta) & (theta <= high)
            held.append((holds.mean(), holds[np.argsort(-after.mean)[:LEADERS]].mean()))
        share, error = np.mean(held, axis=0), np.std(held, axis=0, ddof=1) / np.sqrt(tables)
        print(f"{name:12s} all {share[0]:.1%} ({error[0]:.1%})   leaders {share[1]:.1%} ({error[1]:.1%})", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
