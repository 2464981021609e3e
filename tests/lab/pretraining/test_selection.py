"""Successive halving spends most steps on the candidates that look best, and a search can be continued."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
optuna = pytest.importorskip("optuna")

from ebformer.lab.pretraining import selection  # noqa: E402
from ebformer.lab.pretraining.recipes import RECIPES  # noqa: E402

SMOKE = RECIPES["smoke"]


def test_a_small_search_stops_the_worse_and_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    monkeypatch.setattr(selection, "LAYERS", (2, 4))
    monkeypatch.setattr(selection, "WIDTHS", (8, 16))
    monkeypatch.setattr(selection, "HEADS", (4,))
    base = replace(SMOKE, tallies=4, n=(32, 128), training=replace(SMOKE.training, steps=9, warmup=2))
    selection.select(base, tmp_path, minutes=1e-3)  # time to begin one trial, which is finished, and no other
    found = selection.select(base, tmp_path, minutes=120.0)
    assert len(found) == 4
    assert len({(c.layers, c.width) for c in found}) == 4
    assert found[0].finished
    assert found[0].steps == 9
    assert any(not c.finished for c in found)
    assert [c.regret for c in found if c.finished] == sorted(c.regret for c in found if c.finished)
