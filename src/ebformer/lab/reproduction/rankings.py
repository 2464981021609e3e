"""Who is ahead, and is it more than chance: Plackett-Luce coefficients and paired t-tests beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ebformer.lab.arena.paired_t import paired_t, show_p
from ebformer.lab.arena.plackett_luce import PlackettLuce, plackett_luce
from ebformer.lab.arena.summary import Paired
from ebformer.lab.reproduction.compare import Entry, beside, named, out_of, paper

UNDECIDED = "undecided"
NOT_IDENTIFIED = (
    "* A group of methods won every time, so the likelihood has no maximum: the regularised value says who is ahead."
)


def ranked(tables: Mapping[str, Paired], item: str, what: str) -> Entry:
    """Plackett-Luce coefficients in the rows of the paper's table, with the half width of their intervals."""
    theirs = {row: numbers for row, numbers in paper(item).items() if row in tables}
    # Minimax is the oracle of its own prior, and the paper leaves it out there: its coefficient is None.
    kept = {
        row: only(tables[row], ("mle", *(name for name, coefficient in numbers.items() if coefficient is not None)))
        for row, numbers in theirs.items()
    }
    fits = {row: plackett_luce(paired) for row, paired in kept.items()}
    halves = {row: half_widths(fits[row], paired) for row, paired in kept.items() if fits[row].identified}

    def ours(row: str, name: str) -> str:
        if name not in kept[row].estimators:
            return "-"
        return f"{fits[row][name]:.2f}" + (f" ± {halves[row][name]:.2f}" if row in halves else "*")

    first = {row: _leader({n: c for n, c in of.items() if c is not None}) for row, of in theirs.items()}
    leading = {row: _leader(dict(zip(fit.estimators, fit.coefficients, strict=True))) for row, fit in fits.items()}
    others = [f"{row} (theirs {first[row]}, ours {leading[row]})" for row in theirs if first[row] != leading[row]]
    word = f"The same method leads in {out_of(len(theirs) - len(others), len(theirs))} rows"
    word += f"; it differs in {named(others)}." if others else "."
    word += (
        " Coefficients depend on how often every method upsets every other, so with networks other than the published "
        "ones only their order can be compared."
    )
    title = f"Plackett-Luce coefficients by {what}, MLE at 0, ± half of the 95 % interval"
    notes = [NOT_IDENTIFIED] if len(halves) < len(theirs) else []
    return Entry(word, [beside(title, theirs, ours, notes)])


def _leader(coefficients: Mapping[str, float]) -> str:
    return max(coefficients, key=lambda name: coefficients[name])


def half_widths(fit: PlackettLuce, paired: Paired) -> dict[str, float]:
    """Half of the 95 % intervals of Plackett-Luce coefficients, from the information of the observed rankings.

    At every stage of a ranking the next is chosen among those left with probabilities p = softmax(coefficients), which
    adds diag(p) - p p' to the information; the MLE is fixed at 0.
    """
    strength, size = np.asarray(fit.coefficients), len(fit.estimators)
    information = np.zeros((size, size))
    for order in np.argsort(paired.values, axis=1, kind="stable"):
        for stage in range(size - 1):
            left = order[stage:]
            p = np.exp(strength[left] - strength[left].max())
            p /= p.sum()
            information[np.ix_(left, left)] += np.diag(p) - np.outer(p, p)
    free = [i for i, name in enumerate(fit.estimators) if name != "mle"]
    error = np.sqrt(np.diag(np.linalg.inv(information[np.ix_(free, free)])))
    return {fit.estimators[i]: float(1.96 * e) for i, e in zip(free, error, strict=True)}


def only(paired: Paired, names: tuple[str, ...]) -> Paired:
    """The table with some of its methods."""
    kept = [i for i, name in enumerate(paired.estimators) if name in names]
    return Paired(tuple(paired.estimators[i] for i in kept), paired.cases, paired.values[:, kept])


def significance(tables: Mapping[str, Paired], network: str, item: str, what: str) -> Entry:
    """Paired tests in the rows of the paper's table: our mean difference with its interval, our p-value and theirs."""
    played = {row for row, paired in tables.items() if network in paired.estimators}
    theirs = {row: numbers for row, numbers in paper(item).items() if row in played}
    tests = {
        (row, name): paired_t(tables[row], network, name)
        for row, numbers in theirs.items()
        for name, p in numbers.items()
        if p is not None and name in tables[row].estimators
    }

    def ours(row: str, name: str) -> str:
        test = tests.get((row, name))
        return "-" if test is None else f"{test.difference.mean:.3g} ± {test.difference.half_width:.2g}, {show_p(test)}"

    calls = {key: (_call(p_value(theirs[key[0]][key[1]])), _call(test.p)) for key, test in tests.items()}
    same = sum(a == b for a, b in calls.values())
    open_here = sum(a != b == UNDECIDED for a, b in calls.values())
    others = [f"{row}, {name} (theirs {a}, ours {b})" for (row, name), (a, b) in calls.items() if a != b != UNDECIDED]
    agreeing = out_of(same, len(calls))
    word = f"Lower, higher or undecided, two-sided at 5 %: the same conclusion as the paper's in {agreeing} cells"
    word += f"; {open_here} that it decides are undecided with our fewer cases" if open_here else ""
    word += f"; another in {named(others)}." if others else "."
    title = f"{network} minus the column's mean {what}, ± half of the 95 % interval, and the one-sided p-value"
    return Entry(word, [beside(title, theirs, ours)])


def p_value(printed: Any) -> float:
    """A p-value as the paper prints it.

    >>> p_value("<1e-100"), p_value("1-1.92e-6") > 0.99, p_value(0.0252)
    (0.0, True, 0.0252)
    """
    if not isinstance(printed, str):
        return float(printed)
    return 0.0 if printed.startswith("<") else 1.0 - float(printed.removeprefix(">").partition("1-")[2])


def _call(p: float) -> str:
    return "lower" if p < 0.025 else "higher" if p > 0.975 else UNDECIDED
