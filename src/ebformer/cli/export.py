"""`ebformer export`: a network as a file that other languages can run."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ebformer.cli import options


@click.command()
@click.argument("name")
@click.option("--onnx", is_flag=True, default=True, help="As ONNX, which is the only format so far.")
@click.option("-o", "--output", metavar="FILE", help="Where to write.  [default: NAME.onnx]")
def command(name: str, onnx: bool, output: str | None) -> None:
    """Write the network NAME as ONNX, to be run by onnxruntime in any language.

    The file takes the distinct counts x and how many units showed each (multiplicity, 0 for a count that is only asked
    about), both float32, and answers with an estimate for each. NAME may be a file of weights that you trained.

    \b
    Examples:
      ebformer export T24r --onnx -o T24r.onnx
      ebformer export shelf/mine.safetensors -o mine.onnx
    """
    from ebformer.errors import InputError
    from ebformer.networks import weights, zoo
    from ebformer.networks.architecture import Architecture
    from ebformer.networks.onnx_export import export

    names = zoo.names("transformer")
    network = zoo.load(name) if name in names else weights.load(name) if os.path.isfile(name) else None
    if network is None or not isinstance(network.config, Architecture):
        raise InputError(f"{name!r} cannot be exported: choose among {', '.join(names)}, or give a file of weights")
    path = output or f"{Path(name).stem}.onnx"
    export(network, path)
    options.say(f"wrote {path}: counts x and multiplicity in, estimate out")
