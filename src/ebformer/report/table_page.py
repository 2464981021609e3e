"""The report on a table, by the order of a reader's questions: the answer, the units, pictures, and whether it fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ebformer import __version__
from ebformer.comparison import Score, margin
from ebformer.distributions import Floats
from ebformer.report import fit_pictures, pictures
from ebformer.report.answer import Answer, fit_sentence
from ebformer.report.cells import cell, percent
from ebformer.report.choropleth import Areas, choropleths
from ebformer.report.columns import Heading, headings
from ebformer.report.document import Document, Figure, Filter
from ebformer.report.pictures import Line
from ebformer.report.rows import LOWEST, MOST_ROWS, Reader, Units, seen
from ebformer.report.svg import Scale
from ebformer.tables.columns import Columns
from ebformer.tables.remarks import about_groups
from ebformer.tables.shrink import Shrunken
from ebformer.tally import Tally

BUDGET = 2_000_000
"""Bytes of a page: one that would be larger leaves out columns that play no part, then rows."""
HIGHEST, MOST_GROUPS, MOST_FITTED = 15, 24, 100
"""Lines at the top of the picture of leaders, lines of groups, and groups in the pictures of the fit."""
COMPARED = 4_000
"""Units that methods are compared on: a picture for experts needs no more."""
BULK = 0.995
"""The share of units that the picture of their spread is drawn for; the others stand at its end."""
MOST_FILTERS, MOST_ENTRIES = 4, 20
"""Columns that rows can be narrowed down by, and how many entries each may have; groups may have more."""


def table_page(
    file: str, table: Shrunken, scores: Sequence[Score], label: str | None = None, areas: Areas | None = None
) -> Document:
    """The whole page about a file; `scores` compare methods, `label` names units, `areas` are drawn as a map."""
    reader = Reader.of(table, label, None if areas is None else areas.key)
    units, whole, answer = _read(reader)
    page = Page(Path(file).name if file != "-" else "standard input", reader, units, whole, answer, scores, areas)
    document = page.document(with_others=True)
    if len(document.html().encode()) > BUDGET:
        document = page.document(with_others=False)
    while (size := len(document.html().encode())) > BUDGET and len(page.units) > 2 * LOWEST:
        kept = int(len(page.units) * 0.95 * BUDGET / size) - LOWEST
        chosen = np.append(np.arange(max(kept, LOWEST)), np.arange(len(page.units) - LOWEST, len(page.units)))
        page = replace(page, units=page.units.at(chosen), whole=False)
        document = page.document(with_others=False)
    return document


def _read(reader: Reader) -> tuple[Units, bool, Answer]:
    """The rows of the page, whether they are all of them, and the answer."""
    table = reader.table
    columns, observations = table.fit.columns, table.observations
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
    tally = observations.tally()
    mean = tally.mean
    if observations.missing or not np.isfinite(exposure):
        exposure = float(tally.known @ tally.multiplicity)
    elif columns.channel.whole and columns.channel.complete and exposure > 0:
        mean = float(tally.x @ tally.multiplicity) / exposure  # with real exposures, where the tally has bins
    return units, whole, Answer(table, mean * (table.wanted.per or 1.0), exposure, leader, boldest)


def some_units(tally: Tally, rng: np.random.Generator) -> Tally:
    """At most `COMPARED` units of a tally, drawn at random where it has more.

    >>> some_units(Tally([0, 1], [10**6, 10**6]), np.random.default_rng(0)).n == COMPARED
    True
    """
    if tally.n <= COMPARED:
        return tally
    drawn = rng.multivariate_hypergeometric(tally.multiplicity, COMPARED, method="marginals")
    return Tally(tally.values[drawn > 0], drawn[drawn > 0], tally.known[drawn > 0], channel=tally.channel)


@dataclass(frozen=True, eq=False)
class Page:
    """What a page is made from: the name of the file, the units on it and whether they are all, and the answer."""

    name: str
    reader: Reader
    units: Units
    whole: bool
    answer: Answer
    scores: Sequence[Score]
    areas: Areas | None

    @property
    def table(self) -> Shrunken:
        return self.reader.table

    def document(self, with_others: bool) -> Document:
        table, answer, units = self.table, self.answer, self.units
        columns = table.fit.columns
        unit, words = answer.unit, columns.channel.words
        shown = headings(self.reader, units, with_others)
        fold, folded = self._fit()
        return Document(
            title=f"{unit} in {self.name}",
            kicker=f"{unit} · {self.name}",
            headline=answer.headline(),
            sentences=answer.sentences(),
            warnings=self._warnings(),
            facts=self._facts(),
            headings=shown,
            names=units.names,
            mean=answer.mean,
            filters=self._filters(shown),
            note=self._note(),
            figures=self._figures(),
            fit=fit_sentence(table),
            folded=folded,
            fold=fold,
            footer=(
                f"The hidden {words.theta} of every unit, estimated by {answer.method} from {self._sources()}. "
                f"Made by ebformer {__version__}; the page fetches nothing from elsewhere."
            ),
            file=Path(self.name).stem,
        )

    def _sources(self) -> str:
        columns = self.table.fit.columns
        if self.answer.method == "mle":
            return f"its own {columns.channel.words.x} alone"
        return "all units together" if columns.group is None else f"all units of its {columns.group} together"

    def _warnings(self) -> list[str]:
        told = [*self.table.remarks, *self.table.departures]
        return [f"{note[0].upper()}{note[1:]}." for note in told]

    def _facts(self) -> list[tuple[str, str]]:
        answer, missing = self.answer, self.table.observations.missing
        facts = [("units", f"{answer.n:,}"), (f"mean {answer.unit}", cell(answer.mean))]
        if answer.sides is not None:
            facts += [("clearly above the mean", f"{answer.sides[0]:,}"), ("clearly below", f"{answer.sides[1]:,}")]
        facts.append(("method", answer.method))
        return facts + ([("left out, with a missing entry", f"{missing:,}")] if missing else [])

    def _filters(self, shown: Sequence[Heading]) -> list[Filter]:
        """Groups, and columns of few texts."""
        found, place, group = [], 0, self.table.fit.columns.group
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
            f"The {len(self.units) - LOWEST:,} highest and the {LOWEST} lowest of {self.answer.n:,} units; "
            "ebformer estimate writes all of them."
        )

    # Pictures.

    def _figures(self) -> list[Figure]:
        found = [self._shrinkage(), *self._spread(), self._leaders()]
        found += [self._groups()] if self.table.fit.columns.group is not None else []
        found += [self._prediction()] if "predicted" in self.units.answers else []
        return found + ([self._map(self.areas)] if self.areas is not None else [])

    @property
    def _points(self) -> tuple[Floats, Floats, Floats]:
        """Raw and estimated thetas of the distinct observations, and how many units each stands for."""
        of, per = self.table.observations, self.table.wanted.per or 1.0
        with np.errstate(all="ignore"):
            raw = np.asarray(of.columns.channel.mle(of.x, of.known)) * per
        estimate, whole = np.asarray(self.answer.column("estimate")), np.isfinite(raw)
        return raw[whole], estimate[whole], of.keys.rows[whole].astype(np.float64)

    def _scale(self, shown: NDArray[np.bool_] | slice = slice(None)) -> Scale:
        """What holds raw and estimated thetas, of all units or of some."""
        raw, estimate, _ = self._points
        raw, estimate = raw[shown], estimate[shown]
        lowest = self.table.fit.columns.channel.domain[0]
        whole = self.table.fit.columns.channel.whole
        return Scale.of(
            np.append(raw, estimate), bulk=estimate if whole else raw, floor=lowest if np.isfinite(lowest) else None
        )

    def _shrinkage(self) -> Figure:
        drawn = pictures.shrinkage(*self._points, self._scale(), self.answer.unit)
        return Figure(
            "shrinkage",
            "How far each unit was moved",
            drawn,
            "On the dashed line a unit keeps its raw value; the further off it lies, the more was judged to be luck. "
            "Larger points are more units.",
        )

    def _spread(self) -> list[Figure]:
        rules, tallies = self.table.fit.rules, self.table.observations.tallies()
        raw, _, units = self._points
        per = self.table.wanted.per
        priors = []
        for rule, groups in self.table.fit.shared:
            if rule.prior is None:
                return []
            prior = rule.prior if per is None else rule.prior.scaled(per)
            priors.append((prior, float(sum(tallies[group].n for group in groups))))
        assert rules
        words = self.table.fit.columns.channel.words
        bulk = raw <= np.quantile(raw, BULK, weights=units, method="inverted_cdf")
        drawn = pictures.spread(raw, units, priors, self._scale(bulk), self.answer.unit)
        caption = f"Raw values are spread more widely than the {words.thetas} behind them: luck spreads them further."
        return [Figure("spread", f"How the {words.thetas} are spread", drawn, caption)]

    def _ends(self, highest: int = HIGHEST, lowest: int = 8) -> list[tuple[int, str, bool]]:
        """The places of the highest and the lowest units, what to call them, and whether a gap is before them.

        Units that show the same are one line where they would fill an end.
        """
        units, columns = self.units, self.table.fit.columns
        answered = int(np.isfinite(units.estimate).sum())
        highest = min(max(highest, min(self.table.wanted.top or 0, 30)), answered)
        top = _without_crowds(range(answered), units, columns, highest)
        end = top[-1][0].stop if top else 0
        bottom = _without_crowds(range(answered - 1, end - 1, -1), units, columns, lowest)[::-1]
        gap = bool(bottom) and bottom[0][0].stop != end
        found = [(places.start, name, False) for places, name in top]
        return found + [(places.start, name, gap and i == 0) for i, (places, name) in enumerate(bottom)]

    def _leaders(self) -> Figure:
        units, answers = self.units, self.units.answers
        with_intervals = "lower" in answers
        entries = [
            Line(
                name,
                float(units.estimate[i]),
                *((float(answers["lower"][i]), float(answers["upper"][i])) if with_intervals else ()),
                raw=float(units.raw[i]),
                unit=i,
                gap=gap,
            )
            for i, name, gap in self._ends()
        ]
        meanings = [("estimate", "estimate"), ("raw", "raw"), ("dashed", "mean of all")]
        unit = self.answer.unit
        drawn = pictures.lines(entries, unit, f"The highest and lowest {unit}", meanings, self.answer.mean)
        held = f" Lines are {percent(self.table.wanted.level)} intervals." if with_intervals else ""
        return Figure("leaders", "The highest and the lowest", drawn, f"Estimates, and hollow what was seen.{held}")

    def _groups(self) -> Figure:
        """The mean estimate of every group, and where the middle 80 % of its units lie."""
        of, group_column = self.table.observations, self.table.fit.columns.group
        names, group = of.groups
        rows, estimate = of.keys.rows.astype(np.float64), np.asarray(self.answer.column("estimate"))
        sizes = np.bincount(group, weights=rows)
        means = np.bincount(group, weights=rows * estimate) / sizes
        largest = np.argsort(-sizes, kind="stable")[:MOST_GROUPS]
        entries = []
        for g in largest[np.argsort(-means[largest], kind="stable")]:
            at = group == g
            low, high = np.quantile(estimate[at], [0.1, 0.9], weights=rows[at], method="inverted_cdf")
            entries.append(
                Line(f"{names[g]} ({sizes[g]:,.0f})", float(means[g]), float(low), float(high), group=str(names[g]))
            )
        drawn = pictures.lines(
            entries,
            self.answer.unit,
            f"Mean estimate by {group_column}",
            [("estimate", "mean estimate"), ("interval", "middle 80 %")],
            self.answer.mean,
        )
        some = "" if len(entries) == len(names) else f" The {len(entries)} largest of {len(names):,}."
        pooled = "".join(f" {sentence[0].upper()}{sentence[1:]}." for sentence in about_groups(self.table.fit))
        caption = f"In brackets the number of units; choose one to see its units in the table.{some}{pooled}"
        return Figure("groups", f"By {group_column}", drawn, caption)

    def _prediction(self) -> Figure:
        units, answers, wanted = self.units, self.units.answers, self.table.wanted
        columns, future = self.table.fit.columns, float(wanted.future or 1.0)
        times = future / (wanted.per or 1.0) if columns.channel.whole else 1.0
        entries = [
            Line(
                name,
                float(answers["predicted"][i]),
                float(answers["predicted_lower"][i]),
                float(answers["predicted_upper"][i]),
                raw=float(units.raw[i]) * times,
                still=float(answers["predicted_still"][i]) if "predicted_still" in answers else np.nan,
                unit=i,
                gap=gap,
            )
            for i, name, gap in self._ends(10, 4)
        ]
        next_look = (
            f"next {seen(columns, np.nan, future).strip()}" if columns.known is not None else f"next {columns.x}"
        )
        meanings = [("estimate", "expected"), ("raw", "as the raw one")]
        caption = f"What to expect next, with {percent(wanted.level)} intervals of the outcome itself."
        if "predicted_still" in answers:
            meanings.append(("still", f"if no {columns.channel.words.theta} moved"))
            thetas = columns.channel.words.thetas
            caption += f" Grey, without drift: {thetas} move, and so the next look is closer to the mean."
        drawn = pictures.lines(entries, next_look, "Predicted next observations", meanings)
        return Figure("prediction", "What comes next", drawn, caption)

    def _map(self, areas: Areas) -> Figure:
        units = self.units
        drawn = choropleths(areas, units.texts[areas.key], units.raw, units.estimate, self.answer.unit)
        caption = "What was seen and what is estimated, in the same colours. Areas without a row are grey."
        return Figure("map", "On the map", drawn, caption, wide=True)

    def _fit(self) -> tuple[list[str], list[Figure]]:
        """What experts want to know of the fit: sentences and figures."""
        rules, table = self.table.fit.rules, self.table
        told = [f"{note[0].upper()}{note[1:]}." for note in table.model_check]
        fitted = [
            (rules[groups[0]].prior, tally, len(groups))
            for tally, groups in sorted(
                table.observations.distinct_tallies, key=lambda found: -found[0].n * len(found[1])
            )
        ][:MOST_FITTED]
        found = []
        if all(prior is not None for prior, _, _ in fitted):
            outside = "A bar that ends outside the whisker of its point is more than two standard deviations off."
            found.append(Figure("rootogram", "Seen and expected", fit_pictures.rootogram(fitted), outside))
            flat = (
                "Flat where the model fits; a hump says that it expects too much variation, a dip too little. "
                "The band is two standard deviations of noise."
            )
            found.append(Figure("pit", "Probability integral transform", fit_pictures.transform(fitted), flat))
        able = [score for score in self.scores if score.refusal is None]
        if len(able) > 1:
            channel, best = table.fit.columns.channel, able[0]
            parts = f"held-out parts of these {channel.words.xs}"
            told.append(f"{best.method} predicts {parts} best{margin(self.scores)}. {channel.advice.parts}")
            entries = [
                Line(s.method, s.excess, s.excess - 1.96 * s.excess_se, s.excess + 1.96 * s.excess_se) for s in able
            ]
            drawn = pictures.lines(entries, "above the best method's", "Methods compared", [], 0.0)
            some = f" On {COMPARED:,} units drawn at random." if self.answer.n > COMPARED else ""
            caption = f"By {best.ranked_by}, with 95 % intervals of the difference to the best.{some}"
            found.append(Figure("methods", "Which method predicts best here", drawn, caption))
        return told, found


def _without_crowds(places: range, units: Units, columns: Columns, most: int) -> list[tuple[range, str]]:
    """The first lines of units, at most so many, with the places of each and its name.

    Units that show the same share a line where they would fill what is left.
    """
    found: list[tuple[range, str]] = []
    shown = np.stack([units.estimate, units.x, units.known])
    at = 0
    while at < len(places) and len(found) < most:
        same = at + 1
        while same < len(places) and np.array_equal(shown[:, places[same]], shown[:, places[at]]):
            same += 1
        if same - at > max(most - len(found), 3):
            first = places[at]
            found.append((places[at:same], f"{seen(columns, units.x[first], units.known[first])} ({same - at:,})"))
        else:
            found += [(places[i : i + 1], units.names[places[i]]) for i in range(at, same)]
        at = same
    return found
