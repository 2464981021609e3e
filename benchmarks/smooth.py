"""The smooth NPMLE on everyday priors: regret beside npmle-em's, coverage of its 90 % intervals, gap and time.

python benchmarks/smooth.py                 # 40 tables per cell up to 1,000 units, 10 of 10,000: five minutes
python benchmarks/smooth.py --tables 12
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from priorformer import EVERYDAY, SMOOTH

from ebformer.bayes.marginal import bayes_rule
from ebformer.estimators.catalogue import find
from ebformer.lab.arena.losses import Truth
from ebformer.lab.worlds import Neural
from ebformer.tally import Tally

SIZES = (20, 50, 200, 500, 1000, 10_000)
COVERED_FROM = 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=40, help="per cell of at most 1,000 units")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    given = parser.parse_args()
    smooth, rival = find("npmle-smooth"), find("npmle-em")
    ratios, shares, uncertified = dict[tuple[str, int], float](), dict[tuple[str, int], float](), 0
    for n in given.sizes:
        for number, (name, prior) in enumerate(EVERYDAY.items()):
            rng = np.random.default_rng([2311, n, number])
            regrets, held = [], []
            for _ in range(given.tables if n < 5000 else max(4, given.tables // 4)):
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
    rng, times = np.random.default_rng(0), []
    for _ in range(30):
        tally = Truth.of(Neural().draw(rng)).draw(2048, rng)
        start = time.process_time()
        smooth(tally)
        times.append(1e3 * (time.process_time() - start))
    print(f"neural priors, n = 2,048: {np.median(times):.0f} ms in the median, {max(times):.0f} at most")


if __name__ == "__main__":
    main()
