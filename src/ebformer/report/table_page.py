"""The report on a table, by the order of a reader's questions: the answer, the units, pictures, and whether it fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ebformer import __version__
from ebformer.comparison import Score
from ebformer.report.cells import cell, percent, sentence
from ebformer.report.choropleth import Areas
from ebformer.report.columns import Heading, headings
from ebformer.report.document import Document, Filter
from ebformer.report.figures import Figures
from ebformer.report.findings import Findings, fit_sentence
from ebformer.report.rows import LOWEST, MOST_ROWS, Reader, Units
from ebformer.tables.answers import LEADING
from ebformer.tables.shrink import Shrunken
from ebformer.tally import Tally

BUDGET = 2_000_000
"""Bytes of a page: one that would be larger leaves out columns that play no part, then rows."""
MOST_FILTERS, MOST_ENTRIES = 4, 20
"""Columns that rows can be narrowed down by, and how many entries each may have; groups may have more."""


def table_page(
    file: str, table: Shrunken, scores: Sequence[Score], label: str | None = None, areas: Areas | None = None
) -> Document:
    """The whole page about a file; `scores` compare methods, `label` names units, `areas` are drawn as a map."""
    reader = Reader.of(table, label, None if areas is None else areas.key)
    units, whole, findings = _read(reader)
    page = Page(Path(file).name if file != "-" else "standard input", reader, units, whole, findings, scores, areas)
    document = page.document(with_others=True)
    if len(document.html().encode()) > BUDGET:
        document = page.document(with_others=False)
    while (size := len(document.html().encode())) > BUDGET and len(page.units) > 2 * LOWEST:
        kept = int(len(page.units) * 0.95 * BUDGET / size) - LOWEST
        chosen = np.append(np.arange(max(kept, LOWEST)), np.arange(len(page.units) - LOWEST, len(page.units)))
        page = replace(page, units=page.units.at(chosen), whole=False)
        document = page.document(with_others=False)
    return document


def _read(reader: Reader) -> tuple[Units, bool, Findings]:
    """The rows of the page, whether they are all of them, and the findings."""
    table = reader.table
    columns, observations = table.observations.columns, table.observations
    ratio = "x / nullif(known, 0)" if columns.channel.whole else "x"
    whole = int(observations.keys.rows.sum()) + observations.missing <= MOST_ROWS
    orders = [("estimate", MOST_ROWS), ("-estimate", LOWEST), (ratio, 1)]
    (units, *rest), exposure = reader.read(*orders[: 1 if whole else 3])
    leader = units.at(np.arange(1))
    boldest = (
        units.at(np.array([np.nanargmax(np.where(np.isfinite(units.estimate), units.raw, np.nan))])) if whole else None
    )
    if rest:
        units, boldest = units.and_then(rest[0]), rest[1] if columns.channel.complete else None
    tally = Tally(observations.x, observations.keys.rows, observations.known, channel=columns.channel)  # as seen
    mean = tally.mean
    if observations.missing or not np.isfinite(exposure):
        exposure = float(tally.known @ tally.multiplicity)
    elif columns.channel.whole and columns.channel.complete and exposure > 0:
        mean = float(tally.x @ tally.multiplicity) / exposure  # with real exposures, where the tally has bins
    return units, whole, Findings(table, mean * (table.wanted.per or 1.0), exposure, leader, boldest)


@dataclass(frozen=True, eq=False)
class Page:
    """What a page is made from: the name of the file, the units on it and whether they are all, and the findings."""

    name: str
    reader: Reader
    units: Units
    whole: bool
    findings: Findings
    scores: Sequence[Score]
    areas: Areas | None

    @property
    def table(self) -> Shrunken:
        return self.reader.table

    def document(self, with_others: bool) -> Document:
        table, findings, units = self.table, self.findings, self.units
        columns = table.observations.columns
        unit, words = findings.unit, columns.channel.words
        shown = headings(self.reader, units, with_others)
        figures = Figures(units, findings, self.scores, self.areas)
        fold, folded = figures.evidence()
        by = next((name for name in LEADING if name in units.answers), "estimate")
        down = LEADING.get(by) != "lowest"
        return Document(
            title=f"{unit} in {self.name}",
            kicker=f"{unit} · {self.name}",
            headline=findings.headline(),
            sentences=findings.sentences(),
            warnings=self._warnings(),
            facts=self._facts(),
            headings=shown,
            names=units.names,
            mean=findings.mean,
            middle=findings.middle,
            strip=figures.strip().words(),
            by=(by, down),
            first=np.argsort(-units.answers[by] if down else units.answers[by], kind="stable").tolist(),
            standing=findings.sides is not None and not findings.alike,
            filters=self._filters(shown),
            note=self._note(),
            figures=figures.shown(),
            fit=fit_sentence(table),
            folded=folded,
            fold=fold,
            footer=(
                f"The hidden {words.theta} of every unit, estimated by {findings.method} from {self._sources()}. "
                f"Made by ebformer {__version__}; the page fetches nothing from elsewhere."
            ),
            file=Path(self.name).stem,
        )

    def _sources(self) -> str:
        columns = self.table.observations.columns
        if self.findings.method == "mle":
            return f"its own {columns.channel.words.x} alone"
        units = "all units" if columns.group is None else f"all units of its {columns.group}"
        earlier = "" if columns.history is None else ", and what was seen of it earlier"
        if columns.covariates is not None:
            earlier += f", and what its covariates ({', '.join(columns.covariates.names)}) let expect"
        return f"{units} together{earlier}: noisy extremes move towards what the other units make plausible"

    def _warnings(self) -> list[str]:
        return [sentence(note) for note in (*self.table.remarks, *self.table.departures)]

    def _facts(self) -> list[tuple[str, str]]:
        findings, missing = self.findings, self.table.observations.missing
        facts = [("units", f"{findings.n:,}"), (f"mean {findings.unit}", cell(findings.mean))]
        if findings.sides is not None:
            above, below = (f"{side:,}" for side in findings.sides)
            facts += [(f"clearly above {findings.middle[1]}", above), ("clearly below", below)]
        if (told := self.table.fit.expectation) is not None and told.explained is not None:
            facts.append(("of the spread explained by covariates", percent(round(told.explained, 2))))
        facts.append(("method", findings.method))
        return facts + ([("left out, with a missing entry", f"{missing:,}")] if missing else [])

    def _filters(self, shown: Sequence[Heading]) -> list[Filter]:
        """Groups, and columns of few texts."""
        found, place, group = [], 0, self.table.observations.columns.group
        for heading in shown:
            column = heading.columns[0]
            entries = sorted(set(column.texts)) if heading.kind in ("text", "other") else []
            if column.name == group or (not column.numeric and 1 < len(entries) <= MOST_ENTRIES):
                found.append(Filter(heading.title, place, entries, column.name == group))
            place += len(heading.columns)
        return found[:MOST_FILTERS]

    def _note(self) -> str:
        if self.whole:
            return ""
        return (
            f"The {len(self.units) - LOWEST:,} highest and the {LOWEST} lowest of {self.findings.n:,} units; "
            "ebformer estimate writes all of them."
        )
