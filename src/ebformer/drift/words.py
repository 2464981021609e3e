"""A drift in two sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ebformer.channels.base import Channel
from ebformer.plural import counted

if TYPE_CHECKING:
    from ebformer.drift.law import Drift


def sentences(drift: Drift, channel: Channel) -> list[str]:
    """What a unit loses of what sets it apart, and how it moves beside."""
    thetas, linear = channel.words.thetas, _linear(channel)
    lost = 1.0 - (1.0 - drift.pull) * drift.fade if linear else drift.pull
    afresh = f", partly because {_percent(drift.renewal)} of units start afresh" if drift.renewal >= 0.005 else ""
    further = f"; high {thetas} fall a little further" if drift.fade < 0.99 and not linear else ""
    learnt = f" (learnt from {counted(drift.pairs, 'pair')} of looks)" if drift.pairs else ""
    jump = f"jump up or down by about {_percent(np.sqrt(drift.jump))} of the usual difference between units"
    return [
        f"From one {drift.look or 'look'} to the next, {thetas} lose on average {_percent(lost)} of their distance to "
        f"the mean of all{afresh}{further}{learnt}.",
        f"Beyond that, they {jump if drift.jump else 'do not jump'}, and {_trend(drift.trend, channel)}.",
    ]


def _trend(trend: float, channel: Channel) -> str:
    """What happens to all units alike: the trend is added to their natural parameters, such as log rates."""
    by = f"{abs(trend):.3g}" if _linear(channel) else f"{abs(100 * np.expm1(trend)):.1f} %"
    if by in ("0", "0.0 %"):
        return "they have no common trend"
    of_all = "the odds of all" if channel.domain[1] == 1.0 else f"all {channel.words.thetas}"
    return f"{of_all} {'grow' if trend > 0 else 'fall'} by {by}"


def _linear(channel: Channel) -> bool:
    """Whether theta is its own natural parameter."""
    return bool(channel.natural(np.asarray(0.5)) == 0.5)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
