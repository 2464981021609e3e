"""Does `compare` pick well? How often its winner is truly within 2 % of the best method, beside always the default.

    OMP_NUM_THREADS=1 python benchmarks/comparison.py [--units 60,300,2000] [--tables 6]

Fourteen priors of rates that everyday tables have. The truth is the mean squared distance of a method's estimates, from
whole observations, to the hidden rates. `sure` is the share of tables whose winner is first in at least 90 % of the
resampled ones, and how often it is within 2 % there.
"""

from __future__ import annotations

import argparse

import numpy as np
from coverage import RATES

import ebformer as eb
from ebformer.comparison import compare

METHODS = ("priorformer", "gamma", "npmle", "npmle-em")
CLOSE, SURE = 1.02, 0.9


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--units", default="60,300,2000")
    parser.add_argument("--tables", type=int, default=6, help="how many tables of each prior")
    chosen = parser.parse_args()
    methods = {name: eb.estimator(name) for name in METHODS}
    print("| units | the winner | always priorformer | sure | of these |")
    print("|" + " --- |" * 5)
    for n in map(int, chosen.units.split(",")):
        right: list[tuple[bool, bool, float]] = []
        for number, draw in enumerate(RATES.values()):
            rng = np.random.default_rng([n, number])
            for _ in range(chosen.tables):
                theta = draw(rng, n)
                x = rng.poisson(theta)
                if x.max() == 0:
                    continue
                tally = eb.Tally.of(x)
                winner = compare(tally, methods, rng)[0]
                error = {name: float(np.mean((method(tally)(x) - theta) ** 2)) for name, method in methods.items()}
                close = {name: each <= CLOSE * min(error.values()) for name, each in error.items()}
                right.append((close[winner.method], close["priorformer"], winner.first))
        won, default, first = (np.array(each, dtype=float) for each in zip(*right, strict=True))
        sure = first >= SURE
        cells = [f"{100 * each.mean():.0f} ± {100 * each.std() / np.sqrt(each.size):.0f} %" for each in (won, default)]
        among = f"{100 * won[sure].mean():.0f} % of {sure.sum()}" if sure.any() else "none"
        print(f"| {n:,} | {' | '.join(cells)} | {100 * sure.mean():.0f} % | {among} |", flush=True)


if __name__ == "__main__":
    main()
