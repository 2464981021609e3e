"""Saved rules, fits, drifts and weights, edited."""

from __future__ import annotations

import copy
import json
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import ebformer as eb
from ebformer.channels import channel_named
from ebformer.errors import EbformerError
from ebformer.estimators.catalogue import CATALOGUE
from ebformer.estimators.pretrained import Pretrained
from ebformer.networks import weights as network_weights
from ebformer.networks import zoo
from ebformer.rule import Rule
from ebformer.tables.fit import Fit
from fuzz.files import edited
from fuzz.judging import check_numbers, check_posterior

WORDS = {"poisson": "exposure", "binomial": "trials", "normal": "se", "zero-truncated": "exposure"}
NASTY = [
    None,
    True,
    "",
    "x",
    [],
    {},
    -1,
    0,
    0.5,
    3,
    1e308,
    -1e308,
    1e-320,
    1e49,
    2**53,
    2**70,
    [1, 2],
    "é\n\x1b[2J" * 400,
]
"""What takes the place of an entry of a saved file."""


JSON_EDITS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, len(NASTY))), min_size=1, max_size=3).map(
    lambda edits: [list(e) for e in edits]
)


def places(found: Any) -> list[tuple[Any, Any]]:
    """Every entry of a JSON value: its home and its key."""
    pairs: list[tuple[Any, Any]] = []
    keys = found.keys() if isinstance(found, dict) else range(len(found)) if isinstance(found, list) else ()
    for key in list(keys):
        pairs.append((found, key))
        pairs += places(found[key])
    return pairs


def with_edits(record: Any, edits: list[list[int]]) -> Any:
    changed = copy.deepcopy(record)
    for at, which in edits:
        if every := places(changed):
            home, key = every[at % len(every)]
            if which == len(NASTY):
                del home[key]
            else:
                home[key] = copy.deepcopy(NASTY[which])
    return changed


TABLES = {
    "poisson": ([0, 0, 1, 3, 2, 9], [1.0, 2.0, 1.0, 1.0, 3.0, 2.0]),
    "binomial": ([0, 1, 3, 2, 9, 5], [10, 10, 12, 10, 11, 9]),
    "normal": ([0.1, -2.0, 1.0, 3.0, 0.4, -0.3], [1.0, 0.5, 1.0, 2.0, 1.0, 1.0]),
    "zero-truncated": ([1, 1, 2, 5, 1, 3], [1.0] * 6),
}


@cache
def good_rules() -> tuple[tuple[str, str], ...]:
    """Every method of every channel, as it is saved."""
    found = []
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        for name, method in sorted(CATALOGUE.items()):
            for channel in sorted(set(method.channels) & set(TABLES)):
                x, known = TABLES[channel]
                about: Any = known if method.unequal_known else max(known)
                rule = method(eb.Tally.of(x, about, channel=channel_named(channel)))
                try:
                    rule.save(Path(folder) / "rule.json")
                except EbformerError:
                    continue
                found.append((f"{name} {channel}", (Path(folder) / "rule.json").read_text()))
    return tuple(found)


def run_rule(case: dict[str, Any]) -> None:
    _, text = good_rules()[case["which"] % len(good_rules())]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rule.json"
        path.write_text(json.dumps(with_edits(json.loads(text), case["edits"])))
        rule = Rule.load(path)
    str(rule), rule.summary()
    x, known = TABLES[rule.channel.name]
    about: Any = max(known) if rule.known is None else rule.known
    if not bool(np.all(rule.channel.usable(np.asarray(x, float), np.full(len(x), float(about))))):
        x = [1.0] if rule.channel.name != "normal" else x
    estimates = rule(x, about)
    check_numbers(estimates, "the estimate", *rule.channel.domain)
    if rule.prior is not None:
        after = rule.posterior(np.asarray(x, float), about)
        check_posterior(after, estimates, rule.channel.domain)


@cache
def good_fit(channel: str) -> str:
    import polars

    x, known = TABLES[channel]
    frame = polars.DataFrame({"x": x, "t": known, "g": list("aabbab")})
    words: dict[str, Any] = {WORDS[channel]: "t", "effect" if channel == "normal" else "count": "x"}
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        eb.fit(frame, group="g", method="npmle", **words).save(Path(folder) / "fit.json")
        return (Path(folder) / "fit.json").read_text()


def run_fit(case: dict[str, Any]) -> None:
    import polars

    channel = ["poisson", "binomial", "normal"][case["which"] % 3]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.json"
        path.write_text(json.dumps(with_edits(json.loads(good_fit(channel)), case["edits"])))
        fit = Fit.load(path)
    x, known = TABLES[channel]
    rows = fit.apply(polars.DataFrame({"x": x, "t": known, "g": list("aabbab")}))
    check_numbers([number for number in rows["estimate"] if number is not None], "the estimate")


def run_drift(case: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drift.json"
        path.write_text(json.dumps(with_edits(eb.Drift.typical().record(), case["edits"])))
        drift = eb.Drift.load(path)
    rule = eb.estimator("gamma")(eb.Tally.of(*TABLES["poisson"]))
    ahead = rule.predict([0, 3], 1.0, future=1.0, drift=drift)
    check_numbers(ahead.mean, "the prediction", 0.0)
    str(drift), drift.sentences(rule.channel)


@cache
def good_weights() -> bytes:
    return (Path(zoo.__file__).parent / "T24r.safetensors").read_bytes()


def run_weights(case: dict[str, Any]) -> None:
    content = good_weights()
    header = int.from_bytes(content[:8], "little")
    changed = edited(content, case["edits"], case["cut"])
    if case["header"]:  # most bytes are numbers: turn to what says which
        front = edited(content[: header + 8], case["edits"], None)
        changed = front + content[header + 8 :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "w.safetensors"
        path.write_bytes(changed)
        weights = network_weights.load(path)
    rule = Pretrained("edited", weights)(eb.Tally.of([0, 0, 1, 3]))
    check_numbers(rule([0, 1, 3]), "the estimate", 0.0)
