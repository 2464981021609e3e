"""What collapsing tokens and exact targets each buy: a small network, the same processor time four times over.

    python benchmarks/two_by_two.py FOLDER --seconds 150

Prints mean regret on held-out tallies; every run is an ordinary one, with its log in FOLDER.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from ebformer.lab.pretraining.loop import Training
from ebformer.lab.pretraining.runs import run
from ebformer.lab.pretraining.transformer_recipe import TransformerRecipe
from ebformer.networks.architecture import Architecture

SMALL = TransformerRecipe(
    architecture=Architecture(layers=8, gain=1.0),
    training=Training(steps=1, learning_rate=0.006, muon=3.0, warmup=50, average=0.99),
    theta_max=50.0,
    n=(512, 512),
    tallies=16,
)


def processor_seconds_per_step(recipe: TransformerRecipe, steps: int = 6) -> float:
    """Processor time, because the machine may be shared."""
    rng, network = np.random.default_rng(0), recipe.network()
    for step in range(steps + 1):
        if step == 1:
            started = time.process_time()
        recipe.loss(network, recipe.draw(rng)).backward()
    return (time.process_time() - started) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=150.0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(f"| tokens | targets | steps in {given.seconds:.0f} s | neural 512 | Dirichlet 512 |")
    print("| --- | --- | ---: | ---: | ---: |", flush=True)
    for collapsed in (True, False):
        for targets in ("exact", "theta"):
            recipe = replace(SMALL, collapsed=collapsed, targets=targets)
            steps = int(given.seconds / processor_seconds_per_step(recipe))
            recipe = replace(recipe, training=replace(recipe.training, steps=steps, warmup=min(50, steps // 5)))
            network = run(given.folder / f"{'collapsed' if collapsed else 'units'}-{targets}", recipe)
            row = recipe.task(1000).evaluate(network)
            tokens = "collapsed" if collapsed else "one per unit"
            print(
                f"| {tokens} | {targets} | {steps} | {row['neural_512']:.3f} | {row['dirichlet_512']:.3f} |", flush=True
            )


if __name__ == "__main__":
    main()
