"""Networks of 12 layers, each trained on one world or on the mixture: the paper's table of training worlds."""

from __future__ import annotations

from pathlib import Path

from ebformer.errors import InputError
from ebformer.estimators.pretrained import Pretrained

FOLDER = Path(__file__).parent / "ablation"
"""In the repository, not in the wheel: nothing but this table needs these weights."""
TRAINED_ON = ("mixture", "neural", "dirichlet")


def networks(folder: Path = FOLDER) -> dict[str, Pretrained]:
    """The three networks by the world they were trained on."""
    missing = [name for name in TRAINED_ON if not (folder / f"{name}.safetensors").exists()]
    if missing:
        raise InputError(
            f"there is no {missing[0]}.safetensors in {folder}: take it from the repository of ebformer, or train it "
            f"(`ebformer train ablation-{missing[0]}`) and put its weights there under that name"
        )
    return {name: Pretrained.load(folder / f"{name}.safetensors") for name in TRAINED_ON}


def training(network: Pretrained) -> str:
    """How long a network was trained, as its file says.

    >>> from ebformer.networks import zoo
    >>> "steps" in training(Pretrained("T24r"))
    True
    """
    told = network.network.provenance
    return f"{int(told.get('steps', 0)):,} steps, {float(told.get('seconds', 0.0)) / 60:.0f} minutes"
