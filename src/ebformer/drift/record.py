"""What a drift is in a file: plain JSON values, checked on their way in."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ebformer.channels import CHANNELS
from ebformer.errors import InputError
from ebformer.saved import finite, line, whole

FORMAT, VERSION = "ebformer-drift", 1
PARAMETERS = ("pull", "fade", "jump", "trend")
ABOUT: dict[str, Callable[[Any], bool]] = {
    "channel": lambda name: name is None or name in CHANNELS,
    "exposures": lambda known: known is None or isinstance(known, bool),
    "look": lambda name: name is None or line(name) is not None,
}
"""What a file says about what a drift was learnt from; one of an earlier version says nothing."""


def record_checked(record: Any, path: str | os.PathLike[str]) -> dict[str, Any]:
    """The fields of the drift that a file holds, or a complaint that names its path."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(f"{path} is not a saved drift: write one with drift.save(path)")
    if record.get("version") != VERSION:
        raise InputError(
            f"{path} holds a drift of version {record.get('version')!r}, which this ebformer cannot read: "
            "install the version that wrote it"
        )
    try:
        for number in [record[name] for name in PARAMETERS] + list((record["errors"] or {}).values()):
            finite(number)
        if record["pairs"] is not None:
            whole(record["pairs"])
        for name, possible in ABOUT.items():
            if not possible(record.get(name)):
                raise ValueError(f"{record[name]!r}, which is no {name}")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{path} is damaged at {error}: save the drift again") from error
    return {name: record.get(name) for name in (*PARAMETERS, "errors", "pairs", *ABOUT)}
