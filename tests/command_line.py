"""`ebformer ARGUMENTS` in this process, as a shell would run it: its own streams, exit code, folder and warnings.

A process of its own would start Python and import numpy, scipy and DuckDB once more, a second each time. Tests whose
subject is the process (signals, kills, closed pipes, what is imported) start one.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from ebformer.cli import main

HEEDED = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""The signals that commands answer in their own way; Windows has no SIGHUP."""


def ebformer(*arguments: str | Path, given: str = "", folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command with `given` as its standard input, in a folder; its streams are files, as after `<` and `>`."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as stdin,
        tempfile.TemporaryFile("w+", encoding="utf-8") as stdout,
        tempfile.TemporaryFile("w+", encoding="utf-8") as stderr,
        contextlib.chdir(folder or "."),
        pytest.MonkeyPatch.context() as patch,
        warnings_of_a_user(),
        signals_as_before(),
    ):
        stdin.write(given)
        stdin.seek(0)
        for name, stream in (("stdin", stdin), ("stdout", stdout), ("stderr", stderr)):
            patch.setattr(sys, name, stream)
        patch.setenv("COLUMNS", "80")  # whatever the width of the terminal that the tests run in
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        stdout.seek(0)
        stderr.seek(0)
        code = ended.value.code
        assert isinstance(code, int)
        return subprocess.CompletedProcess(arguments, code, stdout.read(), stderr.read())


@contextlib.contextmanager
def warnings_of_a_user() -> Iterator[None]:
    """Warnings are shown, not raised as in tests, except those that Python hides from users."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for hidden in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", hidden)
        yield


@contextlib.contextmanager
def signals_as_before() -> Iterator[None]:
    """The command's answers to signals end with the command."""
    before, hook = {number: signal.getsignal(number) for number in HEEDED}, sys.unraisablehook
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, answer in before.items():
            signal.signal(number, answer)
