"""Names that are numbered are the names that were given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebformer.tables.eager import EagerTable
from ebformer.tables.names import Names

TEXTS = st.lists(st.none() | st.text("ab", min_size=1, max_size=2), max_size=20)


def named(texts: list[str | None]) -> Names:
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return Names.of(array)


@given(TEXTS, TEXTS)
def test_numbered_names_are_the_names_they_were_given_as(some: list[str | None], others: list[str | None]) -> None:
    names = named(some)
    assert names.texts.tolist() == some
    assert names.missing.tolist() == [text is None for text in some]
    assert names.and_then(named(others)).texts.tolist() == some + others
    assert names.and_then(names).texts.tolist() == some + some


@given(TEXTS)
def test_names_among_some_are_in_order_and_each_of_them_stands_there(texts: list[str | None]) -> None:
    kept = np.arange(len(texts)) % 2 == 0
    found, which = named(texts)[kept].shown
    assert found == sorted(set(texts[::2]), key=lambda text: text or "")
    assert [found[i] for i in which.tolist()] == texts[::2]


FRAMES: dict[str, Callable[[list[str | None]], Any]] = {
    "pandas": lambda texts: pandas.DataFrame({"g": texts}),
    "pandas objects": lambda texts: pandas.DataFrame({"g": pandas.Series(texts, dtype=object)}),
    "pandas strings": lambda texts: pandas.DataFrame({"g": pandas.Series(texts, dtype="string")}),
    "polars": lambda texts: polars.DataFrame({"g": polars.Series(texts, dtype=polars.String)}),
    "pyarrow": lambda texts: pyarrow.table({"g": pyarrow.array(texts, type=pyarrow.string())}),
}


@pytest.mark.parametrize("kind", FRAMES)
@given(st.lists(st.none() | st.sampled_from(["NA", " n/a ", "none", "b"]) | st.text(max_size=3), max_size=12))
def test_a_table_numbers_its_names_as_python_would(kind: str, texts: list[str | None]) -> None:
    table = EagerTable(nw.from_native(FRAMES[kind](texts), eager_only=True))
    found, plain = table.named("g"), Names.of(table.texts("g"))
    assert found.texts.tolist() == plain.texts.tolist()
    assert found.shown[0] == plain.shown[0]
    assert found.shown[1].tolist() == plain.shown[1].tolist()
