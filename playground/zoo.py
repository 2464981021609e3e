"""In the place of networks/zoo: the one network that the page brings along."""

from __future__ import annotations

import functools
from typing import Any

import page  # type: ignore[import-not-found]  # what page.js read from the file of the weights

from ebformer.networks.priorformer_block import PriorformerConfig
from ebformer.networks.weights import Weights


def names(family: str) -> list[str]:
    return ["priorformer"] if family == "priorformer" else []


@functools.cache
def load(name: str, family: str | None = None) -> Weights[Any]:
    return Weights(PriorformerConfig.from_description(page.config), page.arrays)
