"""Columns of published data sets; the README of ../shared/data names their sources."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Columns = dict[str, np.ndarray]


def columns(path: Path) -> Columns:
    """Every column by name: numbers, with NaN where there is none, or text."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        rows = list(csv.DictReader(lines))
    found: Columns = {}
    for name in rows[0]:
        cells = [row[name] for row in rows]
        try:
            found[name] = np.array([float(cell) if cell else np.nan for cell in cells])
        except ValueError:
            found[name] = np.array(cells)
    return found


@pytest.fixture(scope="session")
def published(shared_data: Path) -> Callable[[str], Columns]:
    """The columns of a file in the folder of real data."""
    return lambda path: columns(shared_data / path)
