"""Neighbours on simulated maps of 20 x 20 districts: `python benchmarks/neighbours.py`.

Rates with a spatial trend, with patches, and without any pattern. Squared error with neighbours as a share of that
without, the standard error over maps, and how often 90 % intervals hold the truth.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from ebformer.estimators.catalogue import estimator
from ebformer.pooling import pool, side_by_side
from ebformer.tally import Tally

SIDE = 20


def borders() -> list[tuple[str, str]]:
    """Pairs of districts that share an edge or a corner."""
    cells = [(i, j) for i in range(SIDE) for j in range(SIDE)]
    steps = [(0, 1), (1, 0), (1, 1), (1, -1)]
    return [(f"{i},{j}", f"{i + a},{j + b}") for i, j in cells for a, b in steps if i + a < SIDE and 0 <= j + b < SIDE]


def main(maps: int) -> None:
    warnings.simplefilter("ignore")
    i, j = np.meshgrid(np.arange(SIDE) / SIDE - 0.5, np.arange(SIDE) / SIDE - 0.5, indexing="ij")
    patterns = {"trend": 1.5 * (i + j), "patches": 0.6 * np.sign(np.sin(12 * i) * np.sin(12 * j)), "none": 0.0 * i}
    names = [f"{a},{b}" for a in range(SIDE) for b in range(SIDE)]
    near = side_by_side(names, borders())
    print("map       method       error with / without (s.e.)   90 % hold, with and without   share between")
    for pattern, place in patterns.items():
        for name in ("priorformer", "gamma"):
            rows = []
            for seed in range(maps):
                rng = np.random.default_rng(seed)
                theta = np.exp(place.ravel() - place.var() / 2 + 0.3 * rng.normal(size=place.size))
                expected = rng.gamma(2.0, 2.0, place.size)
                x = rng.poisson(theta * expected)
                found = pool(
                    [Tally.of([a], [t]) for a, t in zip(x, expected, strict=True)], estimator(name), None, near
                )
                after = [rule.posterior(a, t) for rule, a, t in zip(found.rules, x, expected, strict=True)]
                low, high = np.array([each.interval(0.9) for each in after]).T
                alone = found.common.posterior(x, expected)
                below, above = alone.interval(0.9)
                with_them = ((np.array([float(each.mean) for each in after]) - theta) ** 2).sum()
                share = with_them / ((alone.mean - theta) ** 2).sum()
                held = ((low <= theta) & (theta <= high)).mean(), ((below <= theta) & (theta <= above)).mean()
                rows.append((share, *held, found.between))
            share, held, before, between = np.array(rows).T
            error = share.std(ddof=1) / np.sqrt(maps)
            print(
                f"{pattern:9s} {name:12s} {share.mean():.3f} ({error:.3f}) {held.mean():24.1%} {before.mean():10.1%} "
                f"{between.mean():18.0%}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
