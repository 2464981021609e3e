"""Section 6 and appendix F: hockey, baseball and books."""

from __future__ import annotations

from ebformer.lab.arena.summary import interval, pair_by_data
from ebformer.lab.figures import fielddata_figures
from ebformer.lab.reproduction.bench import Bench
from ebformer.lab.reproduction.compare import Entry, beside, named, out_of, paper
from ebformer.lab.reproduction.rankings import ranked, significance

DIFFERENT = {
    "nhl": "seasons to 2012 instead of 2019",
    "mlb": "seasons to 2009 instead of 2017",
    "books": "other books than BookCorpusOpen's 17,857",
}


def improvement(error: str, bench: Bench) -> Entry:
    """The table of percent improvements over the MLE, and the violins."""
    tables, theirs = pair_by_data(bench.scores, f"{error}_improvement"), paper(f"tab-{error}")
    found = {(row, name): interval(tables[row][name]) for row, of in theirs.items() for name in of}

    def ours(row: str, name: str) -> str:
        of = found[row, name]
        return f"{of.mean:.2f} ± {of.half_width:.2f}"

    apart = [
        f"{row}, {name}"
        for (row, name), of in found.items()
        if abs(of.mean - theirs[row][name][0]) > of.half_width + theirs[row][name][1]
    ]
    first = {row: max(of, key=lambda name, of=of: of[name][0]) for row, of in theirs.items()}  # type: ignore[misc]
    leading = {row: max(of, key=lambda name, row=row: found[row, name].mean) for row, of in theirs.items()}  # type: ignore[misc]
    others = [f"{row} (theirs {first[row]}, ours {leading[row]})" for row in theirs if first[row] != leading[row]]
    word = (
        f"The two intervals overlap in {out_of(len(found) - len(apart), len(found))} cells"
        + (f", but not in {named(apart)}. " if apart else ". ")
        + f"The same method leads in {out_of(len(theirs) - len(others), len(theirs))} data sets"
        + (f"; it differs in {named(others)}. " if others else ". ")
        + "The data are not quite the paper's: "
        + ", ".join(f"{data}: {how}" for data, how in DIFFERENT.items())
        + "."
    )
    title = f"Percent improvement of {error.upper()} over MLE, mean over cases with 95 % interval"
    figure = fielddata_figures.violins(bench.scores, error)
    caption = f"{error.upper()} of each method over that of the MLE, case by case; bars are quartiles."
    return Entry(word, [beside(title, theirs, ours)], [(figure, caption)])


def plackett_luce_real(error: str, bench: Bench) -> Entry:
    """A table of Plackett-Luce coefficients."""
    return ranked(pair_by_data(bench.scores, error), f"tab-pl-{error}", error.upper())


def t_real(error: str, network: str, bench: Bench) -> Entry:
    """A table of p-values."""
    return significance(pair_by_data(bench.scores, error), network, f"tab-t-{error}-{network}", error.upper())
