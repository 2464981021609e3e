"""Kept results come back as they were, and only to whom they belong."""

import math
import shutil
from pathlib import Path

import pytest

import ebformer
from ebformer.errors import InputError
from ebformer.lab.probes.experiment import Finding
from ebformer.lab.reproduction.bench import Timed
from ebformer.lab.reproduction.store import COSTS, Store, code
from ebformer.lab.rows import Format

FINDINGS, TIMES = Format.of(Finding), Format.of(Timed)
ROWS = [
    Finding("T24r", "neural", 0, 3, "bayes", 1 / 3, math.nan, 1.0),
    Finding("a,b", 'c"', 1, 0, "x", -0.5, 2e-300, 1.0),
]


def test_rows_come_back_bit_for_bit(tmp_path):
    FINDINGS.write(ROWS, tmp_path / "rows.csv")
    assert repr(FINDINGS.read(tmp_path / "rows.csv")) == repr(ROWS)


def test_a_result_is_computed_once_and_again_only_if_something_else_made_it(tmp_path):
    asked = []

    def run():
        asked.append(1)
        return [Timed("mle", 128, 0, 1e-5)]

    store = Store(tmp_path / "new")
    for _ in range(2):
        assert store.kept("timings", TIMES, ("weights 1", 128), run) == [Timed("mle", 128, 0, 1e-5)]
    assert len(asked) == 1
    store.kept("timings", TIMES, ("weights 2", 128), run)
    assert len(asked) == 2
    costs = COSTS.read(tmp_path / "new" / "costs.csv")
    assert [cost.experiment for cost in costs] == ["timings", "timings"]


def test_other_code_or_data_make_other_results(tmp_path, monkeypatch):
    store, here = Store(tmp_path), Path(ebformer.__file__).parent
    before = store.path("timings", (128,))
    assert store.path("timings", (128,)) == before
    copy = tmp_path / "ebformer"
    shutil.copytree(here, copy, ignore=shutil.ignore_patterns("*.safetensors", "*.so", "__pycache__"))
    monkeypatch.setattr("ebformer.lab.reproduction.store.__file__", str(copy / "lab" / "reproduction" / "store.py"))
    monkeypatch.setattr("ebformer.lab.reproduction.store.code", code.__wrapped__)
    assert store.path("timings", (128,)) == before
    for name, changes in (
        ("cli/demo.py", False),
        ("lab/commands/arena.py", False),
        ("lab/figures/arena_tables.py", False),
        ("lab/arena/losses.py", True),
        ("check.py", True),
        ("networks/kernels.c", True),
    ):
        with (copy / name).open("a") as source:
            source.write("\n")
        after = store.path("timings", (128,))
        assert (after != before) is changes, name
        before = after


def test_an_experiment_that_fails_leaves_nothing_behind(tmp_path):
    def run():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path).kept("timings", TIMES, (), run)
    assert list(tmp_path.iterdir()) == []


def test_rows_of_another_kind_are_refused(tmp_path):
    FINDINGS.write(ROWS, tmp_path / "rows.csv")
    with pytest.raises(InputError, match="not estimator, n, dataset, seconds"):
        TIMES.read(tmp_path / "rows.csv")


def test_a_second_run_in_the_same_folder_is_refused_until_the_first_ends(tmp_path):
    store = Store(tmp_path)
    with store.locked(), pytest.raises(InputError, match="another `ebformer reproduce`"), Store(tmp_path).locked():
        pass
    with store.locked():
        pass
