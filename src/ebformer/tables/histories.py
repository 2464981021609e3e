"""Long tables, a row per unit and look: the last look is answered, and earlier ones at the same unit tell about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebformer.binning import distinct_rows
from ebformer.distributions import Floats
from ebformer.drift import Drift, Earlier
from ebformer.estimators.base import Estimator
from ebformer.looks import Looks
from ebformer.plural import counted
from ebformer.tables.columns import Columns
from ebformer.tables.names import Names
from ebformer.tables.source import Source

HISTORY = "ebformer_history"
"""The column that numbers histories while a table is answered."""


@dataclass(frozen=True, eq=False)
class Histories:
    """What was seen of units before the last look: x and known [h, looks], the oldest first, NaN where they were not.

    `pairs` are the units that were seen in two looks in a row, a `Looks` for each two.
    """

    x: Floats
    known: Floats
    pairs: Sequence[Looks]

    def earlier(self, which: NDArray[Any]) -> Earlier:
        """The earlier looks of units with these histories."""
        return [(x[which], known[which]) for x, known in zip(self.x.T, self.known.T, strict=True)]

    def drift(self, method: Estimator | None, columns: Columns) -> Drift:
        """How thetas moved from one of these looks to the next; a typical drift where no unit was seen in two."""
        drift = Drift.learn(self.pairs, method) if self.pairs else Drift.typical(columns.exposed)
        return replace(drift, look=columns.look)


def last_looks(source: Source, columns: Columns) -> tuple[Source, Columns, Histories, list[str]]:
    """The units of the last look with the number of their history, a row each, and what there is to say about it.

    Rows of one unit (and group) in one look are added up. What was seen earlier belongs to the unit, in whichever group
    it was then. Looks follow each other by number where all are numbers, and else by name, as dates do that begin with
    the year.
    """
    look, unit_column = columns.look, columns.unit
    assert look is not None
    assert unit_column is not None
    added, whole = source.of_units(columns), source.of_units(replace(columns, group=None, future=None, carried=()))
    columns = columns.of_units
    rows, looks = added.arrays(), whole.arrays()
    order, at = _in_order(looks[look])
    units = Names.called(looks[unit_column])
    x, known = np.full((2, len(units.distinct), order.size), np.nan)
    x[units.which, at], known[units.which, at] = (
        np.asarray(looks[name], dtype=np.float64) for name in (columns.x, str(columns.known))
    )
    seen = np.isfinite(x) & np.isfinite(known) & ~columns.channel.blank(x, known)
    x, known = np.where(seen, x, np.nan), np.where(seen, known, np.nan)
    pairs = []
    for then in range(order.size - 1):
        both = seen[:, then] & seen[:, then + 1]
        if both.any():
            ends = x[both, then], x[both, then + 1], known[both, then], known[both, then + 1]
            pairs.append(Looks.of(*ends, channel=columns.channel))
    here = np.flatnonzero(_in_order(rows[look])[1] == order.size - 1)
    number = {name: i for i, name in enumerate(units.distinct)}
    unit = np.array([number[str(name)] for name in rows[unit_column][here]], dtype=np.intp)
    kinds, history = distinct_rows(np.zeros(here.size), *x[unit, :-1].T, *known[unit, :-1].T)
    histories = Histories(x[unit, :-1][kinds], known[unit, :-1][kinds], pairs)
    last = {name: entries[here] for name, entries in rows.items()} | {HISTORY: history}
    gone = len(units.distinct) - np.unique(unit).size
    were, are = ("was", "is") if gone == 1 else ("were", "are")
    left_out = f"{counted(gone, 'unit')} {were} not seen in the last look, {order[-1]}, and {are} left out"
    said = [left_out] if gone else []
    return added.made_of(last), replace(columns, history=HISTORY), histories, said


def _in_order(looks: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The looks, each once, in order, and which of them each row is of."""
    try:
        numbers = np.asarray(looks, dtype=np.float64)
    except (TypeError, ValueError):
        named = Names.called(looks)
        return np.array(named.distinct, dtype=object), named.which
    _, first, at = np.unique(numbers, return_index=True, return_inverse=True)
    return np.array([_called(look) for look in looks[first]]), at


def _called(look: Any) -> str:
    """A look as a table shows it.

    >>> _called(20231231.0), _called(np.datetime64("2023-12-31", "ns"))
    ('20231231', '2023-12-31')
    """
    if isinstance(look, np.datetime64):
        return str(np.datetime_as_string(look, unit="auto"))
    return f"{look:.15g}" if isinstance(look, float) else str(look)
