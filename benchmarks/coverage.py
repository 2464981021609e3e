"""How many 90 % intervals hold the hidden rate: of all units, of the tenth with the highest counts, and of the leader.

    OMP_NUM_THREADS=1 python benchmarks/coverage.py [--units 20,50,200] [--methods gamma,full-bayes] [--tables 40]
    OMP_NUM_THREADS=1 python benchmarks/coverage.py --channel normal    # or binomial

Fourteen priors of rates that everyday tables have (for the other channels, some priors of theirs). A table in Markdown
for each number of units: per method the mean over all tables and its standard error, in percent. With `--by prior` a
line for each prior, with `--write docs/intervals.md` into that page.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

import ebformer as eb

Floats = NDArray[np.float64]
Draw = Callable[[Generator, int], Floats]


def gamma(shape: float, mean: float) -> Draw:
    """A gamma law of this shape and mean."""
    return lambda rng, n: rng.gamma(shape, mean / shape, n)


def mixed(share: float, first: Draw, second: Draw) -> Draw:
    """Of one law with probability `share`, else of another."""
    return lambda rng, n: np.where(rng.random(n) < share, first(rng, n), second(rng, n))


def fixed(value: float) -> Draw:
    """The same for all."""
    return lambda rng, n: np.full(n, value)


def lognormal(sigma: float, median: float) -> Draw:
    """A log-normal law."""
    return lambda rng, n: median * np.exp(sigma * rng.normal(size=n))


RATES: dict[str, Draw] = {
    "gamma .2, mean 1": gamma(0.2, 1.0),
    "gamma .5, mean .05": gamma(0.5, 0.05),
    "gamma 2, mean 3": gamma(2.0, 3.0),
    "gamma 20, mean 10": gamma(20.0, 10.0),
    "gamma 50, mean 500": gamma(50.0, 500.0),
    "lognormal .3, med 5": lognormal(0.3, 5.0),
    "lognormal 1, med 1": lognormal(1.0, 1.0),
    "pareto 2, min 1": lambda rng, n: 1.0 + rng.pareto(2.0, n),
    "uniform 0-6": lambda rng, n: rng.uniform(0.0, 6.0, n),
    "2 + exponential": lambda rng, n: 2.0 + rng.exponential(size=n),
    "2 points 1/.9 8/.1": mixed(0.9, fixed(1.0), fixed(8.0)),
    "70% zero + gamma 2 mean 2": mixed(0.7, fixed(0.0), gamma(2.0, 2.0)),
    "bimodal gammas 2, 12": mixed(0.6, gamma(5.0, 2.0), gamma(30.0, 12.0)),
    "gamma 4 mean 2 + .1% at 100": mixed(0.999, gamma(4.0, 2.0), lognormal(0.2, 100.0)),
}
EFFECTS: dict[str, Draw] = {
    "normal 2": lambda rng, n: rng.normal(0.0, 2.0, n),
    "narrow": lambda rng, n: rng.normal(10.0, 0.5, n),
    "laplace": lambda rng, n: rng.laplace(size=n),
    "t3": lambda rng, n: rng.standard_t(3.0, n),
    "uniform": lambda rng, n: rng.uniform(-3.0, 3.0, n),
    "exponential": lambda rng, n: rng.exponential(2.0, n),
    "sparse-weak": mixed(0.95, fixed(0.0), lambda rng, n: rng.normal(0.0, 3.0, n)),
    "null": fixed(0.0),
}
PROBABILITIES: dict[str, Draw] = {
    "batting": lambda rng, n: rng.beta(80.0, 240.0, n),
    "conversion": lambda rng, n: rng.beta(0.5, 50.0, n),
    "skewed": lambda rng, n: rng.beta(0.3, 3.0, n),
    "beta 2, 5": lambda rng, n: rng.beta(2.0, 5.0, n),
    "high": lambda rng, n: rng.beta(30.0, 2.0, n),
    "uniform": lambda rng, n: rng.uniform(0.0, 1.0, n),
    "spike": mixed(0.3, fixed(0.0), lambda rng, n: rng.beta(2.0, 20.0, n)),
}
CHANNELS: dict[str, tuple[dict[str, Draw], Draw, Callable[[Generator, Floats, Floats], NDArray[np.generic]]]] = {
    "poisson": (RATES, fixed(1.0), lambda rng, theta, known: rng.poisson(theta * known)),
    "normal": (EFFECTS, lambda rng, n: np.exp(rng.uniform(np.log(0.3), np.log(3.0), n)), Generator.normal),
    "binomial": (
        PROBABILITIES,
        lambda rng, n: np.maximum(np.round(60.0 * np.exp(0.7 * rng.normal(size=n))), 1.0),
        lambda rng, theta, known: rng.binomial(known.astype(int), theta),
    ),
}
"""The priors, what is known of the units, and how they are observed."""


def covered(channel: str, draw: Draw, n: int, methods: list[str], rng: Generator) -> Floats:
    """Shares of intervals that hold theta: [method, 3] for all units, the top tenth and the leader of one table."""
    _, knowns, observe = CHANNELS[channel]
    theta, known = draw(rng, n), knowns(rng, n)
    x = observe(rng, theta, known)
    tally = eb.Tally.of(x, known, channel=channel)
    # Of units that differ in what is known, those that a user sees on top: the highest estimates.
    shares = []
    for method in methods:
        rule = eb.estimator(method)(tally)
        after = rule.posterior(x, known)
        low, high = after.interval(0.9)
        order = np.argsort(-after.mean, kind="stable")
        inside = ((low <= theta) & (theta <= high))[order]
        shares.append([inside.mean(), inside[: max(1, n // 10)].mean(), inside[0]])
    return np.array(shares)


class Report:
    """Lines that are shown as they come and can be written into a page, between the marks of this name."""

    def __init__(self, name: str) -> None:
        self.name, self.lines = name, list[str]()

    def __call__(self, line: str) -> None:
        self.lines.append(line)
        print(line, flush=True)

    def write(self, page: Path) -> None:
        """Replace what stands between the marks."""
        first, last = f"<!-- {self.name} -->", f"<!-- end of {self.name} -->"
        before, _, rest = page.read_text(encoding="utf-8").partition(first)
        _, _, after = rest.partition(last)
        page.write_text("\n".join([f"{before}{first}", *self.lines, f"{last}{after}"]), encoding="utf-8")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--units", default="20,50,200,1000")
    parser.add_argument("--methods", default="")
    parser.add_argument("--tables", type=int, default=40, help="how many tables of each prior")
    parser.add_argument("--channel", choices=CHANNELS, default="poisson")
    parser.add_argument("--by", choices=["all", "prior"], default="all")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    chosen, say = parser.parse_args(), Report("coverage")
    conjugate = eb.Tally.of([1], [1], channel=chosen.channel).channel.conjugate
    own = ["priorformer"] if chosen.channel == "poisson" else []
    methods = chosen.methods.split(",") if chosen.methods else [*own, conjugate, "npmle-em", "npmle", "full-bayes"]
    for n in map(int, chosen.units.split(",")):
        say(f"\n| {n:,} units | " + " | ".join(methods) + " |\n|" + " --- |" * (len(methods) + 1))
        found = {}
        for number, (prior, draw) in enumerate(CHANNELS[chosen.channel][0].items()):
            rng = np.random.default_rng([n, number])
            found[prior] = np.array([covered(chosen.channel, draw, n, methods, rng) for _ in range(chosen.tables)])
        lines = found if chosen.by == "prior" else {"": np.concatenate(list(found.values()))}
        for name, shares in lines.items():
            mean, error = 100 * shares.mean(axis=0), 100 * shares.std(axis=0, ddof=1) / np.sqrt(len(shares))
            for row, who in enumerate(("all units", "the top tenth", "the leader")):
                cells = [f"{mean[m, row]:.1f} ± {error[m, row]:.1f}" for m in range(len(methods))]
                say(f"| {' '.join(filter(None, (name, who)))} | " + " | ".join(cells) + " |")
    if chosen.write:
        say("")
        say.write(chosen.write)


if __name__ == "__main__":
    main()
