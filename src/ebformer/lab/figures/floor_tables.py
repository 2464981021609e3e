"""What is told of floors: the table of all methods, its page, and the section of a network's card."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence

import numpy as np

from ebformer import __version__
from ebformer.lab.floors import CONTROL, FLOOR, POWERS, WORLDS, Paid, floor_of, ratio_of_means
from ebformer.report.text_table import TextTable

SECTION = "Over the floor"
Cells = dict[tuple[str, int], dict[str, list[Paid]]]


def in_cells(rows: Iterable[Paid]) -> Cells:
    """By world and size, in the order of the page, and method."""
    cells: Cells = {}
    for row in rows:
        cells.setdefault((row.world, row.n), {}).setdefault(row.method, []).append(row)
    order = [*WORLDS, *dict.fromkeys(world for world, _ in cells if world not in WORLDS)]
    return dict(sorted(cells.items(), key=lambda cell: (order.index(cell[0][0]), cell[0][1])))


def over_floor(paid: Sequence[Paid], floor: Sequence[Paid]) -> str:
    """The ratio of mean regrets on the same tables, ± its standard error."""
    ratio, error = ratio_of_means(*(np.array([row.regret for row in rows]) for rows in (paid, floor)))
    return f"{ratio:.2f} ± {error:.2f}"


def floor_table(rows: Iterable[Paid]) -> TextTable:
    """Worlds and sizes: the floor, what it is at least, and every method's regret over the floor.

    Beside each ratio stands the power of the likelihood whose rule the method is nearest to.
    """
    cells = in_cells(rows)
    methods = list(dict.fromkeys(method for of in cells.values() for method in of if method not in (FLOOR, CONTROL)))
    told = []
    for (world, n), of in cells.items():
        bounds = (floor_of([*of[FLOOR], *of.get(CONTROL, [])], column) for column in ("regret", "at_least"))
        line = [f"{world} {n}", *(f"{bound.mean:.3g} ± {bound.error / bound.mean:.1%}" for bound in bounds)]
        for method in methods:
            nearest = POWERS[int(np.mean([paid.distances for paid in of[method]], axis=0).argmin())]
            line.append(f"{over_floor(of[method], of[FLOOR])} ({nearest:g})")
        told.append((*line, str(len(of[FLOOR]))))
    title = "The floor, and regret over it (and the nearest power of the likelihood), ± one standard error"
    return TextTable(title, ("world, n", "floor", "at least", *methods, "tables"), tuple(told))


def floor_page(rows: Sequence[Paid], command: str) -> str:
    """docs/floors.md."""
    return "\n\n".join([HEAD, measured(command), floor_table(rows).markdown(), NOTES]) + "\n"


def card_with_floors(card: str, name: str, rows: Sequence[Paid], command: str) -> str:
    """The card of a network with its row of every world, in a section that is written anew."""
    cells = in_cells(rows)
    sizes = sorted({n for _, n in cells})
    told = []
    for world in dict.fromkeys(world for world, _ in cells):
        of = [cells.get((world, n), {}) for n in sizes]
        told.append((world, *(over_floor(each[name], each[FLOOR]) if name in each else "-" for each in of)))
    title = "Mean regret over the least that the world allows, ± one standard error"
    table = TextTable(title, ("world", *(f"n = {n:,}" for n in sizes)), tuple(told))
    words = "1.00 is as good as can be for one who knows the world; docs/floors.md has the floors and all networks."
    return with_section(card, SECTION, "\n\n".join([table.markdown(), words, measured(command)]))


def with_section(page: str, title: str, text: str) -> str:
    """The page with one section written anew, at the end if there was none.

    >>> with_section("# A\\n\\n## B\\n\\nold\\n\\n## C\\n\\nstays\\n", "B", "new")
    '# A\\n\\n## B\\n\\nnew\\n\\n## C\\n\\nstays\\n'
    """
    before, _, after = page.partition(f"\n## {title}\n")
    _, more, rest = after.partition("\n## ")
    return f"{before.rstrip()}\n\n## {title}\n\n{text}\n" + (f"\n## {rest}" if more else "")


def measured(command: str) -> str:
    return f"Measured {datetime.date.today()} with ebformer {__version__} by `{command}`."


HEAD = """# Floors

How much regret is left for anybody to save? Nobody can do better, on average over the priors of a world, than the
world's own Bayes rule, which averages over all priors that could have made the table. Its regret is the *floor*. The
table has the floor of some worlds for Poisson counts up to about 50, and every network's regret divided by it. 1.00
is as good as can be. A network that knows another world may be far above the floor and still good: it does not know
what the floor's rule knows. In brackets is the power of the likelihood whose rule the network is nearest to: 1 is
Bayes' rule, and less is a rule that trusts its table less, as networks do beyond the sizes they were trained on."""
NOTES = """`neural` priors end at 50, and the rule knows it; in `neural-unknown` it does not, and takes the paper's law
of theta_max. T24f was trained up to 50 and knows it too: there it may pay less than the rule. `universal` priors have
ten atoms. `gamma`, `lognormal` and `zero-inflated` are everyday priors with two or three numbers to find, so that their
floors are low: no method without that knowledge gets near.

How sure is it? Table and prior are drawn together, so that the prior is itself a draw from all priors given the table;
moves that keep this law lead from it to others, and a method's regret is its mean over them: exact on average, however
well they mix. The *floor* is the regret, in this sense, of a rule that knows the table alone, averaged over priors
that are drawn without knowing the one that made it, less the noise of these draws. No rule pays less than the best, so
that the floor can only be too high. *At least* is how far the priors that the true one moved to differ about their
mean: on average this can only be too low. The least regret lies between the two. In `neural-unknown` *at least* is the
bound of one who is told theta_max, so that the two lie further apart.

Means over tables are made surer by control variates: numbers that follow the floor from table to table, and whose own
means are known from many further tables. They are the regret of T24f in `neural`, of T24r in `neural-unknown`, beyond
512 units of T24u and T24ur there, and of T24u in `universal`; in `gamma`, `lognormal` and `zero-inflated` how far many
priors differ that are weighed by the table."""
