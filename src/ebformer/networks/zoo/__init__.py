"""The shipped networks: `<name>.safetensors`, and beside each a card `<name>.md` that says what it is and how good."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import ebformer.networks.priorformer  # noqa: F401  its family is known from here on
from ebformer.errors import InputError
from ebformer.networks import weights
from ebformer.networks.weights import Weights

FOLDER = Path(__file__).parent


def names(family: str) -> list[str]:
    """The shipped networks of a family, `transformer` or `priorformer`."""
    return sorted(path.stem for path in FOLDER.glob("*.safetensors") if weights.family_of(path) == family)


def load(name: str, family: str | None = None) -> Weights[Any]:
    """The weights of a shipped network, read once; a complaint names those of the family that is asked for."""
    return _read(_path(name, ".safetensors", family))


def card(name: str) -> str:
    """The model card of a shipped network: recipe, training range, regret table, parameters and SHA-256."""
    return _path(name, ".md").read_text(encoding="utf-8")


def _path(name: str, suffix: str, family: str | None = None) -> Path:
    # A name may come from a saved rule, so it is looked up and never turned into a path.
    for path in FOLDER.glob(f"*{suffix}"):
        if path.stem == name:
            return path
    known = sorted(path.stem for path in FOLDER.glob("*.safetensors")) if family is None else names(family)
    raise InputError(f"{name!r} is not a shipped network: choose among {', '.join(known) or 'none'}")


@functools.cache
def _read(path: Path) -> Weights[Any]:
    return weights.load(path)
