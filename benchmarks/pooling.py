"""Pooled groups against all together and all apart, where the truth is known: `python benchmarks/pooling.py`.

Groups of 3 to 3,000 units, 3,000 units of every size. Total squared error as a share of the better of the two others,
with the standard error over tables, that of an oracle which knows how groups and units are distributed, and how often
90 % intervals hold the truth. `--tables 2 --effect 0.3` for a look. `--channel poisson --known 0.5` has half the counts
per unit, `--within 0.35` units of a group that differ less, and `--seed 100` other tables.

`python benchmarks/pooling.py few` has tables of a few small groups: squared error as a share of that without groups,
and how often 90 % intervals hold the truth with pooling and without groups.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence

import numpy as np
from scipy.special import expit, ndtri
from scipy.stats import gamma

from ebformer.binning import coarsened, distinct_rows
from ebformer.channels import channel_named
from ebformer.estimators.catalogue import estimator
from ebformer.pooling import pool
from ebformer.rule import Rule
from ebformer.tally import Tally

SIZES = {3: 1000, 10: 300, 30: 100, 100: 30, 300: 10, 1000: 3, 3000: 1}
EFFECTS = (0.0, 0.3, 0.35, 0.4, 0.5, 1.2)
"""The standard deviation between groups, of log rates, log-odds or effects."""
WORLDS = {"poisson": ("priorformer", "gamma", "npmle"), "binomial": ("beta", "npmle"), "normal": ("normal", "npmle-em")}
KNOWN = {"poisson": [1.0], "binomial": [10.0, 20.0, 40.0], "normal": [0.5, 1.0, 1.5]}
"""Exposures, trials or standard errors, of which every unit has one."""
WITHIN = {"poisson": 3.0**-0.5, "binomial": 0.5, "normal": 0.7}
"""The standard deviation within groups: of rates over their mean, of log-odds, of effects."""
FEW = ((3, 6, 0.4, 0.4), (3, 6, 1.0, 1.0), (3, 6, 0.0, 0.6), (5, 5, 0.6, 0.6), (8, 10, 0.3, 0.5))
"""Groups, units in each, and the standard deviations of effects between and within groups."""


def hidden(channel: str, place: np.ndarray, chance: np.ndarray, effect: float) -> np.ndarray:
    """theta of a unit of a group at this place, a normal number, that has this chance of being exceeded by others."""
    within = WITHIN[channel]
    if channel == "poisson":
        return 2.0 * gamma(within**-2, scale=within**2).ppf(chance) * np.exp(effect * place - effect**2 / 2)
    if channel == "binomial":
        return expit(-1.0 + effect * place + within * ndtri(chance))
    return effect * place + within * ndtri(chance)


def draw(channel: str, effect: float, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Which group every unit is of, its theta, what is known of it, and what it showed."""
    sizes = np.repeat(list(SIZES), list(SIZES.values()))
    group = np.repeat(np.arange(sizes.size), sizes)
    theta = hidden(channel, rng.normal(size=sizes.size)[group], rng.uniform(size=group.size), effect)
    known = rng.choice(KNOWN[channel], group.size)
    return group, theta, known, channel_named(channel).draw(theta, known, rng)


def oracle(channel: str, effect: float, group: np.ndarray, x: np.ndarray, known: np.ndarray) -> np.ndarray:
    """E[theta | all observations of the group], where the laws of places and of units are known."""
    law, chance = channel_named(channel), (np.arange(400) + 0.5) / 400
    places = np.linspace(-4.5, 4.5, 91)
    first, which = distinct_rows(x, known)
    log_f, means = np.empty((2, first.size, places.size))
    for i, place in enumerate(places):
        theta = hidden(channel, place, chance, effect)
        deviance = law.deviance(x[first, None], theta, known[first, None])
        least = deviance.min(axis=1)
        likelihood = np.exp(least[:, None] - deviance)
        total = likelihood.sum(axis=1)
        log_f[:, i], means[:, i] = np.log(total) - least, likelihood @ theta / total
    logs = np.tile(-(places**2) / 2, (group.max() + 1, 1))
    np.add.at(logs, group, log_f[which])
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("up,up->u", weights[group], means[which])


def losses(channel: str, method: str, effect: float, seed: int) -> dict[str, float]:
    """Squared errors and coverage in one table."""
    group, theta, known, x = draw(channel, effect, np.random.default_rng(seed))
    fitted, law = estimator(method), channel_named(channel)
    parts = np.split(np.arange(group.size), np.flatnonzero(np.diff(group)) + 1)
    tallies = [Tally.of(x[at], known[at], channel=law) for at in parts]
    found = pool(tallies, fitted)
    held = np.zeros(group.size)
    for rule, at in zip(found.rules, parts, strict=True):
        low, high = rule.posterior(x[at], known[at]).interval(0.9)
        held[at] = (low <= theta[at]) & (theta[at] <= high)
    least = min(SIZES)
    everyone = (x, known, theta, parts)
    return {
        "together": squares([found.common] * len(parts), *everyone),
        "apart": squares([fitted(coarsened(tally)) for tally in tallies], *everyone),
        "pooled": squares(found.rules, *everyone),
        "oracle": float(((oracle(channel, effect, group, x, known) - theta) ** 2).sum()),
        "held": held.mean(),
        "held, smallest": held[np.bincount(group)[group] == least].mean(),
        "between": found.between,
    }


def squares(
    rules: Sequence[Rule], x: np.ndarray, known: np.ndarray, theta: np.ndarray, parts: Sequence[np.ndarray]
) -> float:
    """Total squared error of one rule per group."""
    return sum(float(((rule(x[at], known[at]) - theta[at]) ** 2).sum()) for rule, at in zip(rules, parts, strict=True))


def many_groups(asked: argparse.Namespace) -> None:
    print(
        "channel   method       groups    together  apart   pooled (s.e.)   oracle   90 % hold   groups of 3   between"
    )
    seeds = range(asked.seed, asked.seed + (asked.tables or 5))
    for channel in asked.channel or WORLDS:
        KNOWN[channel], WITHIN[channel] = asked.known or KNOWN[channel], asked.within or WITHIN[channel]
        for method in [asked.method] if asked.method else WORLDS[channel]:
            for effect in asked.effect or EFFECTS:
                rows = [losses(channel, method, effect, seed) for seed in seeds]
                of = {key: np.array([row[key] for row in rows]) for key in rows[0]}
                better = np.minimum(of["together"], of["apart"])
                share = of["pooled"] / better
                error = share.std(ddof=1) / np.sqrt(share.size) if share.size > 1 else np.nan
                print(
                    f"{channel:9s} {method:12s} {effect:<9g} {(of['together'] / better).mean():.3f}     "
                    f"{(of['apart'] / better).mean():.3f}   {share.mean():.3f} ({error:.3f})   "
                    f"{(of['oracle'] / better).mean():.3f}  {of['held'].mean():8.1%} "
                    f"{of['held, smallest'].mean():12.1%} {of['between'].mean():12.0%}",
                    flush=True,
                )


def few_groups(asked: argparse.Namespace) -> None:
    law, fitted = channel_named("normal"), estimator(asked.method or "priorformer")
    print(
        "groups x units  between, within   error, pooled over together (s.e.)   90 % hold, pooled and together (s.e.)"
    )
    for groups, size, between, within in FEW:
        rows = []
        for seed in range(asked.tables or 100):
            rng = np.random.default_rng(seed)
            parts = np.split(np.arange(groups * size), groups)
            theta = between * np.repeat(rng.normal(size=groups), size) + within * rng.normal(size=groups * size)
            known = rng.choice([0.4, 0.7, 1.0], theta.size)
            x = law.draw(theta, known, rng)
            found = pool([Tally.of(x[at], known[at], channel=law) for at in parts], fitted)
            row = []
            for rules in (found.rules, [found.common] * groups):
                after = [rule.posterior(x[at], known[at]) for rule, at in zip(rules, parts, strict=True)]
                low, high = np.concatenate([each.interval(0.9) for each in after], axis=-1)
                row += [squares(rules, x, known, theta, parts), float(np.mean((low <= theta) & (theta <= high)))]
            rows.append(row)
        (error, held, alone, before), n = np.array(rows).T, len(rows)
        share = error.sum() / alone.sum()
        noise = (error - share * alone).std(ddof=1) / np.sqrt(n) / alone.mean()
        print(
            f"{groups} x {size:<12d} {between:g}, {within:<12g} {share:.3f} ({noise:.3f}) {held.mean():30.1%} "
            f"({held.std(ddof=1) / np.sqrt(n):.1%}) {before.mean():8.1%} ({before.std(ddof=1) / np.sqrt(n):.1%})",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["many", "few"], nargs="?", default="many")
    parser.add_argument("--tables", type=int)
    parser.add_argument("--channel", choices=WORLDS, action="append")
    parser.add_argument("--method")
    parser.add_argument("--effect", type=float, action="append")
    parser.add_argument("--known", type=float, action="append")
    parser.add_argument("--within", type=float)
    parser.add_argument("--seed", type=int, default=0)
    warnings.simplefilter("ignore")
    given = parser.parse_args()
    {"many": many_groups, "few": few_groups}[given.what](given)
