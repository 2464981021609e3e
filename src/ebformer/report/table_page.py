"""The report on a table: what shrinkage did, the prior, whether the model fits, the extreme units, the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ebformer import __version__
from ebformer.binning import coarsened
from ebformer.check import ENOUGH
from ebformer.comparison import Score, margin
from ebformer.report import everyday_figures as figures
from ebformer.report.cells import cell, is_number, percent
from ebformer.report.labels import label_column
from ebformer.report.page import Page, Picture, Rows, Section
from ebformer.report.style import inline_svg
from ebformer.rule import Rule
from ebformer.tables.columns import Columns
from ebformer.tables.duck import DuckTable
from ebformer.tables.shrink import Shrunken
from ebformer.tally import Tally

MOST_ROWS = 2000
"""Rows in the page's table: enough to browse, few enough for a phone."""
MOST_GROUPS = 6
"""Groups with pictures of their own, the largest first; one of a single unit has nothing to show."""
EXTREMES = 12
"""Units at either end of the caterpillar plot."""


def table_page(file: str, table: Shrunken, scores: Sequence[Score], label: str | None = None) -> Page:
    """The whole page about a file; `scores` compare methods, `label` is the column that names units."""
    columns, tallies = table.observations.columns, table.observations.tallies()
    units = sum(tally.n for tally in tallies.values())
    words, mean = columns.channel.words, table.observations.tally().mean
    events = sum(int(tally.values @ tally.multiplicity) for tally in tallies.values() if columns.channel.whole)
    method = next(iter(table.fit.rules.values())).method
    unit, name = _unit(columns), "standard input" if file == "-" else Path(file).name
    return Page(
        title=f"{unit} in {name}",
        lead=f"The hidden {words.theta} of every unit, {unit}, estimated by {method} from {_sources(method, columns)}.",
        facts=[
            ("units", f"{units:,}"),
            *([(columns.x, f"{events:,}")] if columns.channel.whole else []),
            (f"mean {unit}", cell(mean)),
            ("distinct observations", f"{table.observations.x.size:,}"),
            ("method", method),
            *([("intervals", percent(table.wanted.level))] if _has_intervals(table) else []),
            *(
                [("left out, with a missing entry", f"{table.observations.missing:,}")]
                if table.observations.missing
                else []
            ),
        ],
        sections=[
            *_group_sections(table, tallies),
            _extremes(table, mean, label),
            *([_comparison(scores, columns)] if scores else []),
            _all_rows(table, units),
        ],
        footer=f"Made by ebformer {__version__} from {name}; it fetches nothing from elsewhere.",
    )


def _sources(method: str, columns: Columns) -> str:
    """What the estimate of a unit draws on, and what that does to extremes."""
    if method == "mle":
        return f"its own {columns.channel.words.x} alone: nothing is shrunk, and noisy extremes stay where they are"
    units = "all units" if columns.group is None else f"all units of its {columns.group}"
    return f"{units} together: noisy extremes move towards what the other units make plausible"


def _group_sections(table: Shrunken, tallies: Mapping[str | None, Tally]) -> list[Section]:
    largest = sorted(tallies, key=lambda group: -tallies[group].n)
    notes = [f"{note[0].upper()}{note[1:]}." for note in table.remarks]
    if table.observations.columns.group is None:
        return [_group_section(table, None, tallies[None], "", notes)]
    drawn = [group for group in largest[:MOST_GROUPS] if tallies[group].n > 1]
    if not drawn:
        notes.append("No group has more than one unit, so there is nothing to learn from and nothing to draw.")
    elif len(drawn) < len(largest):
        which = "the largest" if len(drawn) == 1 else f"the {len(drawn)} largest"
        notes.append(f"Pictures are shown for {which} of {len(largest):,} groups; the rows have all.")
    about_all = [Section("About all groups", notes)] if notes else []
    return about_all + [
        _group_section(table, group, tallies[group], f" in {table.observations.columns.group} {group}", [])
        for group in drawn
    ]


def _group_section(table: Shrunken, group: str | None, tally: Tally, where: str, notes: list[str]) -> Section:
    rule, check, unit = table.fit.rules[group], table.checks[group], _unit(table.observations.columns)
    words = tally.channel.words
    shown = [
        Picture(
            inline_svg(figures.shrinkage(coarsened(tally), rule, unit, table.wanted.level), f"Shrinkage{where}"),
            "Points on the dashed line were left alone; the further off, the more was judged to be luck."
            " The larger a point, the more units share it.",
        )
    ]
    if rule.prior is not None:
        shown += [
            Picture(
                inline_svg(figures.mixing(rule.prior, unit, tally.channel), f"Estimated prior{where}"),
                f"How the {words.thetas} are spread over units, as far as the {words.xs} can tell.",
            ),
            Picture(
                inline_svg(figures.rootogram(tally, rule), f"Fit{where}"),
                f"Bars hang from the fitted curve: those that end below zero mark {words.xs} that are more frequent"
                " than the model says, those that end above it rarer ones.",
            ),
        ]
    if rule.prior is not None and tally.n >= ENOUGH:
        shown.append(
            Picture(
                inline_svg(figures.calibration(check.pit, words.xs), f"Calibration{where}"),
                f"Where each {words.x} falls in its predicted distribution: flat when the model fits, a hump when it"
                " expects too much variation, a dip when too little.",
            )
        )
    # A method without a prior is told of counts that no prior fits, but has nothing that could be said to fit.
    checked = [f"Model check: {check.sentence}."] if rule.prior is not None or not check.fits else []
    return Section(
        f"What shrinkage did{where}", [_moved(tally, rule, table.observations.columns), *checked, *notes], shown
    )


def _moved(tally: Tally, rule: Rule, columns: Columns) -> str:
    """The most telling example in one sentence: what became of the highest raw theta."""
    raw, words = tally.channel.mle(tally.x, tally.known), tally.channel.words
    top = int(raw.argmax())
    estimate = rule(tally.values[top], tally.known[top])
    seen = f"{tally.values[top]:,} {columns.x}"
    if columns.known is not None:
        seen = _seen(columns, cell(tally.values[top].item()), cell(float(tally.known[top])))
        seen += f", a {words.theta} of {cell(float(raw[top]))}" if tally.channel.whole else ""
    return f"The highest raw {words.theta}, {seen}, is estimated at {cell(float(estimate))}."


def _seen(columns: Columns, x: object, known: object) -> str:
    """One observation in words, by the names of its columns."""
    unit = columns.role("known") or columns.channel.words.known
    return columns.channel.words.seen.format(x=x, name=columns.x, known=known, unit=unit)


def _extremes(table: Shrunken, mean: float, label: str | None) -> Section:
    # Rows without an answer are left out here: a WHERE would make DuckDB compare every row with every observation.
    order = "SELECT * FROM ebformer_given ORDER BY estimate {} NULLS LAST LIMIT {}"
    top, lowest = (
        [row for row in _fetch(table, order.format(way, EXTREMES)) if row["estimate"] is not None]
        for way in ("DESC", "ASC")
    )
    bottom = [row for row in reversed(lowest) if row not in top]
    rows, columns = top + bottom, table.observations.columns
    x, known = (
        np.array([float(row[name]) if name is not None else columns.constant for row in rows], dtype=np.float64)
        for name in (columns.x, columns.role("known"))
    )
    raw = columns.channel.mle(x, known)
    estimate = np.array([float(row["estimate"]) for row in rows])
    with_intervals = _has_intervals(table)
    lower, upper = (
        (np.array([float(row[end]) for row in rows]) if with_intervals else None) for end in ("lower", "upper")
    )
    figure = figures.caterpillar(_names(table, rows, label), raw, estimate, lower, upper, _unit(columns), mean)
    lines = f"lines are {percent(table.wanted.level)} intervals, " if with_intervals else ""
    raw_ones = f"circles the raw {columns.channel.words.theta} of each"
    caption = f"The highest and lowest estimates; {lines}{raw_ones}; dashed, the mean of all units."
    return Section("The extreme units", pictures=[Picture(inline_svg(figure, "Highest and lowest units"), caption)])


def _unit(columns: Columns) -> str:
    """What thetas are measured in."""
    return columns.x + (f" / {columns.role('known')}" if columns.role("known") and columns.channel.whole else "")


def _has_intervals(table: Shrunken) -> bool:
    """Whether the answers have intervals."""
    return "lower" in table.fit.new_columns(table.wanted)


def _names(table: Shrunken, rows: list[dict[str, Any]], label: str | None) -> list[str]:
    """What to call units: by their label or, without one, by what was seen of them, with their group."""
    columns: Columns = table.observations.columns
    taken = {columns.x, columns.role("known"), columns.group, *table.fit.new_columns(table.wanted)}
    name = label or label_column(rows, taken)
    if name is not None:
        entries = ["" if row[name] is None else str(row[name]) for row in rows]
        return [f"{name} {entry}" for entry in entries] if all(map(str.isdecimal, entries)) else entries
    group, known, seen = columns.group, columns.role("known"), columns.channel.words.seen
    return [
        (f"{row[group]}: " if group else "")
        + (
            " ".join(seen.format(x=row[columns.x], name="", known=row[known], unit="").split())
            if known
            else f"{row[columns.x]}"
        )
        for row in rows
    ]


def _comparison(scores: Sequence[Score], columns: Columns) -> Section:
    able = [score for score in scores if score.refusal is None]
    excess, error = (np.array([getattr(score, name) for score in able]) for name in ("excess", "excess_se"))
    excess = np.where(np.isfinite(excess), excess, np.nan)  # of a method that held an observation impossible
    figure = figures.comparison([score.method for score in able], excess, error)
    words, parts = columns.channel.words, columns.channel.advice.parts
    sentence = f"{able[0].method} predicts held-out parts of these {words.xs} best{margin(scores)}. {parts}"
    weighted = f", in which units count by their {columns.role('known')}" if columns.role("known") else ""
    caption = f"Mean squared error above the best method's{weighted}, with 95 % intervals."
    return Section(
        "Which method suits this table", [sentence], [Picture(inline_svg(figure, "Methods compared"), caption)]
    )


def _all_rows(table: Shrunken, units: int) -> Section:
    rows = _fetch(table, f"SELECT * FROM ebformer_given ORDER BY estimate DESC NULLS LAST LIMIT {MOST_ROWS}")
    names = list(rows[0])
    numeric = [all(is_number(row[name]) for row in rows) for name in names]
    cells = [[cell(row[name]) for name in names] for row in rows]
    note = f"The {MOST_ROWS:,} highest of {units:,}." if units > MOST_ROWS else ""
    return Section("Rows", rows=Rows(names, numeric, cells, note))


def _fetch(table: Shrunken, sql: str) -> list[dict[str, Any]]:
    found = DuckTable(table.rows).ask(sql)
    return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
