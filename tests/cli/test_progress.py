"""A progress bar appears on a terminal once patience has run out, and nowhere else."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import ebformer.cli
from ebformer.cli import terminal
from ebformer.tables.fit import Fit

pty = pytest.importorskip("pty")


@contextmanager
def on_a_terminal() -> Iterator[int]:
    """Standard error on a terminal of our own; what is written there can be read from the descriptor."""
    leader, follower = pty.openpty()
    os.set_blocking(leader, False)
    with pytest.MonkeyPatch.context() as patch, os.fdopen(follower, "w") as stderr:
        patch.setattr(sys, "stderr", stderr)
        for name, value in (("TERM", "xterm"), ("COLUMNS", "80")):
            patch.setenv(name, value)
        yield leader
    os.close(leader)


def written(leader: int) -> bytes:
    """What has arrived so far, which may end in the middle of a character."""
    try:
        return os.read(leader, 1 << 20)
    except BlockingIOError:
        return b""


def test_a_long_task_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "PATIENCE", 0.01)
    seen, deadline = b"", time.monotonic() + 60
    with on_a_terminal() as leader, terminal.progress("Estimating", lambda: 40.0):
        while b"Estimating" not in seen and time.monotonic() < deadline:
            time.sleep(0.05)
            seen += written(leader)
    assert b"Estimating" in seen


def test_things_are_counted_and_the_task_is_asked_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "PATIENCE", 0.01)
    seen, deadline = b"", time.monotonic() + 60
    with on_a_terminal() as leader, terminal.progress(lambda: "loss [0.5]", lambda: 3, 8):
        while not (b"3/8" in seen and b"loss [0.5]" in seen) and time.monotonic() < deadline:
            time.sleep(0.05)
            seen += written(leader)
    assert b"3/8" in seen
    assert b"loss [0.5]" in seen


def test_a_short_task_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "PATIENCE", 3600.0)  # a task is short beside it even on a machine that stumbles
    with on_a_terminal() as leader:
        with terminal.progress("Estimating", lambda: 40.0):
            pass
        assert b"Estimating" not in written(leader)


def test_nobody_is_shown_a_bar_in_a_pipe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "PATIENCE", 0.0)
    with terminal.progress("Estimating", lambda: 40.0):
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_answers_are_waited_for_with_a_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks take far longer than the fit, and nothing was shown meanwhile."""
    shown: list[str] = []
    plain = Fit.answers

    @contextmanager
    def watched(task: str, percent: object) -> Iterator[None]:
        shown.append(task)
        yield
        shown.pop()

    def answers(*given: Any) -> Any:
        assert shown
        return plain(*given)

    monkeypatch.setattr(terminal, "progress", watched)
    monkeypatch.setattr(Fit, "answers", answers)
    (tmp_path / "in.csv").write_text("goals\n0\n3\n")
    arguments = ["estimate", str(tmp_path / "in.csv"), "--method", "gamma", "--top", "1", "-o", str(tmp_path / "o.csv")]
    ebformer.cli.ebformer.main(arguments, standalone_mode=False)
    assert (tmp_path / "o.csv").exists()
