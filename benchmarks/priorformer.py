"""What priorformer's card says, measured: regret, calibration, exposure, large samples, time.

python benchmarks/priorformer.py arena            # paired with the published networks on ../shared/arena
python benchmarks/priorformer.py coverage --priors 200
python benchmarks/priorformer.py exposure --priors 100
python benchmarks/priorformer.py large --priors 20
python benchmarks/priorformer.py time
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import find
from ebformer.estimators.priorformer import Priorformer
from ebformer.posterior import bayes_rule
from ebformer.prior import Prior
from ebformer.tally import Tally
from ebformer.transformer.grid import relative_likelihood
from ebformer.worlds import Gamma, LeastFavourable, Multinomial, Neural, World

Floats = NDArray[np.float64]
THREE: tuple[World, ...] = (Neural(), Multinomial(), LeastFavourable())
LEVELS = np.array([0.5, 0.8, 0.9, 0.95])
ARENA = Path(__file__).parents[2] / "shared" / "arena"


def head(*columns: str) -> None:
    print(f"| {' | '.join(columns)} |\n{'| --- ' * len(columns)}|")


def draw(prior: Prior, n: int, rng: np.random.Generator) -> Tally:
    """The tally of n units, without drawing the units."""
    largest = prior.atoms[-1]
    x = np.arange(int(largest + 12 * np.sqrt(largest) + 20))
    pmf = prior.weights @ np.exp(
        x * np.log(np.maximum(prior.atoms, 1e-300))[:, None]
        - prior.atoms[:, None]
        - np.cumsum(np.log(np.maximum(x, 1)))
    )
    count = rng.multinomial(n, pmf / pmf.sum())
    return Tally(x[count > 0], count[count > 0])


def regret(prior: Prior, estimate: Prior, tally: Tally) -> float:
    """The mean squared distance of the two Bayes rules over the units of the tally."""
    t = 1.0 if tally.exposure is None else tally.exposure
    difference = bayes_rule(estimate, tally.values, t) - bayes_rule(prior, tally.values, t)
    return float(tally.multiplicity @ difference**2) / tally.n


def arena(network: Estimator, count: int) -> None:
    """Regret on the given tallies, beside the best rival of each cell, with a paired 95 % interval of the ratio."""
    import pandas as pd

    tallies = pd.read_parquet(ARENA / "tallies.parquet")
    rivals = pd.read_parquet(ARENA / "published_regret.parquet")
    rivals = rivals[~rivals.estimator.isin(["T24f-W24", "mle", "robbins+1"])]
    head("world", "n", "priorformer", "best rival", "its regret", "ratio", "95 %")
    for (world, n), cell in tallies[tallies.tally < count].groupby(["world", "n"]):
        own = np.array(
            [
                float(one.multiplicity @ (network(Tally(one.x, one.multiplicity))(one.x) - one.bayes) ** 2) / n
                for _, one in cell.groupby("tally")
            ]
        )
        there = rivals[(rivals.world == world) & (rivals.n == n) & (rivals.tally < count)]
        table = there.pivot(index="tally", columns="estimator", values="regret")
        best = table.mean().idxmin()
        other = table[best].to_numpy()
        ratio, wide = own.mean() / other.mean(), 1.96 * (own - other).std() / np.sqrt(len(own)) / other.mean()
        print(
            f"| {world} | {n} | {own.mean():.4f} | {best} | {other.mean():.4f} | {ratio:.2f} "
            f"| {ratio - wide:.2f} to {ratio + wide:.2f} |",
            flush=True,
        )


def covered(truth: Prior, answer: Prior, tally: Tally) -> tuple[Floats, Floats]:
    """Probabilities that theta lies in the central interval of each level: by randomised PIT, and the plain interval.

    Exact, given the tally: summed over the units and over the posterior of theta under the true prior.
    """
    joint = truth.weights[:, None] * relative_likelihood(tally.values, truth.atoms)
    joint *= tally.multiplicity / tally.n / joint.sum(axis=0)  # [true atoms, m]
    mass = answer.weights[:, None] * relative_likelihood(tally.values, answer.atoms)
    upto = np.concatenate([np.zeros((1, len(tally))), np.cumsum(mass / mass.sum(axis=0), axis=0)])
    below = upto[np.searchsorted(answer.atoms, truth.atoms, side="left")]  # P(answer < theta)
    above = upto[np.searchsorted(answer.atoms, truth.atoms, side="right")]  # P(answer <= theta)
    pit, plain = [], []
    for low, high in zip((1 - LEVELS) / 2, (1 + LEVELS) / 2, strict=True):
        step = above - below
        inside = np.clip(above, low, high) - np.clip(below, low, high)
        part = np.divide(inside, step, out=((below > low) & (below < high)).astype(float), where=step > 0)
        pit.append(float((joint * part).sum()))
        # theta is at least the lower quantile and at most the upper one
        plain.append(float((joint * ((above >= low - 1e-12) & (below < high - 1e-12))).sum()))
    return np.array(pit), np.array(plain)


def coverage(network: Estimator, priors: int) -> None:
    """Coverage of the central intervals, in percent: randomised PIT, plain intervals, and the oracle's plain ones."""
    head("world", "n", "PIT 50 / 80 / 90 / 95", "plain", "oracle's plain")
    for world in THREE:
        for n in (128, 512, 2048, 16384):
            rng = np.random.default_rng([n, 1])
            found = []
            for _ in range(priors):
                truth = world.draw(rng)
                tally = draw(truth, n, rng)
                answer = network(tally).prior
                assert isinstance(answer, Prior)
                found.append([*covered(truth, answer, tally), covered(truth, truth, tally)[1]])
            cells = [" / ".join(f"{100 * value:.1f}" for value in row) for row in np.mean(found, axis=0)]
            print(f"| {world.name} | {n} | {' | '.join(cells)} |", flush=True)


def exposure(network: Estimator, priors: int) -> None:
    """Regret where units differ in exposure, log-uniform over two decades; priors on [0, 50]."""
    npmle = find("npmle")
    head("world", "n", "priorformer", "npmle", "x / t", "ratio to npmle", "95 %")
    for world in (Neural(), Gamma()):
        for n in (512, 4096):
            rng = np.random.default_rng([n, 2])
            rows = []
            for _ in range(priors):
                truth = world.draw(rng)
                t = np.exp(rng.uniform(np.log(0.1), np.log(10.0), n))
                x = rng.poisson(t * truth.draw(n, rng))
                tally, exact = Tally.of(x, t), bayes_rule(truth, x, t)
                rows.append(
                    [np.mean((estimate - exact) ** 2) for estimate in (network(tally)(x, t), npmle(tally)(x, t), x / t)]
                )
            own, other, _ = np.array(rows).T
            ratio, wide = own.mean() / other.mean(), 1.96 * (own - other).std() / np.sqrt(priors) / other.mean()
            means = " | ".join(f"{value:.3f}" for value in np.mean(rows, axis=0))
            print(
                f"| {world.name} | {n} | {means} | {ratio:.2f} | {ratio - wide:.2f} to {ratio + wide:.2f} |", flush=True
            )


def large(network: Estimator, priors: int) -> None:
    """Regret up to a million units."""
    head("world", "n", "priorformer", "npmle")
    npmle = find("npmle")
    for world in THREE:
        for n in (16384, 131072, 1048576):
            rng = np.random.default_rng([n, 3])
            rows = []
            for _ in range(priors):
                truth = world.draw(rng)
                tally = draw(truth, n, rng)
                priors_found = [method(tally).prior for method in (network, npmle)]
                rows.append([regret(truth, one, tally) for one in priors_found if isinstance(one, Prior)])
            print(
                f"| {world.name} | {n} | {' | '.join(f'{value:.5f}' for value in np.mean(rows, axis=0))} |", flush=True
            )


def clock(network: Estimator) -> None:
    """The time of one tally: best and median of many."""
    head("tally", "distinct values", "best ms", "median ms")
    prior = Neural().draw(np.random.default_rng(5))
    for n in (512, 2048, 10**6, 10**9):
        tally = draw(prior, n, np.random.default_rng(6))
        network(tally)
        taken = []
        for _ in range(200):
            start = time.perf_counter()
            network(tally)
            taken.append(1e3 * (time.perf_counter() - start))
        print(f"| n = {n:,} on [0, 50] | {len(tally)} | {min(taken):.2f} | {np.median(taken):.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["arena", "coverage", "exposure", "large", "time"])
    parser.add_argument("--priors", type=int, default=400)
    parser.add_argument("--weights", type=Path, help="a file of weights instead of the shipped one")
    given = parser.parse_args()
    network = Priorformer.load(given.weights) if given.weights else Priorformer()
    if given.what == "time":
        clock(network)
    else:
        {"arena": arena, "coverage": coverage, "exposure": exposure, "large": large}[given.what](network, given.priors)


if __name__ == "__main__":
    main()
