"""A drug-safety analyst: pairs of drugs and events, the same list whether the table has its zeros or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import ebformer as eb


def pairs(drugs: int, events: int, seed: int) -> tuple[polars.DataFrame, np.ndarray]:
    """A whole table of reports, and the true ratio of every pair to what its margins let expect."""
    rng = np.random.default_rng(seed)
    drug, event = (axis.ravel() for axis in np.indices((drugs, events)))
    reported, common = rng.lognormal(-1.5, 1.3, drugs), rng.lognormal(0.0, 1.3, events)
    raised = rng.random(drug.size) < 0.02
    ratio = np.where(raised, rng.gamma(4.0, 1.5, drug.size), rng.gamma(10.0, 0.1, drug.size))
    reports = rng.poisson(reported[drug] * common[event] * ratio)
    return polars.DataFrame({"drug": drug, "event": event, "reports": reports}), ratio


def listed(table: polars.DataFrame, **words: float) -> set[tuple[Any, ...]]:
    """The pairs that are selected."""
    return set(eb.signals(table, "drug", "event", "reports", **words).filter("selected")["drug", "event"].iter_rows())


def nearly_the_same(one: set[Any], other: set[Any]) -> bool:
    """Whether what stands in one list alone is at most 5 % of the longer one."""
    return len(one ^ other) <= 0.05 * max(len(one), len(other))


@pytest.mark.slow
def test_480_000_pairs_with_and_without_zeros_give_the_same_list() -> None:
    table, ratio = pairs(800, 600, seed=0)
    assert len(table) == 480_000
    whole = listed(table, above=2.0)
    without = listed(table.filter(polars.col("reports") > 0), above=2.0)
    assert len(whole) > 500
    assert nearly_the_same(whole, without)
    true = ratio.reshape(800, 600)
    false = np.mean([true[int(drug), int(event)] <= 2.0 for drug, event in whole])
    assert false <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / len(whole))


@pytest.mark.data
def test_statins_with_and_without_zeros_give_the_same_list(shared_data: Path) -> None:
    table = polars.read_csv(shared_data / "classic" / "faers_statins_2025.csv.gz")
    table = table.filter(polars.col("reports").sum().over("event") > 0)
    whole = listed(table)
    assert whole
    assert nearly_the_same(whole, listed(table.filter(polars.col("reports") > 0)))
