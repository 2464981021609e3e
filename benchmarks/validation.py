"""Which weights of priorformer to ship: regret and coverage on priors that nothing else here uses.

python benchmarks/validation.py runs/mine.safetensors [other.safetensors ...] [--tables 20] [--sizes 20,50,200,1000]

The first line of every table is the shipped network. Regret is given as a ratio to it, the geometric mean over priors
with a 95 % interval over them; coverage of 90 % intervals as the mean over the smooth priors: of all units, of the
tenth with the highest estimates, of the leader, and of the leader in the worst cell. The league, the card and
`../shared/arena` have other priors and judge what was chosen here.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ebformer.bayes.marginal import bayes_rule
from ebformer.estimators.priorformer import Priorformer
from ebformer.lab.arena.losses import Truth
from ebformer.lab.league.priors import EXP, GAMMA, Everyday, U, Z, law
from ebformer.lab.league.trials import everyday_trials
from ebformer.lab.worlds import LeastFavourable, Neural, shapes

SEED = 19
RATES = {
    "gamma .35, mean 2": law((1.0, 2.0 * GAMMA(0.35))),
    "gamma 1, mean .2": law((1.0, 0.2 * GAMMA(1.0))),
    "gamma 3, mean 8": law((1.0, 8.0 * GAMMA(3.0))),
    "gamma 12, mean 30": law((1.0, 30.0 * GAMMA(12.0))),
    "gamma 90, mean 700": law((1.0, 700.0 * GAMMA(90.0))),
    "lognormal .5, med 2": law((1.0, 2.0 * EXP(0.5 * Z))),
    "lognormal .8, med 20": law((1.0, 20.0 * EXP(0.8 * Z))),
    "pareto 3, min 2": law((1.0, 2.0 * shapes.pareto(3.0))),
    "weibull .7, scale 3": law((1.0, 3.0 * shapes.weibull(0.7))),
    "1 + gamma 2, mean 3": law((1.0, 1.0 + 3.0 * GAMMA(2.0))),
    "uniform 2-9": law((1.0, 2.0 + 7.0 * U)),
    "3 points 1/.3 4/.4 9/.3": law((0.3, 1.0), (0.4, 4.0), (0.3, 9.0)),
    "half zero + gamma 3, mean 5": law((0.5, 0.0), (0.5, 5.0 * GAMMA(3.0))),
    "gammas 1 and 10": law((0.7, GAMMA(4.0)), (0.3, 10.0 * GAMMA(20.0))),
    "all at 6": law((1.0, 6.0)),
}
EFFECTS = {
    "normal 1": law((1.0, Z)),
    "normal .5": law((1.0, 0.5 * Z)),
    "laplace 2": law((1.0, 2.0 * shapes.laplace())),
    "t 4": law((1.0, 1.5 * shapes.student(4.0))),
    "gamma 2": law((1.0, 2.0 * GAMMA(2.0))),
    "uniform 0-5": law((1.0, 5.0 * U)),
    "normals at -2 and 2": law((0.4, -2.0 + 0.4 * Z), (0.6, 2.0 + 0.4 * Z)),
    "2 points 0/.6 4/.4": law((0.6, 0.0), (0.4, 4.0)),
    "90% zero + normal 2": law((0.9, 0.0), (0.1, 2.0 * Z)),
    "97% zero + 4": law((0.97, 0.0), (0.03, 4.0)),
    "scales .2 3": law((0.7, 0.2 * Z), (0.3, 3.0 * Z)),
}
PROPORTIONS = {
    "beta 40 100": law((1.0, shapes.beta(40.0, 100.0))),
    "beta .6 .6": law((1.0, shapes.beta(0.6, 0.6))),
    "beta 1.5 1.5": law((1.0, shapes.beta(1.5, 1.5))),
    "beta .5 5": law((1.0, shapes.beta(0.5, 5.0))),
    "beta 2 60": law((1.0, shapes.beta(2.0, 60.0))),
    "beta 12 1": law((1.0, shapes.beta(12.0, 1.0))),
    "uniform .1-.7": law((1.0, 0.1 + 0.6 * U)),
    "2 points .3/.5 .5/.5": law((0.5, 0.3), (0.5, 0.5)),
    "half zero + beta 3 10": law((0.5, 0.0), (0.5, shapes.beta(3.0, 10.0))),
    "all at .5": law((1.0, 0.5)),
}
ROUGH = ("points", "zero", "all at", "gammas ", "normals ", "scales", "uniform")
"""Names of priors with atoms, edges or several modes have one of these in them."""
PRIORS = [
    Everyday(f"{name}, {'equal' if known[0] == known[1] else 'unequal'}", channel, prior, known)
    for channel, priors, knowns in (
        ("poisson", RATES, [(1.0, 1.0), (0.3, 4.0)]),
        ("normal", EFFECTS, [(1.0, 1.0), (0.4, 2.5)]),
        ("binomial", PROPORTIONS, [(25.0, 25.0), (8.0, 300.0)]),
    )
    for name, prior in priors.items()
    for known in knowns
]


def row(*cells: object) -> None:
    """A line of a table in Markdown, shown at once."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def geometric(ratios: NDArray[np.float64]) -> str:
    """The geometric mean, and its 95 % interval over priors."""
    logs = np.log(ratios)
    wide = 1.96 * logs.std(ddof=1) / np.sqrt(len(logs))
    return f"{np.exp(logs.mean()):.3f} ({np.exp(logs.mean() - wide):.3f} to {np.exp(logs.mean() + wide):.3f})"


def everyday(networks: Sequence[Priorformer], names: Sequence[str], sizes: Sequence[int], tables: int) -> None:
    """Every channel and size: regret over that of the first network, and coverage."""
    for channel in ("poisson", "normal", "binomial"):
        print(f"\n**{channel}**\n")
        row("weights", "n", "regret", "all units", "top tenth", "leader", "worst")
        row("---", "---:", "---", *["---:"] * 4)
        priors = [prior for prior in PRIORS if prior.channel == channel]
        smooth = np.array([not any(word in prior.name for word in ROUGH) for prior in priors])
        for n in sizes:
            found = np.zeros((len(networks), len(priors), tables, 4))
            for which, prior in enumerate(priors):
                for trial in everyday_trials(tables, [n], SEED, [prior]):
                    for case in trial.cases(trial.keys):
                        for i, network in enumerate(networks):
                            loss = case.score(names[i], network)
                            told = loss.regret, loss.coverage, loss.top_tenth, loss.leader
                            found[i, which, trial.number] = told
            mean = found.mean(axis=2)
            for i, name in enumerate(names):
                held = [*mean[i, smooth, 1:].mean(axis=0), mean[i, smooth, 3].min()]
                ratio = geometric(mean[i, :, 0] / mean[0, :, 0])
                row(name, f"{n:,}", ratio, *(f"{100 * share:.1f}" for share in held))


def paper(networks: Sequence[Priorformer], names: Sequence[str], tables: int) -> None:
    """Neural and least favourable priors on [0, 50], other tallies than the arena's."""
    print("\n**the paper's worlds**\n")
    row("weights", "world", "n", "regret", "over the first")
    row("---", "---", "---:", "---:", "---")
    for world in (Neural(), LeastFavourable()):
        for n in (128, 256, 512, 4096):
            rng, rows = np.random.default_rng([SEED, n]), []
            for _ in range(tables):
                truth = world.draw(rng)
                tally = Truth.of(truth).draw(n, rng)
                exact, share = bayes_rule(truth, tally.values), tally.multiplicity / n
                rows.append([float(share @ (network(tally)(tally.values) - exact) ** 2) for network in networks])
            found = np.array(rows)
            for i, name in enumerate(names):
                ratio = found[:, i].mean() / found[:, 0].mean()
                wide = 1.96 * (found[:, i] - ratio * found[:, 0]).std() / np.sqrt(tables) / found[:, 0].mean()
                row(name, world.name, n, f"{found[:, i].mean():.4f}", f"{ratio:.3f} ± {wide:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path, nargs="+")
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--sizes", default="20,50,200,1000")
    given = parser.parse_args()
    networks = [Priorformer(), *(Priorformer.load(path) for path in given.weights)]
    names = ["shipped", *(path.stem for path in given.weights)]
    everyday(networks, names, [int(n) for n in given.sizes.split(",")], given.tables)
    paper(networks, names, 5 * given.tables)


if __name__ == "__main__":
    main()
