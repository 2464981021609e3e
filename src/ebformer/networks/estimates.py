"""Tallies in, estimates out: what a network answers, at the values that were seen and at any other."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.distributions import Floats
from ebformer.networks.architecture import Architecture
from ebformer.networks.forward import Precision, blocks, forward, ready
from ebformer.networks.weights import Weights
from ebformer.tally import Tally

TOGETHER = 512
"""Tokens that run through the network together: few enough for the cache of a core, many enough to amortise Python."""
QUERIES = 1024
"""Unseen values asked for together, unless the tally itself is longer."""


class OutsideTrainingRange(UserWarning):
    """A network is asked about observations or sample sizes that it has not seen in training."""


def estimate(
    weights: Weights[Architecture],
    tally: Tally,
    at: NDArray[np.int64] | None = None,
    precision: Precision = "float32",
    name: str = "this network",
) -> Floats:
    """The estimates at the distinct values of the tally, or `at` other values.

    A value asked for is a token of weight 0: it attends to the whole tally and nobody attends to it. Outside the range
    of training there is a warning, which calls the network by `name`: about the tally when its own values are asked
    for, about the other values when they are, so that one fit is not warned about again with every question.
    """
    network, (x, share, n) = ready(weights, precision), rectangle([tally])
    if at is None:
        warn_outside_range(weights, [tally.values], [tally.n], name)
        return np.asarray(forward(network, x, share, n)[0])
    warn_outside_range(weights, [at], [], name)
    answers = np.empty(len(at))
    for asked in blocks(len(at), max(QUERIES, len(tally))):
        tokens = np.concatenate([tally.values, at[asked]])
        answers[asked] = forward(network, tokens[None], share, n)[0, len(tally) :]
    return answers


def estimate_many(
    weights: Weights[Architecture], tallies: Sequence[Tally], precision: Precision = "float32"
) -> list[Floats]:
    """The estimates at the distinct values of every tally: the same, to rounding, as one tally at a time.

    Tallies of similar length share a rectangle; padding is a token of weight 0. The rectangles run on all cores.
    """
    warn_outside_range(weights, [tally.values for tally in tallies], [tally.n for tally in tallies])
    network = ready(weights, precision)
    answers: list[Floats] = [np.empty(0)] * len(tallies)

    def run(chosen: list[int]) -> None:
        for i, row in zip(chosen, forward(network, *rectangle([tallies[i] for i in chosen])), strict=True):
            answers[i] = row[: len(tallies[i])]

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(run, of_similar_length([len(tally) for tally in tallies])))
    return answers


def activations(weights: Weights[Architecture], tally: Tally, precision: Precision = "float32") -> NDArray[Any]:
    """The tokens [layers + 1, u, d] before the first layer and after every layer, for probes."""
    trace: list[NDArray[Any]] = []
    forward(ready(weights, precision), *rectangle([tally]), trace=trace)
    return np.concatenate(trace)


def warn_outside_range(
    weights: Weights[Architecture],
    counts: Sequence[NDArray[np.int64]],
    sizes: Sequence[int],
    network: str = "this network",
) -> None:
    """One `OutsideTrainingRange` warning if a count is larger, or n smaller or larger, than training covered."""
    (_, x_high), (n_low, n_high) = weights.trained_range("x"), weights.trained_range("n")
    largest = max((int(values.max()) for values in counts if values.size), default=0)
    for name, asked, low, high in (
        ("x", largest, 0, x_high),
        ("n", min(sizes, default=n_low), n_low, np.inf),
        ("n", max(sizes, default=0), 0, n_high),
    ):
        if not low <= asked <= high:
            trained = f"{low:,.0f} and more" if np.isinf(high) else f"at most {high:,.0f}"
            message = f"{name} = {asked:,}, but {network} was trained for {trained}: compare with npmle"
            warnings.warn(message, OutsideTrainingRange, stacklevel=callers_level())
            return


def callers_level() -> int:
    """The stack level, from the function that asks, of the first frame outside this package.

    A warning with this level names the line of whoever called ebformer, however deep inside it arose.
    """
    package = __name__.partition(".")[0]
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level


def rectangle(tallies: Sequence[Tally]) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Values [b, u], shares [b, u] and sizes [b]; a short tally repeats its first value with share 0."""
    u = max(len(tally) for tally in tallies)
    x, share = np.empty((len(tallies), u), dtype=np.int64), np.zeros((len(tallies), u))
    n = np.array([tally.n for tally in tallies])
    for row, tally in enumerate(tallies):
        x[row] = tally.values[0]
        x[row, : len(tally)] = tally.values
        share[row, : len(tally)] = tally.multiplicity / n[row]
    return x, share, n


def of_similar_length(lengths: Sequence[int]) -> list[list[int]]:
    """Indices grouped by length so that no rectangle, padding included, holds more than `TOGETHER` tokens."""
    groups: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if not groups or lengths[i] * (len(groups[-1]) + 1) > TOGETHER:
            groups.append([])
        groups[-1].append(i)
    return groups
