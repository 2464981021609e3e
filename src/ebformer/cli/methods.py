"""`ebformer methods`: the catalogue and what each method promises."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import click

from ebformer.cli import terminal

if TYPE_CHECKING:
    from ebformer.estimators.base import Estimator


@click.command()
def command() -> None:
    """List the methods and what each can do; docs/methods.md says which to take when.

    \b
    channels   the data it fits: counts (poisson), successes out of trials
               (binomial), effects with standard errors (normal), counts
               without zeros (zero-truncated); or all of them
    intervals  it estimates a prior: intervals, predictions and ranks
    unequal    units may differ in exposure, trials or standard error
    unseen     it answers for observations that no unit showed
    monotone   its estimate never falls as the observation grows

    \b
    Example:
      ebformer methods
    """
    from ebformer.channels import channel_named
    from ebformer.estimators.base import EVERY_CHANNEL
    from ebformer.estimators.catalogue import CATALOGUE, DEFAULT
    from ebformer.estimators.contract import examples

    lines: list[dict[str, object]] = []
    for name, method in CATALOGUE.items():
        tally = examples(channel_named(method.channels[0]))[0].tally()
        promises = {
            "intervals": method(tally).prior is not None,
            "unequal": method.unequal_known,
            "unseen": method.answers_unseen,
            "monotone": method.monotone,
        }
        yes = {promise: "yes" if kept else "" for promise, kept in promises.items()}
        served = "all" if method.channels == EVERY_CHANNEL else ", ".join(method.channels)
        called = name + (" *" if name == DEFAULT else "")
        lines.append({"method": called, "channels": served, **yes, "about": _about(name, method)})
    terminal.show_rows(lines, "* the default")


def _about(name: str, method: Estimator) -> str:
    """The first line of its documentation, or of a network what its card says of its shape."""
    from ebformer.networks import zoo

    if name in zoo.names("transformer"):
        shape = re.search(r"^\| network \| (.*) \|$", zoo.card(name), re.MULTILINE)
        return "a pre-trained network" + (f": {shape[1]}" if shape else "")
    return (inspect.getdoc(type(method)) or "").partition("\n")[0].rstrip(".:")
