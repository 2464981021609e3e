"""The walk from a table to answers, whoever enters it and with what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import ebformer as eb
from ebformer.errors import InputError
from ebformer.rule import BayesRule
from ebformer.tables.columns import Columns
from ebformer.tables.fit import Fit
from ebformer.tables.frames import source_of
from ebformer.tables.shrink import Shrunken, shrink_table
from ebformer.tables.wanted import Wanted
from ebformer.tally import Tally

COLUMNS = Columns("goals", "games", "team")
WANTED = Wanted(0.8, future=2.0, top=3, above=1.0)


def a_table(n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    games = rng.integers(1, 6, n)
    goals = rng.poisson(rng.gamma(2.0, 1.0, n) * games)
    return pl.DataFrame({"team": rng.choice(["a", "b"], n), "goals": goals, "games": games})


def walked(method: Any, **options: Any) -> Shrunken:
    return shrink_table(source_of(a_table()), COLUMNS, method, WANTED, **options)


def test_a_saved_fit_answers_as_the_method_that_made_it() -> None:
    fresh = walked(eb.CATALOGUE["gamma"])
    again = walked(fresh.fit)
    assert again.rows.equals(fresh.rows)
    assert again.fit is fresh.fit


def test_a_saved_fit_is_neither_checked_nor_praised_on_new_rows() -> None:
    fresh = walked(eb.CATALOGUE["gamma"])
    again = walked(fresh.fit)
    assert [groups for _, groups in fresh.checks] == [["a"], ["b"]]
    assert fresh.model_check
    assert (again.checks, again.departures, again.remarks) == ([], [], [])


def test_a_method_without_a_prior_has_nothing_that_could_be_said_to_fit() -> None:
    counts = pl.DataFrame({"goals": np.random.default_rng(0).poisson(3.0, 500)})
    for table, said in ((counts, 0), (counts.with_columns(goals=10 * (pl.col("goals") % 9 + 1)), 1)):
        shrunken = shrink_table(source_of(table), Columns("goals"), eb.CATALOGUE["mle"], Wanted())
        assert len(shrunken.model_check) == len(shrunken.departures) == said


def test_a_method_may_have_a_remark_of_its_own_and_need_no_rows_to_learn_from() -> None:
    class Fixed(eb.Gamma):
        learns = False
        remark = "everything is a guess"

    few = source_of(pl.DataFrame({"goals": [0, 3, 1]}))
    assert shrink_table(few, Columns("goals"), Fixed(), Wanted()).remarks == ["everything is a guess"]
    (said,) = shrink_table(few, Columns("goals"), eb.Gamma(), Wanted()).remarks
    assert "few rows" in said


def test_everything_that_takes_its_time_is_watched() -> None:
    """Nothing is fitted outside what is watched, and a saved fit is said to be read, not estimated."""
    tasks: list[str] = []
    watched: list[str] = []

    @contextmanager
    def watch(task: str) -> Iterator[None]:
        tasks.append(task)
        watched.append(task)
        yield
        watched.pop()

    class Watched(eb.Gamma):
        def fit(self, tally: Tally) -> BayesRule:
            assert watched
            return super().fit(tally)

    fit = walked(Watched(), watch=watch).fit
    walked(fit, watch=watch)
    in_turn = [task for task, _ in groupby(tasks)]
    assert in_turn == ["Reading", "Estimating 2 groups", "Answering", "Reading", "Answering"]


def test_a_column_in_the_way_is_refused_before_anything_is_answered() -> None:
    table = a_table().with_columns(p_top=0.5)

    class Unanswering(Fit):
        def answers(self, *_: object) -> Any:
            pytest.fail("asked for answers")

    fit = Unanswering(COLUMNS, walked(eb.CATALOGUE["gamma"]).fit.rules)
    with pytest.raises(InputError, match="already has a column 'p_top'"):
        shrink_table(source_of(table), COLUMNS, fit, WANTED)
    assert shrink_table(source_of(table), COLUMNS, walked(eb.CATALOGUE["gamma"]).fit, Wanted()).rows.width == 7


def test_a_table_of_other_rows_at_every_look_is_refused() -> None:
    connection = duckdb.connect()
    restless = connection.sql("SELECT -1 - random() AS goals FROM range(100)")
    with pytest.raises(InputError, match="has other rows at every look"):
        eb.shrink(restless, count="goals", method="mle")
