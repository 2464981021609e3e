"""Floors: the least regret that a world allows, and how far methods are above it.

Table and prior are drawn together, so that the prior is one of all that could have made the table, drawn with the right
chance; and so is every prior that it moves to while moves keep that law. A method's regret is its mean over these
priors: an exact mean, with less noise than what the one prior costs that did make the table. The floor is the regret of
the hierarchical Bayes rule, which knows the table and the world. How far the priors' own rules differ about their mean
is on average below the floor, by what that mean is still off: this is what all pay at least.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import nan
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.estimators.catalogue import find
from ebformer.lab.arena.losses import Truth
from ebformer.lab.controls import Mean, by_weighing, controlled
from ebformer.lab.hierarchical import Hierarchical
from ebformer.lab.journal import Journal
from ebformer.lab.rows import Format
from ebformer.lab.uniform_numbers import dimensions, priors_of
from ebformer.lab.worlds import Multinomial, Neural, PaperThetaMax, Universal, World, world_named
from ebformer.tally import Tally

POWERS = (0.25, 0.5, 0.75, 1.0)
FLOOR, CONTROL = "hierarchical", "control"
FEWEST = 40
"""Tables of a world and size, however sure the floor is: the ratios of methods are less so."""
EVERYDAY = ("gamma", "lognormal", "zero-inflated")
WORLDS: dict[str, tuple[World, World]] = {
    "neural": (Neural(), Neural()),
    "neural-unknown": (Neural(), Neural(PaperThetaMax())),
    "multinomial": (Multinomial(), Multinomial()),
    "universal": (Universal(), Universal()),
    **{name: (world_named(name), world_named(name)) for name in EVERYDAY},
}
"""The world that tables are drawn from, and the one whose Bayes rule is the floor: in `neural-unknown` it has to find
theta_max, which is 50 but has the paper's law as far as the rule knows."""
FURTHER = 10**9
"""Further tables, which the control alone plays, have random numbers of their own."""
WEIGHING = "weighing"
CONTROLS = {
    "neural": ("T24f", "T24u"),
    "neural-unknown": ("T24r", "T24ur"),
    "universal": ("T24u", "T24u"),
    **dict.fromkeys(EVERYDAY, (WEIGHING, WEIGHING)),
}
"""What follows the floor, up to 512 units and beyond, of which T24f and T24r are not told: the regret of a network, or
how far many priors differ that are weighed by the table."""
TOLD = 512


class Paid(NamedTuple):
    """What a method pays on one table of a world on average over priors given the table, and what all pay at least.

    The others are squared distances from the rules of the likelihood to the powers 1/4, 1/2, 3/4 and 1, less what
    the noise of the draws adds to them.
    """

    world: str
    n: int
    table: int
    method: str
    regret: float
    at_least: float
    quarter: float
    half: float
    three_quarters: float
    whole: float

    @property
    def distances(self) -> tuple[float, ...]:
        return self.quarter, self.half, self.three_quarters, self.whole


FORMAT = Format.of(Paid, identity=lambda paid: paid[:4])


class Table(NamedTuple):
    """A drawn table, and theta_G(x) at its values for priors G given the table [draws, values]."""

    tally: Tally
    exact: Floats


def made(world: World, n: int, table: int, seed: int) -> tuple[Floats, Table]:
    """The uniform numbers [1, d] of a prior of the world, and its table with its own rule."""
    place = table if table >= 0 else FURTHER - table
    rng = np.random.default_rng([seed, zlib.crc32(world.name.encode()), n, place])
    numbers = rng.random((1, dimensions(world)))
    truth = Truth.of(priors_of(world, numbers)[0])
    tally = truth.draw(n, rng)
    return numbers, Table(tally, truth.bayes[None, np.searchsorted(truth.x, tally.values)])


@lru_cache(maxsize=8)
def drawn(world: World, n: int, table: int, priors: int, seed: int) -> Table:
    """A table, and the priors that its own moves to."""
    numbers, (tally, _) = made(world, n, table, seed)
    return Table(tally, Hierarchical(world, priors, seed=table).draws_from(numbers, tally)[:, tally.values])


def play(name: str, n: int, table: int, methods: Sequence[Estimator], priors: int, seed: int = 0) -> list[Paid]:
    """What the floor's rule and every method pay on one table, and the control; alone on a further table, below 0."""
    world, known = worlds_of(name)
    if table < 0:
        return control(name, n, table, made(world, n, table, seed)[1])
    tally, exact = drawn(world, n, table, priors, seed)
    at, share = tally.values, tally.multiplicity / n
    rules = Hierarchical(known, priors, seed=table).averages(tally, POWERS)
    centre, at_least = exact.mean(axis=0), float(share @ exact.var(axis=0))

    def paid(method: str, answer: Floats, noise: Floats | float = 0.0) -> Paid:
        regret = at_least + float(share @ ((answer - centre) ** 2 - noise))
        away = (float(share @ ((answer - of.estimates[at]) ** 2 - of.errors[at] ** 2)) for of in rules.values())
        return Paid(name, n, table, method, regret, at_least, *away)

    own = paid(FLOOR, rules[1.0].estimates[at], rules[1.0].errors[at] ** 2)
    others = [paid(method.name, method(tally)(at)) for method in methods]
    return [own, *control(name, n, table, Table(tally, exact)), *others]


def control(name: str, n: int, table: int, seen: Table) -> list[Paid]:
    """The control of one table, if its world has one."""
    if name not in CONTROLS:
        return []
    method = CONTROLS[name][n > TOLD]
    if method == WEIGHING:
        value = by_weighing(worlds_of(name)[0], seen.tally)
    else:
        answer = find(method)(seen.tally)(seen.tally.values)
        value = float(((answer - seen.exact) ** 2).mean(axis=0) @ seen.tally.multiplicity / n)
    return [Paid(name, n, table, CONTROL, value, *[nan] * 5)]


def worlds_of(name: str) -> tuple[World, World]:
    """That of the tables, and that of the floor's rule."""
    return WORLDS[name] if name in WORLDS else (world_named(name),) * 2


def play_all(
    names: Sequence[str],
    sizes: Sequence[int],
    tables: int,
    methods: Sequence[Estimator],
    priors: int,
    output: Path | None = None,
    seed: int = 0,
    further: int = 0,
    error: float = 0.0,
) -> list[Paid]:
    """What every method pays on every table, played or read from the output.

    The control alone plays `further` tables. A world and size has its last table before `tables` where the floor's
    standard error is at most the share `error` of it.
    """
    if tables < 2 or min(sizes) < 1:
        raise InputError("give at least 1 unit and at least 2 tables")
    with Journal(output, FORMAT) as journal:
        have = {FORMAT.identity(row): row for row in journal.rows}
        cells: dict[tuple[str, int], list[Paid]] = {(name, n): [] for name in names for n in sizes}

        def add(cell: tuple[str, int], table: int, players: Sequence[str]) -> None:
            missing = {player for player in players if (*cell, table, player) not in have}
            if missing:
                rest = [method for method in methods if method.name in missing]
                new = [row for row in play(*cell, table, rest, priors, seed) if row.method in missing]
                journal.append(new)
                have.update({FORMAT.identity(row): row for row in new})
            cells[cell] += [have[*cell, table, player] for player in players]

        for cell in cells:
            for table in range(further if cell[0] in CONTROLS else 0):
                add(cell, -1 - table, [CONTROL])
        for table in range(tables):
            for cell, rows in cells.items():
                if table < FEWEST or not sure(rows, error):
                    add(cell, table, [FLOOR, *[CONTROL] * (cell[0] in CONTROLS), *(method.name for method in methods)])
        journal.finish()
        return [row for rows in cells.values() for row in rows]


def floor_of(rows: Iterable[Paid], column: str = "regret") -> Mean:
    """The mean over tables of one world and size of what the floor's rule pays, or of another column of its rows."""
    rows = list(rows)
    floor = np.array([getattr(row, column) for row in rows if row.method == FLOOR])
    controls, further = (
        np.array([row.regret for row in rows if row.method == CONTROL and (row.table < 0) == beyond])
        for beyond in (False, True)
    )
    return controlled(floor, controls, further) if further.size else controlled(floor)


def sure(rows: Iterable[Paid], error: float) -> bool:
    """Whether the standard error of the floor is at most a share of it."""
    floor = floor_of(rows)
    return floor.error <= error * floor.mean


def ratio_of_means(above: Floats, below: Floats) -> tuple[float, float]:
    """The ratio of the means of paired numbers, and its standard error.

    >>> ratio_of_means(np.array([2.0, 4.0]), np.array([1.0, 2.0]))
    (2.0, 0.0)
    """
    ratio = above.mean() / below.mean()
    return float(ratio), float((above - ratio * below).std(ddof=1) / np.sqrt(below.size) / below.mean())
