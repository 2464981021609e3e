"""The NPMLE of random tallies in every channel: is what it certifies true?

    OMP_NUM_THREADS=1 python benchmarks/certificates.py [--tallies 300] [--most 100000] [--channels normal,binomial]

For every tally the certified gap is compared with what was promised, min(1e-6, 0.01 / n), and with the largest D found
on a fine grid by likelihoods written apart from the package; where observations are few, a general convex solver
(clarabel) is given the same points and has to find the same likelihood.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import ebformer as eb
from ebformer.cli.terminal import show
from ebformer.report.text_table import TextTable

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from convex_npmle import COORDINATE, convex_program, independent_gap, kernel, objective
from random_tallies import CHANNELS, random_tally

FEW = 150
"""Observations of a tally that clarabel is asked about."""


class Checked(NamedTuple):
    """One tally: its units, the seconds its fit took, gaps over the promise, and how far clarabel is away."""

    n: int
    seconds: float
    certified: float
    found: float
    apart: float | None


def check(tally: eb.Tally) -> Checked:
    """Fit and check."""
    start = time.process_time()
    rule = eb.estimator("npmle")(tally)
    seconds, promised = time.process_time() - start, min(1e-6, 0.01 / tally.n)
    found = independent_gap(tally, rule.prior, spacing=0.1 if len(tally) < 5000 else 0.25)
    apart = None
    if len(tally) <= FEW:
        (there, back), mle = COORDINATE[tally.channel.name], tally.channel.mle(tally.x, tally.known)
        points = np.union1d(rule.prior.atoms, back(np.linspace(*there(np.array([mle.min(), mle.max()])), 60)))
        weights, _ = convex_program(kernel(tally, points), tally.multiplicity / tally.n)
        apart = abs(objective(tally, rule.prior) - objective(tally, eb.Prior(points, weights)))
    return Checked(tally.n, seconds, rule.convergence.gap / promised, found / promised, apart)


def row(name: str, checked: list[Checked]) -> tuple[str, ...]:
    """A line of the table."""
    apart = [each.apart for each in checked if each.apart is not None]
    large = [each.seconds for each in checked if each.n >= 10_000]
    return (
        name,
        f"{len(checked)}",
        f"{max(each.n for each in checked):,}",
        f"{max(each.certified for each in checked):.1e}",
        f"{max(each.found for each in checked):.1e}",
        f"{sum(max(each.certified, each.found) > 1 for each in checked)}",
        f"{max(apart, default=np.nan):.1e} ({len(apart)})",
        f"{1000 * statistics.median(each.seconds for each in checked):.1f}",
        f"{statistics.median(large or [np.nan]):.2f}",
        f"{max(each.seconds for each in checked):.1f}",
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tallies", type=int, default=300)
    parser.add_argument("--most", type=float, default=1e5)
    parser.add_argument("--channels", default=",".join(CHANNELS))
    chosen = parser.parse_args()
    columns = (
        "channel",
        "tallies",
        "largest n",
        "certified",
        "found",
        "broken",
        "clarabel (tallies)",
        "median ms",
        "s from 10^4",
        "longest s",
    )
    rows = []
    for name in chosen.channels.split(","):
        rng = np.random.default_rng(2026)
        checked = []
        for i in range(chosen.tallies):
            checked.append(check(random_tally(name, rng, chosen.most)))
            if max(checked[-1].certified, checked[-1].found) > 1 or checked[-1].seconds > 20:
                print(f"{name} {i}: {checked[-1]}", file=sys.stderr, flush=True)
        rows.append(row(name, checked))
    note = "Certified and found: the largest gap over what was promised. Seconds are of one processor."
    show(TextTable("Certificates of the NPMLE", columns, tuple(rows), (note,)))


if __name__ == "__main__":
    main()
