"""What people call the numbers of a channel, and what is said where its model does not describe them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """What people call x, what is known, and theta, one and several; `ask_x` and `ask_known` say what to give.

    `seen` tells of one observation, as {x} of the column {name} and {known} of the column {unit}, `amount` of a number
    that is known; `scale` is what a change of theta is measured by (`Channel.scale`).
    """

    x: str
    xs: str
    known: str
    knowns: str
    theta: str
    thetas: str
    ask_x: str
    ask_known: str
    seen: str
    amount: str
    scale: str = "itself"


@dataclass(frozen=True)
class Advice:
    """What the model check says of observations that this channel, with any prior, does not explain.

    `narrow`: they vary too little. `wide`: they vary too much where little is known and too little where much is.
    `misfit`: anything else. `parts`: what makes the parts of an observation independent (`Channel.split`), and what
    happens where it does not hold. `no_zeros`: no unit shows a 0 though many are expected; `tries`: no count
    is above its exposure, a whole number. Both are None where that is no sign of trouble.
    """

    fits: str
    narrow: str
    wide: str
    misfit: str
    trend: str
    parts: str
    no_zeros: str | None = None
    tries: str | None = None
