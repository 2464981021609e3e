"""Every door under attack, for a bounded number of cases; `make fuzz` goes on for as long as one likes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from fuzz.doors import DOORS
from fuzz.judging import judged

EXAMPLES = {"arrays": 40, "command lines": 15, "saved rules": 100, "weights": 25}
FOUND = sorted((Path(__file__).parent / "found").glob("*.json"))


@pytest.mark.parametrize("door", DOORS)
def test_a_door_answers_or_refuses_in_a_sentence(door: str) -> None:
    @settings(
        max_examples=EXAMPLES.get(door, 40),
        phases=[Phase.generate],  # a case that breaks is kept as it is: to make it smaller may take minutes
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(DOORS[door].cases)
    def attack(case: object) -> None:
        outcome = judged(DOORS[door].run, json.loads(json.dumps(case)))
        assert not outcome.faulty, f"{outcome.kind}: {outcome.what}"

    attack()


@pytest.mark.parametrize("path", FOUND, ids=[path.stem for path in FOUND])
def test_what_was_found_once_stays_mended(path: Path) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))
    outcome = judged(DOORS[found["door"]].run, found["case"])
    assert not outcome.faulty, f"{outcome.kind}: {outcome.what}"
