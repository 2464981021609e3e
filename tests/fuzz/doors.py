"""Every door of the package: which cases come to it, as plain JSON values, and what happens to one.

A case is JSON so that a counter-example can be kept in `found/` as a test of its own.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from hypothesis import strategies as st

import ebformer as eb
from command_line import ebformer
from ebformer.channels import CHANNELS, channel_named
from ebformer.errors import EbformerError
from ebformer.estimators.catalogue import CATALOGUE
from ebformer.estimators.pretrained import Pretrained
from ebformer.networks import weights as network_weights
from ebformer.networks import zoo
from ebformer.rule import Rule
from ebformer.tables.fit import Fit
from fuzz.judging import Fault, check_numbers, check_posterior, refusal

WORDS = {"poisson": "exposure", "binomial": "trials", "normal": "se", "zero-truncated": "exposure"}
KINDS = ("pandas", "polars", "lazy", "pyarrow", "duckdb")
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


@dataclass(frozen=True)
class Door:
    """`cases` are what comes, `run` opens the door: it returns, raises an `EbformerError` or a `Fault`."""

    cases: st.SearchStrategy[Any]
    run: Callable[[Any], None]


# Arrays: every method and channel.


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
    return {"channel": channel, "x": x, "known": known, "method": method}


def run_arrays(case: dict[str, Any]) -> None:
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


# Frames of five kinds.

ENTRIES = st.one_of(
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(-2, 10**18),
    st.floats(),
    st.booleans(),
    st.none(),
    st.text(max_size=3),
)


@st.composite
def frames(draw: st.DrawFn) -> dict[str, Any]:
    n = draw(st.integers(0, 8))
    entries = draw(st.sampled_from([st.integers(0, 9), st.integers(0, 9), ENTRIES]))
    column = st.lists(entries, min_size=n, max_size=n)
    known = st.lists(draw(st.sampled_from([wide(1e-2, 1e2), wide(1e-2, 1e2), ENTRIES])), min_size=n, max_size=n)
    groups = st.lists(st.one_of(st.none(), st.sampled_from("ab"), st.text(max_size=2)), min_size=n, max_size=n)
    return {
        "kind": draw(st.sampled_from(KINDS)),
        "columns": {"x": draw(column), "t": draw(known), "g": draw(groups)},
        "method": draw(st.sampled_from(["gamma", "npmle", "mle", "robbins", "beta", "normal"])),
        "as": draw(st.sampled_from(["exposure", "exposure", "trials", "se", "none"])),
        "group": draw(st.booleans()),
        "missing": draw(st.sampled_from(["error", "keep", "explain"])),
        "options": draw(wanted()),
    }


@st.composite
def wanted(draw: st.DrawFn) -> dict[str, Any]:
    every: dict[str, st.SearchStrategy[Any]] = {
        "interval": st.one_of(st.floats(0.01, 0.999), st.floats()),
        "future": st.one_of(st.floats(0.1, 10), st.floats()),
        "top": st.integers(-1, 20),
        "above": st.one_of(st.floats(0, 9), st.sampled_from(["1.5x", "x", "nan"])),
        "below": st.one_of(st.floats(0, 9), st.floats()),
        "fdr": st.floats(0, 1),
        "per": st.one_of(st.floats(1, 1e4), st.floats()),
        "null": st.floats(-1, 1),
    }
    names = draw(st.lists(st.sampled_from(sorted(every)), max_size=3, unique=True))
    return {name: draw(every[name]) for name in names}


def run_frames(case: dict[str, Any]) -> None:
    words: dict[str, Any] = {} if case["as"] == "none" else {case["as"]: "t"}
    x = {"effect" if case["as"] == "se" else "count": "x"}
    try:
        frame = made(case["kind"], case["columns"])
    except Exception as error:  # a library that does not make such a table has not let it in
        raise EbformerError(type(error).__name__) from error
    rows = eb.shrink(
        frame,
        **x,
        **words,
        group="g" if case["group"] else None,
        method=case["method"],
        missing=case["missing"],
        **case["options"],
    )
    estimates = column_of(rows, "estimate")
    told = [number for number in estimates if number is not None and number == number]
    if case["missing"] == "error" and len(told) < len(estimates):
        raise Fault("nan", "an estimate is missing")
    check_numbers(told, "the estimate")


def made(kind: str, columns: dict[str, list[Any]]) -> Any:
    import pandas
    import polars
    import pyarrow

    if kind == "pandas":
        return pandas.DataFrame(columns)
    if kind in ("polars", "lazy"):
        frame = polars.DataFrame(columns)
        return frame.lazy() if kind == "lazy" else frame
    table = pyarrow.table(columns)
    return duckdb.connect().from_arrow(table) if kind == "duckdb" else table


def column_of(rows: Any, name: str) -> list[Any]:
    if isinstance(rows, duckdb.DuckDBPyRelation):
        return [row[0] for row in rows.select(name).fetchall()]
    rows = rows.collect() if hasattr(rows, "collect") else rows
    column = rows[name]
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column.to_list())


# Files, byte by byte, and the command line.

EDITS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)).map(list), max_size=6)
CUT = st.one_of(st.none(), st.none(), st.none(), st.integers(0, 10**6))
"""After how many bytes a file ends, or None."""


@cache
def good_file(kind: str) -> bytes:
    import polars

    rng = np.random.default_rng(0)
    frame = polars.DataFrame(
        {"name": [f"u{i}" for i in range(20)], "goals": rng.poisson(3, 20), "games": rng.uniform(0.5, 4, 20).round(3)}
    )
    written = io.BytesIO()
    if kind == "parquet":
        frame.write_parquet(written)
        return written.getvalue()
    frame.write_csv(written, separator=";" if kind == "semicolons" else ",")
    return gzip.compress(written.getvalue(), mtime=0) if kind == "csv.gz" else written.getvalue()


def edited(content: bytes, edits: list[list[int]], cut: int | None) -> bytes:
    changed = bytearray(content)
    for position, byte in edits:
        changed[position % len(changed)] = byte
    return bytes(changed if cut is None else changed[: cut % len(changed)])


def files(*kinds: str) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({"kind": st.sampled_from(kinds), "edits": EDITS, "cut": CUT, "named": st.booleans()})


def run_file(case: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ending = "csv" if case["kind"] == "semicolons" else case["kind"]
        given = Path(folder) / f"in.{ending}"
        given.write_bytes(edited(good_file(case["kind"]), case["edits"], case["cut"]))
        named = ["--count", "goals", "--exposure", "games"] if case["named"] else []
        command("estimate", given, *named, "--method", "gamma", "-o", Path(folder) / "out.csv", folder=Path(folder))


def command(*arguments: Any, folder: Path) -> None:
    """A command that ends well, or badly with a sentence and no unfinished file."""
    before = {path.name for path in folder.iterdir()}
    done = ebformer(*arguments, folder=folder)
    litter = {path.name for path in folder.iterdir()} - before
    if any(name.endswith(".partial") for name in litter):
        raise Fault("traceback", f"{litter} was left")
    if done.returncode not in (0, 1, 2):
        raise Fault("traceback", f"exit code {done.returncode}: {done.stderr[-200:]}")
    if "Traceback" in done.stderr:
        raise Fault("traceback", done.stderr[-300:])
    for line in done.stderr.splitlines():
        kind, what = refusal(line)
        if kind == "wordy":
            raise Fault("wordy", what)
    if "-o" in arguments and done.returncode == 0:
        _check_estimates(Path(arguments[arguments.index("-o") + 1]))
    if done.returncode:
        raise EbformerError(done.stderr[-200:])


def _check_estimates(path: Path) -> None:
    if path.suffix == ".csv" and path.exists():
        header, *rows = [line.split(",") for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
        if "estimate" in header and all(len(row) == len(header) for row in rows):
            at = header.index("estimate")
            check_numbers([float(row[at]) for row in rows if row[at]], "the estimate")


OPTIONS = ["--interval", "--future", "--top", "--above", "--below", "--null", "--fdr", "--per", "--method", "--missing"]
OPTIONS += [
    "--group",
    "--trials",
    "--se",
    "--effect",
    "--unit",
    "--zeros",
    "--drift",
    "--exposure",
    "--count",
    "--pool",
]
SETTINGS = [
    "0.9",
    "1",
    "3",
    "-1",
    "0",
    "1e300",
    "nan",
    "x",
    "",
    "goals",
    "games",
    "name",
    "typical",
    "keep",
    "missing",
    "1.5x",
]
SETTINGS += sorted(CATALOGUE)


@st.composite
def command_lines(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(OPTIONS), max_size=4, unique=True))
    return {
        "command": draw(st.sampled_from(["estimate", "estimate", "estimate", "compare", "drift", "signals"])),
        "options": [[name] + ([] if name == "--pool" else [draw(st.sampled_from(SETTINGS))]) for name in names],
    }


def run_command_line(case: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.csv").write_bytes(good_file("csv"))
        options = [word for option in case["options"] for word in option]
        files = [folder / "in.csv"]
        written = ["-o", folder / "out.csv"] if case["command"] in ("estimate", "signals") else []
        command(case["command"], *files, *options, *written, folder=folder)


# Saved rules, fits, drifts and weights, edited.

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


SAVED = st.fixed_dictionaries({"which": st.integers(0, 10**6), "edits": JSON_EDITS})
DOORS = {
    "arrays": Door(observations(), run_arrays),
    "frames": Door(frames(), run_frames),
    "text files": Door(files("csv", "csv.gz", "semicolons"), run_file),
    "parquet files": Door(files("parquet"), run_file),
    "command lines": Door(command_lines(), run_command_line),
    "saved rules": Door(SAVED, run_rule),
    "saved fits": Door(SAVED, run_fit),
    "saved drifts": Door(SAVED, run_drift),
    "weights": Door(st.fixed_dictionaries({"edits": EDITS, "cut": CUT, "header": st.booleans()}), run_weights),
}
