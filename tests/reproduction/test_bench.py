"""The paper's numbers are where they belong, and cached results come back as they were."""

import math

import pytest

from ebformer.arena.timing import Timing
from ebformer.errors import InputError
from ebformer.probes.experiment import Finding
from ebformer.reproduction.bench import Scale, paper, read_rows, write_rows
from ebformer.reproduction.items import ITEMS, beside


def test_rows_come_back_bit_for_bit(tmp_path):
    rows = [
        Finding("T24r", "neural", 0, 3, "bayes", 1 / 3, math.nan, 1.0),
        Finding("a,b", 'c"', 1, 0, "x", -0.5, 2e-300, 1),
    ]
    write_rows(rows, Finding, tmp_path / "rows.csv")
    back = read_rows(tmp_path / "rows.csv", Finding)
    assert [repr(row) for row in back] == [repr(row._replace(ceiling=1.0)) for row in rows]
    write_rows([Timing("mle", 128, 1e-5, 9)], Timing, tmp_path / "timings.csv")
    assert read_rows(tmp_path / "timings.csv", Timing) == [Timing("mle", 128, 1e-5, 9)]


def test_every_paper_table_has_an_item_and_every_item_its_own_key():
    keys = [item.key for item in ITEMS]
    assert len(keys) == len(set(keys))
    for key in keys:
        if key.startswith("tab-"):
            assert paper(key)


def test_an_unknown_scale_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="smoke, laptop, full"):
        Scale.of("huge")


def test_numbers_stand_beside_those_of_the_paper():
    table = beside("t", {"neural 128": {"erm": 0.979, "minimax": None}}, lambda row, column: "1.00")
    assert table.rows == (("neural 128", "1.00 (0.979)", "1.00 (-)"),)
