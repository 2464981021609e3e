"""The same call on a PySpark frame: grouped and joined there, same answers as in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ebformer.errors import InputError
from ebformer.tables import observations as module
from ebformer.tables.frames import shrink

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql")
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    yield session
    session.stop()


def a_table(n: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    years = rng.gamma(2.0, 1.0, n).round(1) + 0.1
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "the region": rng.choice(["north", "south"], n),
            "claims": rng.poisson(rng.gamma(2.0, 1.0, n) * years),
            "years": years,
        }
    )


def on_cluster(spark: Any, table: pd.DataFrame) -> Any:
    rows = [
        tuple(entry.item() if hasattr(entry, "item") else entry for entry in row) for row in table.to_numpy().tolist()
    ]
    return spark.createDataFrame(rows, "id bigint, `the region` string, claims bigint, years double").repartition(3)


def collected(frame: Any) -> pd.DataFrame:
    return pd.DataFrame([row.asDict() for row in frame.collect()], columns=frame.columns).sort_values(
        "id", ignore_index=True
    )


@pytest.mark.parametrize("group", [None, "the region"])
def test_spark_answers_as_memory_does(spark: Any, group: str | None) -> None:
    table = a_table()
    wanted: dict[str, Any] = {"group": group, "method": "npmle", "future": 2.0, "top": 10}
    far = collected(shrink(on_cluster(spark, table), "claims", "years", **wanted))
    near = shrink(table, "claims", "years", **wanted)
    pd.testing.assert_frame_equal(far, near, check_dtype=False, rtol=1e-8)


def test_binned_exposures_agree_too(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT", 60)
    table = a_table()
    far = collected(shrink(on_cluster(spark, table), "claims", "years", method="gamma"))
    pd.testing.assert_frame_equal(far, shrink(table, "claims", "years", method="gamma"), check_dtype=False, rtol=1e-8)


@pytest.mark.parametrize("binned", [False, True])
def test_trials_and_effects_agree_too(spark: Any, monkeypatch: pytest.MonkeyPatch, binned: bool) -> None:
    if binned:
        monkeypatch.setattr(module, "LIMIT", 60)
    table = a_table().assign(years=lambda rows: (10 * rows.years).round() + rows.claims)
    table.loc[3, ["claims", "years"]] = 0, 0
    for words in ({"count": "claims", "trials": "years"}, {"effect": "claims", "se": 2.0}):
        far = collected(shrink(on_cluster(spark, table), **words))
        pd.testing.assert_frame_equal(far, shrink(table, **words), check_dtype=False, rtol=1e-8)


def test_units_keep_their_label(spark: Any) -> None:
    table = a_table(60).assign(
        id=lambda rows: rows["id"] // 3, **{"the region": lambda rows: rows["id"].map("r{}".format)}
    )
    asked: dict[str, Any] = {"unit": "id", "label": "the region", "method": "gamma"}
    far, near = collected(shrink(on_cluster(spark, table), "claims", **asked)), shrink(table, "claims", **asked)
    pd.testing.assert_frame_equal(far, near.reset_index(drop=True), check_dtype=False, rtol=1e-8)


def test_rows_without_an_answer_are_explained(spark: Any) -> None:
    frame = on_cluster(spark, a_table(50)).selectExpr("id", "if(id = 7, null, if(id = 8, -1, claims)) AS claims")
    kept = collected(shrink(frame, "claims", method="gamma", missing="explain", future=2.0))
    assert kept["note"][[7, 8]].tolist() == [
        "claims is missing",
        "claims cannot be used: give whole numbers of at least 0",
    ]
    assert kept["note"].notna().sum() == kept["predicted_upper"].isna().sum() == 2


@pytest.mark.parametrize("bad", [0.0, float("inf")])
def test_bad_exposures_are_found_among_binned_ones(spark: Any, monkeypatch: pytest.MonkeyPatch, bad: float) -> None:
    monkeypatch.setattr(module, "LIMIT", 60)
    table = a_table()
    table.loc[7, ["claims", "years"]] = 3, bad
    with pytest.raises(InputError, match=f"^years is {bad}: give positive numbers"):
        shrink(on_cluster(spark, table), "claims", "years", method="gamma")


def test_columns_may_be_called_as_nobody_would(spark: Any) -> None:
    """A dot and a backtick, and the name that we give a key."""
    frame = spark.createDataFrame([(1, 1.0, "a"), (4, 2.0, "b")], "`a.b` int, `c``d` double, key_x string")
    found = shrink(frame, "a.b", "c`d", "key_x", method="mle")
    assert found.columns == ["a.b", "c`d", "key_x", "estimate"]
    assert sorted((row["a.b"], row["estimate"]) for row in found.collect()) == [(1, 1.0), (4, 2.0)]
    with pytest.raises(InputError, match=r"^c`d is -1\.0: give positive numbers"):
        shrink(frame.selectExpr("`a.b`", "double(-1) AS `c``d`", "key_x"), "a.b", "c`d", "key_x", method="mle")


def test_only_the_distinct_observations_travel(spark: Any) -> None:
    """The plan of the answer joins on the cluster: a broadcast of the tally, and no row collected."""
    table = a_table()
    answer = shrink(on_cluster(spark, table), "claims", "years", method="npmle")
    plan = answer._jdf.queryExecution().executedPlan().toString()
    assert "BroadcastHashJoin" in plan


def test_what_cannot_be_used_is_named(spark: Any) -> None:
    table = a_table(20)
    table.loc[[3, 5], "claims"] = -4
    with pytest.raises(InputError, match=r"^claims is -4: give whole numbers of at least 0 \(and 1 more row\)$"):
        shrink(on_cluster(spark, table), "claims", "years", method="npmle")
    with pytest.raises(InputError, match="'the region' holds string, not numbers"):
        shrink(on_cluster(spark, table), "the region", method="npmle")


def test_missing_rows_are_kept_unanswered(spark: Any) -> None:
    frame = on_cluster(spark, a_table(50)).selectExpr("id", "if(id = 7, null, claims) AS claims", "years")
    with pytest.raises(InputError, match="claims is missing"):
        shrink(frame, "claims", "years", method="npmle")
    kept = collected(shrink(frame, "claims", "years", method="npmle", missing="keep"))
    assert kept["estimate"].isna().tolist() == [i == 7 for i in range(50)]
