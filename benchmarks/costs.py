"""What things cost: how time grows with the size of a table, and what the experiments of the reproduction took.

    python benchmarks/costs.py

prints the processor time and the memory of everyday questions at growing sizes, and the exponents of the growth from
one size to the next. And, from what a whole run of a scale spent,

    python benchmarks/costs.py reproduction/laptop

writes the scale of that folder into costs.json: seconds of processor time by experiment. The other scales, and the note
that says when and how they were measured, are left to you; `python tests/test_docs_examples.py` then brings
docs/commands.md up to date.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
import tracemalloc
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


def reported(frame: polars.DataFrame) -> None:
    with tempfile.TemporaryDirectory() as folder:
        frame.write_csv(Path(folder) / "in.csv")
        asked = ["report", f"{folder}/in.csv", "--count", "x", "--exposure", "t", "--method", "gamma"]
        command.main([*asked, "-o", f"{folder}/out.html"], standalone_mode=False)


GROWTH: dict[str, tuple[str, list[int], Callable[[int], polars.DataFrame], Callable[[polars.DataFrame], None]]] = {
    "estimate": ("rows", [10_000, 100_000, 1_000_000], lambda n: table(n, 1000), lambda f: shrunken(f, method="gamma")),
    "--top 3": ("rows", [10_000, 100_000, 1_000_000], lambda n: table(n, 1000), lambda f: shrunken(f, top=3)),
    "--top 3, distinct": ("distinct", [1000, 3000, 10_000], lambda n: table(n, n), lambda f: shrunken(f, top=3)),
    "check": ("distinct", [1000, 10_000, 100_000], lambda n: table(n, n), checked),
    "report": ("rows", [1000, 10_000, 100_000], lambda n: table(n, 500), reported),
    "groups": (
        "groups",
        [100, 1000, 10_000],
        lambda n: table(10 * n, 10 * n, n),
        lambda f: shrunken(f, method="gamma", group="g"),
    ),
    "groups, pooled": (
        "groups",
        [100, 1000, 10_000],
        lambda n: table(10 * n, 10 * n, n),
        lambda f: shrunken(f, method="gamma", group="g", pool=True),
    ),
}
"""What is asked, what grows, how far, the tables and the question."""


def growth(names: list[str]) -> None:
    """Processor time and memory at every size, and the exponent from the size before."""
    print("| what | grows | size | seconds | MB | exponent |\n| --- | --- | ---: | ---: | ---: | ---: |")
    for name in names:
        what, sizes, make, ask = GROWTH[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ask(make(min(50, sizes[0])))  # what is imported and made once
            before = None
            for size in sizes:
                frame = make(size)
                tracemalloc.start()
                start = time.process_time()
                ask(frame)
                spent, held = time.process_time() - start, tracemalloc.get_traced_memory()[1] / 1e6
                tracemalloc.stop()
                grew = "" if before is None else f"{math.log(spent / before[1]) / math.log(size / before[0]):.2f}"
                print(f"| {name} | {what} | {size:,} | {spent:.2f} | {held:.0f} | {grew} |", flush=True)
                before = size, spent


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="OUTPUT/SCALE of a finished run of the reproduction")
    parser.add_argument("--only", action="append", choices=list(GROWTH), help="this growth alone; repeatable")
    given = parser.parse_args()
    if given.folder is None:
        growth(given.only or list(GROWTH))
        raise SystemExit
    folder = given.folder
    before, measured = costs(), spent(folder)
    for experiment, seconds in measured.items():
        print(f"{experiment}: {before[folder.name][experiment]} s, now {seconds} s")
    after = before | {folder.name: {experiment: measured[experiment] for experiment in before[folder.name]}}
    COSTS.write_text(json.dumps(after, indent=1) + "\n", encoding="utf-8")
