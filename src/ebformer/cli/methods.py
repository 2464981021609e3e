"""`ebformer methods`: the catalogue and what each method promises."""

from __future__ import annotations

import inspect

import click

from ebformer.cli import options


@click.command()
def command() -> None:
    """List the methods and what each promises.

    intervals: it estimates a prior, so it also answers with intervals, predictions and ranks. exposure: units may
    differ in exposure. unseen: it answers for counts that no unit showed. monotone: its estimate never falls as the
    count grows.

    \b
    Example:
      ebformer methods
    """
    from ebformer.estimators.catalogue import CATALOGUE, DEFAULT
    from ebformer.tally import Tally

    lines: list[dict[str, object]] = []
    for name, method in CATALOGUE.items():
        promises = {
            "intervals": method(Tally.of([0, 1, 1, 2, 3])).prior is not None,
            "exposure": method.unequal_exposure,
            "unseen": method.answers_unseen,
            "monotone": method.monotone,
        }
        about = (inspect.getdoc(type(method)) or "").partition("\n")[0]
        yes = {promise: "yes" if kept else "" for promise, kept in promises.items()}
        lines.append({"method": name + (" *" if name == DEFAULT else ""), **yes, "about": about})
    options.show(lines, "* the default")
