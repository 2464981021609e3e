"""Ctrl-C, or another signal to end, while DuckDB works or input is awaited: it is always heard, and at once.

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

ENDS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""The signals that ask a program to end; Windows has no SIGHUP."""
PAUSE = 0.05
"""Seconds between two requests to stop: one that comes between two queries of the work is not heard. And the longest
wait for input before Python looks for signals."""
AT_ONCE = 1 << 20
"""Bytes of input that are read at once."""


def run_interruptibly(connection: duckdb.DuckDBPyConnection, work: Callable[[], None]) -> None:
    """Do what `work` asks of the connection; a signal is answered after DuckDB has stopped, never during its work.

    >>> connection = duckdb.connect()
    >>> run_interruptibly(connection, lambda: print(connection.sql("SELECT 6 * 7").fetchall()))
    [(42,)]
    """
    answers = {number: answer for number in ENDS if callable(answer := signal.getsignal(number))}
    if threading.current_thread() is not threading.main_thread() or not answers:
        work()
        return
    heard: list[int] = []
    for number in answers:
        signal.signal(number, lambda number, _: heard.append(number))
    try:
        with ThreadPoolExecutor(1) as thread:
            done = thread.submit(work)
            while wait([done], PAUSE).not_done:
                if heard:
                    connection.interrupt()
    finally:
        for number, answer in answers.items():
            signal.signal(number, answer)
    for number in heard:
        answers[number](number, None)
    done.result()


def copy_interruptibly(given: BinaryIO, copy: BinaryIO) -> None:
    """Copy a file, a pipe or what is typed to its end.

    >>> with open(os.devnull, "rb") as given, open(os.devnull, "wb") as copy:
    ...     copy_interruptibly(given, copy)
    """
    source = given.fileno()
    while True:
        while os.name != "nt" and not select.select([source], [], [], PAUSE)[0]:
            pass  # Windows cannot wait for a pipe in this way
        arrived = os.read(source, AT_ONCE)
        if not arrived:
            return
        copy.write(arrived)
