"""Arrays: every method and channel, a sample or several, seen once or twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import ebformer as eb
from ebformer.channels import CHANNELS, channel_named
from ebformer.estimators.catalogue import CATALOGUE
from fuzz.judging import check_numbers, check_posterior


def wide(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers over many decades."""
    return st.one_of(
        st.floats(low, high), st.floats(np.log10(low), np.log10(high)).map(lambda power: float(10.0**power))
    )


@st.composite
def observations(draw: st.DrawFn) -> dict[str, Any]:
    channel = draw(st.sampled_from(sorted(CHANNELS)))
    n = draw(st.integers(1, 12))
    least = 1 if channel == "zero-truncated" else 0
    if channel == "binomial":
        known: Any = draw(st.lists(st.one_of(st.integers(1, 60), st.integers(1, 10**9)), min_size=n, max_size=n))
        x: Any = [int(draw(st.floats(0, 1)) * m) for m in known]
    else:
        spread = draw(st.sampled_from([(0.5, 2.0), (1e-2, 1e2), (1e-6, 1e6), (1e-49, 1e49)]))
        known = draw(st.lists(wide(*spread), min_size=n, max_size=n))
        counts = st.one_of(st.integers(least, 9), st.integers(least, 10**7))
        numbers = st.one_of(st.floats(-9, 9), st.floats(-1e6, 1e6), st.floats(allow_nan=True))
        x = draw(st.lists(numbers if channel == "normal" else counts, min_size=n, max_size=n))
    if draw(st.booleans()):
        known = max(known) if channel == "binomial" else known[0]
    serving = sorted(name for name, method in CATALOGUE.items() if channel in method.channels)
    method = draw(st.one_of(st.sampled_from(serving), st.sampled_from(serving), st.sampled_from(sorted(CATALOGUE))))
    asked = draw(st.sampled_from(["one", "one", "one", "many", "looks"]))
    return {"channel": channel, "x": x, "known": known, "method": method, "asked": asked}


def run_arrays(case: dict[str, Any]) -> None:
    {"one": one_sample, "many": many_samples, "looks": two_looks}[case["asked"]](case)


def one_sample(case: dict[str, Any]) -> None:
    """A rule and all that it answers."""
    channel = channel_named(case["channel"])
    tally = eb.Tally.of(case["x"], case["known"], channel=channel)
    rule = eb.estimator(case["method"])(tally)
    x, known = np.asarray(case["x"], float), np.asarray(case["known"], float)
    estimates = rule(x, known)
    check_numbers(estimates, "the estimate", *channel.domain)
    if rule.prior is None:
        return
    check_posterior(rule.posterior(x, known), estimates, channel.domain)
    ahead = rule.predict(x, known, future=min(float(np.max(known)), 1e5))
    check_numbers(ahead.mean, "the prediction")
    check_numbers(ahead.interval(0.9)[1], "the end of a prediction")


def many_samples(case: dict[str, Any]) -> None:
    """Both halves as samples of their own, of unequal size and as the rows of a matrix."""
    channel, half = channel_named(case["channel"]), (len(case["x"]) + 1) // 2
    known = np.broadcast_to(np.asarray(case["known"], float), len(case["x"]))
    tallies = [eb.Tally.of(case["x"][at], known[at], channel=channel) for at in (slice(half), slice(half - 1, None))]
    for found in eb.estimate_many(tallies, case["method"]):
        check_numbers(found, "the estimate", *channel.domain)
    rows = np.array([case["x"][:half], case["x"][-half:]])
    found = eb.estimate(rows, np.array([known[:half], known[-half:]]), method=case["method"], channel=channel)
    check_numbers(found, "the estimate", *channel.domain)


def two_looks(case: dict[str, Any]) -> None:
    """The same observations in the opposite order are a second look, from which a drift is learnt."""
    channel = channel_named(case["channel"])
    known = np.broadcast_to(np.asarray(case["known"], float), len(case["x"]))
    looks = eb.Looks.of(case["x"], case["x"][::-1], known, known[::-1], channel=channel)
    drift = eb.Drift.learn([looks], case["method"])
    str(drift), drift.sentences(channel)
    rule = eb.estimator(case["method"])(looks.tally)
    ahead = rule.predict(looks.x, looks.known, future=looks.future, drift=drift)
    check_numbers(ahead.mean, "the prediction")
