"""What is typed on a command line: numbers, lists, and the names of pictures."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ebformer.errors import InputError

PICTURES = (".png", ".svg", ".pdf")


class Number(click.FloatRange):
    """A number between bounds, by the name that people have for it in complaints."""

    name = "number"


class WholeNumber(click.IntRange):
    """The same of whole numbers."""

    name = "whole number"


def comma_separated(text: str) -> list[str]:
    """The entries of a list that was typed, with or without spaces.

    >>> comma_separated("npmle, gamma")
    ['npmle', 'gamma']
    """
    return [entry.strip() for entry in text.split(",")]


def comma_separated_numbers(name: str, text: str) -> list[int]:
    """The whole numbers of a list that was typed, which `name` has in complaints.

    >>> comma_separated_numbers("n", "128, 512")
    [128, 512]
    """
    try:
        return [int(entry) for entry in comma_separated(text)]
    except ValueError as error:
        raise InputError(f"{name} is {text!r}: give whole numbers separated by commas") from error


def check_picture(path: str | os.PathLike[str]) -> None:
    """Complain now, not after the work, about a picture in a format that there is not."""
    ending = Path(path).suffix
    if ending.lower() not in PICTURES:
        raise InputError(f"{path} ends in {ending or 'no suffix'}: name a {', '.join(PICTURES)} file")
