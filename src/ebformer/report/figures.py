"""Which pictures a report shows, and what it says beneath them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ebformer.comparison import Score, margin
from ebformer.distributions import Floats
from ebformer.report import fit_pictures, pictures
from ebformer.report.cells import percent, sentence
from ebformer.report.choropleth import Areas, choropleths
from ebformer.report.document import Figure
from ebformer.report.findings import Findings
from ebformer.report.pictures import Line
from ebformer.report.rows import Units, seen
from ebformer.report.svg import Scale
from ebformer.tables.columns import Columns
from ebformer.tables.remarks import about_groups
from ebformer.tables.shrink import Shrunken
from ebformer.tally import Tally

HIGHEST, MOST_GROUPS, MOST_FITTED = 15, 24, 100
"""Lines at the top of the picture of leaders, lines of groups, and groups in the pictures of the fit."""
COMPARED = 4_000
"""Units that methods are compared on: a picture for experts needs no more."""
BULK = 0.995
"""The share of units that the picture of their spread is drawn for; the others stand at its end."""


@dataclass(frozen=True, eq=False)
class Figures:
    """The pictures of the units of a page, of the whole table, and of the evidence for the fit."""

    units: Units
    findings: Findings
    scores: Sequence[Score]
    areas: Areas | None

    @property
    def table(self) -> Shrunken:
        return self.findings.table

    def shown(self) -> list[Figure]:
        found = [self._shrinkage(), *self._expected(), *self._spread(), self._leaders(), *self._importance()]
        found += [self._groups()] if self.table.observations.columns.group is not None else []
        found += [self._prediction()] if "predicted" in self.units.answers else []
        return found + ([self._map(self.areas)] if self.areas is not None else [])

    @cached_property
    def _points(self) -> tuple[Floats, Floats, Floats]:
        """Raw and estimated thetas of the distinct observations, and how many units each stands for."""
        of, per = self.table.observations, self.table.wanted.per or 1.0
        with np.errstate(all="ignore"):
            raw = np.asarray(of.columns.channel.mle(of.x, of.known)) * per
        estimate, whole = np.asarray(self.findings.column("estimate")), np.isfinite(raw)
        return raw[whole], estimate[whole], of.keys.rows[whole].astype(np.float64)

    @property
    def _bulk(self) -> NDArray[np.bool_]:
        """All but the few distinct observations of the highest raw thetas."""
        raw, _, units = self._points
        return np.asarray(raw <= np.quantile(raw, BULK, weights=units, method="inverted_cdf"))

    def strip(self) -> Scale:
        """What holds all estimates, and raw thetas but for the highest, which may be those of the smallest units."""
        return self._scale_of(self._points[0][self._bulk], self._points[1])

    def _scale(self, shown: NDArray[np.bool_] | slice = slice(None)) -> Scale:
        """What holds raw and estimated thetas, of all units or of some."""
        return self._scale_of(*(each[shown] for each in self._points[:2]))

    def _scale_of(self, raw: Floats, estimate: Floats) -> Scale:
        lowest = self.table.observations.columns.channel.domain[0]
        whole = self.table.observations.columns.channel.whole
        return Scale.of(
            np.append(raw, estimate), bulk=estimate if whole else raw, floor=lowest if np.isfinite(lowest) else None
        )

    def _shrinkage(self) -> Figure:
        drawn = pictures.against("raw", *self._points, self._scale(), self.findings.unit, "no shrinkage")
        return Figure(
            "shrinkage",
            "How far each unit was moved",
            drawn,
            "On the dashed line a unit keeps its raw value; the further off it lies, the more was judged to be luck. "
            "Larger points are more units.",
        )

    def _spread(self) -> list[Figure]:
        raw, _, units = self._points
        of = self.table.observations
        asked = self.table.fit.questions(of, self.findings.settled)
        told = np.bincount(asked.which, weights=of.keys.rows)
        rule_of = np.repeat(np.arange(len(asked.rules)), asked.asked)
        priors = []
        for rule, many in zip(asked.rules, np.bincount(rule_of, weights=told).tolist(), strict=True):
            if rule.prior is None:
                return []
            priors.append((rule.prior, many))
        words = self.table.observations.columns.channel.words
        per = self.table.wanted.per or 1.0
        drawn = pictures.spread(raw, units, priors, self._scale(self._bulk), self.findings.unit, per)
        caption = f"Raw values are spread more widely than the {words.thetas} behind them: luck spreads them further."
        return [Figure("spread", f"How the {words.thetas} are spread", drawn, caption)]

    def _ends(self, highest: int = HIGHEST, lowest: int = 8) -> list[tuple[int, str, bool]]:
        """The places of the highest and the lowest units, what to call them, and whether a gap is before them.

        Units that show the same are one line where they would fill an end.
        """
        units, columns = self.units, self.table.observations.columns
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
                float(answers["lower"][i]) if with_intervals else np.nan,
                float(answers["upper"][i]) if with_intervals else np.nan,
                raw=float(units.raw[i]),
                grey=float(answers["expected"][i]) if "expected" in answers else np.nan,
                unit=i,
                gap=gap,
            )
            for i, name, gap in self._ends()
        ]
        meanings = [("estimate", "estimate"), ("raw", "raw"), ("dashed", "mean of all")]
        meanings += [("grey", "expected")] if "expected" in answers else []
        unit = self.findings.unit
        drawn = pictures.lines(entries, unit, f"The highest and lowest {unit}", meanings, self.findings.mean)
        held = f" Lines are {percent(self.table.wanted.level)} intervals." if with_intervals else ""
        expected = ", grey what the covariates let expect" if "expected" in answers else ""
        caption = f"Estimates, and hollow what was seen{expected}.{held}"
        return Figure("leaders", "The highest and the lowest", drawn, caption)

    def _expected(self) -> list[Figure]:
        """What covariates let expect of units against what is believed of them, where there are any that tell."""
        expected, channel = self.findings.column("expected"), self.table.observations.columns.channel
        if expected is None or not np.ptp(expected):
            return []
        estimate, lowest = np.asarray(self.findings.column("estimate")), channel.domain[0]
        scale = Scale.of(np.append(expected, estimate), floor=lowest if np.isfinite(lowest) else None)
        units = self.findings.units.astype(np.float64)
        drawn = pictures.against("expected", expected, estimate, units, scale, self.findings.unit, "as expected")
        caption = (
            "On the dashed line a unit is what its covariates let expect; the further off it lies, the more its own "
            f"{channel.words.xs} say otherwise."
        )
        return [Figure("expected", "What was expected, and what is believed", drawn, caption)]

    def _importance(self) -> list[Figure]:
        """Which covariates tell how much of what they tell together, where they tell anything."""
        expectation = self.table.fit.expectation
        if expectation is None or not expectation.importance:
            return []
        shares = [(name, 100 * share) for name, share in expectation.importance.items()]
        entries = [Line(name, share, 0.0, share) for name, share in shares[:MOST_GROUPS]]
        drawn = pictures.lines(entries, "% of what the covariates tell", "What each covariate tells", [])
        explained = expectation.explained
        told = "" if explained is None else f"Together they explain {percent(round(explained, 2))} of the spread. "
        caption = f"{told}By how much worse units are predicted when the covariate is shuffled among them."
        return [Figure("importance", "Which covariates matter", drawn, caption)]

    def _groups(self) -> Figure:
        """The mean estimate of every group, and where the middle 80 % of its units lie."""
        of, group_column = self.table.observations, self.table.observations.columns.group
        names, group = of.groups
        rows, estimate = of.keys.rows.astype(np.float64), np.asarray(self.findings.column("estimate"))
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
            self.findings.unit,
            f"Mean estimate by {group_column}",
            [("estimate", "mean estimate"), ("interval", "middle 80 %"), ("dashed", "of all units")],
            float(rows @ estimate / rows.sum()),
        )
        some = "" if len(entries) == len(names) else f" The {len(entries)} largest of {len(names):,}."
        pooled = "".join(f" {sentence(told)}" for told in about_groups(self.table.fit))
        caption = f"In brackets the number of units; choose one to see its units in the table.{some}{pooled}"
        return Figure("groups", f"By {group_column}", drawn, caption)

    def _prediction(self) -> Figure:
        units, answers, wanted = self.units, self.units.answers, self.table.wanted
        columns, one_for_all = self.table.observations.columns, not isinstance(wanted.future, str)
        times = np.nan  # where every unit has its own future, there is no raw number to set beside the next
        if one_for_all:
            times = float(wanted.future or 1.0) / (wanted.per or 1.0) if columns.channel.whole else 1.0
        entries = [
            Line(
                name,
                float(answers["predicted"][i]),
                float(answers["predicted_lower"][i]),
                float(answers["predicted_upper"][i]),
                raw=float(units.raw[i]) * times,
                grey=float(answers["predicted_still"][i]) if "predicted_still" in answers else np.nan,
                unit=i,
                gap=gap,
            )
            for i, name, gap in self._ends(10, 4)
        ]
        next_look = f"next {columns.x} with {wanted.ahead(columns.channel.words)}"
        meanings = [("estimate", "expected")]
        meanings += [("raw", f"at the raw {columns.channel.words.theta}")] if one_for_all else []
        caption = f"What to expect next, with {percent(wanted.level)} intervals of the outcome itself."
        if "predicted_still" in answers:
            meanings.append(("grey", f"if no {columns.channel.words.theta} moved"))
            thetas = columns.channel.words.thetas
            caption += f" Grey, without drift: {thetas} move, and so the next look is closer to the mean."
        if self.table.learnt is not None:
            caption = " ".join([caption, *self.table.learnt.sentences(columns.channel)])
        drawn = pictures.lines(entries, next_look, "Predicted next observations", meanings)
        return Figure("prediction", "What comes next", drawn, caption)

    def _map(self, areas: Areas) -> Figure:
        units = self.units
        drawn = choropleths(areas, units.texts[areas.key], units.raw, units.estimate, self.findings.unit)
        caption = "What was seen and what is estimated, in the same colours. Areas without a row are grey."
        return Figure("map", "On the map", drawn, caption, wide=True)

    def evidence(self) -> tuple[list[str], list[Figure]]:
        """What experts want to know of the fit: sentences and figures."""
        rules, table = self.table.fit.rules, self.table
        told = [sentence(note) for note in table.model_check]
        tallies = sorted(table.observations.distinct_tallies, key=lambda found: -found[0].n * len(found[1]))
        priors = [rules[groups[0]].prior for _, groups in tallies[:MOST_FITTED]]
        fitted = [
            (prior, tally, len(groups))
            for prior, (tally, groups) in zip(priors, tallies, strict=False)
            if prior is not None and None not in priors and table.checks
        ]
        found = []
        if fitted:
            outside = "A bar that ends outside the whisker of its point is more than two standard deviations off."
            found.append(Figure("rootogram", "Seen and expected", fit_pictures.rootogram(fitted), outside))
            flat = (
                "Flat where the model fits; a hump says that it expects too much variation, a dip too little. "
                "The band is two standard deviations of noise."
            )
            found.append(Figure("pit", "Probability integral transform", fit_pictures.transform(fitted), flat))
        able = [score for score in self.scores if score.refusal is None and np.isfinite(score.excess)]
        if len(able) > 1:
            channel, best = table.observations.columns.channel, able[0]
            parts = f"held-out parts of these {channel.words.xs}"
            told.append(f"{best.method} predicts {parts} best{margin(self.scores)}. {channel.advice.parts}")
            entries = [
                Line(s.method, s.excess, s.excess - 1.96 * s.excess_se, s.excess + 1.96 * s.excess_se) for s in able
            ]
            drawn = pictures.lines(entries, "above the best method's", "Methods compared", [], 0.0)
            some = f" On {COMPARED:,} units drawn at random." if self.findings.n > COMPARED else ""
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


def some_units(tally: Tally, rng: np.random.Generator) -> Tally:
    """At most `COMPARED` units of a tally, drawn at random where it has more.

    >>> some_units(Tally([0, 1], [10**6, 10**6]), np.random.default_rng(0)).n == COMPARED
    True
    """
    if tally.n <= COMPARED:
        return tally
    drawn = rng.multivariate_hypergeometric(tally.multiplicity, COMPARED, method="marginals")
    return Tally(tally.values[drawn > 0], drawn[drawn > 0], tally.known[drawn > 0], channel=tally.channel)
