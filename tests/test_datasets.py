"""The shipped tables agree with the totals that their sources print."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ebformer.channels import channels
from ebformer.datasets import DATASETS, FILES


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
        ("sids", 100, 667),  # Cressie (1993): 667 deaths in 1974-78
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


def test_sudden_infant_deaths_have_the_births_that_were_published() -> None:
    sids = DATASETS["sids"].table()
    totals = {name: int(sids[name].sum()) for name in ("births_74", "births_79", "deaths_79")}
    assert totals == {"births_74": 329962, "births_79": 422392, "deaths_79": 836}
    at = {county: i for i, county in enumerate(sids["county"])}
    assert (sids["deaths_74"][at["Anson"]], sids["births_74"][at["Anson"]]) == (
        15,
        1570,
    )  # the outlier
    assert sids["fips"].tolist() == list(range(37001, 37200, 2))
    assert (sids["nonwhite_births_74"] < sids["births_74"]).all()


def test_borders_and_map_have_the_counties_of_the_table() -> None:
    counties = set(DATASETS["sids"].table()["county"])
    features = json.loads(FILES["sids-map"].read_text(encoding="utf-8"))["features"]
    pairs = [tuple(line.split(",")) for line in FILES["sids-borders"].read_text(encoding="utf-8").splitlines()[1:]]
    assert {feature["properties"]["county"] for feature in features} == counties
    assert {name for pair in pairs for name in pair} == counties  # no county is an island
    assert pairs == sorted(set(pairs))
    assert all(a < b for a, b in pairs)


def test_halves_add_up_to_the_official_season() -> None:
    season = DATASETS["half-season"].table()
    at = {player: i for i, player in enumerate(season["player"])}
    official = {"suzui001": (206, 679), "lee-d002": (199, 594), "younm003": (221, 668)}  # Suzuki, Lee, Young in 2005
    for player, totals in official.items():
        i = at[player]
        halves = (season[name][i] + season[f"later_{name}"][i] for name in ("hits", "at_bats"))
        assert tuple(halves) == totals


def test_the_rows_of_the_statins_add_up_to_whole_margins() -> None:
    statins = DATASETS["statins"].table()
    drugs = {drug: int(statins["reports"][statins["drug"] == drug].sum()) for drug in set(statins["drug"])}
    assert drugs["other drugs"] == 78741448
    assert drugs["atorvastatin"] == 226096
