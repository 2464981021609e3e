"""Random tables, on which a method is held to the laws of `eb.check_estimator`."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from ebformer.channels import CHANNELS, channel_named
from ebformer.errors import EbformerError
from ebformer.estimators.catalogue import CATALOGUE, find
from ebformer.estimators.contract import LAWS, Case, Example
from fuzz.arrays import wide
from fuzz.judging import Fault, patience


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """Units about which the same is known: few or many, alike or far apart."""
    channel = draw(st.sampled_from(sorted(CHANNELS)))
    method = draw(st.sampled_from(sorted(name for name, found in CATALOGUE.items() if channel in found.channels)))
    n = draw(st.integers(1, 40))
    if channel == "binomial":
        known: float = draw(st.sampled_from([1, 2, 7, 50, 1000]))
        high = draw(st.sampled_from([known, known, 3]))
        seen: st.SearchStrategy[Any] = st.integers(0, min(int(known), high))
    elif channel == "normal":
        known = draw(wide(1e-3, 1e3))
        seen = st.floats(-1.0, 1.0).map(lambda z: z * known * draw(st.sampled_from([0.1, 3.0, 50.0])))
    else:
        known = draw(wide(1e-6, 1e6))
        seen = st.integers(1 if channel == "zero-truncated" else 0, draw(st.sampled_from([2, 9, 60, 2000])))
    return {"channel": channel, "method": method, "x": draw(st.lists(seen, min_size=n, max_size=n)), "known": known}


def run_laws(case: dict[str, Any]) -> None:
    example = Example(channel_named(case["channel"]), np.array(case["x"]), float(case["known"]))
    held = Case(find(case["method"]), example)
    assert held.rule is not None  # a table that the method refuses is no case of the laws
    for law, holds in LAWS.items():
        try:
            with patience():  # a law is what a call is elsewhere
                holds(held)
        except (AssertionError, EbformerError) as broken:
            raise Fault("law", f"{case['method']}: {law}, but {broken}") from broken
