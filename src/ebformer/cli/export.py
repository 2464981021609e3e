"""`ebformer export`: a network as a file that other languages can run."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ebformer.cli.saying import say

CHANNELS = ("poisson", "binomial", "normal")


@click.command()
@click.argument("name")
@click.option("--onnx", is_flag=True, default=True, help="As ONNX, which is the only format so far.")
@click.option(
    "--channel",
    type=click.Choice(CHANNELS),
    help="Of a priorformer: counts with exposures, successes with trials or effects with errors.  [default: poisson]",
)
@click.option("-o", "--output", metavar="FILE", help="Where to write.  [default: NAME.onnx, or NAME-CHANNEL.onnx]")
def command(name: str, onnx: bool, channel: str | None, output: str | None) -> None:
    """Write the network NAME as ONNX, to be run by onnxruntime in any language.

    All files take observations x and how many units showed each (multiplicity, 0 for one that is only asked about).
    That of priorformer also takes what is known of each (exposure, trials or se) and answers with a prior (theta and
    weights), the posterior and the estimate of each observation. Those of T24r and its kind take counts of equal
    exposure, and answer with estimates. NAME may be a file of weights that you trained.

    \b
    Examples:
      ebformer export priorformer --onnx --channel binomial
      ebformer export T24r --onnx -o T24r.onnx
      ebformer export shelf/mine.safetensors -o mine.onnx
    """
    from ebformer.channels import channel_named
    from ebformer.errors import InputError
    from ebformer.networks import weights, zoo
    from ebformer.networks.architecture import Architecture
    from ebformer.networks.onnx import priorformer, transformer
    from ebformer.networks.priorformer_block import PriorformerConfig

    names = zoo.names("priorformer") + zoo.names("transformer")
    network = zoo.load(name) if name in names else weights.load(name) if os.path.isfile(name) else None
    if network is None:
        raise InputError(f"{name!r} cannot be exported: choose among {', '.join(names)}, or give a file of weights")
    stem = Path(name).stem
    if isinstance(network.config, PriorformerConfig):
        channel = channel or "poisson"
        path = output or f"{stem}-{channel}.onnx"
        priorformer.export(network, path, channel)
        known = channel_named(channel).keyword
        say(f"wrote {path}: x, {known} and multiplicity in; theta, weights, posterior and estimate out")
    elif isinstance(network.config, Architecture):
        if channel not in (None, "poisson"):
            raise InputError(f"{name} reads counts only: leave --channel out, or export priorformer")
        path = output or f"{stem}.onnx"
        transformer.export(network, path)
        say(f"wrote {path}: counts x and multiplicity in, estimate out")
