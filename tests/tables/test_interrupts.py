"""Ctrl-C is heard at every moment of a DuckDB query, and the query has stopped when it is told."""

import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pytest

from ebformer.tables.columns import Columns
from ebformer.tables.files import open_table
from ebformer.tables.interrupts import run_interruptibly
from ebformer.tables.source import Distinct


@pytest.fixture
def attentive() -> Iterator[None]:
    """Python's own answer to Ctrl-C, even where the tests run in the background, whose processes are deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pressed_after(seconds: float, work: Callable[[], None]) -> None:
    """Work, and have the main thread answer as to Ctrl-C after some seconds; only this process hears the timer."""

    def answer(*_: object) -> None:
        handler = signal.getsignal(signal.SIGINT)
        assert callable(handler)
        handler(signal.SIGINT, None)

    signal.signal(signal.SIGALRM, answer)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    work()


@pytest.mark.usefixtures("attentive")
def test_no_moment_of_writing_is_deaf(tmp_path: Path) -> None:
    """One in sixty was while Ctrl-C went to DuckDB 2.0.0, and one in a few hundred left it waiting for ever."""
    counts = duckdb.sql("SELECT i % 40 AS goals FROM range(2000000) AS r(i)")
    assert counts is not None
    counts.write_parquet(str(tmp_path / "in.parquet"))
    keys, columns = Distinct(None, np.arange(40.0), np.ones(40), np.full(40, 50000)), Columns("goals")
    for seconds in np.linspace(1e-4, 0.03, 60):
        with open_table(str(tmp_path / "in.parquet"), str(tmp_path / "out.csv")) as table:
            rows = table.table.with_answers(columns, 0.0, keys, {"estimate": np.arange(40) * 0.7})
            writing = partial(table.write, rows, str(tmp_path / "out.csv"), columns)
            with pytest.raises(KeyboardInterrupt):
                pressed_after(seconds, writing)
        assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.usefixtures("attentive")
def test_afterwards_ctrl_c_and_the_connection_are_as_before() -> None:
    with duckdb.connect() as connection:
        endless = connection.sql("SELECT sum(i) FROM range(1000000000000) AS r(i)")
        with pytest.raises(KeyboardInterrupt):
            pressed_after(0.1, lambda: run_interruptibly(connection, endless.show))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert connection.sql("SELECT 6 * 7").fetchall() == [(42,)]


def test_errors_of_the_work_and_other_threads_pass_through() -> None:
    with duckdb.connect() as connection:
        with pytest.raises(duckdb.CatalogException):
            run_interruptibly(connection, lambda: connection.sql("SELECT * FROM nowhere").show())
        found: list[object] = []
        thread = threading.Thread(
            target=run_interruptibly, args=(connection, lambda: found.extend(connection.sql("SELECT 1").fetchall()))
        )
        thread.start()
        thread.join()
        assert found == [(1,)]
