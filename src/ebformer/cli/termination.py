"""What ends a command as Ctrl-C does: SIGTERM, which `kill` sends, and SIGHUP, sent when its terminal closes."""

from __future__ import annotations

import signal
import sys
from _thread import interrupt_main
from collections.abc import Callable
from functools import partial
from threading import Timer
from types import FrameType
from typing import Any

PAUSE = 0.05
"""Seconds until a signal that got lost is sent again."""
_heard: list[int] = []


def heed_signals() -> None:
    """Answer SIGTERM and SIGHUP as Ctrl-C is answered, so that no partial file stays; what nohup ignores is ignored."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
    sys.unraisablehook = partial(_send_again, sys.unraisablehook)


def exit_code() -> int:
    """What a shell would say of a process that the signal ended: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + (_heard[-1] if _heard else signal.SIGINT)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _heard.append(number)  # the exception could not tell: DuckDB makes one of its own of it
    raise KeyboardInterrupt


def _send_again(otherwise: Callable[[Any], object], lost: Any) -> None:
    """Python drops what is raised while it collects garbage, a signal's exception too: then the signal comes again."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        otherwise(lost)
        return
    again = Timer(PAUSE, interrupt_main, [_heard[-1] if _heard else signal.SIGINT])
    again.daemon = True  # a command that is done need not be ended
    again.start()
