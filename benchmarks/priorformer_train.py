"""Train and ship priorformer.

python benchmarks/priorformer_train.py train runs/priorformer --steps 20000
python benchmarks/priorformer_train.py train runs/priorformer-2 --steps 5000 --start priorformer
python benchmarks/priorformer_train.py ship runs/priorformer-2 --history "20000 steps, then 5000 with the rate falling"
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from ebformer.lab.pretraining.loop import Training
from ebformer.lab.pretraining.priorformer_recipe import PriorformerRecipe, run, ship
from ebformer.networks import zoo

RECIPE = PriorformerRecipe()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["train", "ship"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", help="begin with the weights of a shipped network")
    parser.add_argument("--history", default="", help="what came before this run, for the header of the weights")
    parser.add_argument("--path", type=Path, default=zoo.FOLDER / "priorformer.safetensors")
    given = parser.parse_args()
    if given.action == "ship":
        print(ship(given.folder, RECIPE, given.path, {"history": given.history}))
        return
    torch.set_num_threads(1)
    training = Training(
        steps=given.steps,
        learning_rate=given.rate,
        muon=3.0,
        warmup=100,
        betas=(0.9, 0.98),
        weight_decay=0.01,
        average=0.998,
        seed=given.seed,
    )
    shipped = zoo.load(given.start).arrays if given.start else {}
    start = {name: torch.from_numpy(array.copy()) for name, array in shipped.items()} or None
    run(given.folder, RECIPE, training, start, watch=lambda row: print(row, flush=True))


if __name__ == "__main__":
    main()
