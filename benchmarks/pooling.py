"""Pooled groups against all together and all apart, where the truth is known: `python benchmarks/pooling.py`.

Groups of 3 to 3,000 units, 3,000 units of every size. Total squared error as a share of the better of the two others,
with the standard error over tables, and how often 90 % intervals hold the truth. `--tables 2 --effect 0.3` for a look.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from ebformer.binning import coarsened
from ebformer.channels import channel_named
from ebformer.estimators.catalogue import estimator
from ebformer.pooling import pool
from ebformer.rule import Rule
from ebformer.tally import Tally

SIZES = {3: 1000, 10: 300, 30: 100, 100: 30, 300: 10, 1000: 3, 3000: 1}
EFFECTS = (0.0, 0.3, 0.35, 0.4, 0.5, 1.2)
"""The standard deviation between groups, of log rates, log-odds or effects."""
WORLDS = {"poisson": ("priorformer", "gamma", "npmle"), "binomial": ("beta", "npmle"), "normal": ("normal", "npmle-em")}


def draw(channel: str, effect: float, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Which group every unit is of, its theta, what is known of it, and what it showed."""
    sizes = np.repeat(list(SIZES), list(SIZES.values()))
    group = np.repeat(np.arange(sizes.size), sizes)
    place = effect * rng.normal(size=sizes.size)[group]
    if channel == "poisson":
        theta = 2.0 * rng.gamma(3.0, 1 / 3, group.size) * np.exp(place - effect**2 / 2)
        known = np.ones(group.size)
    elif channel == "binomial":
        theta, known = expit(-1.0 + place + 0.5 * rng.normal(size=group.size)), rng.choice([10.0, 20, 40], group.size)
    else:
        theta, known = place + 0.7 * rng.normal(size=group.size), rng.choice([0.5, 1.0, 1.5], group.size)
    return group, theta, known, channel_named(channel).draw(theta, known, rng)


def losses(channel: str, method: str, effect: float, seed: int) -> dict[str, float]:
    """Squared errors and coverage in one table."""
    group, theta, known, x = draw(channel, effect, np.random.default_rng(seed))
    fitted, law = estimator(method), channel_named(channel)
    parts = np.split(np.arange(group.size), np.flatnonzero(np.diff(group)) + 1)
    tallies = [Tally.of(x[at], known[at], channel=law) for at in parts]
    found = pool(tallies, fitted)

    def squares(rules: Sequence[Rule]) -> float:
        return sum(
            float(((rule(x[at], known[at]) - theta[at]) ** 2).sum()) for rule, at in zip(rules, parts, strict=True)
        )

    held = np.zeros(group.size)
    for rule, at in zip(found.rules, parts, strict=True):
        low, high = rule.posterior(x[at], known[at]).interval(0.9)
        held[at] = (low <= theta[at]) & (theta[at] <= high)
    least = min(SIZES)
    return {
        "together": squares([found.common] * len(parts)),
        "apart": squares([fitted(coarsened(tally)) for tally in tallies]),
        "pooled": squares(found.rules),
        "held": held.mean(),
        "held, smallest": held[np.bincount(group)[group] == least].mean(),
        "between": found.between,
        "concentration": found.concentration,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=5)
    parser.add_argument("--channel", choices=WORLDS, action="append")
    parser.add_argument("--method")
    parser.add_argument("--effect", type=float, action="append")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print("channel   method       groups    together  apart   pooled (s.e.)    90 % hold   in groups of 3   between")
    for channel in asked.channel or WORLDS:
        for method in [asked.method] if asked.method else WORLDS[channel]:
            for effect in asked.effect or EFFECTS:
                rows = [losses(channel, method, effect, seed) for seed in range(asked.tables)]
                of = {key: np.array([row[key] for row in rows]) for key in rows[0]}
                better = np.minimum(of["together"], of["apart"])
                share = of["pooled"] / better
                error = share.std(ddof=1) / np.sqrt(share.size) if share.size > 1 else np.nan
                print(
                    f"{channel:9s} {method:12s} {effect:<9g} {(of['together'] / better).mean():.3f}     "
                    f"{(of['apart'] / better).mean():.3f}   {share.mean():.3f} ({error:.3f})   "
                    f"{of['held'].mean():8.1%} {of['held, smallest'].mean():12.1%} {of['between'].mean():14.0%}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
