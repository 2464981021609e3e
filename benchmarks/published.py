"""T24r, L24r and T24f beside the published networks of the same name, tally by tally, on ../shared/arena.

    python benchmarks/published.py [--tallies 400] [--shelf FOLDER]

Prints a row per world and size: our mean regret, its ratio to the published one, and the upper end of the 95 %
interval of the ratio (delta method, tallies as units). With a shelf, the networks that `ebformer train NAME --ship`
left there instead of those in the zoo.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from ebformer.networks import weights as weights_file
from ebformer.networks import zoo
from ebformer.networks.estimates import estimate_many
from ebformer.tally import Tally

ARENA = Path(__file__).parents[2] / "shared" / "arena"
RIVALS = {"T24r": "T24r-W2", "L24r": "L24r-W24", "T24f": "T24f-W24"}
WORLDS = ("neural", "multinomial", "least-favourable")
SIZES = (128, 256, 512, 1024, 2048, 4096)


def ratio(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """The ratio of two mean regrets on the same tallies, and the upper end of its 95 % interval."""
    value = float(ours.mean() / theirs.mean())
    error = (ours - value * theirs).std(ddof=1) / theirs.mean() / np.sqrt(len(ours))
    return value, value + 1.96 * float(error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tallies", type=int, default=400)
    parser.add_argument("--shelf", type=Path)
    given = parser.parse_args()
    count, shelf = given.tallies, given.shelf or zoo.FOLDER
    networks = {name: weights_file.load(path) for name in RIVALS if (path := shelf / f"{name}.safetensors").exists()}
    tallies, published = (pd.read_parquet(ARENA / f"{name}.parquet") for name in ("tallies", "published_regret"))
    print(f"| world, n | {' | '.join(networks)} |\n| --- {'| ---: ' * len(networks)}|")
    for world in WORLDS:
        for n in SIZES:
            cell = tallies[(tallies.world == world) & (tallies.n == n) & (tallies.tally < count)]
            groups = [one for _, one in cell.groupby("tally")]
            drawn = [Tally(one.x.to_numpy(), one.multiplicity.to_numpy()) for one in groups]
            entries = []
            for name, network in networks.items():
                if name == "T24f" and world == "least-favourable":
                    entries.append("-")
                    continue
                answers = estimate_many(network, drawn)
                ours = np.array(
                    [
                        one.multiplicity @ (answer - one.bayes) ** 2 / n
                        for one, answer in zip(groups, answers, strict=True)
                    ]
                )
                there = published[
                    (published.world == world) & (published.n == n) & (published.estimator == RIVALS[name])
                ]
                value, upper = ratio(ours, there.sort_values("tally").regret.to_numpy()[:count])
                entries.append(f"{ours.mean():.3f}, {value:.3f} ({upper:.3f})")
            print(f"| {world} {n} | {' | '.join(entries)} |", flush=True)


if __name__ == "__main__":
    main()
