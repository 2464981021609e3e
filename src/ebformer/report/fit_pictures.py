"""Whether the model fits, as pictures: a binned rootogram and the probability integral transform."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from ebformer.bayes import marginal_cdf
from ebformer.binning import coarsened
from ebformer.channels.base import Channel
from ebformer.check import pit_interval
from ebformer.distributions import Floats
from ebformer.prior import AnyPrior
from ebformer.report.pictures import WIDTH, legend
from ebformer.report.rows import number
from ebformer.report.svg import Frame, Scale, path, tag
from ebformer.tally import Tally

Fitted = Sequence[tuple[AnyPrior, Tally, int]]
"""Priors, the tallies they were fitted to, and how many groups share each."""
GROWTH = 1.25
"""Each bin of counts reaches so many times as far as the one before it."""
MOST_BINS = 22
REPRESENTED = 60
"""More exposures than this are represented by as many quantiles: a picture needs no more."""
CELLS = 10
"""Bars of the PIT."""


def bins(x: Floats, channel: Channel) -> Floats:
    """Edges of bins: single counts while they are small, then ever wider ones; of effects, even ones and two ends.

    >>> from ebformer.channels import POISSON
    >>> bins(np.array([0.0, 9.0]), POISSON).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 9.0, 12.0]
    """
    if not channel.whole:
        low, high = np.quantile(x, [0.01, 0.99])
        inner = np.linspace(low, high if high > low else low + 1.0, 16)
        return np.concatenate([[-np.inf], inner, [np.inf]])
    edges = [0.0 if channel.complete else 1.0]
    growth = max(GROWTH, float(x.max()) ** (1.0 / (MOST_BINS - 6)))
    while edges[-1] <= x.max():
        edges.append(max(edges[-1] + 1, np.ceil(growth * edges[-1])))
    return np.array(edges)


def expected_units(prior: AnyPrior, tally: Tally, edges: Floats) -> Floats:
    """How many of a tally's units a prior expects in each bin."""
    channel, seen = tally.channel, np.zeros(edges.size - 1)
    selected = not channel.complete and tally.common is None  # then a prior is of all units, seen or not
    look = channel.next_look if selected else channel
    known, which = np.unique(tally.known, return_inverse=True)
    share = np.bincount(which, weights=tally.multiplicity)
    if known.size > REPRESENTED:
        levels = (np.arange(REPRESENTED) + 0.5) / REPRESENTED
        known = np.quantile(tally.known, levels, weights=tally.multiplicity, method="inverted_cdf")
        share = np.full(REPRESENTED, tally.n / REPRESENTED)
    for t, units in zip(known, share, strict=True):
        below = marginal_cdf(prior, look, edges - channel.whole, np.full(edges.size, t))
        seen += units * np.diff(below) / (1 - below[0] if selected else 1.0)
    return seen


def rootogram(fitted: Fitted) -> Markup:
    """How many units showed each observation, and how many the model expects, on a square-root scale.

    A root of a count has a standard deviation of about 1/2, wherever it lies: whiskers reach two of them.
    """
    channel = fitted[0][1].channel
    x, units = (np.concatenate([getattr(tally, name) for _, tally, _ in fitted]) for name in ("values", "multiplicity"))
    units = units * np.concatenate([np.full(len(tally), groups) for _, tally, groups in fitted])
    edges = bins(np.asarray(x, dtype=np.float64), channel)
    observed = np.histogram(x, edges, weights=units)[0]
    expected = np.sum([groups * expected_units(prior, tally, edges) for prior, tally, groups in fitted], axis=0)
    roots = np.sqrt(observed), np.sqrt(np.maximum(expected, 0.0))
    top = max(float(roots[0].max()), float(roots[1].max()) + 1)
    heights = Scale(0.0, 1.05 * top, 214.0, 44.0)
    ticks = sorted({_round(share * top**2) for share in (0.02, 0.1, 0.3, 0.6, 1.0)})
    left, last = 14 + 6.4 * max(len(f"{tick:,}") for tick in ticks), WIDTH - 8
    step = (last - left) / observed.size
    marks = [
        piece
        for tick in ticks
        for y in [float(heights(np.sqrt(tick)))]
        for piece in (
            tag("line", x1=left, x2=last, y1=y, y2=y, class_="grid"),
            tag("text", f"{tick:,}", x=left - 6, y=y + 4, text_anchor="end", class_="tick"),
        )
    ]
    every = int(np.ceil(observed.size / 9))
    for i, (seen, fit) in enumerate(zip(*roots, strict=True)):
        middle, base = left + (i + 0.5) * step, float(heights(0.0))
        bar = float(heights(seen))
        marks.append(tag("rect", x=middle - 0.38 * step, y=bar, width=0.76 * step, height=base - bar, class_="bar"))
        low, dot, high = heights([max(fit - 1, 0.0), fit, fit + 1]).tolist()
        marks.append(path([middle, middle], [low, high], class_="whisker"))
        marks.append(tag("circle", cx=middle, cy=dot, r=2.6, class_="expected"))
        if i % every == 0:
            marks.append(
                tag("text", _bin_name(edges, i, channel), x=middle, y=230.0, text_anchor="middle", class_="tick")
            )
    marks.append(tag("text", channel.words.x, x=(left + last) / 2, y=248.0, text_anchor="middle", class_="title"))
    marks.append(tag("text", "units", x=2, y=11, class_="title"))
    marks += legend([("bar", "units that showed it"), ("whisker", "what the model expects")])
    frame = Frame(WIDTH, 254.0, Scale(0.0, 1.0))
    return frame.svg(marks, "How many units showed each observation, and how many the model expects.")


def _round(count: float) -> int:
    """A count with one digit that is not 0."""
    power = 10.0 ** np.floor(np.log10(max(count, 1.0)))
    return int(np.round(max(count, 1.0) / power) * power)


def _bin_name(edges: Floats, i: int, channel: Channel) -> str:
    low, high = float(edges[i]), float(edges[i + 1])
    if not channel.whole:
        return f"{low:.3g}…" if np.isfinite(low) else f"…{high:.3g}"
    return number(low) if high == low + 1 else f"{number(low)}–{number(high - 1)}"


def transform(fitted: Fitted) -> Markup:
    """Where units fall in the distribution that the model has for them: flat where it fits (Czado et al. 2009)."""
    edges, total, units = np.linspace(0.0, 1.0, CELLS + 1), np.zeros(CELLS), 0
    for prior, tally, groups in fitted:
        small = coarsened(tally)
        low, high = (end[:, None] for end in pit_interval(prior, small))
        inside = np.clip((edges - low) / np.maximum(high - low, 1e-12), 0.0, 1.0)
        inside[:, -1] = 1.0
        total += groups * (small.multiplicity @ np.diff(inside, axis=1))
        units += groups * small.n
    share = total / units
    noise = 2 * np.sqrt((1 - 1 / CELLS) / CELLS / units)
    heights = Scale(0.0, max(0.15, 1.1 * float(share.max()), 1.1 * (0.1 + noise)), 214.0, 44.0)
    left, last = 44.0, WIDTH - 8
    step = (last - left) / CELLS
    across = Scale(0.0, 1.0, left, last)
    frame = Frame(WIDTH, 254.0, across, heights)
    marks = frame.axes("place in its predicted distribution", "share of units", top=44)
    for i, part in enumerate(share):
        y = float(heights(part))
        marks.append(tag("rect", x=left + (i + 0.06) * step, y=y, width=0.88 * step, height=214 - y, class_="bar"))
    low, middle, high = heights([max(0.1 - noise, 0.0), 0.1, 0.1 + noise]).tolist()
    marks.append(tag("rect", x=left, y=high, width=last - left, height=low - high, class_="tolerance"))
    marks.append(path([left, last], [middle, middle], class_="dashed"))
    return frame.svg(marks, "Probability integral transform: bars of equal height where the model fits.")
