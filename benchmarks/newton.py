"""Newton's recursion on 100,000 units: regret over npmle-em's in one pass and as a stream; the time of a million units.

python benchmarks/newton.py              # four tables per prior, two minutes
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from priorformer import EVERYDAY

from ebformer.bayes.marginal import bayes_rule
from ebformer.estimators.catalogue import find
from ebformer.estimators.newton import Newton
from ebformer.lab.worlds import LeastFavourable, Multinomial, Neural
from ebformer.tally import Tally

UNITS, PARTS = 100_000, 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=4, help="per prior")
    given = parser.parse_args()
    worlds = {world.name: world for world in (Neural(), Multinomial(), LeastFavourable())}
    ratios = []
    for number, name in enumerate([*EVERYDAY, *worlds]):
        rng, regrets = np.random.default_rng([2311, number]), []
        for _ in range(given.tables):
            prior = EVERYDAY[name] if name in EVERYDAY else worlds[name].draw(rng)
            x = rng.poisson(prior.draw(UNITS, rng))
            tally, parts = Tally.of(x), np.array_split(x, PARTS)
            stream = Newton()(Tally.of(parts[0]))
            for part in parts[1:]:
                stream = stream.update(Tally.of(part))
            exact, share = bayes_rule(prior, tally.values), tally.multiplicity / UNITS
            rules = find("npmle-em")(tally), Newton()(tally), stream
            regrets.append([share @ (rule(tally.values) - exact) ** 2 for rule in rules])
        rival, once, later = np.mean(regrets, axis=0)
        ratios.append((once / rival, later / rival))
        print(f"{name:28} one pass {once / rival:5.2f}, in {PARTS} parts {later / rival:5.2f}", flush=True)
    found = np.array(ratios)
    centre = np.exp(np.log(found).mean(axis=0))
    print(f"geometric mean: one pass {centre[0]:.2f}, in {PARTS} parts {centre[1]:.2f}")
    print(f"at most 1.3: one pass {(found[:, 0] <= 1.3).sum()} of {len(found)}, in parts {(found[:, 1] <= 1.3).sum()}")
    rng = np.random.default_rng(0)
    x = rng.poisson(rng.gamma(2.0, 1.5, 1_000_000))
    rule = Newton()(Tally.of(x[:1000]))
    start = time.process_time()
    rule = rule.update(Tally.of(x))
    print(f"a million units: {time.process_time() - start:.2f} s, {rule.theta.size} points held")


if __name__ == "__main__":
    main()
