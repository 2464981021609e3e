"""Files, changed byte by byte, and the command line: every command about a table, its options well or ill filled in."""

from __future__ import annotations

import gzip
import io
import tempfile
import warnings
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from command_line import ebformer
from ebformer.errors import EbformerError
from ebformer.estimators.catalogue import CATALOGUE
from fuzz.judging import Fault, check_numbers, refusal

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


ASKED_OF_FILES = {
    "rates": ["estimate", "--count", "goals", "--exposure", "games", "--method", "gamma", "-o", "out.csv"],
    "whatever": ["estimate", "--method", "gamma", "-o", "out.csv"],
    "drift": ["drift", "--before", "goals", "--after", "goals", "--method", "gamma", "-o", "out.json"],
}


def files(*kinds: str) -> st.SearchStrategy[Any]:
    asked = st.sampled_from(["rates", "rates", "whatever", "whatever", "drift"])
    return st.fixed_dictionaries({"kind": st.sampled_from(kinds), "edits": EDITS, "cut": CUT, "asked": asked})


def run_file(case: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ending = "csv" if case["kind"] == "semicolons" else case["kind"]
        given = Path(folder) / f"in.{ending}"
        given.write_bytes(edited(good_file(case["kind"]), case["edits"], case["cut"]))
        name, *options = ASKED_OF_FILES[case["asked"]]
        command(name, given.name, *options, folder=Path(folder))


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
        _check_estimates(folder / arguments[arguments.index("-o") + 1])
    if done.returncode:
        raise EbformerError(done.stderr[-200:])


def _check_estimates(path: Path) -> None:
    if path.suffix == ".csv" and path.exists():
        header, *rows = [line.split(",") for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
        if "estimate" in header and all(len(row) == len(header) for row in rows):
            at = header.index("estimate")
            check_numbers([float(row[at]) for row in rows if row[at]], "the estimate")


# A table with something for every option, and what to fill in.

KINDS = [
    ["--count", "goals"],
    ["--count", "goals", "--exposure", "games"],
    ["--count", "goals", "--trials", "tries"],
    ["--effect", "effect", "--se", "error"],
    ["--count", "goals", "--zeros", "missing"],
    [],
]
COLUMNS = ["name", "team", "season", "goals", "games", "tries", "effect", "error", "age"]
NUMBERS = ["0.1", "0.9", "1", "2", "10"]
METHODS = sorted(CATALOGUE)
WANTED = {
    "--interval": ["0.5", "0.999"],
    "--future": [*NUMBERS, "games", "tries"],
    "--drift": ["typical"],
    "--above": [*NUMBERS, "1.5x"],
    "--below": [*NUMBERS, "0.5x"],
    "--null": ["0", "1"],
    "--fdr": ["0.1", "0.5"],
    "--per": ["10", "1000"],
    "--top": ["1", "3", "40"],
    "--unit": ["name", "team"],
    "--look": ["season"],
}
FITTING = {
    "--group": ["team", "season", "name"],
    "--pool": [None],
    "--neighbours": ["borders.csv"],
    "--method": METHODS,
    "--missing": ["keep", "error"],
    "--label": ["name"],
}
COVARIATES = {"--covariates": ["age", "age,team", "team,season"], "--regression": ["trees", "linear"]}
ASKED: dict[str, tuple[list[list[str]], dict[str, list[Any]]]] = {
    "estimate": (KINDS, {**WANTED, **FITTING, **COVARIATES, "--save": ["saved.json"]}),
    "report": (KINDS, {**WANTED, **FITTING}),
    "apply": ([[]], {**WANTED, "--strict": [None], "--update": [None], "--group": ["team"], "--count": ["goals"]}),
    "compare": (KINDS, {"--method": METHODS, "--missing": ["keep"], "--unit": ["name"]}),
    "signals": (
        [["--row", "name", "--column", "team", "--count", "goals"]],
        {
            "--stratify": ["season"],
            "--expected": ["games"],
            "--above": NUMBERS,
            "--fdr": ["0.1", "0.5"],
            "--method": METHODS,
        },
    ),
    "drift": (
        [
            ["--before", "goals", "--after", "tries"],
            ["--before", "goals", "--after", "goals", "--exposure-before", "games", "--exposure-after", "games"],
            ["--before", "effect", "--after", "effect", "--se-before", "error", "--se-after", "error"],
            ["--before", "goals", "--after", "goals", "--trials-before", "tries", "--trials-after", "tries"],
        ],
        {"--look": ["season"], "--method": METHODS},
    ),
}
"""For every command: what it needs, one of several kinds, and its options with settings that make sense."""
ANYTHING = ["0.9", "-1", "0", "1e300", "nan", "x", "", "missing", "1.5x", *NUMBERS, *COLUMNS, *METHODS]
ANYTHING += ["a" * 3000, "\udcff", "\x1b[2J", "borders.csv", "in.csv"]
"""What may be filled in all the same."""
OUTPUT = {"report": ["-o", "out.html"], "drift": ["-o", "out.json"], "compare": []}


@st.composite
def command_lines(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from([*["estimate"] * 4, "apply", *ASKED]))
    needed, settings = ASKED[name]
    options = []
    for option in draw(st.lists(st.sampled_from(sorted(settings)), max_size=4, unique=True)):
        sensible = st.sampled_from(settings[option])
        setting = draw(st.one_of(sensible, sensible, sensible, sensible, st.sampled_from(ANYTHING)))
        options += [option] if None in settings[option] else [option, setting]
    written = draw(st.sampled_from([None, None, None, None, "borders.csv", "fit.json", "\udcff.csv", "a" * 3000]))
    return {"command": name, "needed": draw(st.sampled_from(needed)), "options": options, "written": written}


@cache
def good_table() -> bytes:
    import polars

    rng, units = np.random.default_rng(1), 24
    tries = rng.integers(9, 40, units)
    columns: dict[str, Any] = {
        "name": [f"u{i % 12}" for i in range(units)],
        "team": [f"t{i % 3}" for i in range(units)],
        "season": [2021 + i // 12 for i in range(units)],
        "goals": rng.binomial(tries, 0.2).clip(1),
        "games": rng.uniform(0.5, 4, units).round(2),
        "tries": tries,
        "effect": rng.normal(0, 2, units).round(2),
        "error": rng.uniform(0.5, 2, units).round(2),
        "age": rng.integers(18, 30, units),
    }
    return polars.DataFrame(columns).write_csv().encode()


@cache
def good_fit() -> bytes:
    """A fit of the table, with groups, as the command line saves it."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "in.csv").write_bytes(good_table())
        named = ["--count", "goals", "--exposure", "games", "--group", "team", "--method", "gamma"]
        ebformer("estimate", "in.csv", *named, "--save", "fit.json", "-o", "out.csv", folder=Path(folder))
        return (Path(folder) / "fit.json").read_bytes()


def run_command_line(case: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.csv").write_bytes(good_table())
        (folder / "borders.csv").write_text("one,other\nt0,t1\nt1,t2\n")
        (folder / "fit.json").write_bytes(good_fit())
        fit = ["fit.json"] if case["command"] == "apply" else []
        written = OUTPUT.get(case["command"], ["-o", "out.csv"])
        if written and case.get("written") is not None:
            written = ["-o", case["written"]]
        arguments = [case["command"], *fit, "in.csv", *case["needed"], *case["options"], *written]
        given = {argument for option, argument in pairwise(arguments) if option not in ("--save", "-o")}
        read = {path: path.read_bytes() for path in folder.iterdir() if path.name in given}
        try:
            command(*arguments, folder=folder)
        finally:
            for path, content in read.items():
                if path.name != "fit.json" and path.read_bytes() != content:  # which --update is to change
                    raise Fault("traceback", f"{path.name} was read and replaced")
