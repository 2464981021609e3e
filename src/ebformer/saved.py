"""Saved objects: readable JSON on the way out; on the way in of bounded size, or a sentence that names the file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ebformer.atomic import State, write_text
from ebformer.errors import InputError

LARGEST_FILE = 2**30
"""Bytes. What is saved here stays below some megabytes; a larger file is refused before it is read."""

LONGEST_LINE = 200
"""Characters of a text that a file has printed."""


def write_json(path: str | os.PathLike[str], record: dict[str, Any], over: State | None = None) -> None:
    """Write plain values as JSON that a person can read, all of it or nothing."""
    _check_path(path)
    write_text(path, json.dumps(record, indent=1) + "\n", over)


def read_json(path: str | os.PathLike[str], what: str, advice: str) -> Any:
    """What a JSON file holds; where it holds none, or NaN, a sentence that it is not `what`, with advice.

    >>> read_json("pyproject.toml", "a saved rule", "write one with rule.save(path)")
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: pyproject.toml is not a saved rule: write one with rule.save(path)
    """
    _check_path(path)
    if os.path.isfile(path) and os.path.getsize(path) > LARGEST_FILE:
        raise InputError(f"{path} is larger than {LARGEST_FILE} bytes, which no file of this kind is")
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_no_number)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not {what}: {advice}") from error


def _check_path(path: object) -> None:
    """An `InputError` where this cannot name a file."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"{path!r} is no name of a file: give a path")


def _no_number(constant: str) -> NoReturn:
    raise ValueError(constant)


def whole(number: Any, least: int = 0) -> int:
    """A whole number from `least` to 2^53, or a ValueError; True is none."""
    if type(number) is not int or not least <= number <= 2**53:
        raise ValueError(f"{number!r}, not a whole number")
    return number


def finite(number: Any) -> float:
    """A finite number, or a ValueError; True and text are none."""
    if type(number) not in (int, float) or not np.isfinite(float(number)):
        raise ValueError(f"{number!r}, not a number")
    return float(number)


def line(text: Any) -> str:
    r"""Printable text of one line that is not long, or a ValueError: what is printed as it stands in a file.

    >>> line("newton")
    'newton'
    >>> line("\x1b[2J")
    Traceback (most recent call last):
    ...
    ValueError: '\x1b[2J', not a line of text
    """
    if not (isinstance(text, str) and text.isprintable() and len(text) <= LONGEST_LINE):
        raise ValueError(f"{text!r}, not a line of text")
    return text


def vector(numbers: Any, low: float, high: float) -> NDArray[np.float64]:
    """Numbers [k] from `low` to `high`, at least one, or a ValueError.

    >>> vector([1, 2.5], 0, 9).tolist()
    [1.0, 2.5]
    """
    if not isinstance(numbers, list) or not numbers:
        raise ValueError("no list of numbers")
    array = np.array([finite(number) for number in numbers])
    bad = ~((array >= low) & (array <= high))
    if bad.any():
        raise ValueError(f"{array[bad][0]:g}, not from {low:g} to {high:g}")
    return array
