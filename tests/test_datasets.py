"""The shipped tables agree with the totals that their sources print."""

from __future__ import annotations

import numpy as np
import pytest

from ebformer.channels import channels
from ebformer.datasets import DATASETS


@pytest.mark.parametrize("name", DATASETS)
def test_tables_are_whole(name: str) -> None:
    dataset = DATASETS[name]
    table = dataset.table()
    assert len({len(column) for column in table.values()}) == 1
    columns = dataset.columns
    known = table[columns.known] if isinstance(columns.known, str) else columns.constant
    assert columns.channel.usable(table[columns.x].astype(float), np.asarray(known, dtype=float)).all()


def test_every_channel_has_a_real_table() -> None:
    real = {dataset.columns.channel for dataset in DATASETS.values() if "simulated" not in dataset.source}
    assert real == set(channels())


@pytest.mark.parametrize(
    ("name", "units", "events"),
    [
        ("claims", 9461, 2028),  # Efron and Hastie (2016), section 6.1; 2,028 claims in Simar (1976)
        ("accidents", 647, 301),  # Greenwood and Yule (1920): mean 0.465
        ("horse-kicks", 200, 122),  # von Bortkiewicz (1898): 122 deaths in 200 corps-years, mean 0.61
        ("pumps", 10, 75),
        ("batters", 18, 215),  # Efron and Morris (1975): mean .265 of 810 at-bats
        ("schools", 8, 70),
        ("butterflies", 501, 3306),
        ("lip-cancer", 56, 536),  # Clayton and Kaldor (1987): 536 cases
    ],
)
def test_published_totals(name: str, units: int, events: int) -> None:
    dataset = DATASETS[name]
    counts = dataset.table()[dataset.columns.x]
    assert counts.size == units
    assert counts.sum() == events


def test_the_league_is_the_same_every_time_and_hides_poisson_rates() -> None:
    league = DATASETS["league"].table()
    np.testing.assert_array_equal(league["goals"], DATASETS["league"].table()["goals"])
    expected = league["hidden_rate"] * league["games"]
    z = (league["goals"] - expected) / np.sqrt(expected)
    assert abs(z.mean()) < 4 / np.sqrt(600)
