"""The smooth NPMLE on everyday priors: regret beside npmle-em's, coverage of its 90 % intervals, gap and time.

python benchmarks/smooth.py                 # 40 tables per cell up to 1,000 units, 10 of 10,000: five minutes
python benchmarks/smooth.py --tables 12
python benchmarks/smooth.py --league        # in how many cells of the league table its regret is at most npmle-em's
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
from priorformer import EVERYDAY, SMOOTH

from ebformer.bayes.marginal import bayes_rule
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import find
from ebformer.lab.arena.losses import Truth
from ebformer.lab.league.play import play_league
from ebformer.lab.league.priors import EVERYDAY as EVERYDAY_PRIORS
from ebformer.lab.league.trials import SIZES as LEAGUE_SIZES
from ebformer.lab.league.trials import TALLIES
from ebformer.lab.worlds import Neural
from ebformer.tally import Tally

SIZES = (20, 50, 200, 500, 1000, 10_000)
COVERED_FROM = 500
TIMED = 2048


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=40, help="per cell of at most 1,000 units")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--league", action="store_true", help="the priors of docs/league.md, and nothing else")
    given = parser.parse_args()
    if given.league:
        league()
    else:
        counts(given.tables, given.sizes)


def counts(tables: int, sizes: Sequence[int]) -> None:
    """Regret and coverage cell by cell, and the time of all channels."""
    smooth, rival = find("npmle-smooth"), find("npmle-em")
    ratios, shares, uncertified = dict[tuple[str, int], float](), dict[tuple[str, int], float](), 0
    for n in sizes:
        for number, (name, prior) in enumerate(EVERYDAY.items()):
            rng = np.random.default_rng([2311, n, number])
            regrets, held = [], []
            for _ in range(tables if n < 5000 else max(4, tables // 4)):
                theta = prior.draw(n, rng)
                x = rng.poisson(theta)
                tally = Tally.of(x)
                exact, share = bayes_rule(prior, tally.values), tally.multiplicity / n
                rules = [method(tally) for method in (smooth, rival)]
                regrets.append([share @ (rule(tally.values) - exact) ** 2 for rule in rules])
                uncertified += not rules[0].convergence.reached  # type: ignore[union-attr]
                low, high = (
                    end[np.searchsorted(tally.values, x)] for end in rules[0].posterior(tally.values).interval()
                )
                held.append(np.mean((low <= theta) & (theta <= high)))
            own, other = np.mean(regrets, axis=0)
            ratios[name, n], shares[name, n] = own / other, 100 * float(np.mean(held))
            error = 100 * float(np.std(held)) / np.sqrt(len(held))
            print(
                f"{name:28} n = {n:6,}  regret {ratios[name, n]:5.2f} of npmle-em's, "
                f"covers {shares[name, n]:5.1f} ± {error:.1f}",
                flush=True,
            )
    cells = [key for key in ratios if key[1] != 500]
    print(f"regret at most npmle-em's in {sum(ratios[key] <= 1 for key in cells)} of {len(cells)} cells")
    late = [shares[name, n] for name, n in shares if name in SMOOTH and n >= COVERED_FROM]
    if late:
        print(
            f"smooth cells from {COVERED_FROM} units on: covered {min(late):.1f} to {max(late):.1f} %, "
            f"{sum(87 <= share <= 93 for share in late)} of {len(late)} between 87 and 93"
        )
    print(f"not certified: {uncertified}")
    rng = np.random.default_rng(0)
    timed = {"neural priors of counts": [Truth.of(Neural().draw(rng)).draw(TIMED, rng) for _ in range(30)]}
    for everyday in EVERYDAY_PRIORS:
        channel, x, known = everyday.draw(TIMED, rng)
        timed.setdefault(f"everyday {channel.name}", []).append(Tally.of(x, known, channel=channel))
    for name, tallies in timed.items():
        times = sorted(milliseconds(smooth, tally) for tally in tallies)
        print(f"{name}, n = {TIMED:,}: {np.median(times):.0f} ms in the median, {times[-1]:.0f} at most")


def league() -> None:
    """In how many cells of prior and size, of each channel, the mean regret is at most npmle-em's."""
    names = ["npmle-smooth", "npmle-em"]
    regrets: dict[tuple[str, int], dict[str, list[float]]] = {}
    for loss in play_league(LEAGUE_SIZES, TALLIES, names=names, workers=1):
        regrets.setdefault((loss.data, loss.n), {}).setdefault(loss.estimator, []).append(loss.regret)
    least: dict[str, list[bool]] = {}
    for (prior, _), of in regrets.items():
        own, other = (np.mean(of[name]) for name in names)
        least.setdefault(prior.split()[0], []).append(bool(own <= other))
    least["all"] = [cell for cells in least.values() for cell in cells]
    for channel, cells in least.items():
        print(f"{channel:10} regret at most npmle-em's in {sum(cells)} of {len(cells)} cells")


def milliseconds(method: Estimator, tally: Tally) -> float:
    """Of processor time, the least of three."""
    times = []
    for _ in range(3):
        start = time.process_time()
        method(tally)
        times.append(1e3 * (time.process_time() - start))
    return min(times)


if __name__ == "__main__":
    main()
