"""Readers of files under bytes of any kind: tables, saved rules, fits and drifts, weights."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import ebformer as eb
from ebformer.networks import weights as network_weights
from ebformer.rule import Rule
from ebformer.tables.files import open_table
from ebformer.tables.fit import Fit
from fuzz.files import good_file
from fuzz.saved import good_fit, good_rules, good_weights


def read_table(path: Path) -> None:
    """Every entry of a table, and which columns could be counts."""
    with open_table(str(path)) as opened:
        opened.table.whole_number_columns()
        opened.table.rows.fetchall()


READERS: dict[str, tuple[Callable[[Path], object], Callable[[], list[bytes]]]] = {
    "csv": (read_table, lambda: [good_file("csv"), good_file("semicolons")]),
    "csv.gz": (read_table, lambda: [good_file("csv.gz")]),
    "parquet": (read_table, lambda: [good_file("parquet")]),
    "rule": (Rule.load, lambda: [text.encode() for _, text in good_rules()]),
    "fit": (Fit.load, lambda: [good_fit(channel).encode() for channel in ("poisson", "binomial", "normal")]),
    "drift": (eb.Drift.load, lambda: [json.dumps(eb.Drift.typical().record()).encode()]),
    "weights": (network_weights.load, lambda: [good_weights()[:4096], good_weights()]),
}
"""What reads such a file, and good ones."""


@st.composite
def any_bytes(draw: st.DrawFn) -> dict[str, Any]:
    return {"reader": draw(st.sampled_from(sorted(READERS))), "bytes": coded(draw(st.binary(max_size=200)))}


def coded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def run_reader(case: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"in.{case['reader']}"
        path.write_bytes(base64.b64decode(case["bytes"]))
        READERS[case["reader"]][0](path)
