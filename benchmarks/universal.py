"""T24u beside the network it is a version of: regret on [0, 50] over what figure 1 of the universal-priors paper shows.

python benchmarks/universal.py --priors 400 -o universal.csv      # continues after a kill
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from ebformer.estimators.catalogue import find
from ebformer.lab.arena import Arena, draw_trials
from ebformer.lab.arena.summary import interval, pair
from ebformer.lab.reproduction.compare import paper
from ebformer.lab.worlds import Multinomial, Neural

SIZES, SEED = (512, 1024, 2048, 4096), 20261118


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--priors", type=int, default=400, help="from each world, each with a table of every size")
    parser.add_argument("--methods", default="T24u", help="comma-separated")
    parser.add_argument("-o", "--output", type=Path, help="where finished tables are kept")
    given = parser.parse_args()
    methods = {name: find(name) for name in given.methods.split(",")}
    trials = draw_trials([Neural(50.0), Multinomial(50.0)], SIZES, given.priors, seed=SEED)
    asked = {key for trial in trials for key in trial.keys}
    losses = [loss for loss in Arena(methods, trials).run(given.output, workers=1) if loss.key in asked]
    print(
        f"| world, n | method | regret, {given.priors} priors | 95 % | T24U50 | ratio | 95 % |\n| --- {'| --- ' * 6}|"
    )
    for cell, paired in pair(losses).items():
        theirs = paper("universal-regret")[f"{cell.world} {cell.n}"]["T24u"]
        for name in methods:
            found = np.array(interval(paired[name])[:3])
            mean, low, high = (f"{each:.3f}" for each in found)
            over, least, most = (f"{each:.2f}" for each in found / theirs)
            cells = f"{cell.world} {cell.n}", name, mean, f"{low} to {high}", theirs, over, f"{least} to {most}"
            print("|", " | ".join(map(str, cells)), "|")


if __name__ == "__main__":
    main()
