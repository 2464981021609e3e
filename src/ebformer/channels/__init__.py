"""How observations arise from rates: one file per channel, and the keyword that picks it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module

from ebformer.channels.base import Channel
from ebformer.channels.poisson import Poisson
from ebformer.errors import InputError

HOMES = {
    "poisson": "poisson.Poisson",
    "binomial": "binomial.Binomial",
    "normal": "normal.Normal",
}
"""Every channel and where it is defined."""

POISSON = Poisson()
"""The channel of those who name none."""


@cache
def channel(name: str) -> Channel:
    """The channel of this name.

    >>> channel("binomial")
    Binomial()
    """
    if name not in HOMES:
        raise InputError(f"there is no channel {name!r}: choose among {', '.join(HOMES)}")
    module, _, kind = HOMES[name].partition(".")
    found: Channel = getattr(import_module(f"ebformer.channels.{module}"), kind)()
    return found


def channels() -> list[Channel]:
    """All channels."""
    return [channel(name) for name in HOMES]


def picked_by(keywords: Iterable[str], sign: dict[str, object] | None = None) -> Channel:
    """The channel that these keywords pick, and no other.

    >>> picked_by(["trials"]), picked_by([])
    (Binomial(), Poisson())
    """
    given, told = set(keywords), dict(sign or {})
    for each in channels():
        if given <= {each.keyword} and told == dict([each.sign] if each.sign else []):
            return each
    known = ", ".join(dict.fromkeys(f"{each.keyword}=" for each in channels()))
    signs = "".join(f" or {word}={value!r}" for word, value in (each.sign for each in channels() if each.sign))
    unknown = ", ".join([*sorted(given), *told])
    raise InputError(f"no channel goes with {unknown}: give one of {known}{signs}")
