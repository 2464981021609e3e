"""Milliseconds per fit of every method of the catalogue, and the certified gap where there is one.

    OMP_NUM_THREADS=1 python benchmarks/estimators.py [--repeats 20] [--methods npmle,minimax]

Tallies are drawn from fresh priors of the neural world on [0, 50]; times are medians over tallies, one fit each, after
one that is not counted. Minimax forgets what it solved before.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

import ebformer as eb
from ebformer.cli.terminal import show
from ebformer.estimators.least_favourable import least_favourable
from ebformer.lab.arena import Truth
from ebformer.lab.worlds.neural import Neural
from ebformer.report.text_table import TextTable

SIZES = (128, 512, 2048, 65_536, 10**9)


def draw(n: int, repeats: int) -> list[eb.Tally]:
    """Tallies of n units: one multinomial draw from the marginal of a fresh prior each."""
    rng = np.random.default_rng(n)
    return [Truth.of(prior).draw(n, rng) for prior in Neural(theta_max=50.0).draw_many(rng, repeats)]


def measure(method: eb.Estimator, tallies: list[eb.Tally]) -> tuple[list[float], float | None]:
    """Milliseconds of each fit, and the largest gap that any of them certified."""
    method(tallies[0])
    milliseconds, gaps = [], []
    for tally in tallies:
        least_favourable.cache_clear()
        start = time.perf_counter()
        rule = method(tally)
        milliseconds.append(1000 * (time.perf_counter() - start))
        if rule.convergence is not None:
            gaps.append(rule.convergence.gap)
    return milliseconds, max(gaps, default=None)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--methods", default=",".join(eb.CATALOGUE))
    chosen = parser.parse_args()
    columns = ("method", *(f"n = {n:,}" if n < 10**9 else "n = 10^9" for n in SIZES), "largest gap")
    rows = []
    drawn = {n: draw(n, chosen.repeats) for n in SIZES}
    for name in chosen.methods.split(","):
        times, gaps = zip(*(measure(eb.estimator(name), drawn[n]) for n in SIZES), strict=True)
        known = [gap for gap in gaps if gap is not None]
        cells = [f"{statistics.median(milliseconds):.2f}" for milliseconds in times]
        rows.append((name, *cells, f"{max(known):.1e}" if known else ""))
    show(TextTable("Median milliseconds per fit", columns, tuple(rows)))


if __name__ == "__main__":
    main()
