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
    channels   what it can be fitted to: poisson counts, binomial successes, normal effects
    intervals  it estimates a prior: intervals, predictions and ranks
    exposure   units may differ in exposure (in trials, in standard errors)
    unseen     it answers for counts that no unit showed
    monotone   its estimate never falls as the count grows

    \b
    Example:
      ebformer methods
    """
    from ebformer.estimators.base import EVERY_CHANNEL
    from ebformer.estimators.catalogue import CATALOGUE, DEFAULT

    lines: list[dict[str, object]] = []
    for name, method in CATALOGUE.items():
        promises = {
            "intervals": _has_prior(method),
            "exposure": method.unequal_known,
            "unseen": method.answers_unseen,
            "monotone": method.monotone,
        }
        lines.append(
            {
                "method": name + (" *" if name == DEFAULT else ""),
                "channels": "all" if method.channels == EVERY_CHANNEL else ", ".join(method.channels),
                **{promise: "yes" if kept else "" for promise, kept in promises.items()},
                "about": _about(name, method),
            }
        )
    terminal.show_rows(lines, "* the default")


def _has_prior(method: Estimator) -> bool:
    """Whether a method's rules are Bayes rules: tried on a few units of a channel that it serves."""
    from ebformer.channels import channel
    from ebformer.tally import Tally

    served = channel(method.channels[0])
    tally = Tally([0, 1, 2, 3, 7], [40, 30, 20, 9, 1], 10.0 if served.usual is None else None, channel=served)
    return method(tally).prior is not None


def _about(name: str, method: Estimator) -> str:
    """The first line of its documentation, or of a network what its card says of its shape."""
    from ebformer.networks import zoo

    if name in zoo.names("transformer"):
        shape = re.search(r"^\| network \| (.*) \|$", zoo.card(name), re.MULTILINE)
        return "a pre-trained network" + (f": {shape[1]}" if shape else "")
    return (inspect.getdoc(type(method)) or "").partition("\n")[0].rstrip(".:")
