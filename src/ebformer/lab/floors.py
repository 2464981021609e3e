"""Floors: the least regret that a world allows, and how far methods are above it.

Given a table, theta_G(x) is spread around the hierarchical Bayes rule, and the mean of that spread over tables is the
floor. An answer a(x) pays the spread and (a(x) - rule(x))^2 on average over all priors that could have made the table:
an exact mean in place of what the one prior that did happens to cost, which would take ten times as many tables.
"""

from __future__ import annotations

import datetime
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ebformer import __version__
from ebformer.distributions import Floats
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator
from ebformer.lab.arena.losses import Truth
from ebformer.lab.hierarchical import Averaged, Hierarchical
from ebformer.lab.journal import Journal
from ebformer.lab.rows import Format
from ebformer.lab.worlds import Multinomial, Neural, PaperThetaMax, Universal, World, world_named
from ebformer.report.text_table import TextTable

POWERS = (0.25, 0.5, 0.75, 1.0)
FLOOR = "hierarchical"
WORLDS: dict[str, tuple[World, World]] = {
    "neural": (Neural(), Neural()),
    "neural-unknown": (Neural(), Neural(PaperThetaMax())),
    "multinomial": (Multinomial(), Multinomial()),
    "universal": (Universal(), Universal()),
    **{name: (world_named(name), world_named(name)) for name in ("gamma", "lognormal", "zero-inflated")},
}
"""The world that tables are drawn from, and the one whose Bayes rule is the floor: in `neural-unknown` it has to find
theta_max, which is 50 but has the paper's law as far as the rule knows."""


class Paid(NamedTuple):
    """What a method pays on one table of a world: on average given the table (`regret`), and as it turned out.

    The others are squared distances from the rules of the likelihood to the powers 1/4, 1/2, 3/4 and 1, less what
    the noise of the draws adds to them.
    """

    world: str
    n: int
    table: int
    method: str
    regret: float
    turned_out: float
    quarter: float
    half: float
    three_quarters: float
    whole: float


FORMAT = Format.of(Paid, identity=lambda paid: paid[:4])


def play(name: str, n: int, table: int, methods: Sequence[Estimator], priors: int, seed: int = 0) -> list[Paid]:
    """What the floor's rule and every method pay on one table."""
    world, known = WORLDS[name] if name in WORLDS else (world_named(name),) * 2
    rng = np.random.default_rng([seed, zlib.crc32(name.encode()), n, table])
    truth = Truth.of(world.draw(rng))
    tally = truth.draw(n, rng)
    at, share, exact = tally.values, tally.multiplicity / n, truth.bayes[np.searchsorted(truth.x, tally.values)]
    given = Hierarchical(world, priors, seed=table).averages(tally, POWERS if known == world else POWERS[-1:])
    sought = given if known == world else Hierarchical(known, priors, seed=table).averages(tally, POWERS)
    best, rule = given[1.0], sought[1.0]

    def squared(answer: Floats, of: Averaged, error: Floats | float = 0.0) -> float:
        return float(share @ ((answer - of.estimates[at]) ** 2 - of.errors[at] ** 2 - error))

    answers = [(FLOOR, rule.estimates[at]), *((method.name, method(tally)(at)) for method in methods)]
    noise = [rule.errors[at] ** 2 if rule is not best else -(best.errors[at] ** 2), *[0.0] * len(methods)]
    rows, spread = [], float(share @ best.spread[at])
    for (method, answer), error in zip(answers, noise, strict=True):
        distances = [squared(answer, sought[power]) for power in POWERS]
        turned_out = float(share @ (answer - exact) ** 2)
        rows.append(Paid(name, n, table, method, spread + squared(answer, best, error), turned_out, *distances))
    return rows


def play_all(
    names: Sequence[str],
    sizes: Sequence[int],
    tables: int,
    methods: Sequence[Estimator],
    priors: int,
    output: Path | None = None,
    seed: int = 0,
) -> list[Paid]:
    """What every method pays on every table, played or read from the output."""
    if tables < 2 or min(sizes) < 1:
        raise InputError("give at least 1 unit and at least 2 tables")
    cells = [(name, n, table) for table in range(tables) for name in names for n in sizes]
    players = [FLOOR, *(method.name for method in methods)]
    with Journal(output, FORMAT) as journal:
        have = {FORMAT.identity(row) for row in journal.rows}
        for cell in cells:
            missing = {player for player in players if (*cell, player) not in have}
            if missing:
                rest = [method for method in methods if method.name in missing]
                journal.append([row for row in play(*cell, rest, priors, seed) if row.method in missing])
        asked = {(*cell, player) for cell in cells for player in players}
        return [row for row in journal.finish() if FORMAT.identity(row) in asked]


def floor_table(rows: Iterable[Paid]) -> TextTable:
    """Worlds and sizes: the floor, what its rule turned out to pay, and every method's regret over the floor.

    Beside each ratio stands the power of the likelihood whose rule the method is nearest to.
    """
    cells: dict[tuple[str, int], dict[str, list[Paid]]] = {}
    for row in rows:
        cells.setdefault((row.world, row.n), {}).setdefault(row.method, []).append(row)
    order = [*WORLDS, *dict.fromkeys(world for world, _ in cells if world not in WORLDS)]
    methods = list(dict.fromkeys(method for of in cells.values() for method in of if method != FLOOR))
    told = []
    for (world, n), of in sorted(cells.items(), key=lambda cell: (order.index(cell[0][0]), cell[0][1])):
        least, turned = (np.array([getattr(row, name) for row in of[FLOOR]]) for name in ("regret", "turned_out"))
        line = [f"{world} {n}", *(f"{each.mean():.4f} ± {standard_error(each):.4f}" for each in (least, turned))]
        for method in methods:
            ratio, error = ratio_of_means(np.array([paid.regret for paid in of[method]]), least)
            distance = np.array([paid[6:] for paid in of[method]]).mean(axis=0)
            line.append(f"{ratio:.2f} ± {error:.2f} ({POWERS[int(distance.argmin())]:g})")
        told.append((*line, str(least.size)))
    title = "The floor, and regret over it (and the nearest power of the likelihood), ± one standard error"
    return TextTable(title, ("world, n", "floor", "as it turned out", *methods, "tables"), tuple(told))


def floor_page(rows: Sequence[Paid], command: str) -> str:
    """docs/floors.md."""
    measured = f"Measured {datetime.date.today()} with ebformer {__version__} by `{command}`."
    return "\n\n".join([HEAD, measured, floor_table(rows).markdown(), NOTES]) + "\n"


HEAD = """# Floors

How much regret is left for anybody to save? Nobody can do better, on average over the priors of a world, than the
world's own Bayes rule, which averages over all priors that could have made the table. Its regret is the *floor*. The
table has the floor of some worlds for Poisson counts up to about 50, and every network's regret divided by it. 1.00
is as good as can be. A network that knows another world may be far above the floor and still good: it does not know
what the floor's rule knows. In brackets is the power of the likelihood whose rule the network is nearest to: 1 is
Bayes' rule, and less is a rule that trusts its table less, as networks do beyond the sizes they were trained on."""
NOTES = """`neural` priors end at 50, and the rule knows it; in `neural-unknown` it does not, and takes the paper's law
of theta_max. `universal` priors have ten atoms. `gamma`, `lognormal` and `zero-inflated` are everyday priors with two
or three numbers to find, so that their floors are low: no method without that knowledge gets near.

The floor is an average over all priors given a table, which is exact but for the draws. *As it turned out* is what the
rule paid against the one prior that did make the table, a noisier figure of the same mean. Where it is larger by more
than chance, the draws are too few to represent all priors, and the floor lies between the two figures."""


def standard_error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size))


def ratio_of_means(above: Floats, below: Floats) -> tuple[float, float]:
    """The ratio of the means of paired numbers, and its standard error.

    >>> ratio_of_means(np.array([2.0, 4.0]), np.array([1.0, 2.0]))
    (2.0, 0.0)
    """
    ratio = above.mean() / below.mean()
    return float(ratio), float((above - ratio * below).std(ddof=1) / np.sqrt(below.size) / below.mean())
