"""Names that are numbered are the names that were given."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

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
