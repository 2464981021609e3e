"""Losses of drawn tallies and of real data go to disk and come back bit for bit, each in its own columns."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebformer.errors import InputError
from ebformer.lab.arena.losses import Loss
from ebformer.lab.arena.table import DRAWN, REAL
from ebformer.lab.rows import Format

HEADERS = {
    DRAWN: "world,n,prior,repeat,estimator,regret,mse,population_regret,seconds",
    REAL: "data,case,estimator,units,rmse,mae,rmse_improvement,mae_improvement,log_score,coverage,seconds",
}
"""Tables that were written before must stay readable, here and by others."""
words = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\x00"))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("format", [DRAWN, REAL], ids=["drawn", "real"])
@settings(max_examples=30)
@given(st.data())
def test_losses_come_back_bit_for_bit(format: Format[Loss], suffix: str, data: st.DataObject) -> None:
    entries = {str: words, int: st.integers(0, 2**53), float: st.floats()}
    empty = Loss("", 0, "" if format is REAL else 0, 0, "")
    rows = [
        empty._replace(**{column.field: data.draw(entries[column.type]) for column in format.columns})
        for _ in range(data.draw(st.integers(0, 3)))
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"losses{suffix}")
        format.write(rows, path)
        assert list(map(repr, format.read(path))) == list(map(repr, rows))


@pytest.mark.parametrize("format", HEADERS, ids=["drawn", "real"])
def test_the_columns_stay_what_they_were(format: Format[Loss]) -> None:
    assert format.csv([]) == HEADERS[format] + "\n"


def test_a_table_of_the_other_kind_is_refused(tmp_path: Path) -> None:
    REAL.write([], tmp_path / "real.csv")
    with pytest.raises(InputError, match=r"real\.csv has the columns 'data, case"):
        DRAWN.read(tmp_path / "real.csv")
