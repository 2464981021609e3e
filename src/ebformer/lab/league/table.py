"""The league table: what the losses on everyday priors say of each method, and the page that tells it."""

from __future__ import annotations

import datetime
import os
import platform
import shutil
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

import numpy as np

from ebformer import __version__
from ebformer.channels import channel_named
from ebformer.lab.arena.losses import Loss
from ebformer.lab.arena.summary import Cell, Interval, interval
from ebformer.lab.league.peers import PEERS, release
from ebformer.lab.league.priors import EVERYDAY
from ebformer.networks import zoo
from ebformer.report.text_table import TextTable

TITLES = {"poisson": "Counts", "normal": "Effects", "binomial": "Proportions"}
NEXT_TO_NOTHING = 1e-15
"""Regrets below this share of the mean squared error are rounding."""
LEAST = 0.01
"""A method that is exactly right on one prior has no regret there, which must not decide a mean over all."""
OURS = "priorformer"
COVERAGES = {"coverage": "all units", "top_tenth": "top tenth", "leader": "leader"}


def bar(channel: str) -> tuple[str, str]:
    """The two methods whose better one is the bar: the conjugate prior of the channel and npmle-em."""
    return channel_named(channel).conjugate or "npmle-em", "npmle-em"


def ratios(losses: Iterable[Loss]) -> dict[str, dict[Cell, dict[str, float]]]:
    """By channel and cell, every method's mean regret over that of the better of the two of the bar.

    Both are means over the tables that the method played. Which of the two is the bar is decided by all its tables,
    which favours it a little.
    """
    paid: dict[Cell, dict[str, dict[int | str, float]]] = {}
    for loss in losses:
        paid.setdefault(Cell(loss.data, loss.n), {}).setdefault(loss.estimator, {})[loss.case] = loss.regret
    found: dict[str, dict[Cell, dict[str, float]]] = {}
    for cell, of in paid.items():
        channel = cell.world.split()[0]
        if set(bar(channel)) <= set(of):
            best = of[min(bar(channel), key=lambda name: _mean(of[name], of[name]))]
            found.setdefault(channel, {})[cell] = {
                name: _mean(own, best) / _mean(best, own) for name, own in of.items() if own.keys() & best.keys()
            }
    return found


def _mean(regrets: Mapping[int | str, float], played: Container[int | str]) -> float:
    """Over the tables that somebody else played, too."""
    return max(float(np.mean([regret for case, regret in regrets.items() if case in played])), NEXT_TO_NOTHING)


def geometric(values: Sequence[float]) -> Interval:
    """The geometric mean and its 95 % interval over priors; no ratio counts as less than LEAST.

    >>> geometric([0.5, 2.0]).mean
    1.0
    """
    mean, low, high, units = interval(np.log(np.maximum(values, LEAST)))
    return Interval(float(np.exp(mean)), float(np.exp(low)), float(np.exp(high)), units)


def regret_table(channel: str, cells: dict[Cell, dict[str, float]], losses: Sequence[Loss]) -> TextTable:
    """Methods by sizes: the geometric mean over priors of regret over the bar, and how many tables a cell has."""
    sizes, names = _sizes(cells), _names(cells)

    def told(name: str, n: int | None) -> str:
        over = [of[name] for cell, of in cells.items() if name in of and n in (None, cell.n)]
        if not over:
            return "-"
        found = geometric(over)
        return f"{found.mean:.2f}" + ("" if np.isnan(found.low) else f" ({found.low:.2f} to {found.high:.2f})")

    tables = Counter(loss.estimator for loss in losses)
    rows = tuple(
        (
            name,
            *(told(name, n) for n in sizes),
            told(name, None),
            f"{tables[name] / sum(name in of for of in cells.values()):.2g}",
        )
        for name in names
    )
    conjugate, em = bar(channel)
    title = f"Regret over that of the better of {conjugate} and {em}: geometric mean over priors, 95 % interval"
    return TextTable(title, ("method", *(f"n = {n:,}" for n in sizes), "all", "tables per cell"), rows)


def best_table(cells: dict[Cell, dict[str, float]]) -> TextTable:
    """In how many cells a method has the lowest regret of all, and its highest ratio."""
    rows = []
    for name in _names(cells):
        played = {cell: of for cell, of in cells.items() if name in of}
        wins = sum(of[name] <= min(of.values()) for of in played.values())
        worst = max(played, key=lambda cell: played[cell][name])
        rows.append(
            (name, f"{wins} of {len(played)}", f"{played[worst][name]:.1f}", f"{_prior(worst)}, n = {worst.n:,}")
        )
    return TextTable("Lowest regret of all, and the worst cell", ("method", "lowest in", "worst", "where"), tuple(rows))


def coverage_table(losses: Sequence[Loss]) -> TextTable:
    """Methods by sizes: the share of 90 % intervals that hold theta, of all units, the top tenth and the leader."""
    sizes = sorted({loss.n for loss in losses})
    rows = []
    for name in dict.fromkeys(loss.estimator for loss in losses):
        told = []
        for n in sizes:
            of = [loss for loss in losses if loss.estimator == name and loss.n == n]
            held = [np.mean([getattr(loss, column) for loss in of]) if of else np.nan for column in COVERAGES]
            told.append("-" if np.isnan(held[0]) else " / ".join(f"{100 * share:.0f}" for share in held))
        if any(cell != "-" for cell in told):
            rows.append((name, *told))
    title = f"Percent of 90 % intervals that hold theta: {', '.join(COVERAGES.values())}; mean over priors"
    return TextTable(title, ("method", *(f"n = {n:,}" for n in sizes)), tuple(rows))


def time_table(losses: Sequence[Loss]) -> TextTable:
    """Methods by sizes: median milliseconds of a fit and its estimates."""
    sizes = sorted({loss.n for loss in losses})
    rows = []
    for name in dict.fromkeys(loss.estimator for loss in losses):
        of = [[loss.seconds for loss in losses if loss.estimator == name and loss.n == n] for n in sizes]
        rows.append((name, *(f"{1e3 * np.median(each):.3g}" if each else "-" for each in of)))
    title = "Median milliseconds of processor time of a fit and its estimates"
    return TextTable(title, ("method", *(f"n = {n:,}" for n in sizes)), tuple(rows))


def prior_table(cells: dict[Cell, dict[str, float]], name: str = OURS) -> TextTable:
    """One method prior by prior: its regret over the bar."""
    sizes, priors = _sizes(cells), list(dict.fromkeys(_prior(cell) for cell in cells))
    at = {(_prior(cell), cell.n): of[name] for cell, of in cells.items() if name in of}
    order = [prior.name for prior in EVERYDAY if prior.name in priors]
    rows = tuple((each, *(f"{at[each, n]:.2f}" if (each, n) in at else "-" for n in sizes)) for each in order)
    return TextTable(f"{name}, prior by prior: regret over the bar", ("prior", *(f"n = {n:,}" for n in sizes)), rows)


def losing(cells: dict[Cell, dict[str, float]], name: str = OURS) -> list[str]:
    """The priors on which a method is worse than the bar at the most sizes, worst first, with its ratios."""
    worse: dict[str, list[float]] = {}
    for cell, of in cells.items():
        if of.get(name, 0.0) > 1.0:
            worse.setdefault(_prior(cell), []).append(of[name])
    order = sorted(worse, key=lambda prior: -float(np.sum(np.log(worse[prior]))))
    return [f"{prior} (up to {max(worse[prior]):.1f}, at {len(worse[prior])} sizes)" for prior in order]


def tables(losses: Sequence[Loss]) -> dict[str, list[TextTable]]:
    """What is shown of every channel."""
    found, compared = {}, ratios(losses)
    for channel in (each for each in TITLES if each in compared):
        cells = compared[channel]
        of = [loss for loss in losses if loss.data.split()[0] == channel]
        found[channel] = [regret_table(channel, cells, of), best_table(cells), coverage_table(of), time_table(of)]
    return found


def page(losses: Sequence[Loss], command: str) -> str:
    """docs/league.md."""
    compared = ratios(losses)
    parts = [HEAD, _measured(losses, command), WHAT]
    for channel, shown in tables(losses).items():
        cells = compared[channel]
        worse = losing(cells)
        where = f"`{OURS}` is above the bar on {len(worse)} of {len({c.world for c in cells})} priors" + (
            f", most on {'; '.join(worse[:6])}." if worse else "."
        )
        parts += [f"## {TITLES[channel]}", where, *(table.markdown() for table in shown)]
        parts.append(prior_table(cells).markdown())
    return "\n\n".join(parts) + "\n"


def _measured(losses: Sequence[Loss], command: str) -> str:
    """Date, versions, weights, machine and command."""
    peers = [f"{name} {release(name)}" if release(name) else f"{name} (not installed)" for name in PEERS]
    peers.append("R " + ("was found, and is not asked" if shutil.which("Rscript") else "(not installed)"))
    rows = {
        "date": str(datetime.date.today()),
        "ebformer": __version__,
        f"weights of {OURS}": f"`{zoo.load(OURS).sha256[:16]}`",
        "other packages": ", ".join(peers),
        "Python, numpy": f"{platform.python_version()}, {np.__version__}",
        "machine": f"{os.cpu_count()} cores{_load()}",
        "processor time of all fits and estimates": f"{sum(loss.seconds for loss in losses) / 60:.0f} minutes",
        "numbers of units": ", ".join(f"{n:,}" for n in sorted({loss.n for loss in losses})),
        "command": f"`{command}`",
    }
    return "\n".join(["| | |", "| --- | --- |", *(f"| {what} | {told} |" for what, told in rows.items())])


def _load() -> str:
    """How busy the machine is, which the times depend on."""
    return f", {os.getloadavg()[0]:.0f} processes at a time when this was written" if hasattr(os, "getloadavg") else ""


def _sizes(cells: dict[Cell, dict[str, float]]) -> list[int]:
    return sorted({cell.n for cell in cells})


def _names(cells: dict[Cell, dict[str, float]]) -> list[str]:
    """Methods, the best first, by the geometric mean over the cells that they played."""
    names = {name for of in cells.values() for name in of}
    return sorted(names, key=lambda name: geometric([of[name] for of in cells.values() if name in of]).mean)


def _prior(cell: Cell) -> str:
    return cell.world.partition(" ")[2]


HEAD = """# The league table

Every method of ours that answers with a prior, no shrinkage at all (`mle`), and what else was installed, on thirty
everyday priors of rates, twelve of effects and twelve of proportions. The page is written by the command below, which
continues after a kill."""
WHAT = """*Regret* is the mean squared distance to the answer of one who knows the prior, an exact number for every
table. It is compared with that of the **bar**: the better, in each cell of prior and size, of the conjugate method
(`gamma`, `normal`, `beta`) and `npmle-em`. All methods see the same tables; intervals are over priors, as if these were
drawn from all that people meet. Below 1 is better than the bar. The bar is chosen on the same tables, which favours it:
the more so the fewer tables there are. The conjugate method is exactly right on some priors, and nobody can hope to
beat it there. Where a method played fewer tables than the others, it is compared with the bar on those alone. No ratio
counts as less than 0.01, so that a prior on which a method is right by definition does not decide its mean: `ashrink`
has its point mass at 0, where three priors of effects have all or most of theirs.

*Coverage* is the chance, given the data and under the true prior, that a 90 % interval holds theta; the *top tenth* and
the *leader* are those with the highest estimates. Priors with a few atoms count too: there an interval can hardly cover
exactly nine tenths.

Names of priors are definitions: gamma by shape and mean, lognormal by sigma and median, pareto by index and least
value. They live in `ebformer.lab.league.priors`. Counts have exposure 1, but for the last six priors, whose exposures
are log-uniform from 0.2 to 5; effects have standard error 1 or, for the last six, 0.3 to 3; proportions 20 trials or 10
to 400. `ashrink` has to be told a mode: the overall rate or proportion, and 0 for effects. `minimax`, which needs a
largest rate, and networks without a prior do not play."""
