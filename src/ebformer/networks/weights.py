"""Weights on disk: one safetensors file that says which network it holds and where it came from."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from ebformer.atomic import replacing
from ebformer.errors import InputError, WeightsError
from ebformer.networks.architecture import Architecture
from ebformer.networks.config import Config

FORMAT, VERSION = "ebformer", 1
LARGEST_FILE = 2**30
"""Bytes. The networks here stay below ten megabytes; a larger file is refused before it is read."""
LARGEST_WEIGHT = 1e6
"""Those of trained networks stay below ten; products of absurd ones would overflow."""
LARGEST_SETTING = 4096
"""A whole number in a config beyond this would only serve to exhaust memory while the arrays are being listed."""


C = TypeVar("C", bound=Config)

FAMILIES: dict[str, type[Config]] = {"transformer": Architecture}
"""Which config reads the header of a file; another family adds itself here where its config is defined."""


@dataclass(frozen=True, eq=False)
class Weights(Generic[C]):
    """The arrays of one network, checked one by one against its config.

    `provenance` is any JSON object; `range`, where present, is `{"x": [low, high], "n": [low, high]}`, the observations
    and sample sizes seen in training. `sha256` is that of the file, empty before there is one.

    >>> config = Architecture(layers=2, width=4, heads=2)
    >>> weights = Weights(config, {name: np.zeros(shape) for name, shape in config.shapes().items()})
    >>> weights.arrays["head.weight"].shape
    (1, 4)
    >>> Weights(config, dict(weights.arrays) | {"head.bias": np.zeros(7)})
    Traceback (most recent call last):
    ...
    ebformer.errors.WeightsError: array head.bias has shape (7,), but the config asks for (1,)
    """

    dtypes: ClassVar[tuple[type, ...]] = (np.float32, np.float64)

    config: C
    arrays: Mapping[str, NDArray[Any]]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    sha256: str = ""

    def __post_init__(self) -> None:
        shapes = self.config.shapes()
        _same_names(self.arrays, shapes)
        for name, shape in shapes.items():
            array = self.arrays[name]
            if array.shape != shape:
                raise WeightsError(f"array {name} has shape {array.shape}, but the config asks for {shape}")
            if array.dtype.type not in self.dtypes:
                raise WeightsError(f"array {name} has type {array.dtype}, but weights are float32 or float64")
            if not bool(np.all(np.abs(array) <= LARGEST_WEIGHT)):
                raise WeightsError(f"array {name} holds a number that is not finite, or beyond {LARGEST_WEIGHT:g}")
        self.trained_range("x"), self.trained_range("n")

    def trained_range(self, name: Literal["x", "n"]) -> tuple[float, float]:
        """What training covered, as far as the provenance tells."""
        try:
            low, high = map(float, self.provenance.get("range", {}).get(name, (0, np.inf)))
        except (AttributeError, TypeError, ValueError) as error:
            raise WeightsError(f"the range of {name} in the provenance is not a pair of numbers") from error
        return low, high


def save(path: str | os.PathLike[str], weights: Weights[Any]) -> str:
    """Write the weights whole or not at all, and return the SHA-256 of the file. Equal weights give equal bytes.

    >>> import tempfile
    >>> config = Architecture(layers=2, width=4, heads=2)
    >>> weights = Weights(config, {name: np.zeros(shape) for name, shape in config.shapes().items()}, {"seed": 1})
    >>> path = Path(tempfile.mkdtemp()) / "zero.safetensors"
    >>> save(path, weights) == load(path).sha256
    True
    >>> load(path).config == config, load(path).provenance
    (True, {'seed': 1})
    """
    families = [name for name, family in FAMILIES.items() if type(weights.config) is family]
    if not families:
        raise WeightsError(f"{type(weights.config).__name__} is not a family of networks: add it to weights.FAMILIES")
    header = {
        "version": VERSION,
        "family": families[0],
        "config": weights.config.describe(),
        "provenance": dict(weights.provenance),
    }
    # One metadata key only: safetensors does not promise the order of several, and the hash should not depend on it.
    metadata = {FORMAT: json.dumps(header, allow_nan=False)}
    arrays = {name: np.ascontiguousarray(weights.arrays[name]) for name in weights.config.shapes()}
    content = safetensors.save(arrays, metadata)
    with replacing(path) as partial:
        partial.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def load(path: str | os.PathLike[str]) -> Weights[Any]:
    """Read and check a file that `save` wrote; nothing in it is executed, anything unexpected is a `WeightsError`."""
    path = Path(path)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise WeightsError(f"{path} is larger than {LARGEST_FILE} bytes, which no network here is")
        content = path.read_bytes()
    except OSError as error:
        raise WeightsError(f"{path} cannot be read: {error.strerror}") from error
    try:
        # Read-only copies: the file's own bytes need not be aligned.
        arrays = {name: np.array(array) for name, array in safetensors.load(content).items()}
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise WeightsError(f"{path} is truncated or is no safetensors file: {error}") from error
    for array in arrays.values():
        array.flags.writeable = False
    try:
        header = _header(content)
        return Weights(_config(header), arrays, dict(header["provenance"]), hashlib.sha256(content).hexdigest())
    except WeightsError as error:
        raise WeightsError(f"{path}: {error}") from error


def family_of(path: str | os.PathLike[str]) -> str:
    """The family that the header of a file names, without reading the arrays."""
    with Path(path).open("rb") as file:
        size = file.read(8)
        return str(_header(size + file.read(min(int.from_bytes(size, "little"), LARGEST_FILE)))["family"])


def _header(content: bytes) -> dict[str, Any]:
    """What `save` wrote beside the arrays: version, family, config and provenance."""
    try:
        length = int.from_bytes(content[:8], "little")
        header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"][FORMAT])
        version, family = header["version"], header["family"]
        dict(header["config"]), dict(header["provenance"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise WeightsError("the header is not one that ebformer wrote: convert the file with weights.save") from error
    if version != VERSION or type(family) is not str:
        raise WeightsError(f"the header has version {version!r}: install the ebformer that wrote it")
    return dict(header)


def _config(header: dict[str, Any]) -> Config:
    family = FAMILIES.get(header["family"])
    if family is None:
        raise WeightsError(
            f"no network of family {header['family']!r} is known here: install the ebformer that wrote it"
        )
    _check_settings(dict(header["config"]), get_type_hints(family))
    try:
        return family.from_description(dict(header["config"]))
    except (InputError, TypeError, ValueError, ArithmeticError) as error:
        raise WeightsError(f"the config in the header describes no network: {error}") from error


def _check_settings(description: dict[str, Any], hints: dict[str, Any]) -> None:
    """Every setting has the type its config declares and a size that a network could have."""
    for name, setting in description.items():
        hint = hints.get(name)
        if get_origin(hint) is Literal:
            fits = setting in get_args(hint)
        elif hint is float:
            fits = type(setting) in (int, float) and bool(np.isfinite(setting))
        elif hint is int:
            fits = type(setting) is int and 0 <= setting <= LARGEST_SETTING
        else:
            fits = hint in (bool, str) and type(setting) is hint
        if not fits:
            raise WeightsError(f"the config in the header says {name} = {setting!r}, which no network here has")


def _same_names(found: Iterable[str], expected: Iterable[str]) -> None:
    for complaint, names in (
        ("missing", set(expected) - set(found)),
        ("not part of this config", set(found) - set(expected)),
    ):
        if names:
            raise WeightsError(f"array {min(names)} is {complaint} ({len(names)} in all)")
