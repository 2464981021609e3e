"""The paper's number beside ours: the interval of ours, and a word on whether they agree."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ebformer.distributions import Floats
from ebformer.lab.arena.summary import Interval, interval
from ebformer.report.text_table import TextTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOT_THERE = "not in the paper"


@dataclass(frozen=True)
class Entry:
    """What an item came to: a word on how it compares, tables, and figures with their captions."""

    word: str
    tables: Sequence[TextTable] = ()
    figures: Sequence[tuple[Figure, str]] = ()


class Comparison(NamedTuple):
    """One statement of the paper with its number, and ours."""

    what: str
    theirs: str
    ours: str
    interval: str
    word: str


def paper(item: str) -> dict[str, Any]:
    """The paper's own numbers for an item, from the one file where they are typed.

    >>> paper("claims")["npmle, neural, 4096"]
    0.104
    """
    text = resources.files("ebformer.lab.reproduction").joinpath("paper.json").read_text(encoding="utf-8")
    numbers: dict[str, Any] = json.loads(text)[item]
    return numbers


def compared(what: str, theirs: float, ours: Interval, word: str = "") -> Comparison:
    """Two numbers, ours with its interval.

    >>> compared("a", 1.4, Interval(1.3, 1.2, 1.5, 9))
    Comparison(what='a', theirs='1.4', ours='1.3', interval='1.2 to 1.5', word='agrees')
    """
    return Comparison(what, f"{theirs:g}", f"{ours.mean:.3g}", show(ours), word or verdict(theirs, ours))


def verdict(theirs: float, ours: Interval) -> str:
    """Whether the paper's number lies in our interval, and otherwise on which side.

    >>> verdict(2.0, Interval(1.5, 1.4, 1.6, 9))
    'ours is 25 % lower'
    >>> verdict(0.01, Interval(-0.2, -0.3, -0.1, 9)), verdict(0.01, Interval(0.05, 0.04, 0.06, 9))
    ('ours has the other sign', 'ours is 5 times as large')
    """
    if ours.low <= theirs <= ours.high:
        return "agrees"
    if ours.mean * theirs < 0:
        return "ours has the other sign"
    share = 100 * abs(ours.mean / theirs - 1)
    if share > 200:
        return f"ours is {ours.mean / theirs:.2g} times as large"
    return f"ours is {share:.{0 if share >= 1 else 1}f} % {'lower' if ours.mean < theirs else 'higher'}"


def show(of: Interval) -> str:
    """The interval itself; a single unit has none."""
    return "-" if np.isnan(of.low) else f"{of.low:.3g} to {of.high:.3g}"


def comparison_table(title: str, rows: Iterable[Comparison], notes: Iterable[str] = ()) -> TextTable:
    """One row per statement."""
    return TextTable(title, ("", "the paper's", "ours", "95 % interval", "word"), tuple(rows), tuple(notes))


def beside(
    title: str, theirs: Mapping[str, Mapping[str, Any]], ours: Callable[[str, str], str], notes: Iterable[str] = ()
) -> TextTable:
    """Our number and the paper's in every cell, in the rows and columns of the paper."""
    columns = tuple(dict.fromkeys(name for row in theirs.values() for name in row))
    rows = tuple(
        (name, *(f"{ours(name, column)} ({_shown(row.get(column))})" for column in columns))
        for name, row in theirs.items()
    )
    return TextTable(f"{title}: ours (the paper's)", ("", *columns), rows, tuple(notes))


def _shown(number: Any) -> str:
    if number is None:
        return "-"
    return f"{number[0]} ± {number[1]}" if isinstance(number, list) else str(number)


def ratio(above: Floats, below: Floats) -> Interval:
    """mean(above) / mean(below) over paired units, with the delta method's 95 % interval.

    >>> ratio(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0]))
    Interval(mean=2.0, low=2.0, high=2.0, units=3)
    """
    of = float(above.mean() / below.mean())
    half = interval(above - of * below).half_width / float(below.mean())
    return Interval(of, of - half, of + half, len(above))


def typical_ratio(above: Floats, below: Floats) -> Interval:
    """The geometric mean of above / below over paired units, with the 95 % interval of its logarithm."""
    of = interval(np.log(above / below))
    mean, low, high = np.exp(of[:3]).tolist()
    return Interval(mean, low, high, of.units)


def out_of(good: int, total: int) -> str:
    """`3 of 4`, and `all 4`, as a sentence would have it.

    >>> out_of(4, 4), out_of(3, 4), out_of(0, 4)
    ('all 4', '3 of 4', 'none of 4')
    """
    return f"all {total}" if good == total else f"none of {total}" if good == 0 else f"{good} of {total}"


def named(things: Sequence[str], at_most: int = 8) -> str:
    """The first few, and how many more there are.

    >>> named(["a", "b", "c"], at_most=2)
    'a; b; and 1 more'
    """
    more = [f"and {len(things) - at_most} more"] if len(things) > at_most else []
    return "; ".join([*things[:at_most], *more])
