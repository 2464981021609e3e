"""Milliseconds per fit of every method of the catalogue, and the certified gap where there is one.

    OMP_NUM_THREADS=1 python benchmarks/estimators.py [--repeats 20] [--methods npmle,minimax] [--table channels]

Times are medians over tallies, one fit each, after one that is not counted. The first table has Poisson counts from
fresh priors of the neural world on [0, 50]; the second 2,048 units of every channel, with equal and with unequal known.
Minimax forgets what it solved before.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

import ebformer as eb
from ebformer.channels import channel_named, channels
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


def draw_in(name: str, unequal: bool, repeats: int, n: int = 2048) -> list[eb.Tally]:
    """Tallies of a channel: neural priors of rates, beta mixtures of probabilities, normal and sparse ones of effects.

    Unequal exposures are log-normal, trials log-normal around 60 (equal: 100) and errors log-uniform from 0.3 to 3.
    """
    rng, tallies = np.random.default_rng([n, unequal]), []
    for prior in Neural(theta_max=50.0).draw_many(rng, repeats):
        if name == "binomial":
            a, b = rng.uniform(0.5, 80), rng.uniform(0.5, 80)
            theta = np.where(rng.random(n) < 0.2, rng.random(), rng.beta(a, b, n))
            known = np.maximum(np.floor(rng.lognormal(np.log(60), 1, n)), 1) if unequal else np.full(n, 100.0)
        elif name == "normal":
            theta = np.where(rng.random(n) < rng.random(), 0.0, rng.normal(rng.normal(0, 3), rng.uniform(0, 3), n))
            known = np.exp(rng.uniform(np.log(0.3), np.log(3), n)) if unequal else np.ones(n)
        else:
            theta = prior.draw(n, rng)
            known = rng.lognormal(0, 1, n) if unequal else np.ones(n)
        channel = channel_named(name)
        tallies.append(eb.Tally.of(channel.draw(theta, known, rng), known, channel=channel))
    return tallies


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


def cells(milliseconds: list[float]) -> str:
    return f"{statistics.median(milliseconds):.2f}"


def by_size(methods: list[str], repeats: int) -> TextTable:
    """Poisson counts of more and more units."""
    columns = ("method", *(f"n = {n:,}" if n < 10**9 else "n = 10^9" for n in SIZES), "largest gap")
    drawn, rows = {n: draw(n, repeats) for n in SIZES}, []
    for name in methods:
        method = eb.estimator(name)
        if "poisson" not in method.channels:
            continue
        times, gaps = zip(*(measure(method, drawn[n]) for n in SIZES), strict=True)
        known = [gap for gap in gaps if gap is not None]
        rows.append((name, *map(cells, times), f"{max(known):.1e}" if known else ""))
    return TextTable("Median milliseconds per fit: Poisson counts on [0, 50]", columns, tuple(rows))


def by_channel(methods: list[str], repeats: int) -> TextTable:
    """Every channel, with equal and unequal known."""
    places = [(each.name, unequal) for each in channels() for unequal in (False, True) if each.complete or not unequal]
    drawn, rows = {place: draw_in(*place, repeats) for place in places}, []
    for name in methods:
        method = eb.estimator(name)
        served = [c in method.channels and (method.unequal_known or not unequal) for c, unequal in places]
        times = [cells(measure(method, drawn[at])[0]) if ok else "" for at, ok in zip(places, served, strict=True)]
        rows.append((name, *times))
    columns = ("method", *(f"{name}, {'unequal' if unequal else 'equal'}" for name, unequal in places))
    return TextTable("Median milliseconds per fit: 2,048 units of every channel", columns, tuple(rows))


TABLES = {"sizes": by_size, "channels": by_channel}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--methods", default=",".join(eb.CATALOGUE))
    parser.add_argument("--table", choices=TABLES, action="append")
    chosen = parser.parse_args()
    for name in chosen.table or TABLES:
        show(TABLES[name](chosen.methods.split(","), chosen.repeats))


if __name__ == "__main__":
    main()
