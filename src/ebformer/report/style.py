"""One look for every picture: colours told apart by everybody, ink that follows the page, SVG that sits inside HTML."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ebformer.atomic import replacing
from ebformer.estimators.catalogue import CATALOGUE

INK = "#1f2328"
"""Text and axes; inline SVG replaces it by the colour of the page's text, so that dark mode works."""
MUTED = "#8a939e"
BLUE, ORANGE, GREEN, RED, PURPLE, BROWN, TEAL = (
    "#3b7dd8",
    "#e08214",
    "#3a9d5d",
    "#d1495b",
    "#8e6bbf",
    "#9c6b4e",
    "#2a9d9d",
)
CYCLE = (BLUE, ORANGE, GREEN, RED, PURPLE, BROWN, TEAL, MUTED)

METHOD_COLOURS = {
    "mle": MUTED,
    "robbins": BROWN,
    "erm": BLUE,
    "npmle": ORANGE,
    "npmle-em": "#f2b56b",
    "minimax": "#b8b34a",
    "gamma": TEAL,
    "beta": TEAL,
    "normal": TEAL,
    "T24r": GREEN,
    "L24r": RED,
    "T24f": "#7fc8a9",
    "T24u": "#a3b86c",
    "T24ur": "#5f8a5b",
    "priorformer": PURPLE,
    "oracle": INK,
}
"""A method keeps its colour from figure to figure; ERM, NPMLE, T24r and L24r have those of the paper's violins."""

_SETTINGS: dict[str, Any] = {
    "figure.figsize": (5.2, 3.6),
    "figure.dpi": 150,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": MUTED,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "axes.prop_cycle": cycler(color=CYCLE),
    "axes.formatter.limits": (-3, 6),
    "svg.fonttype": "none",
}


@contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib settings of this package for the figures made inside, without a display and without side effects."""
    settings: Any = dict(mpl.rcParamsDefault) | _SETTINGS | {"backend": "agg"}
    with mpl.rc_context(settings):
        yield


def new_figure(size: tuple[float, float] | None = None) -> Figure:
    """An empty figure that its owner alone keeps: pyplot would keep every one until it is told to close it."""
    figure = Figure(figsize=size)
    FigureCanvasAgg(figure)
    return figure


def subplots(*grid: int, figsize: tuple[float, float] | None = None, **options: Any) -> tuple[Figure, Any]:
    """A new figure and its axes, as `Figure.subplots` arranges them."""
    figure = new_figure(figsize)
    return figure, figure.subplots(*grid, **options)


def colour(method: str, position: int = 0) -> str:
    """The colour of a method, or the next of the cycle for one that has none of its own."""
    own = METHOD_COLOURS.get(method) or (CATALOGUE[method].colour if method in CATALOGUE else None)
    return own or CYCLE[position % len(CYCLE)]


def verbatim(name: str) -> str:
    """A name from a table as matplotlib draws it unchanged: between two dollars it would read a formula.

    >>> print(verbatim("income ($)"))
    income (\\$)
    """
    return name.replace("$", r"\$")


def inline_svg(figure: Figure, label: str) -> str:
    """The figure as SVG for the inside of an HTML page: scalable, its ink the colour of the page's text.

    `label` is what a screen reader says, and keeps the identifiers of several figures on one page apart.
    """
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": label, "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the reader's browser has its own fonts
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    quoted = label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{quoted}" ', 1)


def write_figure(figure: Figure, path: str | os.PathLike[str], dpi: float | str = "figure") -> None:
    """Write the figure in the format that the ending asks for, whole or not at all."""
    with replacing(path) as partial:
        figure.savefig(partial, format=Path(path).suffix.lstrip(".").lower(), dpi=dpi)


def small_png(figure: Figure) -> bytes:
    """The figure as PNG with a small palette, for a repository: a third of the size, and no difference to the eye."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return with_palette(buffer.getvalue())


def with_palette(png: bytes) -> bytes:
    """The same picture in 64 colours."""
    from PIL import Image

    small = io.BytesIO()
    image = Image.open(io.BytesIO(png)).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    image.save(small, format="png", optimize=True)
    return small.getvalue()
