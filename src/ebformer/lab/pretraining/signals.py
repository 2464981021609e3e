"""A signal that would end a run waits for the end of the step, so that a checkpoint can be saved first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Postponed:
    """Which signal was heard, if any, and what it would have done."""

    def __init__(self) -> None:
        self.heard: int | None = None
        self.before = dict[int, object]()

    def hear(self, number: int, frame: FrameType | None) -> None:
        self.heard = number
        self.restore()  # a second signal takes its course at once

    def restore(self) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def take_its_course(self) -> None:
        """Do what the signal would have done."""
        if self.heard is not None:
            signal.raise_signal(self.heard)


@contextmanager
def postponed() -> Iterator[Postponed]:
    """Hear Ctrl-C, SIGTERM and SIGHUP and do nothing about them; other threads than the first are never told of any."""
    signals = Postponed()
    if threading.current_thread() is threading.main_thread():
        for number in (getattr(signal, name) for name in NAMES if hasattr(signal, name)):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signals.before[number] = signal.signal(number, signals.hear)
    try:
        yield signals
    finally:
        signals.restore()
