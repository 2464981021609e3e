"""What things cost: how time grows with the size of a table, and what the experiments of the reproduction took.

    python benchmarks/costs.py

prints the processor time and the memory of everyday questions at growing sizes, and the exponents of the growth from
one size to the next (on Linux). And, from what a whole run of a scale spent,

    python benchmarks/costs.py reproduction/laptop

writes the scale of that folder into costs.json: seconds of processor time by experiment. The other scales, and the note
that says when and how they were measured, are left to you; `python tests/test_docs_examples.py` then brings
docs/commands.md up to date.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars

import ebformer as eb
import ebformer.lab.reproduction
from ebformer.check import model_check
from ebformer.cli import ebformer as command
from ebformer.lab.reproduction.items import ITEMS, costs
from ebformer.lab.reproduction.store import COSTS as SPENT

COSTS = Path(ebformer.lab.reproduction.__file__).with_name("costs.json")


def spent(folder: Path) -> dict[str, int]:
    """Seconds by experiment; of files that were made again with other weights or data, the latest counts."""
    latest = {cost.file.partition(".")[0]: cost for cost in SPENT.read(folder / "costs.csv")}
    experiments = dict.fromkeys(experiment for item in ITEMS for experiment in item.needs)
    missing = experiments.keys() - {cost.experiment for cost in latest.values()}
    if missing:
        raise SystemExit(f"{folder} has no {', '.join(sorted(missing))}: run `ebformer reproduce` without --only")
    return {
        experiment: max(1, round(sum(cost.seconds for cost in latest.values() if cost.experiment == experiment)))
        for experiment in experiments
    }


def table(rows: int, distinct: int, groups: int = 1) -> polars.DataFrame:
    """Counts with so many distinct exposures, in groups."""
    rng = np.random.default_rng(0)
    exposure = np.resize(rng.uniform(0.5, 4.0, distinct), rows)
    theta = np.resize(rng.gamma(3.0, 1.0, distinct), rows)
    group = [f"g{i % groups}" for i in range(rows)]
    return polars.DataFrame({"x": rng.poisson(theta * exposure), "t": exposure, "g": group})


def shrunken(frame: polars.DataFrame, **options: Any) -> None:
    eb.shrink(frame, "x", "t", **options)


def checked(frame: polars.DataFrame) -> None:
    tally = eb.Tally.of(frame["x"].to_numpy(), exposure=frame["t"].to_numpy())
    rule = eb.estimator("gamma")(tally)
    assert rule.prior is not None
    model_check(rule.prior, tally, np.random.default_rng(0))


def told(name: str, frame: polars.DataFrame, ending: str, *options: str) -> None:
    """A command on the frame as a file."""
    with tempfile.TemporaryDirectory() as folder:
        frame.write_csv(Path(folder) / "in.csv")
        asked = [name, f"{folder}/in.csv", "--count", "x", "--method", "gamma", *options]
        command.main([*asked, "-o", f"{folder}/out.{ending}"], standalone_mode=False)


def reported(frame: polars.DataFrame) -> None:
    told("report", frame, "html", "--exposure", "t")


def written(frame: polars.DataFrame) -> None:
    told("estimate", frame, "csv")


def wide(columns: int) -> polars.DataFrame:
    """A hundred rows with so many columns."""
    return polars.DataFrame({"x": range(100), **{f"column {i}": range(100) for i in range(columns - 1)}})


def grouped(frame: polars.DataFrame, pool: bool = False) -> None:
    shrunken(frame, method="gamma", group="g", pool=pool)


def looks(units: int, each: int) -> polars.DataFrame:
    """A long table: so many looks at each unit."""
    long = table(units * each, 1000)
    unit, look = np.divmod(np.arange(units * each), each)
    return long.with_columns(u=polars.Series([f"u{i}" for i in unit.tolist()]), l=polars.Series(look))


def followed(frame: polars.DataFrame) -> None:
    shrunken(frame, method="gamma", unit="u", look="l")


def updated(frame: polars.DataFrame) -> None:
    """A fit of the first half takes in the second."""
    rows = len(frame) // 2
    eb.fit(frame[:rows], "x", group="g", method="gamma").updated(frame[rows:])


Asked = tuple[str, list[int], Callable[[int], polars.DataFrame], Callable[[polars.DataFrame], None]]
MANY = [10_000, 100_000, 1_000_000]
GROWTH: dict[str, Asked] = {
    "estimate": ("rows", MANY, lambda n: table(n, 1000), lambda f: shrunken(f, method="gamma")),
    "estimate, all distinct": ("distinct", MANY, lambda n: table(n, n), lambda f: shrunken(f, method="gamma")),
    "--top 3": ("rows", MANY, lambda n: table(n, 1000), lambda f: shrunken(f, top=3)),
    "--top 3, all distinct": ("distinct", [1000, 3000, 10_000], lambda n: table(n, n), lambda f: shrunken(f, top=3)),
    "check": ("rows", MANY, lambda n: table(n, 1000), checked),
    "check, all distinct": ("distinct", [1000, 10_000, 100_000], lambda n: table(n, n), checked),
    "report": ("rows", MANY, lambda n: table(n, 500), reported),
    "report, all distinct": ("distinct", [1000, 10_000, 100_000], lambda n: table(n, n), reported),
    "100 groups": ("rows", MANY, lambda n: table(n, 1000, 100), grouped),
    "groups of one, one exposure": ("groups", MANY, lambda n: table(n, 1, n), grouped),
    "groups of one, all distinct": ("groups", [100, 1000, 10_000], lambda n: table(n, n, n), grouped),
    "groups of ten, all distinct": ("groups", [100, 300, 1000], lambda n: table(10 * n, 10 * n, n), grouped),
    "groups of ten, pooled": (
        "groups",
        [100, 300, 1000],
        lambda n: table(10 * n, 10 * n, n),
        lambda f: grouped(f, pool=True),
    ),
    "an update of groups of one": ("groups", MANY, lambda n: table(2 * n, 1, n), updated),
    "units of five looks": ("units", [200, 2000, 20_000], lambda n: looks(n, 5), followed),
    "looks at 100 units": ("looks", [5, 20, 80], lambda n: looks(100, n), followed),
    "wide header": ("columns", [20, 200, 2000], wide, written),
}
"""What is asked, what grows, how far, the tables and the question."""
REPEATS, PATIENCE = 5, 10.0
"""The least of so many runs counts, or of as many as fit in so many seconds: machines are noisy."""


def growth(names: list[str], largest: int) -> None:
    """Processor time and memory at every size, and the exponent from the size before."""
    print("| what | grows | size | seconds | MB | exponent |\n| --- | --- | ---: | ---: | ---: | ---: |")
    for name in names:
        what, sizes, make, ask = GROWTH[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ask(make(min(50, sizes[0])))  # what is imported and made once
            before = None
            for size in [size for size in sizes if size <= largest]:
                frame = make(size)
                held = peak(anew=True)
                spent = [taken(ask, frame)]
                held = max(0, peak() - held)
                while len(spent) < REPEATS and sum(spent) < PATIENCE:
                    spent.append(taken(ask, frame))
                grew = "" if before is None else f"{math.log(min(spent) / before[1]) / math.log(size / before[0]):.2f}"
                print(f"| {name} | {what} | {size:,} | {min(spent):.2f} | {held / 1000:.0f} | {grew} |", flush=True)
                before = size, min(spent)


def taken(ask: Callable[[polars.DataFrame], None], frame: polars.DataFrame) -> float:
    """Seconds of processor time."""
    start = time.process_time()
    ask(frame)
    return time.process_time() - start


def peak(anew: bool = False) -> int:
    """The most memory that this process has held, in kB, or, `anew`, what it holds now; of Linux."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="OUTPUT/SCALE of a finished run of the reproduction")
    parser.add_argument("--only", action="append", choices=list(GROWTH), help="this growth alone; repeatable")
    parser.add_argument("--largest", type=int, default=10**9, help="no size beyond this")
    given = parser.parse_args()
    if given.folder is None:
        growth(given.only or list(GROWTH), given.largest)
        raise SystemExit
    folder = given.folder
    before, measured = costs(), spent(folder)
    for experiment, seconds in measured.items():
        print(f"{experiment}: {before[folder.name][experiment]} s, now {seconds} s")
    after = before | {folder.name: {experiment: measured[experiment] for experiment in before[folder.name]}}
    COSTS.write_text(json.dumps(after, indent=1) + "\n", encoding="utf-8")
