"""Neighbours on simulated maps and on a real one: `python benchmarks/neighbours.py [MAPS]`.

Simulated: 20 x 20 districts whose rates have a spatial trend, patches, or no pattern. Squared error with neighbours
as a share of that without, the standard error over maps, and how often 90 % intervals hold the truth.

Real: sudden infant deaths in the counties of North Carolina, 1979-84 predicted from 1974-78. How much likelier the
later deaths are with neighbours than without, in nats, the chi-square of the predictions, both with their standard
errors over counties, and how often 90 % intervals of the next count hold it.
"""

from __future__ import annotations

import csv
import sys
import warnings

import numpy as np

from ebformer.datasets import DATASETS, FILES
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


def infant_deaths() -> None:
    """With and without neighbours, each method predicts the second period of every county."""
    sids = DATASETS["sids"].table()
    with FILES["sids-borders"].open(encoding="utf-8", newline="") as file:
        near = side_by_side(sids["county"].tolist(), [(a, b) for a, b in csv.reader(file)][1:])
    x, births, later, more = (sids[name] for name in ("deaths_74", "births_74", "deaths_79", "births_79"))
    share = more * x.sum() / births.sum()
    print("\nmethod        log score, with less without (s.e.)   chi-square, with less without (s.e.)   90 % hold")
    for name in ("priorformer", "gamma", "full-bayes", "npmle-em"):
        found = pool([Tally.of([a], [t]) for a, t in zip(x, births, strict=True)], estimator(name), None, near)
        near_by = [rule.predict(a, t, future=m) for rule, a, t, m in zip(found.rules, x, births, more, strict=True)]
        alone = [found.common.predict(a, t, future=m) for a, t, m in zip(x, births, more, strict=True)]
        scores, errors, held = [], [], []
        for each in (near_by, alone):
            scores.append(np.array([law.log_density(y).item() for law, y in zip(each, later, strict=True)]))
            errors.append(np.array([(law.mean.item() - y) ** 2 for law, y in zip(each, later, strict=True)]) / share)
            ends = [law.interval(0.9) for law in each]
            held.append(np.mean([low <= y <= high for (low, high), y in zip(ends, later, strict=True)]))
        gain, excess = scores[0] - scores[1], errors[0] - errors[1]
        print(
            f"{name:12s} {scores[0].sum():9.1f} {gain.sum():+8.2f} ({10 * gain.std(ddof=1):.2f})"
            f"{errors[0].sum():20.1f} {excess.sum():+8.2f} ({10 * excess.std(ddof=1):.2f})"
            f"{held[0]:16.0%} {held[1]:.0%}   share between {found.between:.0%}"
        )
    print(f"everybody the mean: chi-square {((later - share) ** 2 / share).sum():.1f}")


if __name__ == "__main__":
    infant_deaths()
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
