"""The pictures of a report: how far units were shrunk, how they are spread, and lines of units with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from ebformer.distributions import Floats
from ebformer.prior import AnyPrior, ConjugatePrior, GridPrior
from ebformer.report.cells import cell
from ebformer.report.svg import LETTER, Frame, Scale, decimals, path, shortened, tag

WIDTH = 440.0
ROW = 20.0
"""The height of a line in a picture of lines."""
PIXEL = 3.0
"""Points nearer than this are drawn as one."""
CELLS = 40
"""Bars in the picture of how rates are spread."""
DRAWS = 20_000
"""A prior without atoms is drawn by so many samples; rules themselves use its closed form."""


def against(before: str, x: Floats, estimate: Floats, units: Floats, scale: Scale, unit: str, on_line: str) -> Markup:
    """Estimates against what was thought before, `raw` or `expected`, on equal axes; areas go with units."""
    left, bottom = _room(scale), WIDTH - 46
    across, up = scale.at(left, left + bottom - 22), scale.at(bottom, 22)
    frame = Frame(left + bottom - 22 + 14, WIDTH - 6, across, up)
    places = np.stack([across(x), up(estimate)]) / PIXEL
    cells, which = np.unique(np.round(places), axis=1, return_inverse=True)
    many = np.bincount(which.ravel(), weights=units)
    radius = np.clip(2.2 * np.sqrt(1 + 9 * many / max(many.max(), 20.0)), 2.2, 7.0)
    marks = frame.axes(f"{before} {unit}", f"estimated {unit}", top=22)
    ends = [scale.low, scale.high]
    marks.append(path(across(ends), up(ends), class_="dashed"))
    order = np.argsort(-radius)
    marks += [
        tag("circle", cx=float(cells[0, i] * PIXEL), cy=float(cells[1, i] * PIXEL), r=float(radius[i]), class_="unit")
        for i in order
    ]
    beside = 0.9 * across.end + 0.1 * across.start - 8, 0.9 * up.end + 0.1 * up.start
    marks.append(tag("text", on_line, x=beside[0], y=beside[1], text_anchor="end", class_="note"))
    label = f"Estimated against {before} {unit}; the dashed line means {on_line}."
    scales = {"data_x": across.words(), "data_y": up.words(), "data_columns": f"{before} estimate"}
    return frame.svg(marks, label, data_kind="points", **scales)


def _room(scale: Scale) -> float:
    """What the numbers beside an axis take."""
    return 12 + LETTER * max((len(cell(tick)) for tick in scale.ticks(7)), default=1)


def spread(
    raw: Floats, units: Floats, priors: Sequence[tuple[AnyPrior, float]], scale: Scale, unit: str, per: float = 1.0
) -> Markup:
    """How units are spread over raw thetas, and over hidden ones as far as the observations tell.

    `priors` come with the units each of them stands for; `scale` is that of raw and estimated thetas, which are told
    `per` so much exposure.
    """
    places = np.linspace(0.0, 1.0, CELLS + 1)
    even = scale.bent([scale.low, scale.high])
    edges = scale.straight(even[0] + places * (even[1] - even[0]))
    of_raw = np.histogram(np.clip(raw, edges[0], edges[-1]), edges, weights=units / units.sum())[0]
    total = sum(weight for _, weight in priors)
    hidden = np.sum([share_between(prior, edges / per) * weight / total for prior, weight in priors], axis=0)
    top = float(max(of_raw.max(), hidden.max()))
    heights = Scale(0.0, 1.08 * top)
    left = _room(heights)
    across, up = scale.at(left, WIDTH - 8), heights.at(254, 44)
    frame = Frame(WIDTH, 292, across, up)
    marks = frame.axes(unit, "share of units", top=44)
    x = across(edges)
    for drawn, name in ((hidden, "hidden"), (of_raw, "raw")):
        y = np.repeat(up(drawn), 2)
        points = np.append(np.append(254.0, y), 254.0)
        outline = np.append(np.append(x[0], np.repeat(x, 2)[1:-1]), x[-1])
        marks.append(path(outline, points, class_=f"spread-{name}"))
    marks += legend([("spread-hidden", "hidden, as estimated"), ("spread-raw", "raw, luck included")])
    label = f"Spread of raw and of hidden {unit} over units: the hidden ones lie closer together."
    return frame.svg(marks, label, data_kind="line", data_x=across.words(), data_columns="estimate")


def share_between(prior: AnyPrior, edges: Floats) -> Floats:
    """The mass of a prior between each two edges; what lies beyond the last is left out.

    >>> from ebformer.prior import Prior
    >>> share_between(Prior([0.5, 1.5, 9.0], [0.5, 0.25, 0.25]), np.array([0.0, 1.0, 2.0])).tolist()
    [0.5, 0.25]
    """
    if isinstance(prior, ConjugatePrior):
        draws = prior.draw(DRAWS, np.random.default_rng(0))
        return np.asarray(np.histogram(draws, edges)[0] / DRAWS)
    if not isinstance(prior, GridPrior):
        return np.asarray(np.histogram(prior.atoms, edges, weights=prior.weights)[0])
    # Spread over its cells, but for its points: atoms that fall into some bars only make a comb.
    points = prior.points
    in_cells = np.append(0.0, np.cumsum(np.where(points, 0.0, prior.weights)))
    at_points = np.histogram(prior.atoms[points], edges, weights=prior.weights[points])[0]
    return np.asarray(np.diff(np.interp(edges, prior.edges, in_cells)) + at_points)


def legend(entries: Sequence[tuple[str, str]], left: float = 2.0, y: float = 29.0) -> list[Markup]:
    """Samples of marks and what they mean, side by side beneath the title of the axis."""
    marks, x = [], left
    for mark, meaning in entries:
        if mark in ("estimate", "raw", "grey"):
            marks.append(tag("circle", cx=x + 6, cy=y - 4, r=4.0, class_=mark))
        elif mark == "bar":
            marks.append(tag("rect", x=x, y=y - 9, width=12, height=9, class_=mark))
        else:
            marks.append(path([x, x + 12], [y - 4, y - 4], class_=mark))
        marks.append(tag("text", meaning, x=x + 17, y=y, class_="note"))
        x += 40 + 5.8 * len(meaning)
    return marks


@dataclass(frozen=True)
class Line:
    """A unit, a group or a method in a picture of lines: its value, an interval, and what else is marked.

    `unit` is its place among the rows of the page; `group` what the table is narrowed down to where it is clicked.
    """

    name: str
    value: float
    low: float = np.nan
    high: float = np.nan
    raw: float = np.nan
    grey: float = np.nan
    """What is to be compared with the value, such as what was expected."""
    unit: int | None = None
    group: str | None = None
    gap: bool = False
    """Others that are not shown lie above it."""


def lines(
    entries: Sequence[Line], title: str, label: str, meanings: Sequence[tuple[str, str]], mean: float | None = None
) -> Markup:
    """Every entry on a line of its own, in the given order: value, interval, and hollow what is not yet shrunk.

    A dashed line marks the mean of all units, where it is given.
    """
    numbers = np.array([[e.value, e.low, e.high, e.raw, e.grey] for e in entries]).ravel()
    numbers = np.append(numbers, [] if mean is None else mean)
    numbers = numbers[np.isfinite(numbers)]
    scale = Scale.of(numbers, bulk=[entry.value for entry in entries], floor=0.0 if numbers.min() >= 0 else None)
    names = [shortened(entry.name, 24) for entry in entries]
    written = f"{{:.{decimals(np.array([[entry.value, entry.low, entry.high] for entry in entries]))}f}}"
    texts = [written.format(entry.value) for entry in entries]
    left, right = 10 + LETTER * max(map(len, names)), 10 + LETTER * max(map(len, texts))
    across, top = scale.at(left, WIDTH - right - 6), 30.0
    heights = top + ROW * (np.arange(len(entries)) + 0.5 + np.cumsum([0.6 * entry.gap for entry in entries]))
    frame = Frame(WIDTH, float(heights[-1]) + ROW / 2 + 40, across)
    marks = legend(meanings, y=16.0) + frame.axes(title, top=top)
    if mean is not None and scale.low <= mean <= scale.high:
        at = float(across(mean))
        marks.append(path([at, at], [top, float(heights[-1]) + ROW / 2], class_="dashed"))
    for entry, name, text, y in zip(entries, names, texts, heights.tolist(), strict=True):
        inside = [tag("rect", x=0.0, y=y - ROW / 2, width=WIDTH, height=ROW, class_="band")]
        inside.append(tag("title", entry.name) if name != entry.name else Markup(""))
        inside.append(tag("text", name, x=left - 8, y=y + 4, text_anchor="end", class_="name"))
        if np.isfinite(entry.low):
            low, high = across([entry.low, entry.high])
            inside.append(path([low, high], [y, y], class_="interval"))
        for kind in ("grey", "raw", "value"):
            if np.isfinite(getattr(entry, kind)):
                at, mark = float(across(getattr(entry, kind))), "estimate" if kind == "value" else kind
                inside.append(tag("circle", cx=at, cy=y, r=4.0, class_=mark))
        inside.append(tag("text", text, x=WIDTH - 4, y=y + 4, text_anchor="end", class_="value"))
        marks.append(tag("g", *inside, data_unit=entry.unit, data_group=entry.group))
    return frame.svg(marks, label, data_kind="lines")
