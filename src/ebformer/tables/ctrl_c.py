"""Ctrl-C while DuckDB works or input is awaited: it is always heard, and at once.

DuckDB 2.0 looks for Ctrl-C in the middle of its own work, where the exception may get lost: the query then runs to its
end as if nothing had happened. So the work goes to a thread of its own, where Python delivers no signals, and the main
thread asks DuckDB to stop. Python itself, between two reads of a pipe, would begin to wait for more of it first. So a
pipe is read only where something has arrived.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import BinaryIO

import duckdb

PAUSE = 0.05
"""Seconds between two requests to stop: one that comes between two queries of the work is not heard. And the longest
wait for input before Python looks for signals."""
AT_ONCE = 1 << 20
"""Bytes of input that are read at once."""


def heeding_ctrl_c(connection: duckdb.DuckDBPyConnection, work: Callable[[], None]) -> None:
    """Do what `work` asks of the connection; KeyboardInterrupt comes after DuckDB has stopped, never during its work.

    >>> connection = duckdb.connect()
    >>> heeding_ctrl_c(connection, lambda: print(connection.sql("SELECT 6 * 7").fetchall()))
    [(42,)]
    """
    hears_signals = threading.current_thread() is threading.main_thread()
    if not hears_signals or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        work()
        return
    pressed = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: pressed.set())
    try:
        with ThreadPoolExecutor(1) as thread:
            done = thread.submit(work)
            while wait([done], PAUSE).not_done:
                if pressed.is_set():
                    connection.interrupt()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if pressed.is_set():
        raise KeyboardInterrupt
    done.result()


def copy_heeding_ctrl_c(given: BinaryIO, copy: BinaryIO) -> None:
    """Copy a file, a pipe or what is typed to its end.

    >>> with open(os.devnull, "rb") as given, open(os.devnull, "wb") as copy:
    ...     copy_heeding_ctrl_c(given, copy)
    """
    source = given.fileno()
    while True:
        while os.name != "nt" and not select.select([source], [], [], PAUSE)[0]:
            pass  # Windows cannot wait for a pipe in this way
        arrived = os.read(source, AT_ONCE)
        if not arrived:
            return
        copy.write(arrived)
