"""Every door of the package: which cases come to it, as plain JSON values, and what happens to one.

A case is JSON so that a counter-example can be kept in `found/` as a test of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from fuzz.arrays import observations, run_arrays
from fuzz.files import CUT, EDITS, command_lines, files, run_command_line, run_file
from fuzz.frames import frames, run_frames
from fuzz.laws import run_laws, tables
from fuzz.readers import any_bytes, run_reader
from fuzz.saved import JSON_EDITS, run_drift, run_fit, run_rule, run_weights


@dataclass(frozen=True)
class Door:
    """`cases` are what comes, `run` opens the door: it returns, raises an `EbformerError` or a `Fault`."""

    cases: st.SearchStrategy[Any]
    run: Callable[[Any], None]


SAVED = st.fixed_dictionaries({"which": st.integers(0, 10**6), "edits": JSON_EDITS})
DOORS = {
    "arrays": Door(observations(), run_arrays),
    "laws": Door(tables(), run_laws),
    "frames": Door(frames(), run_frames),
    "text files": Door(files("csv", "csv.gz", "semicolons"), run_file),
    "parquet files": Door(files("parquet"), run_file),
    "command lines": Door(command_lines(), run_command_line),
    "saved rules": Door(SAVED, run_rule),
    "saved fits": Door(SAVED, run_fit),
    "saved drifts": Door(SAVED, run_drift),
    "weights": Door(st.fixed_dictionaries({"edits": EDITS, "cut": CUT, "header": st.booleans()}), run_weights),
    "raw bytes": Door(any_bytes(), run_reader),
}
