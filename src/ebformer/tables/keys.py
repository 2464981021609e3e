"""What rows are grouped by and matched on: x and what is known, or the bins of both, in numpy and in SQL alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ebformer.channels.base import Channel
from ebformer.distributions import Floats
from ebformer.tables.columns import Columns, Role
from ebformer.tables.names import Names
from ebformer.tables.sql import Sql


def keys(channel: Channel, x: Any, known: Any, width: float) -> tuple[Any, Any]:
    """x and what is known where `width` is 0, else their bins; arrays, or formulas in SQL.

    An entry that is missing stays NaN. Among bins, x is -inf where it cannot be observed and inf where it cannot with
    what is known; what is known is inf where it cannot be known, and -inf where nothing was seen.

    >>> from ebformer.channels import POISSON
    >>> x, t = np.array([3.0, 3.0, -1.0, 0.0]), np.array([1.0, -2.0, 1.0, 0.0])
    >>> [key.tolist() for key in keys(POISSON, x, t, 0.25)]
    [[3.0, 0.0, -inf, 0.0], [0.0, inf, 0.0, -inf]]
    """
    if not width:
        return x, known
    with np.errstate(divide="ignore", invalid="ignore"):
        good, blank, pair = channel.possible(x), channel.blank(x, known), channel.possible_pair(x, known)
        good_known = channel.possible_known(known) | blank
        bin_x, bin_known = channel.bin(x, known, width)
        # A database computes a branch only where its condition holds: no logarithm of what has none.
        key_x = np.where(good, np.where(good_known, np.where(pair, bin_x, np.inf), 0.0), -np.inf)
        inside = np.where(blank, -np.inf, np.where(good & pair, bin_known, 0.0))
        key_known = np.where(good_known, inside, np.inf)
        return np.where(np.isnan(x), x, key_x), np.where(np.isnan(known), known, key_known)


def unkeyed(
    channel: Channel, x: Floats, known: Floats, width: float, at: tuple[float, float] = (0.5, 0.5)
) -> tuple[Floats, Floats]:
    """The observations that usable keys stand for, in the middle of their bins or at another place in them."""
    if not width:
        return x, known
    blank = np.isneginf(known)
    inside = channel.unbin(x, np.where(blank, 0.0, known), width, at)
    return np.where(blank, 0.0, inside[0]), np.where(blank, 0.0, inside[1])


def future_key(channel: Channel, future: Any, width: float) -> Any:
    """What will be known of the next observation, or its bin.

    That is NaN where it is missing, inf where it cannot be known and -inf where there will be nothing to see.

    >>> from ebformer.channels import POISSON
    >>> future_key(POISSON, np.array([1.0, 82.0, 0.0, -1.0]), 0.25).tolist()
    [0.0, 17.0, -inf, inf]
    """
    if not width:
        return future
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(np.equal(future, 0.0), -np.inf, channel.bin(np.asarray(0.0), future, width)[1])
        return np.where(np.isnan(future), future, np.where(channel.possible_future(future), inside, np.inf))


def unkeyed_future(channel: Channel, future: Floats, width: float) -> Floats:
    """What usable keys of the future stand for."""
    if not width:
        return future
    none = np.isneginf(future)
    inside = channel.unbin(np.zeros(future.shape), np.where(none, 0.0, future), width, (0.5, 0.5))[1]
    return np.where(none, 0.0, inside)


def more_keys(columns: Columns, number: Callable[[str], Any], width: float) -> dict[Role, Any]:
    """What rows are told apart by beside x, what is known and the group; `number` gives a column's array or formula."""
    return {
        role: future_key(columns.channel, number(name), width) if role == "future" else number(name)
        for role, name in columns.numbered.items()
    }


def common_future(future: str) -> str:
    """SQL for what will be known of a unit of several rows: NULL unless all of them say the same."""
    return f"CASE WHEN min({future}) = max({future}) AND count({future}) = count(*) THEN max({future}) END"


def totals(channel: Channel, x: Any, known: Any) -> list[str]:
    """SQL for the x and the known that the rows of a unit add up to; NULL where one of them cannot be used."""
    usable = channel.usable(x, known)
    sums: list[Any] = [Sql(f"sum(CASE WHEN {usable} THEN {each} END)") for each in channel.summands(x, known)]
    all_usable = f"bool_and(coalesce({usable}, false))"
    kinds = ("BIGINT" if whole else "DOUBLE" for whole in (channel.whole, channel.whole_known))
    added_up = zip(channel.added_up(sums[0], sums[1]), kinds, strict=True)
    return [f"CAST(CASE WHEN {all_usable} THEN {total} END AS {kind})" for total, kind in added_up]


class Defect(NamedTuple):
    """Where [u] keys lack an entry in a role, and where they have one that cannot be used."""

    role: Role
    missing: NDArray[np.bool_]
    wrong: NDArray[np.bool_]


def defects(
    columns: Columns,
    x: Floats,
    known: Floats,
    more: Mapping[Role, Floats],
    group: Names | None,
    width: float,
) -> list[Defect]:
    """What keeps keys from being used, in the order in which it is told."""
    channel, none = columns.channel, np.zeros(x.shape, dtype=bool)
    if width:
        bad_x, bad_known, bad_pair = np.isneginf(x), np.isposinf(known), np.isposinf(x)
    else:
        with np.errstate(invalid="ignore"):
            good, blank, good_known = channel.possible(x), channel.blank(x, known), channel.possible_known(known)
            bad_x, bad_known = ~good & ~np.isnan(x), ~good_known & ~blank & ~np.isnan(known)
            bad_pair = good & good_known & ~channel.possible_pair(x, known)
    found = [Defect("x", np.isnan(x), bad_x), Defect("known", np.isnan(known), bad_known), Defect("x", none, bad_pair)]
    if (future := more.get("future")) is not None:
        with np.errstate(invalid="ignore"):
            bad = np.isposinf(future) if width else ~channel.possible_future(future) & ~np.isnan(future)
        found.append(Defect("future", np.isnan(future), bad))
    if group is not None:
        found.append(Defect("group", group.missing, none))
    return found
