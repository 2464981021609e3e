"""Drawings as SVG: scales with their ticks, and marks whose colours the style of the page gives.

A picture is drawn once, here; the page's script finds units in it again by the scales that it carries along.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import ArrayLike

from ebformer.distributions import Floats
from ebformer.report.cells import cell

LETTER = 6.4
"""The width of a letter at the size of the text in pictures."""
SPREAD = 40.0
"""Numbers whose ends lie so many times apart, or so far beyond the bulk, are drawn on a logarithmic axis."""


@dataclass(frozen=True)
class Scale:
    """Where numbers lie on an axis: from `low` at `start` to `high` at `end`.

    An `asinh` axis is linear below its `knee` and logarithmic above, on either side of 0, which a log axis has not.
    """

    low: float
    high: float
    start: float = 0.0
    end: float = 1.0
    kind: Literal["linear", "log", "asinh"] = "linear"
    knee: float = 1.0

    def bent(self, numbers: ArrayLike) -> Floats:
        """What numbers are before they are placed evenly."""
        values = np.asarray(numbers, dtype=np.float64)
        if self.kind == "log":
            return np.log(np.maximum(values, np.finfo(float).tiny))
        return np.arcsinh(values / self.knee) if self.kind == "asinh" else values

    def straight(self, bent: ArrayLike) -> Floats:
        """The numbers again."""
        values = np.asarray(bent, dtype=np.float64)
        return np.exp(values) if self.kind == "log" else np.sinh(values) * self.knee if self.kind == "asinh" else values

    def __call__(self, numbers: ArrayLike) -> Floats:
        first, last = self.bent(self.low), self.bent(self.high)
        return self.start + (self.bent(numbers) - first) / (last - first) * (self.end - self.start)

    def at(self, start: float, end: float) -> Scale:
        """The same numbers at another place."""
        return Scale(self.low, self.high, start, end, self.kind, self.knee)

    @classmethod
    def of(cls, numbers: ArrayLike, bulk: ArrayLike | None = None, floor: float | None = None) -> Scale:
        """A scale that holds these numbers; logarithmic where they range so widely that most would share a pixel.

        `bulk` are those that should be told apart, if not all; `floor` is where the axis begins if they come near it.

        >>> Scale.of([1.0, 2.0, 3.0], floor=0.0).kind, Scale.of([0.1, 40.0]).kind, Scale.of([0.0, 0.1, 0.2, 40.0]).kind
        ('linear', 'log', 'asinh')
        """
        values = np.asarray(numbers, dtype=np.float64)
        least, most = float(values.min()), float(values.max())
        middle = np.abs(values if bulk is None else np.asarray(bulk, dtype=np.float64))
        typical = float(np.median(middle[middle > 0])) if np.any(middle > 0) else 1.0
        if least > 0 and most > SPREAD * least:
            return cls(0.9 * least, 1.1 * most, kind="log")
        if max(most, -least) > SPREAD * typical:
            low = 0.0 if least >= 0 else 1.2 * least
            return cls(low, 1.2 * most if most > 0 else typical, kind="asinh", knee=typical / 2)
        near = floor is not None and 0 <= least - floor <= 0.5 * (most - least)
        first = floor if near and floor is not None else least
        room = 0.04 * ((most - first) or abs(most) or 1.0)
        return cls(first if near else first - room, most + room)

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers on the axis.

        >>> Scale(0.0, 1.3).ticks(), Scale(0.4, 90.0, kind="log").ticks()
        ([0.0, 0.5, 1.0], [1.0, 3.0, 10.0, 30.0])
        """
        if self.kind == "linear":
            return _even(self.low, self.high, most)
        top = max(abs(self.low), abs(self.high))
        least = self.low if self.kind == "log" else self.knee
        powers = 10.0 ** np.arange(np.floor(np.log10(least)), np.floor(np.log10(top)) + 1)
        sides = [1.0] if self.low >= 0 else [-1.0, 1.0]
        series = [(1, 2, 5), (1, 3), (1,)] if self.kind == "log" else [(1,)]
        found: list[float] = []
        for factors in series:
            sizes = sorted(float(factor * power) for power in powers for factor in factors)
            inside = [size for size in sizes if least <= size <= top]
            found = inside[:: int(np.ceil(len(inside) / most)) or 1] if factors == (1,) else inside
            if len(found) <= most:
                break
        zero = {0.0} if self.kind == "asinh" else set()
        ticks = zero | {side * size for side in sides for size in found}
        return sorted(tick for tick in ticks if self.low <= tick <= self.high)

    def words(self) -> str:
        """The scale for the page's script, as JSON."""
        return json.dumps({name: _short(value) for name, value in asdict(self).items()})


def _short(value: object) -> object:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _even(low: float, high: float, most: int) -> list[float]:
    """Round numbers at even distances, at most so many."""
    rough = (high - low) / most
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(factor for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= rough * (1 - 1e-9))
    first = np.ceil(low / step - 1e-9)
    return [float(f"{tick * step:.12g}") + 0.0 for tick in np.arange(first, np.floor(high / step + 1e-9) + 1)]


def decimals(values: Floats) -> int:
    """How many decimals give a typical number of a column three digits or more, so that its points stand in a line.

    >>> decimals(np.array([0.06, 0.07])), decimals(np.array([1234.0])), decimals(np.array([0.0]))
    (4, 0, 2)
    """
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    return int(np.clip(2 - np.floor(np.log10(np.median(sizes))), 0, 9)) if sizes.size else 2


def tag(name: str, *inside: str, **attributes: object) -> Markup:
    """An element; what is inside is escaped unless it is markup, and an underscore in a name means a hyphen.

    >>> print(tag("text", "a < b", x=1.25, text_anchor="end"))
    <text x="1.2" text-anchor="end">a &lt; b</text>
    """
    given = "".join(
        f' {key.strip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>{''.join(map(escape, inside))}</{name}>")


def _plain(value: object) -> object:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float | np.floating) else value


def shortened(name: str, most: int = 26) -> str:
    """A name as it is, of at most so many characters: one too long loses its middle, since many differ at the end.

    >>> shortened("Stratford-upon-Avon", 9)
    'Stra…Avon'
    """
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}…{name[-half:]}"


def path(x: ArrayLike, y: ArrayLike, **attributes: object) -> Markup:
    """A line through points."""
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(np.asarray(x), np.asarray(y), strict=True))
    return tag("polyline", points=points, fill="none", **attributes)


@dataclass(frozen=True)
class Frame:
    """The area of a picture in which numbers are drawn, and its axes; without a `y` there is none upwards."""

    width: float
    height: float
    x: Scale
    y: Scale | None = None

    def axes(self, x_title: str, y_title: str = "", top: float = 0.0) -> list[Markup]:
        """Grid, ticks and titles; the grid reaches up to `top`."""
        low, drawn = (self.y.start if self.y else self.height - 34), []
        shown = self.x.ticks(7)
        for tick, place in zip(shown, self.x(shown), strict=True):
            drawn.append(tag("line", x1=place, x2=place, y1=top, y2=low, class_="grid"))
            drawn.append(tag("text", cell(tick), x=place, y=low + 15, text_anchor="middle", class_="tick"))
        middle = (self.x.start + self.x.end) / 2
        drawn.append(tag("text", shortened(x_title, 48), x=middle, y=low + 31, text_anchor="middle", class_="title"))
        if self.y is not None:
            shown = self.y.ticks(7)
            for tick, place in zip(shown, self.y(shown), strict=True):
                drawn.append(tag("line", x1=self.x.start, x2=self.x.end, y1=place, y2=place, class_="grid"))
                ends = {"x": self.x.start - 6, "y": float(place) + 4, "text_anchor": "end", "class_": "tick"}
                drawn.append(tag("text", cell(tick), **ends))
            drawn.append(tag("text", shortened(y_title, 60), x=2, y=11, class_="title"))
        return drawn

    def svg(self, marks: Sequence[Markup], label: str, **attributes: object) -> Markup:
        """The whole picture; `label` is what a screen reader says of it."""
        box = f"0 0 {self.width:g} {self.height:g}"
        return tag("svg", *marks, viewBox=box, role="img", aria_label=label, **attributes)
