"""How observations arise from rates: one file per channel, and the keyword that picks it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from ebformer.channels.base import Channel
from ebformer.channels.poisson import Poisson
from ebformer.errors import InputError

CHANNELS = {
    "poisson": "poisson.Poisson",
    "binomial": "binomial.Binomial",
    "normal": "normal.Normal",
    "zero-truncated": "zero_truncated.ZeroTruncated",
}
"""Every channel and where it is defined."""

POISSON = Poisson()
"""The channel of those who name none."""


@cache
def channel_named(name: str) -> Channel:
    """The channel of this name.

    >>> channel_named("binomial")
    Binomial()
    """
    if name not in CHANNELS:
        raise InputError(f"there is no channel {name!r}: choose among {', '.join(CHANNELS)}")
    module, _, kind = CHANNELS[name].partition(".")
    found: Channel = getattr(import_module(f"ebformer.channels.{module}"), kind)()
    return found


def channels() -> list[Channel]:
    """All channels."""
    return [channel_named(name) for name in CHANNELS]


def pick(known: Any, words: Mapping[str, Any], channel: Channel | str | None = None) -> tuple[Channel, Any]:
    """The channel and what is known of its units, from the one keyword that a caller wrote; None is not written.

    >>> pick(None, {"trials": 45}), pick(None, {})
    ((Binomial(), 45), (Poisson(), None))
    >>> pick(None, {"trials": 45}, POISSON)
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: these are counts with an exposure: give exposure=, not trials=
    """
    channel = channel if channel is None or isinstance(channel, Channel) else channel_named(str(channel))
    written = {word: value for word, value in words.items() if value is not None}
    markers = dict(each.sign for each in channels() if each.sign)
    keywords = [word for word in written if word not in markers]
    for word, value in written.items():
        if word in markers and not (isinstance(value, str) and value == markers[word]):
            raise InputError(f"{word} is {value!r}: write {word}={markers[word]!r}, or leave it out")
        if word not in markers and word not in {each.keyword for each in channels()}:
            raise InputError(f"there is no {word} to give: write {_choices()}")
    if len(keywords) > 1 or (keywords and known is not None):
        raise InputError(f"{' and '.join([*['known'] * (known is not None), *keywords])} were given: give one of them")
    sign = {word: value for word, value in written.items() if word in markers}
    if channel is None:
        fitting = [
            each
            for each in channels()
            if set(keywords) <= {each.keyword} and sign == dict([each.sign] if each.sign else [])
        ]
        if not fitting:
            raise InputError(f"{' and '.join(written)} do not go together: leave one out")
        channel = fitting[0]
    elif set(keywords) - {channel.keyword} or (sign and tuple(sign.items()) != (channel.sign,)):
        right = {channel.keyword, *(channel.sign or ())[:1]}
        wrong = next(word for word in written if word not in right)
        noun = channel.words.known
        article = "" if noun.endswith("s") else "an " if noun[0] in "aeiou" else "a "
        raise InputError(f"these are {channel.words.xs} with {article}{noun}: give {channel.keyword}=, not {wrong}=")
    return channel, written[keywords[0]] if keywords else known


def _choices() -> str:
    """What callers can write."""
    words = dict.fromkeys(f"{each.keyword}=" for each in channels())
    signs = [f"{each.sign[0]}={each.sign[1]!r}" for each in channels() if each.sign]
    return ", ".join([*words, *signs])
