"""The columns of a report's table: what was seen, what is answered, and how each is headed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ebformer.report.cells import percent
from ebformer.report.findings import BEYOND
from ebformer.report.rows import Column, Reader, Units, number, of_numbers, of_texts
from ebformer.report.svg import decimals

Kind = Literal["label", "text", "number", "interval", "answer", "other"]


@dataclass(frozen=True)
class Heading:
    """What stands above one or two columns of numbers that are read together, and what it means."""

    title: str
    columns: Sequence[Column]
    kind: Kind
    hint: str = ""

    @property
    def numeric(self) -> bool:
        return self.columns[0].numeric and self.kind != "label"


def headings(reader: Reader, units: Units, with_others: bool) -> list[Heading]:
    """All columns in their order: label, raw, expected, estimate, interval, next, chances, what was seen, the rest."""
    table = reader.table
    columns, wanted, answers = table.observations.columns, table.fit.settled(table.wanted), units.answers
    words, level = columns.channel.words, percent(wanted.level)
    known, group = columns.role("known"), columns.group
    found = [Heading(reader.label or "unit", [Column(reader.label or "unit", units.names, False)], "label")]
    shown = [units.estimate, *(answers[end] for end in ("lower", "upper") if end in answers)]
    theta = f"{{:.{decimals(np.concatenate(shown))}f}}".format  # estimates alone may all be next to 0
    alone = f"the {words.theta} by its own {words.x} alone"
    whole = bool(np.all(units.raw[np.isfinite(units.raw)] % 1 == 0))
    found.append(Heading("raw", [of_numbers("raw", units.raw, number if whole else theta)], "number", alone))
    if "expected" in answers:
        told = f"the {words.theta} that its covariates alone let expect"
        found.append(Heading("expected", [of_numbers("expected", answers["expected"], theta)], "number", told))
    given_all = f"the expected {words.theta}, given all units"
    found.append(Heading("estimate", [of_numbers("estimate", units.estimate, theta)], "answer", given_all))
    if "lower" in answers:
        ends = [of_numbers(end, answers[end], theta) for end in ("lower", "upper")]
        found.append(
            Heading(f"{level} interval", ends, "interval", f"holds the {words.theta} with probability {level}")
        )
    if "predicted" in answers:
        next_x = f"{{:.{decimals(answers['predicted'])}f}}".format
        expected = of_numbers("predicted", answers["predicted"], next_x)
        hint = f"the next {columns.x} expected with {wanted.ahead(words)}"
        found.append(Heading("next", [expected], "answer", hint))
        next_end = number if columns.channel.whole else next_x
        ends = [of_numbers(end, answers[end], next_end) for end in ("predicted_lower", "predicted_upper")]
        found.append(
            Heading(f"{level} of next", ends, "interval", f"holds the next {columns.x} with probability {level}")
        )
    if "predicted_still" in answers:
        still = of_numbers("predicted_still", answers["predicted_still"], next_x)
        found.append(Heading("next, no drift", [still], "number", f"the same if no {words.theta} moved"))
    titles = {name: f"P({side} {wanted.bars[side].number:.4g})" for name, side in BEYOND.items() if name in answers}
    titles |= {"lfsr": "false sign", "expected_rank": "rank", "p_top": f"P(top {wanted.top})", "grade": "grade"}
    hints = {
        "lfsr": f"the probability that the {words.theta} is not on the side on which it seems to be",
        "expected_rank": "the expected rank, 1 is the highest",
        "grade": "units of one grade cannot be told apart",
        "p_top": f"the probability of being {wanted.leading}",
    }
    for name, title in titles.items():
        if name in answers:
            ways = {"expected_rank": "{:.1f}", "grade": "{:.0f}"}
            column = of_numbers(name, answers[name], ways.get(name, "{:.3f}").format)
            found.append(
                Heading(title, [column], "answer", hints.get(name, f"probability that the {words.theta} is so"))
            )
    if "selected" in answers:
        chosen = ["yes" if value == 1 else "no" if value == 0 else "" for value in answers["selected"]]
        found.append(Heading("selected", [Column("selected", chosen, False)], "text"))
    if group is not None and group != reader.label:
        found.append(Heading(group, [of_texts(group, units.texts[group])], "text"))
    if columns.channel.whole:  # an effect is its own raw value
        found.append(Heading(columns.x, [of_numbers(columns.x, units.x, number)], "number", f"the {words.x} seen"))
    if known is not None:
        found.append(Heading(known, [of_numbers(known, units.known, number)], "number", f"its {words.known}"))
    for other in [reader.key, *reader.others] if with_others else []:
        if other is not None and other not in (reader.label, group):
            found.append(Heading(other, [of_texts(other, units.texts[other])], "other"))
    return found
